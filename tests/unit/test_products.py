"""A refusal by a stand-in: what the product has is undecided, what nobody has stays invalid."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from evalcore.benchmarks.dialect_conversion.benchmark import DialectConversion
from evalcore.sqlkit.engines import Limits
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from tests.support.engines import server_engine

pytestmark = pytest.mark.slow

SCHEMA = ("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",)
REFERENCE = "SELECT id, COALESCE(a, 0) AS a FROM t"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[DialectConversion]:
    made = DialectConversion({"mode": "verified"})
    yield made
    made.close()


CASES = [
    ("postgres", "GaussDB", "SELECT id, NVL(a, 0) AS a FROM t", "undecided"),
    ("postgres", "openGauss", "SELECT id, decode(a, NULL, 0, a) AS a FROM t", "undecided"),
    (
        *("postgres", "GaussDB", "SELECT id, COALESCE(a, 0) AS a FROM t WHERE rownum <= 999999"),
        "undecided",
    ),
    ("postgres", "GaussDB", "SELECT id, NVL(a, 1) AS a FROM t", "different"),
    ("postgres", "GaussDB", "SELECT id, NVL(b, 0) AS a FROM t", "different"),
    *(
        ("postgres", title, f"SELECT id, COALESCE(a, 0) AS a FROM t{minus}", "undecided")
        for title in ("GaussDB", "openGauss")
        for minus in (
            " MINUS SELECT -1, -1 WHERE FALSE",
            " x minus all (SELECT -1, -1 WHERE FALSE)",
            " WHERE TRUE\nMINUS /* MINUS */ VALUES (-1, -1)",
            " MINUS SELECT -1, NVL(NULL, -1) WHERE FALSE",
        )
    ),
    (
        *(
            "postgres",
            "GaussDB",
            "(SELECT id, COALESCE(a, 0) AS a FROM t) MINUS (SELECT -1, -1 WHERE FALSE)",
        ),
        "undecided",
    ),
    (
        *("postgres", "GaussDB", "SELECT id, COALESCE(a, 0) AS a FROM t MINUS SELECT id, 0 FROM t"),
        "different",
    ),
    ("postgres", "GaussDB", "SELECT id, missing AS a FROM t MINUS SELECT 1, 1", "error"),
    ("postgres", "GaussDB", "SELECT id, COALESCE(a, 0) AS a FROM t MINUS SELCT 1, 1", "error"),
    ("postgres", "GaussDB", "SELECT id a FROM t WHER a MINUS SELECT 1, 1", "error"),
    ("postgres", "GaussDB", "SELECT id, FROM t WHERE '' = ' MINUS SELECT 1'", "error"),
    ("postgres", "GaussDB", "SELECT id, COALESCE(a, 0) AS minus FROM t", "equivalent"),
    ("postgres", "PostgreSQL", "SELECT id, a FROM t MINUS SELECT 1, 1", "error"),
    ("postgres", "GaussDB", "SELEC id, NVL(a, 0) AS a FROM t", "error"),
    ("postgres", "GaussDB", "SELECT id, nvll(a, 0) AS a FROM t", "error"),
    ("postgres", "GaussDB", "SELECT id, missing AS a, 'NVL(a, 0)' FROM t", "error"),
    ("postgres", "PostgreSQL", "SELECT id, NVL(a, 0) AS a FROM t", "error"),
    (
        "mysql",
        "MySQL",
        "SELECT t.id, x.a FROM t, LATERAL (SELECT COALESCE(t.a, 0) AS a) x",
        "undecided",
    ),
    ("mysql", "MySQL", "SELECT id, ANY_VALUE(COALESCE(a, 0)) AS a FROM t GROUP BY id", "undecided"),
    (
        *("mysql", "MySQL", "SELECT id, COALESCE(a, 0) AS a FROM t WHERE b->>'$.x' = 1 OR TRUE"),
        "undecided",
    ),
    (
        *("mysql", "MySQL", "SELECT id, 0 FROM t UNION SELECT * FROM (VALUES ROW(1, 2)) v"),
        "undecided",
    ),
    (
        "mysql",
        "MySQL",
        "WITH c AS (SELECT id FROM t) DELETE FROM t WHERE id IN (TABLE c)",
        "undecided",
    ),
    ("mysql", "MySQL", "WITH c AS (SELECT id FROM t) DELETE FROM c WHERE id > 1", "error"),
    (
        "mysql",
        "MySQL",
        "WITH b AS (SELECT 1), c (i) AS (SELECT id FROM t) UPDATE c SET i = 1",
        "error",
    ),
    ("mysql", "MySQL", "SELECT id, missing AS a FROM t /* LATERAL ( */", "error"),
    ("mysql", "MySQL", "SELECT id, COALESCE(a, 0) AS a FORM t", "error"),
]


@pytest.mark.parametrize(("engine", "title", "answer", "status"), CASES)
def test_what_the_product_has_is_undecided_and_what_nobody_has_invalid(
    benchmark: DialectConversion, engine: str, title: str, answer: str, status: str
) -> None:
    server_engine(engine, Limits()).close()
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=REFERENCE)
    found = asyncio.run(benchmark.decide_equivalence(question, answer, title))
    assert found.status == status, found.message
    if status == "undecided":
        assert found.cause == "product_feature"
        assert f"{engine}_dsn" in found.message
