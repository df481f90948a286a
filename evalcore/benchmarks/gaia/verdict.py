"""The verdict on an episode: the answer is found in it, and the official scorer compares it."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.answer_parsing import NOTES, no_answer_reason
from evalcore.benchmarks.gaia.extraction import Extracted, as_text, extract, unwrapped
from evalcore.benchmarks.gaia.score import Scored, question_scorer
from evalcore.records import Episode, Sample, Section, Verdict

HIDDEN = "hidden_answer"
_HIDDEN_NOTE = "The answer is not public; the prediction can be exported."
_BUDGET = {
    "max_steps": "budget",
    "max_parse_errors": "budget",
    "context_overflow": "context_overflow",
}
_BUDGET_NOTE = "The limit on steps or unreadable calls ended it before it answered."


def verdict_on(sample: Sample, episode: Episode, *, bare: bool) -> Verdict:
    """`bare`: the whole reply was asked to be the answer."""
    if sample.meta.get("hidden"):
        return _verdict(sample, episode, outcome="not_executed", reason=HIDDEN, note=_HIDDEN_NOTE)
    if "answer" in episode.state:  # an answer of its own, scored as it stands
        given = episode.state["answer"]
        return _scored(sample, episode, Extracted(as_text(given), "final_answer"), given)
    found = extract(episode.answer)
    if bare and found.how == "fallback":
        found = _whole(episode.answer, found)
    if found.how != "none":
        return _scored(sample, episode, found, found.answer)
    reason = _BUDGET.get(episode.termination) or no_answer_reason(episode)
    note = _BUDGET_NOTE if reason == "budget" else NOTES[reason]
    views = {"strict": 0.0, "lenient": 0.0}
    return _verdict(
        sample, episode, outcome="failed", reason=reason, note=note, score=0.0, views=views
    )


def _whole(text: str, found: Extracted) -> Extracted:
    """In the bare form a reply of one line is the answer as it was asked for."""
    whole = unwrapped(text)
    return Extracted(whole, "final_answer") if whole == found.answer else found


def _scored(sample: Sample, episode: Episode, found: Extracted, given: Any) -> Verdict:
    truth = str(sample.reference["answer"])
    scored = question_scorer(given, truth)
    score = float(scored.right)
    cut = not scored.right and episode.finish_reason == "length"
    return _verdict(
        sample,
        episode,
        outcome="passed" if scored.right else "failed",
        reason="" if scored.right else "token_limit" if cut else "wrong_answer",
        note=scored.note,
        score=score,
        views={"strict": score if found.how == "final_answer" else 0.0, "lenient": score},
        details={"extraction": found.how, "answer": found.answer, "comparison": scored.branch},
        evidence=(_comparison(found, scored, truth), *_derivation(sample)),
    )


def _verdict(sample: Sample, episode: Episode, **found: Any) -> Verdict:
    details = {**found.pop("details", {}), **_about(sample, episode)}
    return Verdict(
        metric=sample.metric, id=sample.id, epoch=episode.epoch, details=details, **found
    )


def _about(sample: Sample, episode: Episode) -> dict[str, Any]:
    """What is worth counting over episodes."""
    facts: dict[str, Any] = {"file": bool(sample.input.get("file_name"))}
    if sample.meta.get("needs_web"):
        facts["needs_web"] = True
    if "calls" in episode.state:
        facts["tool_calls"] = len(episode.state["calls"])
    searched = ("provider", "date")
    return facts | {name: episode.state[name] for name in searched if name in episode.state}


def _comparison(found: Extracted, scored: Scored, truth: str) -> Section:
    body = {
        "columns": ["answer", "expected", "found_by", "compared_as"],
        "rows": [[found.answer, truth, found.how, scored.branch]],
    }
    return Section(kind="table", title="answer_compared", body=body)


def _derivation(sample: Sample) -> tuple[Section, ...]:
    steps = sample.reference.get("derivation")
    return (Section(kind="json", title="derivation", body=steps),) if steps else ()
