"""From what was found out about an answer to the verdict that is journaled."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.answer_parsing import NOTES, no_answer_reason
from evalcore.records import (
    MEASURED,
    Episode,
    EvidenceKind,
    Outcome,
    Record,
    Sample,
    Section,
    Verdict,
)


class ScoringResult(Record, frozen=True):
    """What is known of an answer. `views` are scores under other readings."""

    outcome: Outcome
    evidence_kind: EvidenceKind
    reason: str = ""
    note: str = ""
    details: dict[str, Any] = {}
    evidence: tuple[Section, ...] = ()
    views: dict[str, float] = {}


def to_verdict(sample: Sample, episode: Episode, extraction: str, result: ScoringResult) -> Verdict:
    """The verdict; the view `strict` also asks for the answer in the form that was asked for."""
    score = float(result.outcome == "passed") if result.outcome in MEASURED else None
    views = {"strict": score if extraction == "strict" else 0.0, "lenient": score}
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome=result.outcome,
        score=score,
        evidence_kind=result.evidence_kind,
        reason=result.reason,
        note=result.note,
        views={name: view for name, view in views.items() if view is not None} | result.views,
        details={"extraction": extraction, **result.details},
        evidence=result.evidence,
    )


def build_no_answer_verdict(
    sample: Sample, episode: Episode, kind: EvidenceKind, evidence: tuple[Section, ...] = ()
) -> Verdict:
    """The verdict on an answer in which nothing of the requested form was found."""
    reason = no_answer_reason(episode)
    result = ScoringResult(
        outcome="failed",
        evidence_kind=kind,
        reason=reason,
        note=NOTES[reason],
        details={"error_type": reason},
        evidence=(Section(kind="text", title="answer", body=episode.answer), *evidence),
    )
    return to_verdict(sample, episode, "none", result)


def passed_or_failed(right: bool, kind: EvidenceKind, note: str, **facts: Any) -> ScoringResult:
    return ScoringResult(
        outcome="passed" if right else "failed",
        evidence_kind=kind,
        reason="" if right else "wrong_answer",
        note=note,
        details=facts,
    )
