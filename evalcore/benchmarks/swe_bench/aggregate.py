"""What is counted beside the score: usable tasks, and measures that execute nothing."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.swe_bench.verdict import UNUSABLE
from evalcore.records import Sample, Verdict

#: Shares by the detail they are the mean of; a patch that is not there has none of any.
_MEASURES = ("file_recall", "hunk_recall", "line_f1")


def split_unusable(
    samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> tuple[list[Sample], list[Sample]]:
    """The samples that can be used here, and those whose reference patch showed otherwise."""
    bad = {(verdict.metric, verdict.id) for verdict in verdicts if verdict.reason == UNUSABLE}
    usable = [sample for sample in samples if (sample.metric, sample.id) not in bad]
    return usable, [sample for sample in samples if (sample.metric, sample.id) in bad]


def compute_group_means(
    samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> dict[str, float | None]:
    """Means in percent over the samples and their epochs; None where nothing was looked at.

    `applies_rate` is known of executed patches only.
    """
    sample_keys = {(sample.metric, sample.id) for sample in samples}
    measured = [
        verdict
        for verdict in verdicts
        if (verdict.metric, verdict.id) in sample_keys and "resolved" in verdict.details
    ]
    executed = [verdict for verdict in measured if verdict.details["resolved"] is not None]
    applied = [float(bool(verdict.details.get("applied"))) for verdict in executed]
    shares = {
        name: [float(verdict.details.get(name, 0.0)) for verdict in measured] for name in _MEASURES
    }
    return {
        name: _mean_percent(values) for name, values in {"applies_rate": applied, **shares}.items()
    }


def _mean_percent(values: Sequence[float]) -> float | None:
    return 100.0 * sum(values) / len(values) if values else None
