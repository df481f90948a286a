"""SCALE's published counting of votes, quirk by quirk."""

from __future__ import annotations

import pytest

from evalcore.judges.recorded import (
    Ballot,
    case_passes,
    has_majority,
    parse_named_rules,
    rule_passes,
    says_yes,
    select_accepted_ids,
)

MAJORITIES = [
    ([True], True),
    ([False], False),
    ([True, False], True),
    ([True, False, False], False),
]


@pytest.mark.parametrize(("votes", "passed"), MAJORITIES)
def test_a_tie_is_a_yes(votes, passed):
    assert has_majority(votes) == passed


REPLIES = [
    ('{"answer": "yes"}', True),
    ('{"answer": "no", "reason": "yes-values are lost"}', False),
    ('```json\n{"answer": "Yes"}\n```', True),
    ('```{"answer": "no"}\n```', False),
    ('{"answer": "no"}\n\nThe first condition says yes to NULL.', True),  # unparsable: "yes" in it
    ("No. Yesterday's rows are lost.", True),
    ("It is wrong.", False),
    ('{"reason": "yes"}', False),
    ('{"answer": true}', False),
    ('{"answer": "yes and no"}', True),
    ('["yes"]', True),
    ("true", False),
    ("", False),
    ({"answer": "yes"}, True),
]


@pytest.mark.parametrize(("reply", "yes"), REPLIES)
def test_what_counts_as_yes(reply, yes):
    assert says_yes(reply) == yes


RULE_REPLIES = [
    ('{"matched_rule_ids": ["1", 2]}', ("1", "2")),
    ('{"matched_rule_ids": []}', ()),
    ('{"matched_rule_ids": null}', ()),
    ('{"matched_rule_ids": "1"}', ("1",)),
    ('{"rules": ["1"]}', ()),
    ('The rules are {"matched_rule_ids": ["1"]}', ()),
    ('["1"]', ()),
    ({"matched_rule_ids": ["1"]}, ("1",)),
]


@pytest.mark.parametrize(("reply", "ids"), RULE_REPLIES)
def test_what_counts_as_a_named_rule(reply, ids):
    assert parse_named_rules(reply) == ids


ACCEPTED = [
    ([["1"], ["1"], ["2"]], ["1"]),
    ([["1"], []], ["1"]),  # half is enough
    ([["1"], [], []], []),
    ([["1", "1"], [], []], ["1"]),  # named twice by one judge counts twice
    ([], []),
]


@pytest.mark.parametrize(("lists", "ids"), ACCEPTED)
def test_half_of_the_judges_suffice_for_a_rule(lists, ids):
    assert select_accepted_ids(lists) == ids


def ballots(**runs):
    return [Ballot(yes=yes, run=run) for run, votes in runs.items() for yes in votes]


def rule_ballots(*runs):
    return [Ballot(rules=ids, run=str(n)) for n, run in enumerate(runs) for ids in run]


def test_runs_are_counted_each_and_then_together():
    """Five of nine votes are no, but two of the three runs pass."""
    assert case_passes(ballots(a=[True, True, False], b=[True, True, False], c=[False] * 3)) is True
    assert case_passes(ballots(a=[True, False], b=[False])) is True  # a tie of a tie
    assert case_passes(ballots(a=[True], b=[False], c=[False])) is False


def test_judges_that_gave_no_reply_are_left_out():
    assert case_passes([Ballot(), Ballot(), Ballot(yes=True)]) is True
    assert case_passes([Ballot(), Ballot()]) is None
    assert case_passes([]) is None
    assert case_passes([Ballot(run="1"), Ballot(yes=False, run="2")]) is False


def test_runs_without_an_accepted_rule_are_left_out_of_their_number():
    assert rule_passes(rule_ballots([("1",)], [()], [()]), "1")
    assert not rule_passes(rule_ballots([("1",)], [("2",)], [("2",)]), "1")
    assert rule_passes(rule_ballots([("1",)], [("2",)]), "2")


def test_judges_without_rules_count_within_a_run():
    assert not rule_passes(rule_ballots([("1",), (), ()]), "1")
    assert rule_passes([Ballot(rules=("1",)), Ballot(), Ballot()], "1")
    assert not rule_passes([Ballot()], "1")


def test_a_plain_yes_is_for_the_rule_that_was_asked_about():
    assert rule_passes([Ballot(yes=True), Ballot(yes=False)], "4")
    assert not rule_passes([Ballot(yes=True), Ballot(yes=False), Ballot(yes=False)], "4")
