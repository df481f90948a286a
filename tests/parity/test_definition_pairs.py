"""Pairs of statements that define tables and views: what they create, fill, rename or drop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.observations import build_select_all
from tests.support.engines import LIMITS, SERVERS, server_engine

SCHEMA = (
    "CREATE TABLE emp (id INT PRIMARY KEY, name VARCHAR(40), salary DECIMAL(10,2))",
    "CREATE TABLE dept (id INT)",
    "CREATE VIEW staff AS SELECT id FROM emp",
)
#: A name that is another one without its quotes.
QUOTED_SCHEMA = ('CREATE TABLE "Orders" (id INT, v INT)', "CREATE TABLE dept (id INT)")
LITE, DUCK, POSTGRES, MYSQL = "sqlite", "duckdb", "postgres", "mysql"
RICH = "SELECT id, name FROM emp WHERE salary > 10"
DIFFERENT = [
    (LITE, f"CREATE TABLE t AS {RICH}", f"CREATE TABLE t AS {RICH.replace('>', '>=')}"),
    (LITE, f"CREATE VIEW t AS {RICH}", f"CREATE VIEW t AS {RICH.replace('10', '20')}"),
    (DUCK, f"CREATE TEMP TABLE t AS {RICH}", f"CREATE TEMP TABLE t AS {RICH.replace('>', '>=')}"),
    (DUCK, f"CREATE OR REPLACE TABLE emp AS {RICH}", "CREATE OR REPLACE TABLE emp AS FROM emp"),
    (POSTGRES, f"CREATE TABLE t AS {RICH}", f"CREATE TABLE t2 AS {RICH}"),
    (
        *(POSTGRES, f"CREATE MATERIALIZED VIEW t AS {RICH}"),
        f"CREATE MATERIALIZED VIEW t AS {RICH.replace('>', '<')}",
    ),
    (POSTGRES, "SELECT id INTO t FROM emp WHERE salary > 5", "SELECT id INTO t FROM emp"),
    (
        *(POSTGRES, "CREATE VIEW v AS SELECT id, name AS label FROM emp"),
        "CREATE VIEW v AS SELECT id, name AS title FROM emp",
    ),
    (MYSQL, f"CREATE OR REPLACE VIEW t AS {RICH}", f"CREATE VIEW t AS {RICH.replace('>', '<=')}"),
    (LITE, "ALTER TABLE emp RENAME COLUMN name TO n", "ALTER TABLE emp RENAME COLUMN name TO m"),
    (LITE, "ALTER TABLE dept ADD COLUMN x INT DEFAULT 3", "ALTER TABLE dept ADD COLUMN x INT"),
    (LITE, "ALTER TABLE dept RENAME TO d", "CREATE TABLE d AS SELECT * FROM dept"),
    (POSTGRES, "ALTER TABLE dept RENAME TO d", "ALTER TABLE dept RENAME TO e"),
    (POSTGRES, "DROP TABLE dept", "DROP VIEW staff"),
    (LITE, "DROP TABLE dept", "DELETE FROM dept"),
    (LITE, "DROP VIEW staff", "SELECT 1"),
]
EQUIVALENT = [
    (LITE, f"CREATE TABLE t AS {RICH}", f"CREATE TABLE t AS {RICH} ORDER BY id"),
    (POSTGRES, f"CREATE TABLE t AS {RICH}", "SELECT id, name INTO t FROM emp WHERE 10 < salary"),
    (
        *(POSTGRES, 'CREATE VIEW "MyV" AS SELECT id, name AS n FROM emp'),
        'CREATE VIEW "MyV" (id, n) AS SELECT e.id, e.name FROM emp AS e',
    ),
    (
        *(MYSQL, "CREATE VIEW v AS SELECT COUNT(*) FROM emp"),
        "CREATE VIEW v AS SELECT COUNT(*) AS n FROM emp",
    ),
    (POSTGRES, "DROP VIEW staff", "DROP VIEW IF EXISTS staff CASCADE"),
    (LITE, "ALTER TABLE dept RENAME TO d", "ALTER TABLE dept RENAME TO D"),
]
#: What these make shows in no table until something else is done.
UNDECIDED = [
    (LITE, "CREATE INDEX i ON emp (name)", "CREATE INDEX i ON emp (salary)"),
    (
        *(LITE, "CREATE TRIGGER g AFTER INSERT ON emp BEGIN DELETE FROM dept; END"),
        "CREATE TRIGGER g AFTER INSERT ON emp BEGIN DELETE FROM emp; END",
    ),
    (MYSQL, "ALTER TABLE emp MODIFY name VARCHAR(10)", "ALTER TABLE emp MODIFY name VARCHAR(20)"),
]
CASES = [
    (*pair, expected)
    for expected, pairs in (
        ("different", DIFFERENT),
        ("equivalent", EQUIVALENT),
        ("undecided", UNDECIDED),
    )
    for pair in pairs
]


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


QUOTED = [
    ('DROP TABLE "Orders"', 'DROP TABLE IF EXISTS "Orders"', "equivalent"),
    ('DROP TABLE "Orders"', "SELECT 1", "different"),
    (
        'CREATE TABLE "Copy of" AS SELECT * FROM "Orders" WHERE v > 1',
        'CREATE TABLE "Copy of" AS SELECT * FROM "Orders" WHERE 1 < v',
        "equivalent",
    ),
    (
        'CREATE TABLE "copies of" AS SELECT * FROM "Orders" WHERE v > 1',
        'CREATE TABLE "copies of" AS SELECT * FROM "Orders" WHERE v > 2',
        "different",
    ),
]


@pytest.mark.parametrize("engine", [LITE, DUCK, POSTGRES, MYSQL])
@pytest.mark.parametrize(("reference", "answer", "expected"), QUOTED)
def test_a_quoted_name_is_the_one_that_it_is(
    engines: EnginePool, engine: str, reference: str, answer: str, expected: str
) -> None:
    if engine in SERVERS:
        server_engine(engine, LIMITS).close()  # skips with the remedy where there is none
    mark = "`" if engine == MYSQL else '"'
    schema = tuple(text.replace('"', mark) for text in QUOTED_SCHEMA)
    question = EquivalenceQuestion(
        engine=engine, schema=schema, reference=reference.replace('"', mark)
    )
    answer = answer.replace('"', mark)
    assert Decider(engines.get).decide(question, answer).status == expected


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("orders", "orders"),
        ('"Sales"."Orders"', '"Sales"."Orders"'),
        ("my table", '"my table"'),
        ('x" UNION SELECT 1 --', '"x"" UNION SELECT 1 --"'),
        ("pg_ls_dir('.')", "\"pg_ls_dir('.')\""),
        ("(SELECT 1)", '"(SELECT 1)"'),
        ("orders, dept", '"orders, dept"'),
        ("", '""'),
    ],
)
def test_a_name_is_never_more_than_a_name(name: str, sql: str) -> None:
    assert build_select_all(name, POSTGRES) == f"SELECT * FROM {sql}"


@pytest.mark.parametrize(("engine", "reference", "answer", "expected"), CASES)
def test_a_pair_of_definitions_is_decided_by_what_it_leaves(
    engines: EnginePool, engine: str, reference: str, answer: str, expected: str
) -> None:
    if engine in SERVERS:
        server_engine(engine, LIMITS).close()  # skips with the remedy where there is none
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=reference)
    assert Decider(engines.get).decide(question, answer).status == expected
