"""Products that another engine stands in for: what they have runs and means the same, what they
lack is refused, what only their own server can tell is undecided, what nobody has is invalid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.dialect_conversion.benchmark import DialectConversion
from evalcore.sqlkit.engines import Engine, Execution, Limits, SessionScript
from evalcore.sqlkit.engines.postgres import name_server
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.evidence import build_decision_details
from evalcore.sqlkit.product_features import (
    find_product_refusal,
    find_unsupported_feature,
    missing_feature,
)
from evalcore.sqlkit.products import Profile, Untranslatable, find_profile, translate_statement
from evalcore.sqlkit.products.decision import decide_for_product
from tests.support import product_idioms as idioms
from tests.support.engines import server_engine
from tests.support.product_idioms import REFUSED, UNDECIDED
from tests.support.rows import each_row

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mysql() -> Iterator[Engine]:
    with server_engine("mysql", Limits()) as engine:
        if "MariaDB" not in engine.version:
            pytest.skip("the server is no substitute: it is MySQL itself")
        yield engine


@pytest.fixture(scope="module")
def postgres() -> Iterator[Engine]:
    with server_engine("postgres", Limits()) as engine:
        yield engine


def profile_of(title: str, version: str = "") -> Profile:
    profile = find_profile(title, version)
    assert profile is not None
    return profile


def run_idiom(
    engine: Engine, profile: Profile, setup: Sequence[str], sql: str, **options: Any
) -> Execution | str:
    """The execution of the last reading, all of which must end alike; or REFUSED, UNDECIDED."""
    if find_product_refusal(sql, profile.title, setup):
        return REFUSED
    ddl = [translate_statement(text, profile, ())[0] for text in setup]
    try:
        readings = translate_statement(sql, profile, ddl)
    except Untranslatable:
        return UNDECIDED
    session = map(SessionScript, profile.session)
    done = [engine.execute([*session, *ddl], reading, **options) for reading in readings]
    assert len({execution.status for execution in done}) == 1
    if done[-1].status != "ok" and missing_feature(sql, profile.title, done[-1].message):
        return UNDECIDED
    return done[-1]


def check_idiom(outcome: Execution | str, expected: Any) -> None:
    if isinstance(outcome, str):
        assert outcome == expected
    elif expected == "error":
        assert outcome.status in ("error", "syntax_error")
    else:
        assert outcome.status == "ok", outcome.message
        assert outcome.table is not None
        assert outcome.table.rows == expected


@each_row(("sql", "expected"), idioms.MYSQL_8)
@each_row("title", ["MySQL"])
def test_mysql_8(mysql: Engine, title: str, sql: str, expected: Any) -> None:
    check_idiom(run_idiom(mysql, profile_of(title), idioms.MYSQL_SETUP, sql), expected)


@each_row(("sql", "expected"), idioms.MYSQL_8_CHANGES)
def test_changes_in_mysql_8(mysql: Engine, sql: str, expected: Any) -> None:
    profile = profile_of("PolarDB for MySQL")
    check_idiom(run_idiom(mysql, profile, idioms.MYSQL_SETUP, sql, state_of="u"), expected)


@each_row(("sql", "expected"), idioms.OCEANBASE_MYSQL)
def test_oceanbase_in_mysql_mode(mysql: Engine, sql: str, expected: Any) -> None:
    profile = profile_of("OceanBase (MySQL mode)", "4.2")
    check_idiom(run_idiom(mysql, profile, idioms.MYSQL_SETUP, sql), expected)


@each_row(("sql", "expected"), idioms.TIDB)
def test_tidb(mysql: Engine, sql: str, expected: Any) -> None:
    check_idiom(run_idiom(mysql, profile_of("TiDB"), idioms.MYSQL_SETUP, sql), expected)


@each_row(("sql", "expected"), idioms.ORACLE_LIKE)
@each_row("title", ["GaussDB", "openGauss", "KingbaseES", "DM", "OceanBase (Oracle mode)"])
def test_products_after_oracle(postgres: Engine, title: str, sql: str, expected: Any) -> None:
    check_idiom(run_idiom(postgres, profile_of(title), oracle_setup(title), sql), expected)


@each_row(("title", "version", "sql", "expected"), idioms.ORACLE_WAYS)
def test_ways_of_products_after_oracle(
    postgres: Engine, title: str, version: str, sql: str, expected: Any
) -> None:
    profile = profile_of(title, version)
    outcome = run_idiom(postgres, profile, oracle_setup(title), sql)
    if not isinstance(outcome, str) and outcome.table is not None:
        for row, expected_row in zip(outcome.table.rows, expected, strict=True):
            for cell, expected_cell in zip(row, expected_row, strict=True):
                is_number = isinstance(expected_cell, int | Decimal)
                assert (float(cell) if is_number else cell) == (
                    pytest.approx(float(expected_cell)) if is_number else expected_cell
                )
    else:
        check_idiom(outcome, expected)


def oracle_setup(title: str) -> tuple[str, ...]:
    """The rows with types that the product has: GaussDB's DATE has a time of day there, the
    stand-in's has none."""
    if title in ("GaussDB", "openGauss", "DM"):
        names = {
            "NUMBER": "numeric",
            "VARCHAR2": "varchar",
            " CHAR)": ")",
            "hired DATE": "hired timestamp",
        }
        return tuple(_replace_all(text, names) for text in idioms.ORACLE_SETUP)
    return idioms.ORACLE_SETUP


def _replace_all(text: str, names: dict[str, str]) -> str:
    for name, replacement in names.items():
        text = text.replace(name, replacement)
    return text


def test_at_least_fifteen_idioms_of_each_product() -> None:
    for table in (idioms.MYSQL_8, idioms.OCEANBASE_MYSQL, idioms.TIDB, idioms.ORACLE_LIKE):
        assert len(table) >= 15


@pytest.mark.parametrize(
    ("title", "engine_version", "has_profile"),
    [
        ("MySQL", "8.0.36", False),
        ("MySQL", "10.11.6-MariaDB-0", True),
        ("TiDB", "8.0.11-TiDB-v7.5.0", False),
        ("TiDB", "8.0.36", True),
        ("OceanBase (MySQL mode)", "5.7.25-OceanBase-v4.2.1", False),
        ("openGauss", "openGauss 5.0.0", False),
        ("GaussDB", "16.2", True),
        ("PostgreSQL", "16.2", False),
        ("MariaDB", "10.11.6-MariaDB-0", False),
    ],
)
def test_a_server_that_is_the_product_needs_no_profile(
    title: str, engine_version: str, has_profile: bool
) -> None:
    assert (find_profile(title, "", engine_version) is not None) == has_profile


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PostgreSQL 16.2 on x86_64-pc-linux-gnu, compiled by gcc", "9.2.4"),
        (
            "(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29",
            "openGauss 5.0.0 build a07d57c3",
        ),
        ("gaussdb (GaussDB Kernel 505.1.0 build 44f4fa53)", "gaussdb"),
        ("KingbaseES V008R006C008B0014 on x86_64", "KingbaseES V008R006C008B0014 on x86_64"),
    ],
)
def test_a_server_after_postgresql_says_what_it_is(text: str, name: str) -> None:
    named = name_server(text, "9.2.4")
    assert named == name
    titles = {"open": "openGauss", "gaus": "GaussDB", "King": "KingbaseES"}
    if title := titles.get(named[:4]):
        assert find_profile(title, "", named) is None


def test_no_dsn_is_named_where_none_can_help(benchmark: DialectConversion) -> None:
    server_engine("postgres", Limits()).close()
    question = EquivalenceQuestion(engine="postgres", schema=SCHEMA, reference=REFERENCE)
    answer = "SELECT COUNT(*) FROM t WHERE ROWNUM <= 2"
    decision = asyncio.run(benchmark.decide_equivalence(question, answer, "DM"))
    assert (decision.status, decision.cause) == ("undecided", "product_feature")
    assert "dsn" not in decision.message


@pytest.mark.parametrize(
    "attack",
    [
        "DROP SCHEMA evalboard_functions CASCADE",
        "DROP VIEW evalboard_functions.dual",
        "CREATE FUNCTION evalboard_null_texts.evil() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION evalboard_quotients.divide(a int, b int) RETURNS numeric "
        "LANGUAGE sql AS 'SELECT 1::numeric'",
        "INSERT INTO evalboard_functions.dual VALUES ('Y')",
    ],
)
def test_no_statement_changes_what_stands_in(postgres: Engine, attack: str) -> None:
    profile = profile_of("GaussDB")
    setup = [*map(SessionScript, profile.session), *SCHEMA]
    assert postgres.execute(setup, attack).status in ("error", "forbidden")
    table = postgres.execute(setup, "SELECT 7/2, dummy FROM dual").table
    assert table is not None
    assert table.rows == ((Decimal("3.5"), "X"),) or table.rows == ((3.5, "X"),)
    assert postgres.execute([*SCHEMA], "SELECT 7/2 FROM dual").status == "error"
    plain = postgres.execute([*SCHEMA], "SELECT 7/2").table
    assert plain is not None
    assert plain.rows == ((3,),)


# Decisions as a benchmark makes them.

SCHEMA = ("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(10))",)
REFERENCE = "SELECT id, COALESCE(a, 0) AS a FROM t"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[DialectConversion]:
    made = DialectConversion({"mode": "verified"})
    yield made
    made.close()


GAUSS, ORACLE = ("postgres", "GaussDB"), ("postgres", "OceanBase (Oracle mode)")
MYSQL, MINUS = ("mysql", "MySQL"), "SELECT id, COALESCE(a, 0) AS a FROM t"
CASES = [
    (*GAUSS, REFERENCE, "SELECT id, NVL(a, 0) AS a FROM t", "equivalent"),
    (*GAUSS, REFERENCE, "SELECT id, NVL(a, 1) AS a FROM t", "different"),
    (*GAUSS, REFERENCE, f"{MINUS} x minus all (SELECT -1, -1 WHERE FALSE)", "equivalent"),
    (*GAUSS, REFERENCE, f"{MINUS} MINUS SELECT id, 0 FROM t", "different"),
    (*GAUSS, REFERENCE, f"{MINUS} MINUS SELCT 1, 1", "error"),
    (*GAUSS, REFERENCE, "SELECT id, FROM t WHERE '' = ' MINUS SELECT 1'", "error"),
    (*GAUSS, REFERENCE, "SELEC id, NVL(a, 0) AS a FROM t", "error"),
    (*GAUSS, REFERENCE, "SELECT id, missing AS a, 'NVL(a, 0)' FROM t", "error"),
    (*GAUSS, "SELECT id FROM t WHERE s IS NULL", "SELECT id FROM t WHERE s = ''", "different"),
    (*GAUSS, "SELECT id, a / 2 FROM t", "SELECT id, a / 2.0 FROM t", "equivalent"),
    (*GAUSS, "SELECT id, a / 2 FROM t", "SELECT id, trunc(a / 2) FROM t", "different"),
    ("postgres", "PostgreSQL", REFERENCE, "SELECT id, NVL(a, 0) AS a FROM t", "error"),
    ("postgres", "PostgreSQL", REFERENCE, "SELECT id, a FROM t MINUS SELECT 1, 1", "error"),
    (
        *ORACLE,
        "SELECT id FROM t START WITH b IS NULL CONNECT BY PRIOR id = b ORDER SIBLINGS BY a, id",
        "SELECT id FROM t START WITH b IS NULL CONNECT BY b = PRIOR id ORDER SIBLINGS BY a, id",
        "equivalent",
    ),
    (
        *ORACLE,
        "SELECT id FROM t START WITH b IS NULL CONNECT BY PRIOR id = b ORDER SIBLINGS BY a, id",
        "SELECT id FROM t START WITH b IS NULL CONNECT BY PRIOR id = b ORDER BY LEVEL, a, id",
        "different",
    ),
    (
        *ORACLE,
        "SELECT id FROM t WHERE s IS NULL OR s > 'b'",
        "SELECT id FROM t WHERE NVL(s, 'z') > 'b'",
        "equivalent",
    ),
    (
        *ORACLE,
        "SELECT id FROM t START WITH b IS NULL CONNECT BY PRIOR id = b",
        "SELECT id FROM t START WITH b IS NULL CONNECT BY PRIOR id = b ORDER BY LEVEL DESC",
        "different",
    ),
    (
        *ORACLE,
        "SELECT id FROM t WHERE s IS NULL",
        "SELECT id FROM t WHERE s IS NULL OR s = ''",
        "equivalent",
    ),
    (
        *("postgres", "DM"),
        "SELECT id FROM t WHERE s IS NULL",
        "SELECT id FROM t WHERE s IS NULL OR s = ''",
        "different",
    ),
    (
        *GAUSS,
        "UPDATE t SET s = NULL WHERE a = 1",
        "UPDATE t SET s = '' WHERE a = 1",
        "equivalent",
    ),
    (*MYSQL, REFERENCE, "SELECT id, NVL(a, 0) AS a FROM t", "error"),
    (
        *MYSQL,
        REFERENCE,
        "SELECT t.id, x.a FROM t, LATERAL (SELECT COALESCE(t.a, 0) AS a) x",
        "equivalent",
    ),
    (
        *MYSQL,
        "SELECT a, MIN(b) FROM t GROUP BY a",
        "SELECT a, ANY_VALUE(b) FROM t GROUP BY a",
        "different",
    ),
    (*MYSQL, REFERENCE, "SELECT id, missing AS a FROM t /* LATERAL ( */", "error"),
    (*MYSQL, REFERENCE, "SELECT id, COALESCE(a, 0) AS a FORM t", "error"),
    (*MYSQL, REFERENCE, "SELECT id, CAST(a AS JSON) FROM t", "undecided"),
    # what GaussDB may lack: right by it is undecided, wrong in spite of it is wrong
    (
        *GAUSS,
        REFERENCE,
        "SELECT id, x.a FROM t, LATERAL (SELECT COALESCE(t.a, 0)) x(a)",
        "undecided",
    ),
    (
        *GAUSS,
        REFERENCE,
        "SELECT id, x.a FROM t, LATERAL (SELECT COALESCE(t.a, 1)) x(a)",
        "different",
    ),
    (*GAUSS, REFERENCE, "SELECT id, x.a FROM t, LATERAL (SELECT missing) x(a)", "error"),
    (
        *("mysql", "OceanBase (MySQL mode)"),
        REFERENCE,
        "SELECT id, DECODE(a, NULL, 0, a) AS a FROM t",
        "undecided",
    ),
    (
        *("postgres", "openGauss"),
        "SELECT a FROM t GROUP BY a HAVING SUM(b) > 1",
        "SELECT a FROM t GROUP BY a HAVING SUM(b > 0) > 1",
        "undecided",
    ),
    (
        *("postgres", "openGauss"),
        "SELECT a, SUM(b) AS total FROM t GROUP BY a HAVING SUM(b) > 1",
        "SELECT a, SUM(b > 0) AS total FROM t GROUP BY a HAVING total > 1",
        "error",
    ),
]


@pytest.mark.parametrize(
    ("title", "version", "sql", "refused"),
    [
        ("openGauss", "5.0 (PG compatibility)", "SELECT a, b AS c FROM t HAVING c > 1", True),
        ("openGauss", "5.0 (B compatibility)", "SELECT a, b AS c FROM t HAVING c > 1", False),
        ("GaussDB", "", "SELECT a, SUM(b) AS s FROM t GROUP BY a HAVING s > 1", False),
        ("GaussDB", "", "SELECT a, SUM(b) AS c FROM u x GROUP BY a HAVING x.c > 1", False),
        ("GaussDB", "", "SELECT a AS c FROM (SELECT 1 AS a, 2 AS c) q HAVING c > 1", False),
        (
            "KingbaseES",
            "",
            "SELECT a AS c FROM t GROUP BY a HAVING MAX(b) > (SELECT c FROM u)",
            False,
        ),
    ],
)
def test_having_knows_no_name_of_the_select_list(
    title: str, version: str, sql: str, refused: bool
) -> None:
    question = EquivalenceQuestion(engine="postgres", schema=SCHEMA, reference=REFERENCE)
    seen: list[str] = []

    def decide(_: EquivalenceQuestion, answer: str) -> Equivalence:
        seen.append(answer)
        return Equivalence(status="equivalent", level="tested")

    decision = decide_for_product(decide, question, sql, profile_of(title, version), "16")
    assert (decision.cause == "product_refuses", not seen) == (refused, refused)


@pytest.mark.parametrize("version", ["5.0 (PG compatibility)", "6.0", "7.0", ""])
def test_opengauss_has_lateral_from_seven_on(version: str) -> None:
    sql = "SELECT id FROM t, LATERAL (SELECT t.a) x"
    lacks = bool(find_unsupported_feature(sql, "postgres", "openGauss", version))
    assert lacks == (version[:1] in ("5", "6"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("engine", "title", "reference", "answer", "status"), CASES)
def test_decisions(
    benchmark: DialectConversion,
    engine: str,
    title: str,
    reference: str,
    answer: str,
    status: str,
) -> None:
    server_engine(engine, Limits()).close()
    count = 16 if "CONNECT BY" in reference else 6  # few databases hold a tree by chance
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=reference, count=count)
    decision = asyncio.run(benchmark.decide_equivalence(question, answer, title))
    assert decision.status == status, decision.message
    if status == "undecided":
        assert decision.cause == "product_feature"
        assert f"{engine}_dsn" in decision.message
    if status in ("equivalent", "different"):
        details = build_decision_details(decision)
        assert details["product"] == title
        assert details["stand_in"].startswith(engine)


@pytest.mark.parametrize("title", ["GaussDB", "KingbaseES", "DM", "OceanBase (Oracle mode)"])
@pytest.mark.parametrize(
    "sql",
    [
        "MERGE INTO dept d USING (SELECT 10 AS id FROM dual) s ON (d.id = s.id) WHEN MATCHED THEN "
        "UPDATE SET d.title = 'Z', d.id = s.id WHEN NOT MATCHED THEN INSERT (id, title) "
        "VALUES (s.id, 'N')",
        "UPDATE dept d SET d.title = 'Z' WHERE d.id = 10",
    ],
)
def test_columns_that_are_set_may_be_qualified(postgres: Engine, title: str, sql: str) -> None:
    done = run_idiom(postgres, profile_of(title), oracle_setup(title), sql, state_of="dept")
    assert not isinstance(done, str)
    assert done.status == "ok", done.message
    assert done.table is not None
    assert sorted(done.table.rows) == [(10, "Z"), (20, "RES"), (40, "OPS")]


#: Statements that products run or refuse by their manuals, invented without a look at the profiles:
#: 13 of the 122 valid ones were called invalid, and 4 of the 32 others ran.
STATEMENTS = [
    json.loads(line)
    for line in (Path(__file__).parent / "product_statements.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.full)])
def test_what_products_run_is_valid_and_what_they_refuse_is_not(
    mysql: Engine, postgres: Engine, step: int, valid: bool
) -> None:
    wrong = []
    for case in [case for case in STATEMENTS if case["valid"] is valid][::step]:
        title, after_mysql = case["title"], case["engine"] == "mysql"
        setup = idioms.MYSQL_SETUP if after_mysql else oracle_setup(title)
        engine = mysql if after_mysql else postgres
        outcome = run_idiom(engine, profile_of(title, case["version"]), setup, case["sql"])
        is_invalid = outcome == REFUSED if isinstance(outcome, str) else outcome.status != "ok"
        if is_invalid is valid:
            wrong.append((title, case["sql"]))
    assert wrong == []
