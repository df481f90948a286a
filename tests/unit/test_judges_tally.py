"""What the votes of a panel amount to."""

from __future__ import annotations

import pytest

from evalcore.judges import Vote, tally_votes
from tests.support.judges import question

OUTCOMES = [
    (["yes"], "passed"),
    (["no"], "failed"),
    (["yes", "yes", "no"], "passed"),
    (["yes", "no", "no"], "failed"),
    (["yes", "no"], "failed"),  # a tie is no pass
    (["yes", "no", "failed"], "failed"),
    (["yes", "abstain"], "passed"),  # half of the panel is enough
    (["yes", "abstain", "abstain"], "judge_error"),
    (["yes", "yes", "failed", "abstain"], "passed"),
    (["yes", "yes", "failed", "abstain", "failed"], "judge_error"),
    (["abstain"], "judge_error"),
    ([], "judge_error"),
]


def panel(words, rules=()):
    rules = [*rules] or [()] * len(words)
    return [Vote(str(n), w, rules=r) for n, (w, r) in enumerate(zip(words, rules, strict=True))]


@pytest.mark.parametrize(("words", "outcome"), OUTCOMES)
def test_outcomes(words, outcome):
    tally = tally_votes(question(), panel(words))
    assert tally.outcome == outcome
    assert (tally.yes, tally.no) == (words.count("yes"), words.count("no"))
    assert tally.split == ("yes" in words and "no" in words)
    assert tally.count("abstain") == words.count("abstain")


def test_a_rule_needs_more_than_half_of_the_valid_votes():
    votes = panel(["yes", "no", "failed"], [("1", "2"), ("2",), ("1",)])
    tally = tally_votes(question("rules", decides="1"), votes)
    assert tally.rules == {"1": False, "2": True}
    assert tally.outcome == "failed"


def test_without_a_deciding_rule_all_must_be_found():
    both = panel(["yes", "yes"], [("1", "2"), ("1", "2")])
    assert tally_votes(question("rules"), both).outcome == "passed"
    item = panel(["no", "no"], [("1",), ("1",)])
    assert tally_votes(question("rules"), item).outcome == "failed"


def test_rules_voted_by_too_few_are_no_result():
    votes = panel(["yes", "failed", "abstain"], [("1",), (), ()])
    assert tally_votes(question("rules", decides="1"), votes).outcome == "judge_error"


def test_an_unknown_deciding_rule_fails():
    votes = panel(["no"], [("1",)])
    assert tally_votes(question("rules", decides="9"), votes).outcome == "failed"
