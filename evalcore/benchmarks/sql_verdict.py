"""From what was found out about an answer to the verdict that is journaled."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.answer_text import NOTES, unreadable
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


class Ruling(Record, frozen=True):
    """What is known of an answer. `views` are scores under other readings."""

    outcome: Outcome
    evidence_kind: EvidenceKind
    reason: str = ""
    note: str = ""
    details: dict[str, Any] = {}
    evidence: tuple[Section, ...] = ()
    views: dict[str, float] = {}


def ruled(sample: Sample, episode: Episode, extraction: str, ruling: Ruling) -> Verdict:
    """The verdict; the view `strict` also asks for the answer in the form that was asked for."""
    score = float(ruling.outcome == "passed") if ruling.outcome in MEASURED else None
    views = {"strict": score if extraction == "strict" else 0.0, "lenient": score}
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome=ruling.outcome,
        score=score,
        evidence_kind=ruling.evidence_kind,
        reason=ruling.reason,
        note=ruling.note,
        views={name: view for name, view in views.items() if view is not None} | ruling.views,
        details={"extraction": extraction, **ruling.details},
        evidence=ruling.evidence,
    )


def nothing_found(
    sample: Sample, episode: Episode, kind: EvidenceKind, evidence: tuple[Section, ...] = ()
) -> Verdict:
    """The verdict on an answer in which nothing of the requested form was found."""
    reason = unreadable(episode)
    ruling = Ruling(
        outcome="failed",
        evidence_kind=kind,
        reason=reason,
        note=NOTES[reason],
        details={"error_type": reason},
        evidence=(Section(kind="text", title="answer", body=episode.answer), *evidence),
    )
    return ruled(sample, episode, "none", ruling)


def passed_or_failed(right: bool, kind: EvidenceKind, note: str, **facts: Any) -> Ruling:
    return Ruling(
        outcome="passed" if right else "failed",
        evidence_kind=kind,
        reason="" if right else "wrong_answer",
        note=note,
        details=facts,
    )
