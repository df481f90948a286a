"""From a free answer to a verdict: cut reasoning away, find code blocks, give reasons and
scores.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from evalcore.i18n import Note
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

# What readers of free answers share: reasoning cut away and code fences found, in linear time.

#: strict: the answer as it was asked for; lenient: it had to be found; none: there is none.
ExtractionKind = Literal["strict", "lenient", "none"]
#: The languages whose literals the arguments of calls are written in.
Language = Literal["python", "java", "javascript"]

LIMIT = 200_000  # characters searched after the reasoning; of longer answers the end
_REASONING_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.I)
_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+-]*[ \t]*\n?")

#: Why nothing was found in an answer, as a sentence.
NOTES = {
    "empty": Note("empty"),
    "token_limit": Note("token_limit"),
    "content_filter": Note("content_filter"),
    "context_overflow": Note("context_overflow"),
    "format": Note("format"),
}
_BY_FINISH = {
    "length": "token_limit",
    "content_filter": "content_filter",
    "context_overflow": "context_overflow",
}


def no_answer_reason(episode: Episode) -> str:
    """The word for why nothing was found in an answer: a key of `NOTES`."""
    by_text = "format" if episode.answer.strip() else "empty"
    return _BY_FINISH.get(episode.finish_reason, by_text)


def strip_reasoning(text: str) -> str:
    """Without closed blocks; where the opening tag is missing, all before the end is reasoning."""
    visible_parts: list[str] = []
    start, opened = 0, -1
    for tag in _REASONING_TAG.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened < 0 else opened
            continue
        if opened < 0:
            visible_parts.clear()
        else:
            visible_parts.append(text[start:opened])
        start, opened = tag.end(), -1
    return "".join([*visible_parts, text[start:]])


def extract_code_blocks(text: str) -> list[str]:
    """What stands between pairs of code fences, without the name of the language."""
    parts = text.split(_FENCE)
    inside = parts[1:-1:2]  # what follows the last mark is closed by none
    return [_LANGUAGE.sub("", block, count=1).strip() for block in inside]


class ScoringResult(Record, frozen=True):
    """What is known of an answer. `views` are scores under other readings; `share` is the part of
    the points, above 0 to 1, that an answer earns which passes."""

    outcome: Outcome
    evidence_kind: EvidenceKind
    reason: str = ""
    note: str = ""
    details: dict[str, Any] = {}
    evidence: tuple[Section, ...] = ()
    views: dict[str, float] = {}
    share: float = 1.0


def to_verdict(sample: Sample, episode: Episode, extraction: str, result: ScoringResult) -> Verdict:
    """The verdict; the view `strict` also asks for the answer in the form that was asked for."""
    passed = result.share if result.outcome == "passed" else 0.0
    score = passed if result.outcome in MEASURED else None
    views = {"strict": score if extraction == "strict" else 0.0, "lenient": score}
    details: dict[str, Any] = {"extraction": extraction, **result.details}
    if score and extraction == "lenient":
        details["lost_to_format"] = True
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
        details=details,
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
