"""The verdict on an episode, whatever its benchmark does."""

from __future__ import annotations

from typing import Any

from evalcore.access.secrets import scrub_secrets
from evalcore.benchmarks.base import Benchmark, Context
from evalcore.errors import CannotWrite, EnvironmentFailure, RunStopped
from evalcore.i18n import Note
from evalcore.records import MEASURED, Episode, Sample, Verdict


async def compute_verdict(
    benchmark: Benchmark, sample: Sample, episode: Episode, context: Context | None = None
) -> Verdict:
    """The benchmark's verdict; an episode without an answer gets its outcome from the failure. A
    scorer that breaks on one answer leaves that sample unmeasured and ends nothing else."""
    if episode.failure is not None:
        ours = episode.failure.kind == "environment"
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="environment_error" if ours else "target_error",
            reason=episode.failure.kind,
            note=episode.failure.localizable_message,
        )
    try:
        return _validate_verdict(await benchmark.evaluate_sample(sample, episode, context), sample)
    except (CannotWrite, RunStopped):
        raise
    except Exception as error:
        ours = isinstance(error, EnvironmentFailure)
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="environment_error",
            reason="environment",
            note=str(error) if ours else scrub_secrets(f"{type(error).__name__}: {error}"),
        )


def _validate_verdict(verdict: Any, sample: Sample) -> Verdict:
    """Return the verdict; raises if it is for another sample or has no usable score."""
    if not isinstance(verdict, Verdict) or (verdict.metric, verdict.id) != (
        sample.metric,
        sample.id,
    ):
        raise TypeError("evaluate_sample returned no verdict on its sample")
    if verdict.outcome in MEASURED:
        for score in (verdict.score, *verdict.views.values()):
            if score is None or not 0 <= score <= 1:
                raise ValueError(Note("sample_score", score=score))
    return verdict
