"""From the metrics that the harness computes to a verdict with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalcore.benchmarks.academic.code_runs import ProgramRun
from evalcore.benchmarks.academic.harness_records import CHOICE, ScoreResult
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Episode, EvidenceKind, Sample, Section, Verdict

_LONGEST = 20_000  # characters of a text in the evidence


def build_verdict(
    sample: Sample,
    episode: Episode,
    scored: ScoreResult,
    runs: Sequence[ProgramRun],
    kind: EvidenceKind,
) -> Verdict:
    """The verdict by the task's metric under its first filter; the others are views. Raises
    EnvironmentFailure where the harness gave no such number."""
    score = read_score(sample, scored)
    failed = [run for run in runs if not run.passed]
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome="passed" if score == 1.0 else "failed",
        score=score,
        evidence_kind=kind,
        reason="" if score == 1.0 else _find_reason(episode),
        note=_describe(sample, score, failed),
        views=_list_views(scored),
        details={"lm_eval_metric": sample.reference["metric"]},
        evidence=tuple(_list_evidence(sample, episode, scored, runs)),
    )


def read_score(sample: Sample, scored: ScoreResult) -> float:
    """The value of the task's metric under the first filter."""
    reading = next(iter(scored.metrics.values()), {})
    name = sample.reference["metric"]
    value = reading.get(name, next(iter(reading.values()), None))
    if value is None or not 0.0 <= value <= 1.0:
        raise EnvironmentFailure(Note("academic_no_score", metric=name, value=str(value)))
    return value


def _list_views(scored: ScoreResult) -> dict[str, float]:
    """Every metric under every filter, where there is more than one."""
    several = len(scored.metrics) > 1
    views: dict[str, float] = {}
    for filter_name, reading in scored.metrics.items():
        for metric, value in reading.items():
            name = metric
            if several:
                name = filter_name if len(reading) == 1 else f"{filter_name} {metric}"
            if 0.0 <= value <= 1.0:
                views[name] = value
    return views if len(views) > 1 else {}


def _find_reason(episode: Episode) -> str:
    return "token_limit" if episode.finish_reason == "length" else "wrong_answer"


def _describe(sample: Sample, score: float, failed: Sequence[ProgramRun]) -> str:
    if score == 1.0:
        return ""
    if failed:
        return Note("academic_tests_failed", reason=failed[0].reason)
    if score > 0.0:
        return Note("academic_partial", metric=sample.reference["metric"], score=f"{score:.3g}")
    return Note("academic_wrong", metric=sample.reference["metric"])


def _list_evidence(
    sample: Sample, episode: Episode, scored: ScoreResult, runs: Sequence[ProgramRun]
) -> Iterator[Section]:
    if sample.input["kind"] == CHOICE:
        yield Section(kind="table", title="likelihoods", body=_build_table(sample, episode))
    else:
        yield Section(kind="text", title="answer", body=episode.answer[:_LONGEST])
        for name, text in scored.filtered.items():
            if text.strip() != episode.answer.strip():
                title = "answer_compared"
                yield Section(kind="text", title=title, body=f"{name}: {text}"[:_LONGEST])
        target = str(sample.reference.get("answer", ""))
        if target:
            yield Section(kind="text", title="expected_answer", body=target[:_LONGEST])
    for run in runs:
        yield Section(kind="log", title="test_log", body=run.output or run.reason or "-")


def _build_table(sample: Sample, episode: Episode) -> dict[str, Any]:
    """The texts with their likelihoods, the right ones marked."""
    texts, gold = sample.input["texts"], sample.reference["gold"]
    measured = episode.state["likelihoods"]
    return {
        "columns": ["text", "logprob", "per_character", "right"],
        "rows": [
            [
                text.strip()[:200],
                round(float(logprob), 3),
                round(float(logprob) / max(1, len(text.strip())), 4),
                "✓" if number in gold else "",
            ]
            for number, (text, (logprob, _)) in enumerate(zip(texts, measured, strict=True))
        ],
    }
