"""The SQL engines: what each returns, how errors are named, and that calls stay apart."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import from_json, to_json
from evalcore.sqlkit.engines import Engine, Execution, Limits
from evalcore.sqlkit.engines.guard import inspect_script
from evalcore.sqlkit.engines.registry import open_engine, probe_engines

NAMES = ("sqlite", "duckdb")
SETUP = ["CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)"]


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Engine]]:
    made = {name: open_engine(name, Limits(seconds=2, rows=50, bytes=20_000)) for name in NAMES}
    yield made
    for engine in made.values():
        engine.close()


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest, engines: dict[str, Engine]) -> Engine:
    return engines[request.param]


def rows(execution: Execution) -> tuple[tuple[Any, ...], ...]:
    assert execution.status == "ok", execution.message
    assert execution.table is not None
    return execution.table.rows


def test_a_query_gives_columns_and_rows(engine: Engine) -> None:
    result = engine.execute(SETUP, "SELECT a AS n, b FROM t ORDER BY a DESC")
    assert rows(result) == ((2, None), (1, "x"))
    assert result.table is not None
    assert result.table.columns == ("n", "b")
    assert not result.table.truncated
    assert result.affected is None
    assert result.elapsed > 0
    assert from_json(Execution, to_json(result)) == result


CHANGES = [
    ("INSERT INTO t VALUES (3, 'z')", 1, ((1, "x"), (2, None), (3, "z"))),
    ("UPDATE t SET b = 'y'", 2, ((1, "y"), (2, "y"))),
    ("DELETE FROM t WHERE a = 1", 1, ((2, None),)),
    ("DELETE FROM t WHERE a = 7", 0, ((1, "x"), (2, None))),
]


@pytest.mark.parametrize(("sql", "affected", "state"), CHANGES)
def test_a_change_gives_its_count_and_the_state(
    engine: Engine, sql: str, affected: int, state: tuple[Any, ...]
) -> None:
    bare = engine.execute(SETUP, sql)
    assert (bare.status, bare.table, bare.affected) == ("ok", None, affected)
    seen = engine.execute(SETUP, sql, state_of="t")
    assert sorted(rows(seen)) == sorted(state)
    assert seen.affected == affected


def test_returning_gives_rows_and_the_count(engine: Engine) -> None:
    result = engine.execute(SETUP, "DELETE FROM t WHERE a = 1 RETURNING b")
    assert (rows(result), result.affected) == ((("x",),), 1)


def test_definitions_give_no_rows(engine: Engine) -> None:
    for sql in ("CREATE TABLE u (a INT)", "CREATE TABLE u AS SELECT 1 AS a", "DROP TABLE t"):
        result = engine.execute(SETUP, sql)
        assert (result.status, result.table, result.affected) == ("ok", None, None)


def test_state_of_a_table_with_any_name(engine: Engine) -> None:
    setup = ['CREATE TABLE "odd "" name" (a INT)']
    assert rows(engine.execute(setup, "SELECT 1", state_of='odd " name')) == ()
    result = engine.execute(SETUP, "SELECT 1", state_of="none")
    assert (result.status, result.stage) == ("error", "state")


FAILURES = [
    ("SELEC 1", "syntax_error", "statement"),
    ("SELECT * FROM t WHERE", "syntax_error", "statement"),
    ("SELECT 'x", "syntax_error", "statement"),
    ("", "syntax_error", "statement"),
    ("-- nothing", "syntax_error", "statement"),
    ("SELECT * FROM missing", "error", "statement"),
    ("SELECT missing FROM t", "error", "statement"),
    ("INSERT INTO t VALUES (1, 'twice')", "error", "statement"),
    ("ATTACH ':memory:' AS x", "forbidden", "statement"),
    ("SELECT 1; SELECT 2", "forbidden", "statement"),
    ("SELECT 1; SELEC 2", "syntax_error", "statement"),
    ("EXPLAIN SELECT 1", "forbidden", "statement"),
]


@pytest.mark.parametrize(("sql", "status", "stage"), FAILURES)
def test_failures_by_name(engine: Engine, sql: str, status: str, stage: str) -> None:
    result = engine.execute(SETUP, sql)
    assert (result.status, result.stage, result.table) == (status, stage, None)
    assert result.message


def test_a_broken_setup_is_told_apart(engine: Engine) -> None:
    assert engine.execute(["CREATE TABLE t ("], "SELECT 1").stage == "setup"
    refused = engine.execute([*SETUP, "ATTACH 'x.db' AS x"], "SELECT 1")
    assert (refused.status, refused.stage) == ("forbidden", "setup")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        "SELECT ';' AS a -- ;",
        "/* a; b */ SELECT 1",
        "WITH q AS (SELECT 1) SELECT * FROM q",
    ],
)
def test_one_statement_is_one(engine: Engine, sql: str) -> None:
    assert len(rows(engine.execute([], sql))) == 1


def test_too_long_a_result_is_cut_and_marked(engine: Engine) -> None:
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60) "
    by_rows = engine.execute([], numbers + "SELECT x FROM n")
    assert by_rows.table is not None
    assert (len(by_rows.table.rows), by_rows.table.truncated) == (50, True)
    exact = engine.execute([], numbers + "SELECT x FROM n LIMIT 50")
    assert exact.table is not None
    assert (len(exact.table.rows), exact.table.truncated) == (50, False)
    long = "a" * 3000
    by_bytes = engine.execute([], f"{numbers} SELECT '{long}' AS s FROM n LIMIT 40")
    assert by_bytes.table is not None
    assert by_bytes.table.truncated
    assert 0 < len(by_bytes.table.rows) < 10


LEFTOVERS = [
    "CREATE TABLE left_over AS SELECT 1 AS a",
    "CREATE TEMP TABLE left_over AS SELECT 1 AS a",
    "CREATE VIEW left_over AS SELECT 1 AS a",
    "BEGIN",
]


@pytest.mark.parametrize("sql", LEFTOVERS)
def test_nothing_stays_for_the_next_call(engine: Engine, sql: str) -> None:
    assert engine.execute([], sql).status == "ok"
    assert engine.execute([], "SELECT * FROM left_over").status == "error"
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)


def test_duckdb_specific_leftovers(engines: dict[str, Engine]) -> None:
    duckdb = engines["duckdb"]
    assert duckdb.execute([], "CREATE MACRO left_over(x) AS x + 1").status == "ok"
    assert duckdb.execute([], "SELECT left_over(1)").status == "error"
    assert duckdb.execute([], "CREATE TYPE left_over AS ENUM ('a')").status == "ok"
    assert duckdb.execute([], "SELECT 'a'::left_over").status == "error"
    assert rows(duckdb.execute([], "SELECT current_schema()")) == (("main",),)
    here = "SELECT current_database()"
    assert rows(duckdb.execute([], here)) == rows(duckdb.execute([], here))


def test_duckdb_values_of_every_type(engines: dict[str, Engine]) -> None:
    sql = """SELECT 1.50::DECIMAL(9,2), DATE '2024-01-31', TIMESTAMP '2024-01-31 10:00:00',
        TIMESTAMPTZ '2024-01-31 10:00:00+02', [1, NULL], {'a': DATE '2024-01-31'}, 'ab'::BLOB,
        170141183460469231731687303715884105727, 'nan'::DOUBLE, true, INTERVAL 1 DAY"""
    assert rows(engines["duckdb"].execute([], sql)) == (
        (
            1.5,
            "2024-01-31",
            "2024-01-31 10:00:00",
            "2024-01-31 08:00:00+00:00",
            [1, None],
            {"a": "2024-01-31"},
            "6162",
            2**127 - 1,
            "NaN",
            True,
            "1 day, 0:00:00",
        ),
    )


def test_duckdb_pivot_and_merge(engines: dict[str, Engine]) -> None:
    setup = ["CREATE TABLE s (k TEXT, v INT); INSERT INTO s VALUES ('a', 1), ('b', 2), ('a', 3)"]
    duckdb = engines["duckdb"]
    assert rows(duckdb.execute(setup, "PIVOT s ON k USING sum(v)")) == ((4, 2),)
    merge = "MERGE INTO s USING (SELECT 'b' AS k) u ON s.k = u.k WHEN MATCHED THEN DELETE"
    assert duckdb.execute(setup, merge).affected == 1


def test_sqlite_values_triggers_and_bad_text(engines: dict[str, Engine]) -> None:
    sqlite = engines["sqlite"]
    result = rows(sqlite.execute([], "SELECT x'00ff', 1.5, 9e999, CAST(x'61ff' AS TEXT), NULL"))
    assert result == (("00ff", 1.5, "Infinity", "a�", None),)
    trigger = "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET b = 'g'; SELECT 1; END"
    assert sqlite.execute(SETUP, trigger).status == "ok"
    state = sqlite.execute([*SETUP, trigger], "INSERT INTO t VALUES (3, 'z')", state_of="t")
    assert [row[1] for row in rows(state)] == ["g", "g", "g"]


def test_explain(engines: dict[str, Engine]) -> None:
    plan = rows(engines["sqlite"].explain(SETUP, "SELECT * FROM t WHERE a = 1"))
    assert plan[0][2] == "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"
    ((key, text),) = rows(engines["duckdb"].explain(SETUP, "SELECT * FROM t WHERE a = 1"))
    assert key == "physical_plan"
    assert "t" in text
    assert engines["sqlite"].explain(SETUP, "SELECT * FROM missing").status == "error"
    for engine in engines.values():
        assert engine.explain(SETUP, "ATTACH ':memory:' AS x").status == "forbidden"


SYNTAX = [
    ("SELECT * FROM missing WHERE x = f(1)", "ok"),
    ("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)", "ok"),
    ("UPDATE missing SET a = 1", "ok"),
    ("ATTACH 'x' AS y", "ok"),
    ("SELECT FROM WHERE", "syntax_error"),
    ("SELECT (1", "syntax_error"),
    ("SELECT 1; SELEC", "syntax_error"),
    ("SELECT a FROM t ORDER BY a WHERE b", "syntax_error"),
    ("", "syntax_error"),
    ("INSERT INTO t VALUES (1,)", None),  # the engines differ
]


@pytest.mark.parametrize(("sql", "status"), SYNTAX)
def test_check_syntax(engine: Engine, sql: str, status: str | None) -> None:
    syntax = engine.check_syntax(sql)
    assert syntax.status == (status or ("syntax_error" if engine.name == "sqlite" else "ok"))
    assert syntax.table is None


def test_sqlite_syntax_beyond_near(engines: dict[str, Engine]) -> None:
    for sql in (
        "SELECT 1 ORDER BY 1 UNION SELECT 2",
        "SELECT @",
        "SELECT * FROM a INNER OUTER JOIN b",
    ):
        assert engines["sqlite"].check_syntax(sql).status == "syntax_error", sql


def test_versions_and_availability(engines: dict[str, Engine]) -> None:
    result = probe_engines()
    assert {name: result[name] for name in NAMES} == {n: e.version for n, e in engines.items()}
    assert result.keys() == {*NAMES, "postgres", "mysql"}
    assert engines["duckdb"].version.split(".")[0].isdecimal()


def test_unknown_engine() -> None:
    with pytest.raises(UsageError, match="known: sqlite, duckdb, postgres, mysql"):
        open_engine("oracle")


@pytest.mark.parametrize("executable", ["/no/such/python", "/bin/false"])
def test_an_engine_whose_process_does_not_start(
    monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with open_engine("sqlite") as engine, pytest.raises(EnvironmentFailure, match="does not start"):
        engine.execute([], "SELECT 1")
    assert "does not start" in probe_engines()["sqlite"]


def test_threads_share_an_engine(engine: Engine) -> None:
    results: dict[int, Any] = {}

    def ask(number: int) -> None:
        results[number] = rows(engine.execute([], f"SELECT {number} AS n"))[0][0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: number for number in range(10)}


def test_the_parent_imports_no_engine() -> None:
    program = """
import sys
import evalcore.sqlkit
assert "sqlglot" not in sys.modules
from evalcore.sqlkit.engines.registry import open_engine
with open_engine("duckdb") as engine:
    assert engine.execute([], "SELECT 1").status == "ok"
print(sorted({"duckdb", "sqlite3", "pandas"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


WORDS = [
    ("SELECT 1", "sqlite", 1, ""),
    ("SELECT 1;; SELECT 2;", "sqlite", 2, ""),
    ("(SELECT 1) UNION SELECT 2", "duckdb", 1, ""),
    ("  -- nothing\n", "duckdb", 0, ""),
    ("SELECT 'ATTACH', \"copy\" FROM t", "duckdb", 1, ""),
    ("CREATE TABLE secret (a INT)", "duckdb", 1, ""),
    ("SELECT a GLOB 'x*' FROM t", "sqlite", 1, ""),
    ("SELECT glob('x*', a) FROM t", "sqlite", 1, ""),
    ("SELECT * FROM glob('*')", "duckdb", 1, "the function glob is not run"),
    ("CREATE OR REPLACE TEMPORARY SECRET s (TYPE s3)", "duckdb", 1, "CREATE SECRET is not run"),
    ("CREATE VIRTUAL TABLE f USING fts5(a)", "sqlite", 1, "CREATE VIRTUAL is not run"),
    ("SELECT 1; PRAGMA x", "sqlite", 2, "PRAGMA statements are not run"),
    ("COPY t TO 'x'", "duckdb", 1, "COPY statements are not run"),
    ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END;", "sqlite", 1, ""),
    ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2", "sqlite", 3, ""),
]


@pytest.mark.parametrize(("sql", "dialect", "statements", "refusal"), WORDS)
def test_guard(sql: str, dialect: str, statements: int, refusal: str) -> None:
    script = inspect_script(sql, dialect)
    assert (script.statements, script.refusal) == (statements, refusal)


TWO_ROWS = ["CREATE TABLE t (a INTEGER, b TEXT)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"]


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_prepared_database_shows_no_trace_of_the_call_before(name: str) -> None:
    changes = [
        "DELETE FROM t",
        "WITH gone AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM gone)",
        "INSERT INTO t VALUES (3, 'z') RETURNING a",
        "DROP TABLE t",
        "CREATE TABLE t2 AS SELECT * FROM t",
        "UPDATE t SET b = 'q'",
    ]
    with open_engine(name) as engine:
        for sql in changes:
            engine.execute(TWO_ROWS, sql)
            seen = engine.execute(TWO_ROWS, "SELECT a, b FROM t ORDER BY a")
            assert rows(seen) == ((1, "x"), (2, "y")), sql
            assert engine.execute(TWO_ROWS, "SELECT 1 FROM t2").status == "error"


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_probes_look_after_the_statement_and_scripts_hold_several(name: str) -> None:
    with open_engine(name) as engine:
        done = engine.execute(
            TWO_ROWS,
            "UPDATE t SET a = a + 10 WHERE b = 'x'",
            probes=["SELECT a FROM t ORDER BY a", "INSERT INTO t VALUES (5, 'w')", "SELECT 7"],
        )
        assert [table.rows for table in done.probed if table.columns] == [((2,), (11,)), ((7,),)]
        script = "CREATE TABLE u (k INTEGER); INSERT INTO u VALUES (4);"
        assert engine.execute(TWO_ROWS, script).status == "forbidden"
        done = engine.execute(TWO_ROWS, script, script=True, probes=["SELECT k FROM u"])
        assert (done.status, done.probed[-1].rows) == ("ok", ((4,),))
        failed = engine.execute(TWO_ROWS, "DELETE FROM t", probes=["SELECT absent FROM t"])
        assert (failed.status, failed.stage) == ("error", "state")
        assert rows(engine.execute(TWO_ROWS, "SELECT count(*) FROM t")) == ((2,),)


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_work_is_the_same_every_time_and_grows_with_what_is_read(name: str) -> None:
    many = (
        "INSERT INTO big SELECT * FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM n WHERE i < 3000) SELECT i, i % 7 FROM n)"
    )
    setup = ["CREATE TABLE big (id INTEGER PRIMARY KEY, g INTEGER)", many]
    with open_engine(name) as engine:
        scan, join = (
            "SELECT g FROM big WHERE g = 3",
            "SELECT count(*) FROM big a JOIN big b USING (g)",
        )
        first, again = engine.measure(setup, scan), engine.measure(setup, scan)
        assert first.amount == again.amount > 300
        assert first.plan
        assert engine.measure(setup, join).amount > first.amount
        failed = engine.measure(setup, "SELECT absent FROM big")
        assert (failed.execution.status, failed.unit, failed.amount) == ("error", "", 0)
