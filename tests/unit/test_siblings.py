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
from evalcore.sqlkit.syntax import makes_one_choice

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
    (siblings,) = [database for database in databases if database.profile == "siblings"]
    rows = siblings.tables["finding"]
    for column in (3, 4, 5):
        values = defaultdict(set)
        for row in rows:
            values[row[1:column] + row[column + 1 :]].add(row[column])
        assert max(map(len, values.values())) > 1


@pytest.mark.sampled(3)
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


#: Which of the findings of one source stands for a visit is left open.
FIRST = (
    "SELECT code, visit, CASE WHEN flag = '1' THEN title END AS yes, CASE WHEN flag = '0' THEN "
    "title END AS no FROM (SELECT f.*, ROW_NUMBER() OVER (PARTITION BY code, visit, source "
    "ORDER BY CASE WHEN source = 'lab' THEN 1 ELSE 2 END{}) AS n FROM finding f "
    "WHERE flag IN ('0', '1')) x WHERE n = 1"
)
BOTH = (
    "SELECT code, visit, MAX(CASE WHEN flag = '1' THEN title END), MAX(CASE WHEN flag = '0' THEN "
    "title END) FROM finding WHERE flag IN ('0', '1') GROUP BY code, visit, source"
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_answer_may_choose_among_tied_rows_and_no_more(decider: Decider, engine: str) -> None:
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=FIRST.format(""))
    for chosen in ("", ", id", ", flag DESC", ", flag, title, id DESC"):
        assert decider.decide(question, FIRST.format(chosen)).status == "equivalent"
    decision = decider.decide(question, BOTH)
    assert decision.status == "different"
    assert decision.counterexample is not None
    assert decision.counterexample.profile == "two of one parent"


def test_what_several_choices_may_give_is_not_guessed() -> None:
    assert makes_one_choice(FIRST.format(""), "sqlite", "flag")
    for several in (
        f"SELECT * FROM ({FIRST.format('')}) a LIMIT 3",
        f"WITH q AS ({FIRST.format('')}) SELECT * FROM q UNION ALL SELECT * FROM q",
        FIRST.format("").replace("SELECT f.*", "SELECT group_concat(flag) OVER () AS g, f.*"),
        "SELECT f.flag FROM finding f, finding g LIMIT 1",
        "SELECT flag FROM finding",
        "UPDATE finding SET flag = '1'",
    ):
        assert not makes_one_choice(several, "sqlite", "flag")
