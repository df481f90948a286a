"""The verdict on an episode: the answer is found in it, and the official scorer compares it."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.answer_parsing import NOTES, no_answer_reason
from evalcore.benchmarks.gaia.extraction import (
    ExtractedAnswer,
    extract_answer,
    to_answer_text,
    unwrap_answer,
)
from evalcore.benchmarks.gaia.score import ScoredAnswer, question_scorer
from evalcore.records import Episode, Sample, Section, Verdict

HIDDEN = "hidden_answer"
_HIDDEN_NOTE = "The answer is not public; the prediction can be exported."
_BUDGET = {
    "max_steps": "budget",
    "max_parse_errors": "budget",
    "context_overflow": "context_overflow",
}
_BUDGET_NOTE = "The limit on steps or unreadable calls ended it before it answered."


def build_gaia_verdict(sample: Sample, episode: Episode, *, bare: bool) -> Verdict:
    """`bare`: the whole reply was asked to be the answer."""
    if sample.meta.get("hidden"):
        return _assemble_verdict(
            sample, episode, outcome="not_executed", reason=HIDDEN, note=_HIDDEN_NOTE
        )
    if "answer" in episode.state:  # an answer of its own, scored as it stands
        answer = episode.state["answer"]
        return _build_scored_verdict(
            sample, episode, ExtractedAnswer(to_answer_text(answer), "final_answer"), answer
        )
    extracted = extract_answer(episode.answer)
    if bare and extracted.how == "fallback":
        extracted = _accept_whole_reply(episode.answer, extracted)
    if extracted.how != "none":
        return _build_scored_verdict(sample, episode, extracted, extracted.answer)
    reason = _BUDGET.get(episode.termination) or no_answer_reason(episode)
    note = _BUDGET_NOTE if reason == "budget" else NOTES[reason]
    views = {"strict": 0.0, "lenient": 0.0}
    return _assemble_verdict(
        sample, episode, outcome="failed", reason=reason, note=note, score=0.0, views=views
    )


def _accept_whole_reply(text: str, extracted: ExtractedAnswer) -> ExtractedAnswer:
    """In the bare form a reply of one line is the answer as it was asked for."""
    whole = unwrap_answer(text)
    return ExtractedAnswer(whole, "final_answer") if whole == extracted.answer else extracted


def _build_scored_verdict(
    sample: Sample, episode: Episode, extracted: ExtractedAnswer, answer: Any
) -> Verdict:
    truth = str(sample.reference["answer"])
    scored = question_scorer(answer, truth)
    score = float(scored.right)
    truncated = not scored.right and episode.finish_reason == "length"
    return _assemble_verdict(
        sample,
        episode,
        outcome="passed" if scored.right else "failed",
        reason="" if scored.right else "token_limit" if truncated else "wrong_answer",
        note=scored.note,
        score=score,
        views={"strict": score if extracted.how == "final_answer" else 0.0, "lenient": score},
        details={
            "extraction": extracted.how,
            "answer": extracted.answer,
            "comparison": scored.branch,
        },
        evidence=(
            _build_comparison_section(extracted, scored, truth),
            *_build_derivation_sections(sample),
        ),
    )


def _assemble_verdict(sample: Sample, episode: Episode, **fields: Any) -> Verdict:
    details = {**fields.pop("details", {}), **_collect_verdict_facts(sample, episode)}
    return Verdict(
        metric=sample.metric, id=sample.id, epoch=episode.epoch, details=details, **fields
    )


def _collect_verdict_facts(sample: Sample, episode: Episode) -> dict[str, Any]:
    """What is worth counting over episodes."""
    facts: dict[str, Any] = {"file": bool(sample.input.get("file_name"))}
    if sample.meta.get("needs_web"):
        facts["needs_web"] = True
    if "calls" in episode.state:
        facts["tool_calls"] = len(episode.state["calls"])
    searched = ("provider", "date")
    return facts | {name: episode.state[name] for name in searched if name in episode.state}


def _build_comparison_section(
    extracted: ExtractedAnswer, scored: ScoredAnswer, truth: str
) -> Section:
    body = {
        "columns": ["answer", "expected", "found_by", "compared_as"],
        "rows": [[extracted.answer, truth, extracted.how, scored.branch]],
    }
    return Section(kind="table", title="answer_compared", body=body)


def _build_derivation_sections(sample: Sample) -> tuple[Section, ...]:
    steps = sample.reference.get("derivation")
    return (Section(kind="json", title="derivation", body=steps),) if steps else ()
