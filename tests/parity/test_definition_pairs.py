"""Pairs of statements that define tables and views: what they create, fill, rename or drop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.evidence import describe_decision
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
    (LITE, f"CREATE TABLE t AS {RICH}", f"CREATE VIEW t AS {RICH}"),
    (LITE, f"CREATE TEMP VIEW t AS {RICH}", f"CREATE VIEW t AS {RICH}"),
    (DUCK, f"CREATE VIEW t AS {RICH}", f"CREATE TABLE t AS {RICH}"),
    (DUCK, f"CREATE TABLE t AS {RICH}", f"CREATE TEMP TABLE t AS {RICH}"),
    (POSTGRES, f"CREATE MATERIALIZED VIEW t AS {RICH}", f"CREATE VIEW t AS {RICH}"),
    (POSTGRES, f"CREATE MATERIALIZED VIEW t AS {RICH}", f"CREATE TABLE t AS {RICH}"),
    (POSTGRES, "SELECT id INTO t FROM emp", "SELECT id INTO TEMP t FROM emp"),
    (MYSQL, "CREATE VIEW t AS SELECT id FROM dept", "CREATE TABLE t AS SELECT * FROM dept"),
    (MYSQL, f"CREATE TEMPORARY TABLE t AS {RICH}", f"CREATE TABLE t AS {RICH}"),
    (MYSQL, "ALTER TABLE emp MODIFY name VARCHAR(10)", "ALTER TABLE emp MODIFY name VARCHAR(20)"),
    (MYSQL, "CREATE TABLE t LIKE emp", "CREATE TABLE t AS SELECT * FROM emp WHERE 1 = 0"),
    (POSTGRES, "CREATE TABLE t (LIKE emp INCLUDING ALL)", "CREATE TABLE t (LIKE emp)"),
    (POSTGRES, "CREATE UNIQUE INDEX u ON dept (id)", "CREATE INDEX u ON dept (id)"),
    (DUCK, "CREATE TABLE t (a INT, b DATE)", "CREATE TABLE t (a BIGINT, b DATE)"),
    (
        *(POSTGRES, "CREATE TABLE t (a INT, b INT, CHECK (a < b))"),
        "CREATE TABLE t (a INT, b INT, CHECK (a <= b))",
    ),
    (
        *(POSTGRES, "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a * 2) STORED)"),
        "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + a + 1) STORED)",
    ),
    (
        *(MYSQL, "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES emp (id) ON DELETE CASCADE)"),
        "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES emp (id) ON DELETE SET NULL)",
    ),
    (
        *(MYSQL, "ALTER TABLE dept ADD x VARCHAR(9) NOT NULL DEFAULT 'x'"),
        "ALTER TABLE dept ADD x VARCHAR(9) DEFAULT 'x'",
    ),
    (
        *(POSTGRES, "CREATE TABLE t AS SELECT name, SUM(salary) AS s FROM emp GROUP BY name"),
        "CREATE TABLE t AS SELECT name, COALESCE(SUM(salary), 0) AS s FROM emp GROUP BY name",
    ),
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
    (POSTGRES, f"CREATE MATERIALIZED VIEW t AS {RICH}", f"CREATE MATERIALIZED VIEW T AS {RICH}"),
    (POSTGRES, f"CREATE TEMP VIEW t AS {RICH}", f"CREATE TEMPORARY VIEW t AS {RICH}"),
    (MYSQL, f"CREATE TEMPORARY TABLE t AS {RICH}", f"CREATE TEMPORARY TABLE t {RICH}"),
    (POSTGRES, "CREATE UNIQUE INDEX u ON dept (id)", "ALTER TABLE dept ADD UNIQUE (id)"),
    (POSTGRES, "CREATE TABLE t (LIKE dept)", "CREATE TABLE t (id INTEGER)"),
    (POSTGRES, "DROP VIEW staff", "DROP VIEW IF EXISTS staff CASCADE"),
    (LITE, "ALTER TABLE dept RENAME TO d", "ALTER TABLE dept RENAME TO D"),
    (
        POSTGRES,
        f"CREATE VIEW w AS {RICH}",
        f"CREATE VIEW w AS {RICH.replace('salary >', 'NOT salary <=')}",
    ),
]
#: What these make shows in no table until something else is done.
UNDECIDED = [
    (LITE, "CREATE INDEX i ON emp (name)", "CREATE INDEX i ON emp (salary)"),
    (
        *(LITE, "CREATE TRIGGER g AFTER INSERT ON emp BEGIN DELETE FROM dept; END"),
        "CREATE TRIGGER g AFTER INSERT ON emp BEGIN DELETE FROM emp; END",
    ),
    (LITE, "CREATE INDEX i ON dept (id)", "CREATE INDEX i ON dept (id DESC)"),
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("engine", "reference", "answer", "expected"), CASES)
def test_a_pair_of_definitions_is_decided_by_what_it_leaves(
    engines: EnginePool, engine: str, reference: str, answer: str, expected: str
) -> None:
    if engine in SERVERS:
        server_engine(engine, LIMITS).close()  # skips with the remedy where there is none
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=reference)
    assert Decider(engines.get).decide(question, answer).status == expected


def test_another_kind_of_object_is_named(engines: EnginePool) -> None:
    question = EquivalenceQuestion(engine=LITE, schema=SCHEMA, reference=f"CREATE VIEW t AS {RICH}")
    decision = Decider(engines.get).decide(question, f"CREATE TABLE t AS {RICH}")
    assert describe_decision(decision).code == "exec_object_kind"
