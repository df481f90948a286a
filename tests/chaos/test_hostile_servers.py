"""Hostile statements against the servers: each ends in time, and nothing is read, written or kept.

Every statement runs through the whole engine; those that the guard refuses by their words run once
more without it, so that the rights of the role and both clocks are seen to hold alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore.records import to_json
from evalcore.sqlkit.engines import Engine, Execution, Limits, guard
from evalcore.sqlkit.engines.guard import MAX_SQL_CHARACTERS, ScriptInspection
from tests.support.engines import server_engine
from tests.support.hangs import stop_hang

SECONDS = 1.0
CANARY = "canary7f3a91"
SETUP = ["CREATE TABLE t (a INTEGER, b VARCHAR(90))", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"]
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "

POSTGRES = {
    "copy to file": "COPY t TO '{new}'",
    "copy from file": "COPY t FROM '{file}'",
    "copy program": "COPY t TO PROGRAM 'touch {new}'",
    "copy from program": "COPY t FROM PROGRAM 'cat {file}'",
    "copy stdin": "COPY t FROM STDIN",
    "copy stdout": "COPY t TO STDOUT",
    "pg_read_file": "SELECT pg_read_file('{file}')",
    "pg_read_binary_file": "SELECT pg_read_binary_file('{file}')",
    "pg_read_file in a block": "DO $$ BEGIN PERFORM pg_read_file('{file}'); END $$",
    "pg_read_file from text": "DO $$ BEGIN EXECUTE 'SELECT pg_read_' || 'file(''{file}'')'; END $$",
    "pg_ls_dir": "SELECT pg_ls_dir('{folder}')",
    "pg_stat_file": "SELECT pg_stat_file('{file}')",
    "lo_import": "SELECT lo_import('{file}')",
    "lo_export": "SELECT lo_export(1, '{new}')",
    "lo_create": "SELECT lo_create(77), lo_from_bytea(78, 'x')",
    "log directory": "SELECT pg_ls_logdir()",
    "current_setting": "SELECT current_setting('data_directory')",
    "pg_settings": "SELECT setting FROM pg_settings WHERE name LIKE '%_file'",
    "pg_hba": "SELECT * FROM pg_hba_file_rules",
    "passwords": "SELECT * FROM pg_authid",
    "load": "LOAD '{file}'",
    "extension": "CREATE EXTENSION dblink",
    "vector extension": "CREATE EXTENSION vector",
    "untrusted language": "CREATE FUNCTION f() RETURNS int LANGUAGE c AS '{file}', 'f'",
    "create role": "CREATE ROLE evil SUPERUSER",
    "create role in a block": "DO $$ BEGIN EXECUTE 'CREATE ROLE evil'; END $$",
    "alter role": "ALTER ROLE CURRENT_USER SUPERUSER",
    "own limits by alter role": "ALTER ROLE CURRENT_USER SET statement_timeout = 0",
    "set role": "SET ROLE postgres",
    "session authorization": "SET SESSION AUTHORIZATION postgres",
    "create database": "CREATE DATABASE evil",
    "drop database": "DROP DATABASE postgres",
    "alter system": "ALTER SYSTEM SET archive_command = 'touch {new}'",
    "tablespace": "CREATE TABLESPACE evil LOCATION '{folder}'",
    "foreign server": "CREATE SERVER s FOREIGN DATA WRAPPER file_fdw",
    "dblink": "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS x(a int)",
    "publication": "CREATE PUBLICATION p FOR ALL TABLES",
    "subscription": "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p",
    "event trigger": "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
    "terminate": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> 0",
    "cancel": "SELECT pg_cancel_backend(pid) FROM pg_stat_activity",
    "reload": "SELECT pg_reload_conf()",
    "backup": "SELECT pg_backup_start('x')",
    "wal": "SELECT pg_switch_wal()",
    "slot": "SELECT pg_create_logical_replication_slot('x', 'test_decoding')",
    "advisory lock": "SELECT pg_advisory_lock(1)",
    "listen": "LISTEN x",
    "notify": "NOTIFY x",
    "prepare transaction": "PREPARE TRANSACTION 'x'",
    "set timeout": "SET statement_timeout = 0",
    "set_config": "SELECT set_config('statement_timeout', '0', false)",
    "unlimited sleep": "DO $$ BEGIN SET statement_timeout = 0; PERFORM pg_sleep(30); END $$",
    "sleep in a loop": "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(30); EXCEPTION WHEN "
    "query_canceled THEN NULL; END; END LOOP; END $$",
    "two statements": "SELECT 1; COPY t TO '{new}'",
    "hidden statement": "SELECT 1 /* ; */ ; DROP TABLE t -- ",
    "system catalogue": "UPDATE pg_database SET datname = 'x'",
    "create in catalogue": "CREATE TABLE pg_catalog.x (a INT)",
    "xml": "SELECT query_to_xml('SELECT 1', true, true, '')",
    "endless recursion": ENDLESS + "SELECT count(*) FROM n",
    "endless loop": "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
    "endless rows": ENDLESS + "SELECT x, 'abcdefghij' FROM n",
    "endless sort": ENDLESS + "SELECT x FROM n ORDER BY -x",
    "endless insert": "INSERT INTO t SELECT x, repeat('x', 90) FROM generate_series(1, 90000000) x",
    "endless table": "CREATE TABLE big AS SELECT repeat('x', 900) "
    "FROM generate_series(1, 900000000)",
    "endless temp table": "CREATE TEMP TABLE big AS SELECT repeat('x', 900) "
    "FROM generate_series(1, 900000000)",
    "endless function": "DO $$ DECLARE s text := 'x'; BEGIN LOOP s := s || s; END LOOP; END $$",
    "cross join": "SELECT count(*) FROM generate_series(1, 99999) a, generate_series(1, 99999) b "
    "WHERE a + b = 0",
    "repeat bomb": "SELECT length(repeat('x', 1000000000))",
    "repeated repeat": "SELECT repeat(repeat('x', 30000), 30000)",
    "large value": "SELECT repeat('x', 90000000)",
    "rpad bomb": "SELECT length(rpad('x', 1000000000, 'y'))",
    "string_agg": "SELECT length(string_agg(repeat('x', 9999), '')) FROM generate_series(1, 99999)",
    "array bomb": "SELECT array_agg(a) FROM generate_series(1, 900000000) a",
    "array_fill": "SELECT array_length(array_fill(1, ARRAY[100000000]), 1)",
    "json bomb": "SELECT json_agg(a) FROM generate_series(1, 900000000) a",
    "numeric bomb": "SELECT length((10::numeric ^ 100000)::text), 9 ^ 9 ^ 9",
    "factorial": "SELECT length(factorial(30000)::text)",
    "regexp": "SELECT repeat('a', 30000) ~ '((a|aa)+){20}(b|c)+$'",
    "regexp size": "SELECT 'a' ~ '((a{100}){100}){100}'",
    "like": "SELECT repeat('a', 3000000) LIKE '" + "%a" * 400 + "b'",
    "hash": "SELECT count(DISTINCT md5(a::text)) FROM generate_series(1, 90000000) a",
    "deep parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "deep operators": "SELECT " + "1+" * 30_000 + "1",
    "deep case": "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 1_000 + "t" + ") x" * 1_000,
    "long in list": "SELECT a IN (" + ",".join(map(str, range(100_000))) + ") FROM t",
    "many unions": " UNION ALL ".join(["SELECT 1"] * 5_000),
    "many joins": "SELECT count(*) FROM " + ", ".join(f"t t{i}" for i in range(30)),
    "recursive function": "CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN f(n + 1); END $$; SELECT f(1)",
    "null character": "SELECT 'a\x00b'",
    "lone surrogate": "SELECT '\ud800'",
}
MYSQL = {
    "outfile": "SELECT * FROM t INTO OUTFILE '{new}'",
    "dumpfile": "SELECT b FROM t LIMIT 1 INTO DUMPFILE '{new}'",
    "hidden outfile": "SELECT 1 /*!50000 INTO OUTFILE '{new}' */",
    "outfile from text": "PREPARE s FROM 'SELECT 1 INTO OUTFILE ''{new}'''",
    "load_file": "SELECT LOAD_FILE('{file}')",
    "load_file in a block": "BEGIN NOT ATOMIC SELECT LOAD_FILE('{file}'); END",
    "load data": "LOAD DATA INFILE '{file}' INTO TABLE t",
    "load data local": "LOAD DATA LOCAL INFILE '{file}' INTO TABLE t",
    "load data local from text": "PREPARE s FROM 'LOAD DATA LOCAL INFILE ''{file}'' INTO TABLE t'",
    "load xml": "LOAD XML INFILE '{file}' INTO TABLE t",
    "data directory": "CREATE TABLE u (a INT) DATA DIRECTORY = '{folder}'",
    "connect engine": "CREATE TABLE u (a INT) ENGINE=CONNECT TABLE_TYPE=DOS FILE_NAME='{file}'",
    "csv engine": "CREATE TABLE u (a INT NOT NULL) ENGINE=CSV",
    "federated engine": "CREATE TABLE u (a INT) ENGINE=FEDERATED CONNECTION='mysql://root@h/d/t'",
    "install soname": "INSTALL SONAME 'ha_connect'",
    "install plugin": "INSTALL PLUGIN x SONAME 'ha_connect.so'",
    "native function": "CREATE FUNCTION sys_exec RETURNS INT SONAME 'lib_mysqludf_sys.so'",
    "create user": "CREATE USER evil",
    "grant": "GRANT ALL ON *.* TO CURRENT_USER",
    "set password": "SET PASSWORD = PASSWORD('x')",
    "set role": "SET ROLE root",
    "passwords": "SELECT * FROM mysql.user",
    "accounts": "SELECT * FROM mysql.global_priv",
    "create database": "CREATE DATABASE evil",
    "drop database": "DROP DATABASE mysql",
    "own database": "DROP DATABASE evalboard_slot_1",
    "own database from text": "BEGIN NOT ATOMIC EXECUTE IMMEDIATE CONCAT('DROP DATABASE ', "
    "DATABASE()); END",
    "use": "USE mysql",
    "create server": "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1')",
    "create event": "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM t",
    "show processlist": "SHOW PROCESSLIST",
    "processlist": "SELECT info FROM information_schema.processlist",
    "show grants": "SHOW GRANTS FOR root@localhost",
    "kill": "KILL 1",
    "shutdown": "SHUTDOWN",
    "flush": "FLUSH TABLES WITH READ LOCK",
    "lock tables": "LOCK TABLES t WRITE",
    "get_lock": "SELECT GET_LOCK('evalboard_slot_2', 0)",
    "reset": "RESET MASTER",
    "change master": "CHANGE MASTER TO MASTER_HOST = '127.0.0.1'",
    "binlog": "BINLOG 'x'",
    "handler": "HANDLER t OPEN",
    "global variable": "SET GLOBAL max_statement_time = 0",
    "session variable": "SET max_statement_time = 0",
    "hidden session variable": "SET @a = 1, max_statement_time = 0",
    "statement variable": "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(30)",
    "general log": "SET GLOBAL general_log_file = '{new}'",
    "unlimited sleep": "BEGIN NOT ATOMIC SET max_statement_time = 0; SELECT SLEEP(30); END",
    "sleep in a loop": "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; "
    "SET max_statement_time = 0; LOOP DO SLEEP(30); END LOOP; END",
    "sleep": "SELECT SLEEP(30)",
    "benchmark": "SELECT BENCHMARK(900000000, SHA2('x', 512))",
    "two statements": "SELECT 1; SELECT * FROM t INTO OUTFILE '{new}'",
    "hidden statement": "SELECT 1 /* ; */ ; DROP TABLE t -- ",
    "endless recursion": ENDLESS + "SELECT count(*) FROM n a, n b",
    "endless loop": "BEGIN NOT ATOMIC LOOP BEGIN END; END LOOP; END",
    "endless rows": "SELECT a.x, b.x FROM ("
    + ENDLESS
    + "SELECT x FROM n) a, ("
    + ENDLESS
    + "SELECT x FROM n) b",
    "endless sort": ENDLESS + "SELECT a.x FROM n a, n b ORDER BY RAND()",
    "endless insert": "BEGIN NOT ATOMIC LOOP INSERT INTO t SELECT a, b FROM t; END LOOP; END",
    "endless table": "CREATE TABLE big AS SELECT REPEAT('x', 60000) AS v FROM "
    "information_schema.collations a, information_schema.collations b",
    "endless temporary table": "CREATE TEMPORARY TABLE big AS SELECT REPEAT('x', 60000) AS v FROM "
    "information_schema.collations a, information_schema.collations b",
    "sequence engine": "SELECT COUNT(*) FROM seq_1_to_99999999999",
    "cross join": "SELECT COUNT(*) FROM seq_1_to_99999 a, seq_1_to_99999 b WHERE a.seq + b.seq = 0",
    "repeat bomb": "SELECT LENGTH(REPEAT('x', 1000000000))",
    "repeated repeat": "SELECT REPEAT(REPEAT('x', 4000), 4000)",
    "rpad bomb": "SELECT LENGTH(RPAD('x', 1000000000, 'y'))",
    "group_concat": "SELECT LENGTH(GROUP_CONCAT(REPEAT('x', 999))) FROM seq_1_to_99999999",
    "group_concat limit": "SET group_concat_max_len = 4294967295",
    "json bomb": "SELECT JSON_ARRAYAGG(seq) FROM seq_1_to_99999999",
    "json depth": "SELECT JSON_VALID('" + "[" * 90_000 + "]" * 90_000 + "')",
    "string in a loop": "BEGIN NOT ATOMIC DECLARE s LONGTEXT DEFAULT 'x'; "
    "LOOP SET s = CONCAT(s, s, 'x'); END LOOP; END",
    "regexp": "SELECT REPEAT('a', 30000) REGEXP '^((a|aa)+){20}(b|c)+$'",
    "like": "SELECT REPEAT('a', 3000000) LIKE '" + "%a" * 400 + "b'",
    "hash": "SELECT COUNT(DISTINCT MD5(seq)) FROM seq_1_to_999999999",
    "deep parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "deep operators": "SELECT " + "1+" * 30_000 + "1",
    "deep case": "SELECT " + "CASE WHEN 1 THEN " * 3_000 + "1" + " END" * 3_000,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ") x" * 500,
    "long in list": "SELECT a IN (" + ",".join(map(str, range(100_000))) + ") FROM t",
    "many unions": " UNION ALL ".join(["SELECT 1"] * 2_000),
    "many joins": "SELECT COUNT(*) FROM " + ", ".join(f"t t{i}" for i in range(40)),
    "recursive procedure": "BEGIN NOT ATOMIC SET max_sp_recursion_depth = 255; CALL p(); END",
    "xml": "SELECT EXTRACTVALUE('<a>1</a>', CONCAT('/a', REPEAT('[1]', 90000)))",
    "null character": "SELECT 'a\x00b'",
    "lone surrogate": "SELECT '\ud800'",
}
STATEMENTS = {"postgres": POSTGRES, "mysql": MYSQL}
PLACES = {"{file}": "secret.txt", "{new}": "made.out", "{folder}": "."}
CASES = [(engine, name) for engine, table in STATEMENTS.items() for name in table]
#: What the guard lets through, for the engine to bound; all else is refused before it runs.
ALLOWED_TEXTS = {
    "postgres": (
        "pg_read_file from text, current_setting, pg_settings, pg_hba, passwords, "
        "untrusted language, create role in a block, backup, unlimited sleep, sleep in "
        "a loop, system catalogue, create in catalogue, endless recursion, endless "
        "loop, endless rows, endless sort, endless insert, endless table, endless temp "
        "table, endless function, cross join, repeat bomb, repeated repeat, large "
        "value, rpad bomb, string_agg, array bomb, array_fill, json bomb, numeric bomb, "
        "factorial, regexp, regexp size, like, hash, deep parentheses, deep operators, "
        "deep case, deep subqueries, many unions, many joins, null character, lone "
        "surrogate"
    ),
    "mysql": (
        "outfile from text, load data local from text, data directory, connect engine, "
        "csv engine, federated engine, native function, passwords, accounts, own "
        "database from text, processlist, unlimited sleep, sleep in a loop, sleep, "
        "endless recursion, endless rows, endless sort, endless table, endless "
        "temporary table, sequence engine, cross join, repeat bomb, repeated repeat, "
        "rpad bomb, group_concat, json bomb, string in a loop, regexp, like, hash, deep "
        "parentheses, deep operators, deep case, deep subqueries, many unions, many "
        "joins, recursive procedure, xml, null character, lone surrogate"
    ),
}
ALLOWED = {(engine, name) for engine, text in ALLOWED_TEXTS.items() for name in text.split(", ")}
assert set(CASES) >= ALLOWED
REFUSED = [case for case in CASES if case not in ALLOWED]
#: What is read before it is refused; only the guard bounds the length, and so the time, of reading.
READ = [pair for pair in REFUSED if len(STATEMENTS[pair[0]][pair[1]]) <= MAX_SQL_CHARACTERS]


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[str, Engine]]:
    made: dict[str, Engine] = {}
    yield made
    for engine in made.values():
        engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(f"{CANARY}\n")
    tmp_path.chmod(0o777)
    (tmp_path / "secret.txt").chmod(0o666)
    return tmp_path


def attack(opened: dict[str, Engine], name: str, statement: str, folder: Path) -> Execution:
    """Run one statement and check all that must hold whatever its outcome is."""
    if name not in opened:
        opened[name] = server_engine(name, Limits(seconds=SECONDS, bytes=1_000_000))
    engine = opened[name]
    for key, path in PLACES.items():
        statement = statement.replace(key, str(folder / path))
    assert engine.execute(SETUP, "SELECT 1").status == "ok"
    before = sorted(folder.iterdir())
    with stop_hang():
        result = engine.execute(SETUP, statement)
    assert sorted(folder.iterdir()) == before
    text = to_json(result.table and result.table.rows).decode() + result.message
    for secret in (CANARY, CANARY.encode().hex(), "secret.txt", "/data/"):
        assert secret not in text
    after = engine.execute(SETUP, "SELECT a, b FROM t ORDER BY a")
    assert after.table is not None, after
    assert after.table.rows == ((1, "x"), (2, "y"))
    return result


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("engine", "name"), CASES)
def test_statement(opened: dict[str, Engine], folder: Path, engine: str, name: str) -> None:
    result = attack(opened, engine, STATEMENTS[engine][name], folder)
    if (engine, name) in REFUSED:
        assert result.status in ("forbidden", "syntax_error")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("engine", "name"), READ)
def test_without_the_guard(
    opened: dict[str, Engine],
    folder: Path,
    engine: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "inspect_answer", lambda *_, script: ScriptInspection(statements=1))
    attack(opened, engine, STATEMENTS[engine][name], folder)


@pytest.mark.parametrize("engine", STATEMENTS)
def test_a_neighbour_is_out_of_reach(opened: dict[str, Engine], engine: str) -> None:
    """Neither the content nor the making of another case's database can be had."""
    item = server_engine(engine, Limits(seconds=SECONDS))
    with item:
        item.execute(
            ["CREATE TABLE hidden (a INT)", "INSERT INTO hidden VALUES (4711)"], "SELECT 1"
        )
        for number in range(1, 8):
            for name in (
                f"evalboard_slot_{number}.hidden",
                f"evalboard_slot_{number}.public.hidden",
            ):
                result = item.execute(SETUP, f"SELECT * FROM {name}")
                assert result.status in ("error", "forbidden", "syntax_error")


@pytest.mark.parametrize("engine", STATEMENTS)
def test_there_are_enough_of_them(engine: str) -> None:
    assert len(STATEMENTS[engine]) >= 60
