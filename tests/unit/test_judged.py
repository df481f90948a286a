"""Rulings by the panel of a run and by recorded votes."""

from __future__ import annotations

import pytest

from evalcore.benchmarks import sql_scoring
from evalcore.errors import UsageError
from evalcore.i18n import Note, translate_note
from evalcore.records import Episode, Sample
from tests.support.judges import NO, YES, Scripted, down, picked, question

SAMPLE = Sample(metric="logical_equivalence", id="1", input={})


def episode(answer="SELECT 1", **state):
    return Episode(key="k", epoch=2, answer=answer, state=state)


@pytest.mark.parametrize("context", [None, Scripted({})])
async def test_without_a_panel_nothing_is_decided(context):
    ruling = await sql_scoring.score_by_panel(context, question())
    assert (ruling.outcome, ruling.reason) == ("not_executed", "no_panel")
    assert ruling.evidence_kind == "judged"
    assert ruling.details == {}


async def test_the_panel_decides_and_every_vote_is_kept():
    """One fails, one keeps to no form, two vote: half of the panel, and a tie does not pass."""
    script = {"down": [down()], "talked": ["yes!", "yes!"], "a": [YES], "b": [0.02, NO]}
    ruling = await sql_scoring.score_by_panel(Scripted(script), question())
    assert (ruling.outcome, ruling.reason) == ("failed", "wrong_answer")
    assert ruling.note == "The panel does not agree: 1 yes, 1 no."
    assert ruling.details == {
        "judge_votes_yes": 1,
        "judge_votes_no": 1,
        "judge_votes_abstain": 1,
        "judge_votes_failed": 1,
        "judge_requests": 5,
        "judge_split": True,
        "judge_prompt": "1",
        "judge_cost": pytest.approx(0.04),
    }
    [section] = ruling.evidence
    assert (section.kind, section.title) == ("votes", "votes")
    assert [line["vote"] for line in section.body] == ["failed", "abstain", "yes", "no"]
    assert section.body[3] == {
        "judge": "b",
        "vote": "no",
        "reason": "a NULL is lost",
        "cost": 0.01,
        "latency": 0.5,
        "rules": [],
    }


async def test_a_pass_has_no_reason_and_an_unknown_price_no_cost():
    ruling = await sql_scoring.score_by_panel(Scripted({"a": [YES]}, prices={}), question())
    assert (ruling.outcome, ruling.reason) == ("passed", "")
    assert "judge_cost" not in ruling.details


async def test_too_few_votes_are_an_error_of_the_judges():
    ruling = await sql_scoring.score_by_panel(
        Scripted({"a": [YES], "b": [down()], "c": [down()]}), question()
    )
    assert (ruling.outcome, ruling.reason) == ("judge_error", "judge_error")
    assert ruling.note == "Too few judges voted: 1 of 3."


async def test_the_published_rule_passes_a_tie_and_takes_one_vote_for_enough():
    tie = {"a": [YES], "b": [NO]}
    assert (await sql_scoring.score_by_panel(Scripted(tie), question())).outcome == "failed"
    ruling = await sql_scoring.score_by_panel(Scripted(tie), question(), published=True)
    assert (ruling.outcome, ruling.reason) == ("passed", "")
    scripted = Scripted({"a": [NO], "b": [down()], "c": [down()]})
    assert (
        await sql_scoring.score_by_panel(scripted, question(), published=True)
    ).outcome == "failed"
    none = Scripted({"a": [down()]})
    assert (
        await sql_scoring.score_by_panel(none, question(), published=True)
    ).outcome == "judge_error"


async def test_the_published_rule_on_rules():
    asker = Scripted({"a": [picked("1")], "b": [picked()]})
    asked = question("rules", decides="1")
    assert (await sql_scoring.score_by_panel(asker, asked, published=True)).outcome == "passed"


def test_recorded_votes_are_counted_as_published():
    votes = [
        {"judge": "a", "run": 1, "vote": "yes"},
        {"judge": "a", "run": 2, "text": '{"answer": "no", "reason": "lost"}', "reason": "lost"},
        {"judge": "a", "run": 3, "vote": None},
    ]
    ruling = sql_scoring.score_recorded_votes(votes, by_rules=False)
    assert (ruling.outcome, ruling.reason, ruling.evidence_kind) == ("passed", "", "judged")
    assert ruling.details == {
        "judge_votes_yes": 1,
        "judge_votes_no": 1,
        "judge_votes_abstain": 1,
        "judge_runs": 2,
        "judge_split": True,
    }
    [section] = ruling.evidence
    assert section.body[1] == {
        "judge": "a",
        "vote": "no",
        "reason": "lost",
        "rules": [],
        "run": "2",
    }
    assert section.body[2]["vote"] == "abstain"


@pytest.mark.parametrize(("rule", "outcome"), [("1", "passed"), ("2", "failed"), ("3", "failed")])
def test_recorded_rules(rule, outcome):
    ruling = sql_scoring.score_recorded_votes([["1", "2"], ["1"], []], by_rules=True, rule_id=rule)
    assert ruling.outcome == outcome
    assert [line["rules"] for line in ruling.evidence[0].body] == [["1", "2"], ["1"], []]


def test_votes_that_nobody_cast_are_no_verdict():
    ruling = sql_scoring.score_recorded_votes([None, "failed"], by_rules=False)
    assert (ruling.outcome, ruling.reason) == ("judge_error", "judge_error")


def test_a_vote_that_cannot_be_read_is_refused():
    with pytest.raises(UsageError, match=r"votes\[0\]"):
        sql_scoring.score_recorded_votes([3.5], by_rules=False)


async def test_recorded_votes_come_before_the_panel():
    panel = Scripted({"a": [NO]})
    message = episode(votes=["yes"])
    verdict = await sql_scoring.score_as_published(SAMPLE, message, question(), panel)
    assert (verdict.outcome, verdict.score, verdict.epoch) == ("passed", 1.0, 2)
    assert panel.requests == {}
    asked = await sql_scoring.score_as_published(SAMPLE, episode(), question(), panel)
    assert (asked.outcome, asked.views) == ("failed", {"strict": 0.0, "lenient": 0.0})


async def test_an_empty_answer_needs_no_judge():
    verdict = await sql_scoring.score_as_published(
        SAMPLE, episode(" "), question(), Scripted({"a": [YES]})
    )
    assert (verdict.outcome, verdict.reason, verdict.evidence_kind) == ("failed", "empty", "judged")


async def test_judges_alone_without_votes_and_panel_decide_nothing():
    verdict = await sql_scoring.score_as_published(SAMPLE, episode(), question(), None)
    assert (verdict.outcome, verdict.score, verdict.reason) == ("not_executed", None, "no_panel")


NUMBERS = {"yes": 2, "no": 1, "cast": 1, "panel": 3}
CODES = [
    "panel_needed",
    *sql_scoring.PANEL_NOTES.values(),
    *sql_scoring.PUBLISHED_NOTES.values(),
]


@pytest.mark.parametrize("code", CODES)
def test_every_note_has_a_translation(code):
    note = Note(code, **NUMBERS)
    assert translate_note(note, "en") == note
    assert translate_note(note, "zh") != note
