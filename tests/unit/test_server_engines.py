"""PostgreSQL and MariaDB as engines: results, errors by name, and that no call sees another's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.records import from_json, to_json
from evalcore.sqlkit.engines import Engine, Execution, GeneratedScript, served
from evalcore.sqlkit.engines.mysql import connect_mysql, fetch_rows, for_mariadb
from evalcore.sqlkit.engines.postgres import PostgresSlot, connect_postgres
from evalcore.sqlkit.engines.served import CAPACITY
from tests.support.engines import LIMITS, SERVERS, SETUP, rows, server_engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    made: dict[str, Engine] = {}
    yield made
    for engine in made.values():
        engine.close()


@pytest.fixture(params=SERVERS)
def engine(request: pytest.FixtureRequest, engines: dict[str, Engine]) -> Engine:
    return opened(request.param, engines)


def opened(name: str, engines: dict[str, Engine]) -> Engine:
    if name not in engines:
        engines[name] = server_engine(name, LIMITS)
    return engines[name]


@pytest.fixture
def postgres(engines: dict[str, Engine]) -> Engine:
    return opened("postgres", engines)


@pytest.fixture
def mysql(engines: dict[str, Engine]) -> Engine:
    return opened("mysql", engines)


def test_a_query_gives_columns_and_rows(engine: Engine) -> None:
    result = engine.execute(SETUP, "SELECT a AS n, b FROM t ORDER BY a DESC")
    assert rows(result) == ((2, None), (1, "x"))
    assert result.table is not None
    assert (result.table.columns, result.table.truncated) == (("n", "b"), False)
    assert (result.affected, result.stage) == (None, "statement")
    assert from_json(Execution, to_json(result)) == result


CHANGES = [
    ("INSERT INTO t VALUES (3, 'z')", 1, ((1, "x"), (2, None), (3, "z"))),
    ("UPDATE t SET b = 'y'", 2, ((1, "y"), (2, "y"))),
    ("DELETE FROM t WHERE a = 1", 1, ((2, None),)),
    ("DELETE FROM t WHERE a = 7", 0, ((1, "x"), (2, None))),
    ("TRUNCATE TABLE t", None, ()),
]


@pytest.mark.parametrize(("sql", "affected", "state"), CHANGES)
def test_a_change_is_seen_and_undone(
    engine: Engine, sql: str, affected: int | None, state: tuple[Any, ...]
) -> None:
    for _ in range(2):
        seen = engine.execute(SETUP, sql, state_of="t")
        assert sorted(rows(seen)) == sorted(state)
        assert seen.affected == affected
    bare = engine.execute(SETUP, sql)
    assert (bare.status, bare.table, bare.affected) == ("ok", None, affected)
    assert rows(engine.execute(SETUP, "SELECT a, b FROM t ORDER BY a")) == ((1, "x"), (2, None))


def test_returning_gives_rows_and_the_count(engine: Engine) -> None:
    result = engine.execute(SETUP, "DELETE FROM t WHERE a = 1 RETURNING b")
    assert (rows(result), result.affected) == ((("x",),), 1)


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE u (a INT)", "CREATE TABLE u AS SELECT 1 AS a", "DROP TABLE t"]
)
def test_definitions_stay_with_their_call(engine: Engine, sql: str) -> None:
    result = engine.execute(SETUP, sql)
    assert (result.status, result.table, result.affected) == ("ok", None, None)
    assert engine.execute(SETUP, "SELECT * FROM u").status == "error"
    assert len(rows(engine.execute(SETUP, "SELECT * FROM t"))) == 2


FAILURES = [
    ("SELEC 1", "syntax_error"),
    ("SELECT * FROM t WHERE", "syntax_error"),
    ("SELECT 'x", "syntax_error"),
    ("", "syntax_error"),
    ("-- nothing", "syntax_error"),
    ("SELECT * FROM missing", "error"),
    ("SELECT missing FROM t", "error"),
    ("SELECT a FROM t UNION SELECT a, b FROM t", "error"),
    ("INSERT INTO t VALUES (1, 'twice')", "error"),
    ("GRANT SELECT ON t TO PUBLIC", "forbidden"),
    ("SELECT 1; SELECT 2", "forbidden"),
    ("SELECT 1; SELEC 2", "syntax_error"),
    ("DROP DATABASE evalboard_slot_1", "forbidden"),
]


@pytest.mark.parametrize(("sql", "status"), FAILURES)
def test_failures_by_name(engine: Engine, sql: str, status: str) -> None:
    if engine.name == "mysql" and sql.startswith("GRANT"):
        sql = "GRANT SELECT ON t TO 'x'@'%'"
    result = engine.execute(SETUP, sql)
    assert (result.status, result.stage, result.table) == (status, "statement", None)
    assert result.message
    assert "evalboard" not in result.message


def test_a_broken_setup_is_told_apart_and_does_not_stay(engine: Engine) -> None:
    for broken, status in (
        ("CREATE TABLE u (", "syntax_error"),
        ("INSERT INTO t VALUES (1)", "error"),
    ):
        result = engine.execute([*SETUP, broken], "SELECT 1")
        assert (result.status, result.stage) == (status, "setup")
        assert engine.execute([*SETUP, broken], "SELECT 1").stage == "setup"
    refused = engine.execute([*SETUP, "DROP DATABASE x"], "SELECT 1")
    assert (refused.status, refused.stage) == ("forbidden", "setup")
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)


NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9999999) "


def test_results_are_cut_at_the_caps(engine: Engine) -> None:
    pairs = "SELECT a.a FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m"
    by_rows = engine.execute(SETUP, pairs, probes=["SELECT count(*) FROM t"])
    assert by_rows.table is not None
    assert (by_rows.table.truncated, len(by_rows.table.rows)) == (True, LIMITS.rows)
    assert by_rows.probed[0].rows == ((2,),)
    by_bytes = engine.execute(SETUP, "SELECT repeat('x', 15000) FROM t")
    assert by_bytes.table is not None
    assert (by_bytes.table.truncated, len(by_bytes.table.rows)) == (True, 1)
    assert rows(engine.execute(SETUP, "SELECT 1")) == ((1,),)


def test_time_runs_out_and_the_next_call_goes_on(engine: Engine) -> None:
    result = engine.execute(SETUP, NUMBERS + "SELECT count(*) FROM n a, n b WHERE a.x + b.x = 0")
    assert result.status == "timeout"
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)


COUNTERS = {
    "postgres": ["CREATE TABLE c (id SERIAL PRIMARY KEY, v INT)", "INSERT INTO c (v) VALUES (7)"],
    "mysql": [
        "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "INSERT INTO c (v) VALUES (7)",
    ],
}


def test_counters_start_where_the_setup_left_them(engine: Engine) -> None:
    for _ in range(3):
        result = engine.execute(
            COUNTERS[engine.name], "INSERT INTO c (v) VALUES (8), (9)", state_of="c"
        )
        assert sorted(rows(result)) == [(1, 7), (2, 8), (3, 9)]


def test_a_script_runs_all_its_statements(engine: Engine) -> None:
    script = "CREATE TABLE u (a INT); INSERT INTO u VALUES (1), (2); SELECT count(*) FROM u"
    result = engine.execute(SETUP, script, script=True, probes=["SELECT a FROM u ORDER BY a"])
    assert rows(result) == ((2,),)
    assert [table.rows for table in result.probed] == [((1,), (2,))]
    assert engine.execute(SETUP, "SELECT * FROM u").status == "error"
    failed = engine.execute(SETUP, "INSERT INTO t VALUES (5, 'q'); SELECT nix FROM t", script=True)
    assert (failed.status, failed.stage) == ("error", "statement")


PROCEDURES = {
    "postgres": """CREATE PROCEDURE fill(n INT) LANGUAGE plpgsql AS $$
        BEGIN
          FOR i IN 1..n LOOP INSERT INTO t VALUES (100 + i, 'p;'); END LOOP;
          {commit}
        END; $$""",
    "mysql": """DELIMITER //
        CREATE PROCEDURE fill(n INT)
        BEGIN
          DECLARE i INT DEFAULT 1;
          WHILE i <= n DO INSERT INTO t VALUES (100 + i, 'p;'); SET i = i + 1; END WHILE;
          {commit}
        END//
        DELIMITER ;""",
}


@pytest.mark.parametrize("commit", ["", "COMMIT;"])
def test_procedures_are_called_and_leave_nothing(engine: Engine, commit: str) -> None:
    script = PROCEDURES[engine.name].format(commit=commit)
    for _ in range(2):
        result = engine.execute(
            SETUP, script, script=True, probes=["CALL fill(3)", "SELECT count(*) FROM t"]
        )
        assert result.status == "ok", result.message
        assert [table.rows for table in result.probed] == [((5,),)]
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)
    failing = engine.execute(SETUP, "SELECT 1", probes=["CALL nix()"])
    assert (failing.status, failing.stage) == ("error", "state")


def test_a_script_that_commits_leaves_nothing(engine: Engine) -> None:
    result = engine.execute(SETUP, "BEGIN; DELETE FROM t; COMMIT", script=True, state_of="t")
    assert rows(result) == ()
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)
    assert engine.execute(SETUP, "COMMIT").status == "ok"
    assert engine.execute(SETUP, "DROP TABLE t").status == "ok"
    assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)


STATE = {
    "postgres": [
        ("CREATE TEMP TABLE tmp (a INT)", "SELECT * FROM tmp"),
        ("DO $$ BEGIN PERFORM set_config('search_path', 'nix', false); END $$", ""),
        ("DO $$ BEGIN EXECUTE 'SET statement_timeout = 1'; END $$", ""),
    ],
    "mysql": [
        ("CREATE TEMPORARY TABLE tmp (a INT)", "SELECT * FROM tmp"),
        ("BEGIN NOT ATOMIC SET SESSION sql_mode = 'ANSI_QUOTES'; END", ""),
    ],
}


def test_nothing_of_a_session_stays(engine: Engine) -> None:
    for statement, look in STATE[engine.name]:
        assert engine.execute(SETUP, statement).status in ("ok", "forbidden")
        if look:
            assert engine.execute(SETUP, look).status == "error"
        assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)


def test_user_variables_end_with_their_call(mysql: Engine) -> None:
    result = mysql.execute([], "SET @x := 5; SELECT @x + 1", script=True)
    assert rows(result) == ((6,),)
    assert rows(mysql.execute([], "SELECT @x")) == ((None,),)
    assert mysql.execute([], "SET max_statement_time = 0").status == "forbidden"


def test_a_session_tells_nothing_of_the_call_before(mysql: Engine) -> None:
    ask = "SELECT LAST_INSERT_ID(), @@sql_mode LIKE 'STRICT%', DATABASE() IS NULL"
    assert rows(mysql.execute(SETUP, "SELECT LAST_INSERT_ID(7)")) == ((7,),)
    assert rows(mysql.execute(SETUP, ask)) == ((0, 1, 0),)
    assert len(rows(mysql.execute(SETUP, "SELECT a FROM t"))) == 2
    assert rows(mysql.execute(SETUP, "SELECT FOUND_ROWS()")) == ((0,),)


SYNTAX = [
    ("SELECT * FROM missing", "ok"),
    ("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)", "ok"),
    ("UPDATE missing SET a = 1", "ok"),
    ("COMMIT; DROP TABLE t", "ok"),
    ("SELECT FROM WHERE", "syntax_error"),
    ("SELECT (1", "syntax_error"),
    ("SELECT 1; SELEC", "syntax_error"),
    ("SELECT a FROM t ORDER BY a WHERE b", "syntax_error"),
    ("INSERT INTO t VALUES (1,)", "syntax_error"),
    ("", "syntax_error"),
]


@pytest.mark.parametrize(("sql", "status"), SYNTAX)
def test_check_syntax(engine: Engine, sql: str, status: str) -> None:
    syntax = engine.check_syntax(sql)
    assert (syntax.status, syntax.table) == (status, None)


def test_plans_and_work(engine: Engine) -> None:
    values = ", ".join(f"({number}, {number % 50})" for number in range(4000))
    setup = ["CREATE TABLE big (a INT PRIMARY KEY, b INT)", f"INSERT INTO big VALUES {values}"]
    assert engine.explain(setup, "SELECT * FROM big WHERE a = 7").table is not None
    item = engine.measure(setup, "SELECT b FROM big WHERE a = 7")
    whole = engine.measure(setup, "SELECT a FROM big WHERE b = 7")
    assert item.execution.status == whole.execution.status == "ok"
    assert 0 < item.amount < whole.amount / 5
    assert item.plan != whole.plan
    assert item.unit == {"postgres": "pages", "mysql": "rows"}[engine.name]
    for sql, work in (
        ("SELECT b FROM big WHERE a = 7", item),
        ("SELECT a FROM big WHERE b = 7", whole),
    ):
        assert engine.measure(setup, sql).amount == work.amount
    helped = engine.measure(
        [*setup, "CREATE INDEX i ON big (b, a)"], "SELECT a FROM big WHERE b = 7"
    )
    assert helped.amount < whole.amount / 2
    assert engine.measure(setup, "SELECT nix FROM big").execution.status == "error"


VALUES = {
    "postgres": (
        "SELECT 1.50::numeric, DATE '2024-01-31', TIMESTAMP '2024-01-31 08:00:00', TRUE, "
        "ARRAY[1, 2], '{\"k\": [1]}'::jsonb, 'ab'::bytea, 'infinity'::date, 10::numeric ^ 400, "
        "'x'::char(3), NULL",
        (1.5, "2024-01-31", "2024-01-31 08:00:00", True, [1, 2], {"k": [1]}, "6162", "infinity"),
    ),
    "mysql": (
        "SELECT 1.50, DATE '2024-01-31', TIMESTAMP '2024-01-31 08:00:00', TRUE, TIME '25:00:00', "
        "CAST(b'101' AS UNSIGNED), x'6162', 1e2, NULL",
        (1.5, "2024-01-31", "2024-01-31 08:00:00", 1, "25:00:00", 5, "6162", 100.0, None),
    ),
}


def test_values_become_json(engine: Engine) -> None:
    sql, expected = VALUES[engine.name]
    assert rows(engine.execute([], sql))[0][: len(expected)] == expected


def test_text_is_ordered_and_compared(postgres: Engine, mysql: Engine) -> None:
    setup = ["CREATE TABLE w (v VARCHAR(9))", "INSERT INTO w VALUES ('a'), ('B'), ('a ')"]
    assert rows(postgres.execute(setup, "SELECT v FROM w ORDER BY v")) == (("B",), ("a",), ("a ",))
    assert rows(mysql.execute(setup, "SELECT count(*) FROM w WHERE v = 'A'")) == ((1,),)
    newer = ["CREATE TABLE w (v VARCHAR(9)) CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs"]
    assert rows(mysql.execute(newer, "SELECT count(*) FROM w")) == ((0,),)


REWRITTEN = [
    (
        "CREATE TABLE t (a TEXT) CHARSET=utf8mb4",
        "CHARSET=utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci",
    ),
    ("CREATE TABLE t (a TEXT) COLLATE utf8mb4_0900_bin", "COLLATE utf8mb4_nopad_bin"),
    ("SELECT 'a' COLLATE utf8mb4_0900_ai_ci", "COLLATE utf8mb4_uca1400_nopad_ai_ci"),
    ("CREATE TABLE t (a TEXT) CHARSET=utf8mb4 COLLATE=utf8mb4_bin", "COLLATE=utf8mb4_bin"),
]


@pytest.mark.parametrize(("sql", "end"), REWRITTEN)
def test_collations_of_mysql_8(sql: str, end: str) -> None:
    assert for_mariadb(sql).endswith(end)


@pytest.mark.sampled(2)
def test_many_databases_are_kept_and_the_oldest_given_up(engine: Engine) -> None:
    setups = [[f"CREATE TABLE k (n INT); INSERT INTO k VALUES ({n})"] for n in range(CAPACITY + 4)]
    for _ in range(2):
        result = [rows(engine.execute(setup, "SELECT n FROM k")) for setup in setups]
        assert result == [((n,),) for n in range(len(setups))]


def test_threads_share_an_engine(engine: Engine) -> None:
    results: dict[int, Any] = {}

    def ask(number: int) -> None:
        results[number] = rows(engine.execute([], f"SELECT {number} AS n"))[0][0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: number for number in range(8)}


LOADED = (
    "CREATE TABLE p (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE c (p INT NOT NULL, FOREIGN KEY (p) REFERENCES p (id))",
)


def load(*inserts: str, tables: tuple[str, ...] = LOADED) -> tuple[str, ...]:
    """Tables and generated rows, which a call may load for itself."""
    return (*tables, *map(GeneratedScript, inserts))


def test_rows_loaded_for_a_call_are_gone_with_it(engine: Engine) -> None:
    first = load("INSERT INTO p VALUES (1, 10), (2, 20)", "INSERT INTO c VALUES (2)")
    second = load("INSERT INTO p VALUES (1, 11)")
    count = "SELECT (SELECT COUNT(*) FROM p), (SELECT COUNT(*) FROM c)"
    for _ in range(12):  # first loaded for each call, then filled for good
        assert rows(engine.execute(first, count)) == ((2, 1),)
        assert rows(engine.execute(second, count)) == ((1, 0),)
        changed = engine.execute(first, "UPDATE p SET n = n + 1", probes=["SELECT SUM(n) FROM p"])
        assert (changed.affected, changed.probed[0].rows) == (2, ((32,),))
    assert rows(engine.execute(LOADED, count)) == ((0, 0),)


def test_keys_hold_for_the_statement_on_loaded_rows(engine: Engine) -> None:
    setup = load("INSERT INTO p VALUES (1, 10)", "INSERT INTO c VALUES (1)")
    for sql in ("INSERT INTO c VALUES (5)", "DELETE FROM p", "INSERT INTO p VALUES (1, 1)"):
        assert engine.execute(setup, sql).status == "error", sql
    assert rows(engine.execute(setup, "SELECT n FROM p")) == ((10,),)


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE other AS SELECT n FROM p", "DROP TABLE c", "TRUNCATE TABLE c", "COMMIT"]
)
def test_what_ends_a_transaction_keeps_no_loaded_row(engine: Engine, sql: str) -> None:
    setup = load("INSERT INTO p VALUES (7, 70)", "INSERT INTO c VALUES (7)")
    done = engine.execute(setup, sql, probes=["SELECT n FROM p"])
    if done.status == "ok":
        assert done.probed[0].rows == ((70,),)
    others = load("INSERT INTO p VALUES (8, 80)", "INSERT INTO c VALUES (8)")
    assert rows(engine.execute(others, "SELECT p.n FROM p JOIN c ON c.p = p.id")) == ((80,),)


def test_counters_start_anew_beside_loaded_rows(mysql: Engine) -> None:
    tables = ("CREATE TABLE p (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",)
    setup = load("INSERT INTO p VALUES (1, 10), (2, 20)", tables=tables)
    for _ in range(3):
        done = engine_insert(mysql, setup)
        assert done == (3, 30)


def engine_insert(engine: Engine, setup: tuple[str, ...]) -> tuple[Any, ...]:
    """The row that a counter numbers."""
    probes = ["SELECT id, n FROM p ORDER BY id DESC LIMIT 1"]
    return engine.execute(setup, "INSERT INTO p (n) VALUES (30)", probes=probes).probed[0].rows[0]


@pytest.mark.parametrize(
    "insert", ["INSERT INTO p VALUES (1, 'x')", "INSERT INTO nowhere VALUES (1)"]
)
def test_rows_that_do_not_load_are_an_error_of_the_setup(engine: Engine, insert: str) -> None:
    for _ in range(2):
        failed = engine.execute(load(insert), "SELECT 1")
        assert (failed.status, failed.stage) == ("error", "setup")


@pytest.mark.parametrize("by_server", [True, False])  # which leaves its session closed
def test_a_closed_session_of_the_administrator_is_opened_anew(
    engine: Engine, by_server: bool
) -> None:
    """It fills databases: without it nothing is known of the statement."""
    assert engine.execute(SETUP, "DROP TABLE t").status == "ok"  # leaves a place to fill
    server: Any = engine.__dict__["_server"]
    if not by_server:
        server._admin.close()
    elif engine.name == "mysql":
        with connect_mysql(server._parameters) as other:
            fetch_rows(other, f"KILL {server._admin.thread_id()}")
    else:
        with connect_postgres(server._parameters) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (server._admin.info.backend_pid,))
    setup = (*SETUP, f"INSERT INTO t VALUES (7, 'by server: {by_server}')")
    result = engine.execute(setup, "SELECT MAX(a) FROM t")
    assert rows(result) == ((7,),), result.message


def test_rows_that_replace_others_leave_a_database_as_if_it_were_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served, "CAPACITY", 1)
    ddl = ("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (n SERIAL, p INT REFERENCES p)")
    data = [
        GeneratedScript(f"INSERT INTO p VALUES ({n}); INSERT INTO c (p) VALUES ({n})")
        for n in (1, 2)
    ]
    emptied: list[str] = []
    fill = PostgresSlot.fill

    def fill_and_note(slot: PostgresSlot, setup: tuple[str, ...]) -> None:
        emptied.append(slot._truncate)
        fill(slot, setup)

    monkeypatch.setattr(PostgresSlot, "fill", fill_and_note)
    query = "SELECT n, p, (SELECT count(*) FROM p) FROM c"
    with server_engine("postgres", LIMITS) as engine:
        seen = [rows(engine.execute((*ddl, data[n]), query)) for n in (0, 1, 0)]
        assert seen == [((1, 1, 1),), ((1, 2, 1),), ((1, 1, 1),)]
        assert engine.execute((*ddl, data[1]), "INSERT INTO c (p) VALUES (2)").status == "ok"
        assert rows(engine.execute((*ddl, data[1]), "SELECT max(n) FROM c")) == ((1,),)
    assert sum(map(bool, emptied)) >= 2
