"""Rows of one parent that differ in one flag: what tells rewrites over children apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.generate import generate_sparse_databases
from evalcore.sqlkit.schema import read_schema

SCHEMA = (
    "CREATE TABLE ward (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    "CREATE TABLE stay (id INT PRIMARY KEY, code VARCHAR(20) NOT NULL, visit VARCHAR(9) NOT NULL, "
    "ward_id INT REFERENCES ward (id), ended TIMESTAMP, class VARCHAR(12), payer VARCHAR(12))",
    "CREATE TABLE finding (id INT PRIMARY KEY, code VARCHAR(20) NOT NULL, "
    "visit VARCHAR(9) NOT NULL, flag VARCHAR(1), source VARCHAR(12), state VARCHAR(12), "
    "title VARCHAR(20))",
)
#: So many conditions that a row drawn by chance rarely meets them all.
STAYS = (
    "SELECT s.id FROM stay s WHERE DATE(s.ended) > '2025-01-01' AND s.class = 'inpatient' "
    "AND s.payer IN ('public', 'private')"
)
CHILD = (
    "SELECT 1 FROM finding f WHERE f.code = s.code AND f.visit = s.visit AND f.source = 'lab' "
    "AND f.state = 'final'"
)


@pytest.fixture(scope="module")
def decider() -> Iterator[Decider]:
    with EnginePool() as pool:
        yield Decider(pool.get)


def test_a_parent_has_children_of_both_values_of_each_flag() -> None:
    reference = f"{STAYS} AND EXISTS ({CHILD} AND f.flag = '1')"
    databases = generate_sparse_databases(
        read_schema(SCHEMA, "sqlite"), ((reference, "sqlite"),), seed=3
    )
    rows = databases[-1].tables["finding"]
    for column in (3, 4, 5):
        values = defaultdict(set)
        for row in rows:
            values[row[1:column] + row[column + 1 :]].add(row[column])
        assert max(map(len, values.values())) > 1


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (f"{STAYS} AND EXISTS ({CHILD} AND f.flag = '1')",
         f"{STAYS} AND NOT EXISTS ({CHILD} AND f.flag <> '1') AND EXISTS ({CHILD})"),
        (f"{STAYS} AND NOT EXISTS ({CHILD} AND f.flag = '1')",
         f"{STAYS} AND (EXISTS ({CHILD} AND f.flag <> '1') OR NOT EXISTS ({CHILD}))"),
        (f"{STAYS} AND EXISTS ({CHILD} AND f.flag = '1')",
         STAYS.replace(" WHERE", " JOIN finding f ON f.code = s.code AND f.visit = s.visit "
         "AND f.source = 'lab' AND f.state = 'final' AND f.flag IN ('1') WHERE")),
        (f"{STAYS} AND EXISTS ({CHILD} AND f.flag = '1') AND EXISTS ({CHILD} AND f.flag = '0')",
         f"{STAYS} AND EXISTS ({CHILD} AND f.flag IN ('0', '1'))"),
        (f"{STAYS} AND '1' = ({CHILD.replace('1', 'MAX(f.flag)', 1)})",
         f"{STAYS} AND '1' = ({CHILD.replace('1', 'MIN(f.flag)', 1)})"),
        ("SELECT f.code, f.visit, MAX(CASE WHEN f.flag = '1' THEN f.title END), "
         "MAX(CASE WHEN f.flag = '0' THEN f.title END) FROM finding f WHERE f.source = 'lab' AND "
         "f.state = 'final' GROUP BY f.code, f.visit",
         "SELECT f.code, f.visit, MAX(CASE WHEN f.flag = '1' THEN f.title END), "
         "MAX(CASE WHEN f.flag = '0' THEN f.title END) FROM finding f WHERE f.source = 'lab' AND "
         "f.state = 'final' GROUP BY f.code, f.visit, f.flag"),
    ],
)  # fmt: skip
def test_what_holds_for_one_child_is_told_from_what_holds_for_all(
    decider: Decider, reference: str, answer: str
) -> None:
    question = EquivalenceQuestion(engine="sqlite", schema=SCHEMA, reference=reference)
    assert decider.decide(question, answer).status == "different"
