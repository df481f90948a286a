"""What an equivalence rests on: databases alone, or a proof up to a bound."""

from __future__ import annotations

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.pairs import Pair, decide_pair
from evalcore.sqlkit.prover import BOUNDS

SCHEMA = ("CREATE TABLE t (a INT PRIMARY KEY, b INT)",)


@pytest.fixture(scope="module")
def engines():
    with EnginePool() as pool:
        yield pool


def decide(engines, reference, answer):
    question = EquivalenceQuestion(engine="sqlite", schema=SCHEMA, reference=reference)
    return Decider(engines.get).decide(question, answer)


def test_a_proved_equivalence_names_its_bound(engines):
    decision = decide(engines, "SELECT a FROM t WHERE b > 3", "SELECT a FROM t WHERE NOT b <= 3")
    assert (decision.status, decision.level) == ("equivalent", "proved")
    assert decision.proof_rows == BOUNDS[-1]


@pytest.mark.parametrize(
    "answer",
    [
        "SELECT a FROM t WHERE b > 3 LIMIT 9223372036854775807",
        "SELECT a FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY a) FROM t WHERE b > 3) x",
    ],
)
def test_what_no_proof_covers_is_tested(engines, answer):
    decision = decide(engines, "SELECT a FROM t WHERE b > 3", answer)
    assert (decision.status, decision.level, decision.proof_rows) == ("equivalent", "tested", 0)


def test_a_proof_finds_what_no_generated_database_holds(engines):
    reference = "SELECT a FROM t WHERE a * 3 + b > 0"
    decision = decide(engines, reference, f"{reference} AND (a * 7 + b * 11 <> 100003 OR a < 5000)")
    assert decision.status == "different"
    assert decision.counterexample.profile == "found by proof"
    rows = decision.counterexample.tables["t"].rows
    assert any(int(a) * 7 + int(b) * 11 == 100_003 for a, b in rows)


def test_a_pair_says_what_its_decision_rests_on(engines):
    def decide_answer(answer):
        pair = Pair("1", "sqlite", SCHEMA[0], "SELECT a FROM t WHERE a IN (1, 2)", answer)
        return decide_pair(Decider(engines.get), engines.get("sqlite"), pair)

    proved = decide_answer("SELECT a FROM t WHERE a = 1 OR a = 2")
    assert proved.level == "proved"
    assert "provably" in proved.message
    assert decide_answer("SELECT a FROM t WHERE a = 1").level == ""
