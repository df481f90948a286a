"""Score SQL answers: execute them on engines, or take the ruling of the panel or of recorded
votes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.answer_scoring import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.benchmarks.base import Benchmark, Context, ValidationResult
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.i18n import Note
from evalcore.judges import CAST, Question, Tally, Vote, panel, recorded
from evalcore.judges.panel import PROMPT_VERSION
from evalcore.judges.recorded import Ballot
from evalcore.records import MEASURED, Episode, Outcome, Sample, Section, Verdict
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.evidence import (
    build_decision_details,
    build_decision_sections,
    describe_decision,
)
from evalcore.sqlkit.products.decision import decide_on_stand_in

# What benchmarks share whose answers are SQL that engines execute.


class ExecutedBenchmark(Benchmark):
    """Keeps engines and prepared databases while it lives; nothing of a verdict depends on that."""

    confirms_gold = True
    confirms_by_engines = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.engines = EnginePool()
        self.decider = Decider(self.engines.get, self.engines.get_patient)

    def close(self) -> None:
        self.engines.close()

    @property
    def is_judged_only(self) -> bool:
        """Whether the published rule is asked for, by which a panel decides everything."""
        return bool(self.options.get("mode") == "scale")

    async def decide_equivalence(
        self, question: EquivalenceQuestion, answer: str, title: str = "", version: str = ""
    ) -> Equivalence:
        """The decision, made beside the event loop; `undecided` where the engine is missing, or
        lacks what the product `title` has. Where another engine stands in for that product, both
        question and answer are read by its profile."""
        if not question.engine:
            return Equivalence(
                status="undecided", cause="no_engine", message=Note("exec_no_engine")
            )
        try:
            return await asyncio.to_thread(
                decide_on_stand_in, self.decider, question, answer, title, version
            )
        except (MissingDependency, EnvironmentFailure) as error:
            return Equivalence(status="undecided", cause="no_engine", message=str(error))

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Execution confirmed everything; the engines are those that decided."""
        return [], self.engines.collect_versions()


def merge_judged_and_executed(judged: Verdict, executed: Verdict) -> Verdict:
    """A judged verdict that also says what execution found, where it found anything."""
    if executed.evidence_kind != "executed" or executed.outcome not in MEASURED:
        return judged
    details = {**judged.details, "executed": executed.outcome}
    return msgspec.structs.replace(judged, details=details)


def score_execution(decision: Equivalence, reference: str) -> ScoringResult:
    """The ruling on a decision: undecided is not executed, everything else is measured."""
    outcomes = {"equivalent": "passed", "different": "failed", "error": "failed"}
    reasons = {"equivalent": "", "different": "wrong_answer", "error": "invalid_sql"}
    return ScoringResult(
        outcome=outcomes.get(decision.status, "not_executed"),  # type: ignore[arg-type]
        evidence_kind="executed",
        reason=reasons.get(decision.status, decision.cause),
        note=describe_decision(decision),
        details=build_decision_details(decision),
        evidence=build_decision_sections(decision, reference),
    )


# Rulings on what nothing here can execute: by the panel of the run, or by recorded votes.

_REASONS: dict[Outcome, str] = {"failed": "wrong_answer", "judge_error": "judge_error"}
#: Codes of notes.
PANEL_NOTES: dict[Outcome, str] = {
    "passed": "panel_says_yes",
    "failed": "panel_says_no",
    "judge_error": "panel_too_few",
}
PUBLISHED_NOTES: dict[Outcome, str] = {
    "passed": "published_pass",
    "failed": "published_fail",
    "judge_error": "published_no_vote",
}


async def score_by_panel(
    context: Context | None, question: Question, *, published: bool = False
) -> ScoringResult:
    """What the panel says; not executed where there is none to ask. `published` counts the votes by
    SCALE's rule instead of ours: a tie passes, one vote suffices."""
    if context is None or not context.judges:
        return ScoringResult(
            outcome="not_executed",
            evidence_kind="judged",
            reason="no_panel",
            note=Note("panel_needed"),
        )
    tally = await panel.ask_panel(context, question)
    outcome = _decide_as_published(tally, question) if published else tally.outcome
    code = (PUBLISHED_NOTES if published else PANEL_NOTES)[outcome]
    cast = tally.yes + tally.no
    return ScoringResult(
        outcome=outcome,
        evidence_kind="judged",
        reason=_REASONS.get(outcome, ""),
        note=Note(code, yes=tally.yes, no=tally.no, cast=cast, panel=len(tally.votes)),
        details=_build_panel_details(tally),
        evidence=(_build_votes_section([_vote_to_row(vote) for vote in tally.votes]),),
    )


def score_recorded_votes(votes: Sequence[Any], by_rules: bool, rule_id: str = "") -> ScoringResult:
    """What recorded votes amount to by SCALE's published rule; see `judges.recorded` for the forms.
    Raises UsageError naming a vote that cannot be read."""
    ballots = recorded.read_votes(votes, by_rules)
    cast = [ballot for ballot in ballots if ballot.is_cast]
    yes_votes = [ballot.supports_rule(rule_id) for ballot in cast]
    outcome = _decide_ballot_outcome(cast, by_rules, rule_id)
    return ScoringResult(
        outcome=outcome,
        evidence_kind="judged",
        reason=_REASONS.get(outcome, ""),
        note=Note(PUBLISHED_NOTES[outcome], yes=sum(yes_votes), no=len(yes_votes) - sum(yes_votes)),
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
    passes = recorded.rule_passes(ballots, rule_id) if by_rules else recorded.case_passes(ballots)
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
