"""Databases on which a reference runs by the luck of its plan, and comparisons with a history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from perf.false_different import spellings_of
from perf.questions import asked

CLAIMS = (
    "CREATE TABLE claim (claim_id INTEGER PRIMARY KEY, policy_id INTEGER NOT NULL, "
    "happened DATE NOT NULL)",
    "CREATE TABLE policy (policy_id INTEGER PRIMARY KEY, holder VARCHAR NOT NULL, "
    "starts DATE NOT NULL)",
)
SUSPECTS = """SELECT c.claim_id,
  CASE WHEN (SELECT COUNT(*) FROM claim e JOIN policy f ON f.policy_id = e.policy_id
             WHERE f.holder = p.holder AND e.happened < c.happened) >= 2
            AND c.happened - p.starts < {days} THEN 'check' ELSE '' END AS remark
FROM claim c JOIN policy p ON p.policy_id = c.policy_id"""


@pytest.fixture(scope="module")
def decider() -> Iterator[Decider]:
    with EnginePool() as engines:
        yield Decider(engines.get)


def decide(decider: Decider, schema: tuple[str, ...], reference: str, answer: str) -> str:
    question = EquivalenceQuestion(engine="duckdb", schema=schema, reference=reference)
    return decider.decide(question, answer).status


def test_an_answer_is_not_wrong_where_the_plan_saves_the_reference(decider: Decider) -> None:
    """Documents that cannot be cast meet the cast only where no hash join leaves them out."""
    (case,) = asked("dialect_conversion", case="le-137")
    spellings = {spelling.kind: spelling.sql for spelling in spellings_of(case, 0)}
    answer = spellings["comparison_negated"]
    assert decider.decide(case.question, answer).status == "equivalent"


def test_an_answer_that_fails_where_the_reference_is_guarded_is_wrong(decider: Decider) -> None:
    schema = ("CREATE TABLE t (id INTEGER PRIMARY KEY, code VARCHAR)",)
    reference = "SELECT id, TRY_CAST(code AS INTEGER) + 1 AS n FROM t WHERE id > 0"
    answer = "SELECT id, CAST(code AS INTEGER) + 1 AS n FROM t WHERE id > 0"
    assert decide(decider, schema, reference, answer) in ("different", "error")


def test_a_comparison_turns_on_a_row_with_others_before_it(decider: Decider) -> None:
    reference = SUSPECTS.format(days=60)
    assert decide(decider, CLAIMS, reference, SUSPECTS.format(days=59)) == "different"
    assert decide(decider, CLAIMS, reference, SUSPECTS.format(days=61)) == "different"
    assert decide(decider, CLAIMS, reference, f"{reference} WHERE 1 = 1") == "equivalent"
