"""The forms in which recorded votes are read."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.judges.recorded import Ballot, read_votes

YES_NO = [
    (True, True),
    (False, False),
    ("yes", True),
    (" No ", False),
    ("True", True),
    ("false", False),
    ('{"answer": "yes", "reason": "fine"}', True),
    ('```json\n{"answer": "no"}\n```', False),
    ("I think yes", True),
    ("cannot tell", False),
    ("", False),
    (None, None),
    ("abstain", None),
    ("failed", None),
    ({"vote": True}, True),
    ({"vote": None}, None),
    ({"answer": "no", "reason": "yes"}, False),
    ({"reply": '{"answer": "yes"}'}, True),
    ({"reply": {"answer": "no"}}, False),
    ({"text": "yes, but"}, True),
    ({"vote": "", "text": '{"answer": "yes"}'}, True),
    ({"vote": "no", "text": "unparsable yes"}, False),  # as it was counted
    ({"vote": ""}, False),
]


@pytest.mark.parametrize(("entry", "yes"), YES_NO)
def test_a_vote_of_yes_or_no(entry, yes):
    [ballot] = read_votes([entry], by_rules=False)
    assert (ballot.yes, ballot.rules, ballot.is_cast) == (yes, None, yes is not None)


RULES = [
    (["1", "2"], ("1", "2")),
    ([1, 2], ("1", "2")),
    ([], ()),
    ("['1', '2']", ("1", "2")),
    ("[]", ()),
    ('["1"]', ("1",)),
    ("1, 3", ("1", "3")),
    ("2", ("2",)),
    (2, ("2",)),
    ("", ()),
    ('{"matched_rule_ids": ["1"], "reason": "so"}', ("1",)),
    ("None of them applies.", ()),
    ({"rules": ["1"]}, ("1",)),
    ({"rules": []}, ()),
    ({"matched_rule_ids": [1]}, ("1",)),
    ({"vote": "1,2"}, ("1", "2")),
    ({"answer": "['4']"}, ("4",)),
    ({"text": '{"matched_rule_ids": ["2"]}'}, ("2",)),
]


@pytest.mark.parametrize(("entry", "rules"), RULES)
def test_a_vote_by_rules(entry, rules):
    [ballot] = read_votes([entry], by_rules=True)
    assert (ballot.yes, ballot.rules, ballot.is_cast) == (None, rules, True)


@pytest.mark.parametrize("entry", [True, "yes", {"vote": "Yes"}])
def test_a_plain_yes_on_one_rule(entry):
    [ballot] = read_votes([entry], by_rules=True)
    assert ballot == Ballot(yes=True)
    assert ballot.supports_rule("any")


def test_judge_run_and_reason_are_kept():
    fields = {"judge": "j1", "run": 3, "vote": "no", "reason": "a row is lost"}
    assert read_votes([fields], by_rules=False) == (
        Ballot(yes=False, judge="j1", run="3", reason="a row is lost"),
    )


def runs_of(raw, by_rules=False):
    return [(b.run, b.yes if b.rules is None else b.rules) for b in read_votes(raw, by_rules)]


def test_lists_of_votes_are_runs():
    assert runs_of([[True, "no"], ["yes"]]) == [("1", True), ("1", False), ("2", True)]
    assert runs_of([["yes"], []]) == [("1", True)]
    nested = [[{"judge": "a", "vote": True}], [{"judge": "a", "run": "b", "vote": False}]]
    assert runs_of(nested) == [("1", True), ("b", False)]


def test_a_list_of_ids_is_one_judge_and_a_list_of_lists_is_a_run():
    assert runs_of([["1", "2"], ["1"]], True) == [("1", ("1", "2")), ("1", ("1",))]
    assert runs_of([[["1", "2"], []], [["1"]]], True) == [
        ("1", ("1", "2")),
        ("1", ()),
        ("2", ("1",)),
    ]
    assert runs_of([["['1']", "[]"], ["['2']"]], True) == [("1", ("1",)), ("1", ()), ("2", ("2",))]


REFUSED = [
    ("yes", False, "votes: 'yes' is not a vote"),
    ({"vote": "yes"}, False, "votes"),
    ([True, 3.5], False, r"votes\[1\]: '3.5' is not a vote"),
    ([1], False, r"votes\[0\]"),
    ([{"judge": "a"}], False, r"votes\[0\].*vote, answer, rules, reply or text"),
    ([{"vote": ["yes"]}], False, r"votes\[0\]\.vote"),
    ([{"text": 5}], False, r"votes\[0\]\.text"),
    ([[True], False], False, r"votes\[1\]: a vote among runs"),
    ([[True, [True]]], False, r"votes\[0\]\[1\]"),
    ([[[["1"]]]], True, r"votes\[0\]\[0\]"),
    ([{"rules": {"1": True}}], True, r"votes\[0\]\.rules.*a list of rule ids"),
    ([1.5], True, r"votes\[0\]"),
]


@pytest.mark.parametrize(("raw", "by_rules", "message"), REFUSED)
def test_what_is_no_vote_is_named_with_what_is(raw, by_rules, message):
    with pytest.raises(UsageError, match=message):
        read_votes(raw, by_rules)


def test_no_votes_are_no_ballots():
    assert read_votes([], by_rules=False) == ()
