"""Hostile statements against both engines: each ends in time, and nothing is read or written.

Every statement runs through the whole stack; those that the guard refuses by their words run once
more without it, so that the engine's locks and the limits of the process are seen to hold alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore.records import to_json
from evalcore.sqlkit.engines import Engine, Execution, Limits, guard
from evalcore.sqlkit.engines.guard import MAX_SQL_CHARACTERS, ScriptInspection
from evalcore.sqlkit.engines.registry import open_engine
from tests.support.hangs import stop_hang

SECONDS = 1.0
CANARY = "canary7f3a91"
SETUP = ["CREATE TABLE t (a INTEGER, b TEXT)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"]
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"

SQLITE = {
    "attach file": "ATTACH DATABASE '{db}' AS x",
    "attach new file": "ATTACH '{new}' AS x",
    "attach uri": "ATTACH 'file:{db}?mode=ro' AS x",
    "attach memory": "ATTACH ':memory:' AS x",
    "detach": "DETACH DATABASE main",
    "vacuum into": "VACUUM INTO '{new}'",
    "vacuum": "VACUUM",
    "load_extension": "SELECT load_extension('{file}')",
    "quoted load_extension": "SELECT \"load_extension\"('{file}', 'x')",
    "readfile": "SELECT readfile('{file}')",
    "writefile": "SELECT writefile('{new}', 'x')",
    "edit": "SELECT edit('x', 'sh')",
    "fts3_tokenizer": "SELECT fts3_tokenizer('simple', x'4141414141414141')",
    "fts5 table": "CREATE VIRTUAL TABLE f USING fts5(a)",
    "rtree table": "CREATE VIRTUAL TABLE r USING rtree(id, a, b)",
    "csv table": "CREATE VIRTUAL TABLE temp.c USING csv(filename='{csv}')",
    "dbstat table": "SELECT * FROM dbstat",
    "pragma writable_schema": "PRAGMA writable_schema = ON",
    "pragma temp_store_directory": "PRAGMA temp_store_directory = '{folder}'",
    "pragma database_list": "PRAGMA database_list",
    "pragma as table": "SELECT * FROM pragma_database_list",
    "pragma journal": "PRAGMA journal_mode = WAL",
    "pragma limits": "PRAGMA max_page_count = 4294967294",
    "schema update": "UPDATE sqlite_master SET sql = 'x'",
    "schema insert": "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x(y)')",
    "getenv": "SELECT getenv('HOME')",
    "two statements": "SELECT 1; ATTACH '{new}' AS x",
    "hidden by comment": "SELECT 1 /* ; */ ; DROP TABLE t -- ",
    "begins with comment": "/* SELECT */ ATTACH '{new}' AS x",
    "null character": "SELECT 1\x00; ATTACH '{new}' AS x",
    "endless recursion": NUMBERS + " SELECT count(*) FROM n",
    "endless string": "WITH RECURSIVE n(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM n) "
    "SELECT length(x) FROM n",
    "endless sort": NUMBERS + " SELECT x FROM n ORDER BY -x",
    "endless distinct": NUMBERS + " SELECT count(DISTINCT x) FROM n",
    "endless insert": NUMBERS + " INSERT INTO t SELECT x, hex(randomblob(500)) FROM n",
    "rows without end": NUMBERS + " SELECT x, 'abcdefghij' FROM n",
    "cross join": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9999) "
    "SELECT count(*) FROM n a, n b, n c WHERE a.x + b.x + c.x = 0",
    "printf bomb": "SELECT length(printf('%.*c', 900000000, 'x'))",
    "printf width": "SELECT length(printf('%900000000d', 1))",
    "zeroblob": "SELECT zeroblob(1000000000)",
    "zeroblobs": "SELECT hex(zeroblob(3900000)), hex(zeroblob(3900000))",
    "randomblob": NUMBERS + " SELECT count(randomblob(3900000)) FROM n",
    "group_concat": NUMBERS + " SELECT group_concat(x) FROM n",
    "replace bomb": "SELECT length(replace(replace(hex(zeroblob(90000)), '0', hex(zeroblob(900))), "
    "'0', hex(zeroblob(900))))",
    "like backtracking": "SELECT count(*) FROM t WHERE hex(zeroblob(900000)) LIKE '"
    + "%0" * 400
    + "1'",
    "glob backtracking": "SELECT hex(zeroblob(900000)) GLOB '" + "*0" * 400 + "1'",
    "regexp": "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa!' REGEXP '(a+)+$'",
    "long in list": "SELECT a IN (" + ",".join(map(str, range(200_000))) + ") FROM t",
    "deep parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "deep operators": "SELECT " + "1+" * 30_000 + "1",
    "deep case": "SELECT " + "CASE WHEN 1 THEN " * 3_000 + "1" + " END" * 3_000,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 3_000 + "t" + ")" * 3_000,
    "many unions": " UNION ALL ".join(["SELECT 1"] * 20_000),
    "many joins": "SELECT count(*) FROM " + ", ".join(f"t t{i}" for i in range(64)),
    "json depth": "SELECT json('" + "[" * 100_000 + "]" * 100_000 + "')",
    "json bomb": NUMBERS + " SELECT json_group_array(json_object('k', x)) FROM n",
    "json_each": "SELECT count(*) FROM json_each('[" + "1," * 50_000 + "1]') a, "
    "json_each('[" + "1," * 50_000 + "1]') b",
    "generate_series": "SELECT count(*) FROM generate_series(1, 10000000000)",
}
DUCKDB = {
    "read_csv": "SELECT * FROM read_csv('{csv}')",
    "read_csv_auto": "SELECT * FROM read_csv_auto('{csv}', all_varchar = true)",
    "read_text": "SELECT content FROM read_text('{file}')",
    "read_blob": "FROM read_blob('{file}')",
    "read_json": "SELECT * FROM read_json('{file}')",
    "read_parquet": "SELECT * FROM read_parquet('{file}')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('{file}')",
    "quoted read_text": "SELECT * FROM \"read_text\"('{file}')",
    "file as table": "SELECT * FROM '{csv}'",
    "file as identifier": 'SELECT * FROM "{csv}"',
    "sniff_csv": "SELECT * FROM sniff_csv('{csv}')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "read_duckdb": "SELECT * FROM read_duckdb('{db}', table_name = 'secret')",
    "query function": "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    "serialized sql": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
    "'SELECT * FROM read_text(''{file}'')'))",
    "macro": "CREATE MACRO m() AS TABLE SELECT * FROM read_text('{file}')",
    "view": "CREATE VIEW v AS SELECT * FROM read_text('{file}')",
    "copy to": "COPY t TO '{new}'",
    "copy query to": "COPY (SELECT 1) TO '{new}' (FORMAT parquet)",
    "copy from": "COPY t FROM '{csv}'",
    "copy to stdout": "COPY t TO '/dev/stdout'",
    "copy from database": "COPY FROM DATABASE memory TO x",
    "export": "EXPORT DATABASE '{new}'",
    "import": "IMPORT DATABASE '{folder}'",
    "attach file": "ATTACH '{db}' AS x",
    "attach new file": "ATTACH '{new}' AS x",
    "attach sqlite": "ATTACH '{db}' AS x (TYPE sqlite)",
    "attach http": "ATTACH 'http://127.0.0.1:9/x.duckdb' AS x",
    "detach": "DETACH memory",
    "use": "USE system",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "load file": "LOAD '{file}'",
    "force install": "FORCE INSTALL spatial FROM 'http://127.0.0.1:9'",
    "http": "SELECT * FROM 'http://127.0.0.1:9/a.csv'",
    "s3": "SELECT * FROM read_parquet('s3://bucket/a.parquet')",
    "create secret": "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "persistent secret": "CREATE PERSISTENT SECRET s (TYPE http)",
    "list secrets": "SELECT * FROM duckdb_secrets()",
    "set access": "SET enable_external_access = true",
    "set lock": "SET lock_configuration = false",
    "set memory": "SET memory_limit = '64GB'",
    "set threads": "SET threads = 64",
    "set log": "SET log_query_path = '{new}'",
    "reset": "RESET memory_limit",
    "set_config": "SELECT set_config('memory_limit', '64GB', false)",
    "pragma": "PRAGMA memory_limit = '64GB'",
    "pragma log": "PRAGMA enable_profiling = 'json'",
    "profile output": "PRAGMA profiling_output = '{new}'",
    "call": "CALL enable_logging(storage = 'file', storage_path = '{new}')",
    "enable_logging": "SELECT * FROM enable_logging(storage = 'stdout')",
    "checkpoint": "CHECKPOINT",
    "vacuum": "VACUUM",
    "prepare": "PREPARE p AS SELECT * FROM read_text('{file}')",
    "python variable": "SELECT * FROM SETUP",
    "pandas_scan": "SELECT * FROM pandas_scan(12345678)",
    "pandas_scan pointer": "SELECT * FROM pandas_scan(12345678::POINTER)",
    "arrow_scan": "SELECT * FROM arrow_scan(1, 2, 3)",
    "arrow_scan pointer": "SELECT * FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
    "getenv": "SELECT getenv('HOME')",
    "two statements": "SELECT 1; COPY t TO '{new}'",
    "dollar quotes": "SELECT $$;$$; COPY t TO '{new}'",
    "system catalog": "CREATE TABLE system.main.x (a INT)",
    "endless recursion": NUMBERS + " SELECT count(*) FROM n",
    "endless string": "WITH RECURSIVE n(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM n) "
    "SELECT max(length(x)) FROM n",
    "cross join": "SELECT count(*) FROM range(100000) a, range(100000) b, range(100000) c "
    "WHERE a.range + b.range + c.range = -1",
    "list bomb": "SELECT list(a.range) FROM range(100000) a, range(100000) b",
    "repeat bomb": "SELECT length(repeat('x', 900000000))",
    "repeated repeat": "SELECT repeat(repeat('x', 30000), 30000)",
    "rpad bomb": "SELECT length(rpad('x', 2000000000, 'y'))",
    "range list": "SELECT range(2000000000)",
    "list_aggregate": "SELECT list_aggregate(range(900000000), 'sum')",
    "list_transform": "SELECT list_sum(list_transform(range(90000000), lambda x: x * x))",
    "string_agg": "SELECT length(string_agg(range::TEXT, ',')) FROM range(1000000000)",
    "generate_series": "SELECT sum(md5_number(i::TEXT)) FROM generate_series(1, 9000000000) g(i)",
    "rows without end": "SELECT range, 'abcdefghij' FROM range(100000000000)",
    "sort": "SELECT * FROM range(1000000000) ORDER BY hash(range)",
    "distinct": "SELECT count(DISTINCT hash(range)) FROM range(10000000000)",
    "window": "SELECT sum(row_number) FROM (SELECT row_number() OVER (ORDER BY hash(range)) "
    "AS row_number FROM range(1000000000))",
    "create table": "CREATE TABLE big AS SELECT uuid() FROM range(1000000000)",
    "regexp": "SELECT regexp_matches(repeat('a', 3000000), '((a|aa)+){50}(b|c)+$')",
    "regexp size": "SELECT regexp_matches('a', '((a{100}){100}){100}')",
    "like": "SELECT repeat('a', 3000000) LIKE '" + "%a" * 400 + "b'",
    "levenshtein": "SELECT levenshtein(repeat('a', 90000), repeat('b', 90000))",
    "long in list": "SELECT a IN (" + ",".join(map(str, range(100_000))) + ") FROM t",
    "deep parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "deep operators": "SELECT " + "1+" * 30_000 + "1",
    "deep case": "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 3_000 + "t" + ")" * 3_000,
    "deep list": "SELECT " + "[" * 5_000 + "1" + "]" * 5_000,
    "many unions": " UNION ALL ".join(["SELECT 1"] * 5_000),
    "many joins": "SELECT count(*) FROM " + ", ".join(f"t t{i}" for i in range(40)),
    "json depth": "SELECT '" + "[" * 100_000 + "]" * 100_000 + "'::JSON",
    "json bomb": "SELECT json_group_array(range) FROM range(1000000000)",
    "huge number": "SELECT 9999999999999::HUGEINT ** 400, factorial(33), 2 ** 100000",
}
#: What stands for which file of a test's folder; all but {new} exist and hold the canary.
PLACES = {
    "{file}": "secret.txt",
    "{csv}": "secret.csv",
    "{db}": "secret.db",
    "{new}": "made.out",
    "{folder}": ".",
}
CASES = [("sqlite", name) for name in SQLITE] + [("duckdb", name) for name in DUCKDB]
STATEMENTS = {"sqlite": SQLITE, "duckdb": DUCKDB}
#: What the guard lets through, for the engine to bound; all else is refused before it runs.
ALLOWED_TEXTS = {
    "sqlite": (
        "dbstat table, pragma as table, schema update, schema insert, getenv, endless "
        "recursion, endless string, endless sort, endless distinct, endless insert, "
        "rows without end, cross join, printf bomb, printf width, zeroblob, zeroblobs, "
        "randomblob, group_concat, replace bomb, like backtracking, glob backtracking, "
        "regexp, deep parentheses, deep operators, deep case, deep subqueries, many "
        "joins, json bomb, generate_series"
    ),
    "duckdb": (
        "file as table, file as identifier, http, set_config, python variable, system "
        "catalog, endless recursion, endless string, cross join, list bomb, repeat "
        "bomb, repeated repeat, rpad bomb, range list, list_aggregate, list_transform, "
        "string_agg, generate_series, rows without end, sort, distinct, window, create "
        "table, regexp, regexp size, like, levenshtein, deep parentheses, deep "
        "operators, deep case, deep subqueries, deep list, many unions, many joins, "
        "json bomb, huge number"
    ),
}
ALLOWED = {(engine, name) for engine, text in ALLOWED_TEXTS.items() for name in text.split(", ")}
assert set(CASES) >= ALLOWED
REFUSED = [case for case in CASES if case not in ALLOWED]
#: What is read before it is refused; only the guard bounds the length, and so the time, of reading.
READ = [pair for pair in REFUSED if len(STATEMENTS[pair[0]][pair[1]]) <= MAX_SQL_CHARACTERS]


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[str, Engine]]:
    limits = Limits(seconds=SECONDS, memory_mb=256, bytes=1_000_000)
    made = {name: open_engine(name, limits) for name in STATEMENTS}
    yield made
    for engine in made.values():
        engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(f'{{"{CANARY}": 1}}\n')
    (tmp_path / "secret.csv").write_text(f"a,b\n1,{CANARY}\n")
    with sqlite3.connect(tmp_path / "secret.db") as connection:
        connection.execute("CREATE TABLE secret (a)")
        connection.execute("INSERT INTO secret VALUES (?)", (CANARY,))
    connection.close()
    return tmp_path


def listing(*folders: Path) -> list[tuple[str, int]]:
    return sorted((str(p), p.stat().st_size) for folder in folders for p in folder.iterdir())


def attack(engine: Engine, statement: str, folder: Path) -> Execution:
    """Run one statement and check all that must hold whatever its outcome is."""
    for key, name in PLACES.items():
        statement = statement.replace(key, str(folder / name))
    assert engine.version  # starting a process is not the statement's time
    before = listing(folder, Path.cwd())
    with stop_hang():
        result = engine.execute(SETUP, statement)
    assert listing(folder, Path.cwd()) == before
    text = to_json(result.table).decode() + result.message
    assert CANARY not in text
    assert CANARY.encode().hex() not in text.lower()
    assert "secret.txt" not in to_json(result.table).decode()
    after = engine.execute(SETUP, "SELECT a, b FROM t ORDER BY a")
    assert after.table is not None
    assert after.table.rows == ((1, "x"), (2, "y"))
    return result


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("engine", "name"), CASES)
def test_statement(opened: dict[str, Engine], folder: Path, engine: str, name: str) -> None:
    result = attack(opened[engine], STATEMENTS[engine][name], folder)
    if (engine, name) in REFUSED:
        assert result.status in ("forbidden", "syntax_error")


@pytest.mark.parametrize(("engine", "name"), READ)
def test_without_the_guard(
    opened: dict[str, Engine],
    folder: Path,
    engine: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "inspect_answer", lambda *_, script: ScriptInspection(statements=1))
    attack(opened[engine], STATEMENTS[engine][name], folder)


@pytest.mark.parametrize("engine", STATEMENTS)
def test_there_are_enough_of_them(engine: str) -> None:
    assert len(STATEMENTS[engine]) >= 40
