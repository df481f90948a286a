"""Rulings on what nothing here can execute: by the panel of the run, or by recorded votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.base import Context
from evalcore.benchmarks.sql_verdict import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.judges import panel, recorded, scale_rule
from evalcore.judges.prompts import PROMPT_VERSION
from evalcore.judges.records import CAST, Question, Tally, Vote
from evalcore.judges.scale_rule import Ballot
from evalcore.records import Episode, Outcome, Sample, Section, Verdict

_REASONS: dict[Outcome, str] = {"failed": "wrong_answer", "judge_error": "judge_error"}
_NO_PANEL = "Only a panel can decide this, and no panel was asked."
_PANEL_NOTES: dict[Outcome, str] = {
    "passed": "The panel says yes: {yes} yes, {no} no.",
    "failed": "The panel does not say yes: {yes} yes, {no} no.",
    "judge_error": "Too few judges voted: {cast} of {panel}.",
}
_NONE_CAST = "No vote was cast; by the published rule the case is dropped."
_PUBLISHED: dict[Outcome, str] = {
    "passed": "By the published rule the votes pass it: {yes} yes, {no} no.",
    "failed": "By the published rule the votes fail it: {yes} yes, {no} no.",
    "judge_error": _NONE_CAST,
}


async def score_by_panel(
    context: Context | None, question: Question, *, published: bool = False
) -> ScoringResult:
    """What the panel says; not executed where there is none to ask.

    `published` counts the votes by SCALE's rule instead of ours: a tie passes, one vote suffices.
    """
    if context is None or not context.judges:
        return ScoringResult(
            outcome="not_executed", evidence_kind="judged", reason="no_panel", note=_NO_PANEL
        )
    tally = await panel.ask_panel(context, question)
    outcome = _decide_as_published(tally, question) if published else tally.outcome
    note = (_PUBLISHED if published else _PANEL_NOTES)[outcome]
    cast = tally.yes + tally.no
    return ScoringResult(
        outcome=outcome,
        evidence_kind="judged",
        reason=_REASONS.get(outcome, ""),
        note=note.format(yes=tally.yes, no=tally.no, cast=cast, panel=len(tally.votes)),
        details=_build_panel_details(tally),
        evidence=(_build_votes_section([_vote_to_row(vote) for vote in tally.votes]),),
    )


def score_recorded_votes(votes: Sequence[Any], by_rules: bool, rule_id: str = "") -> ScoringResult:
    """What recorded votes amount to by SCALE's published rule; see `judges.recorded` for the forms.

    Raises UsageError naming a vote that cannot be read.
    """
    ballots = recorded.read_votes(votes, by_rules)
    cast = [ballot for ballot in ballots if ballot.is_cast]
    yes_votes = [ballot.supports_rule(rule_id) for ballot in cast]
    outcome = _decide_ballot_outcome(cast, by_rules, rule_id)
    return ScoringResult(
        outcome=outcome,
        evidence_kind="judged",
        reason=_REASONS.get(outcome, ""),
        note=_PUBLISHED[outcome].format(yes=sum(yes_votes), no=len(yes_votes) - sum(yes_votes)),
        details={
            "judge_votes_yes": sum(yes_votes),
            "judge_votes_no": len(yes_votes) - sum(yes_votes),
            "judge_votes_abstain": len(ballots) - len(cast),
            "judge_runs": len({ballot.run for ballot in cast}),
            "judge_split": len(set(yes_votes)) > 1,
        },
        evidence=(_build_votes_section([_ballot_to_row(ballot, rule_id) for ballot in ballots]),),
    )


async def score_as_published(
    sample: Sample, episode: Episode, question: Question, context: Context | None
) -> Verdict:
    """The verdict where judges alone decide: by the votes that came with the answer, else by the
    panel, in both cases counted as SCALE published it."""
    votes = episode.state.get("votes")
    if votes:
        result = score_recorded_votes(votes, question.kind == "rules", question.decides)
    elif not episode.answer.strip():
        return build_no_answer_verdict(sample, episode, "judged")
    else:
        result = await score_by_panel(context, question, published=True)
    return to_verdict(sample, episode, "strict", result)


def _decide_as_published(tally: Tally, question: Question) -> Outcome:
    """A vote by rules is for its rule, so that the panel's votes are ballots like any other."""
    by_rules = question.kind == "rules"
    ballots = [
        Ballot(rules=vote.rules) if by_rules else Ballot(yes=vote.vote == "yes")
        for vote in tally.votes
        if vote.vote in CAST
    ]
    return _decide_ballot_outcome(ballots, by_rules, question.decides)


def _decide_ballot_outcome(ballots: Sequence[Ballot], by_rules: bool, rule_id: str) -> Outcome:
    """Without a vote the published evaluator dropped the case; that is no verdict here."""
    if not any(ballot.is_cast for ballot in ballots):
        return "judge_error"
    passes = (
        scale_rule.rule_passes(ballots, rule_id) if by_rules else scale_rule.case_passes(ballots)
    )
    return "passed" if passes else "failed"


def _build_panel_details(tally: Tally) -> dict[str, Any]:
    """Facts for machines; the cost is left out where the price of a judge is unknown."""
    cost = {} if tally.cost is None else {"judge_cost": tally.cost}
    return {
        "judge_votes_yes": tally.yes,
        "judge_votes_no": tally.no,
        "judge_votes_abstain": tally.count("abstain"),
        "judge_votes_failed": tally.count("failed"),
        "judge_requests": sum(vote.asked for vote in tally.votes),
        "judge_split": tally.split,
        "judge_prompt": PROMPT_VERSION,
        **cost,
    }


def _vote_to_row(vote: Vote) -> dict[str, Any]:
    return {
        "judge": vote.judge,
        "vote": vote.vote,
        "reason": vote.reason,
        "cost": vote.cost,
        "latency": vote.latency,
        "rules": list(vote.rules),
    }


def _ballot_to_row(ballot: Ballot, rule_id: str) -> dict[str, Any]:
    return {
        "judge": ballot.judge,
        "vote": ("yes" if ballot.supports_rule(rule_id) else "no") if ballot.is_cast else "abstain",
        "reason": ballot.reason,
        "rules": list(ballot.rules or ()),
        "run": ballot.run,
    }


def _build_votes_section(lines: list[dict[str, Any]]) -> Section:
    return Section(kind="votes", title="votes", body=lines)
