"""pass^k: the chance that k tries at a task, of the n that were made, all succeed.

S. Yao et al., "tau-bench" (2024): the mean over tasks of C(c, k) / C(n, k), c being the successes.
Beside it stands p0, the share of tasks that doing nothing passes, and (p - p0) / (1 - p0).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import comb, fsum

from evalcore.benchmarks.tau_bench.dataset import noop_passes
from evalcore.records import MEASURED, Interval, Record, Sample, Verdict
from evalcore.scoring.intervals import compute_moments, effective_size, wilson_interval


class PassK(Record, frozen=True):
    """`value` and its 95 % interval, 0 to 100; the cases that it counts are whole tasks."""

    k: int
    value: float
    interval: Interval


def pass_k(successes: Sequence[int], tries: int) -> tuple[PassK, ...]:
    """pass^1 to pass^tries, from the successes of each task, all tried equally often."""
    return (
        tuple(_estimate_pass_k(successes, tries, k) for k in range(1, tries + 1))
        if successes
        else ()
    )


def _estimate_pass_k(successes: Sequence[int], tries: int, k: int) -> PassK:
    shares = sorted(comb(count, k) / comb(tries, k) for count in successes)
    value = 100 * fsum(shares) / len(shares)
    moments = compute_moments([(1.0, share, 1) for share in shares])
    return PassK(k, value, wilson_interval(value / 100, effective_size([moments])))


def compute_pass_groups(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], tries: int
) -> dict[str, float | None]:
    """By name, 0 to 100: `pass^k` with `pass^k.low` and `pass^k.high`, `p0`, and `adjusted^k` (for
    k = 1 `adjust_for_noop`).

    pass^k is None while a task was not measured in every epoch; what is adjusted is None where
    doing nothing passes all.
    """
    if not samples:
        return {}
    successes = _count_successes(samples, verdicts, tries)
    p0 = 100 * sum(map(noop_passes, samples)) / len(samples)
    scores: dict[str, float | None] = {"p0": p0}
    if successes is None:
        return scores | {f"pass^{k}": None for k in range(1, tries + 1)} | {"adjusted": None}
    for estimate in pass_k(successes, tries):
        name = f"pass^{estimate.k}"
        scores |= {
            name: estimate.value,
            f"{name}.low": estimate.interval.low,
            f"{name}.high": estimate.interval.high,
            "adjusted" if estimate.k == 1 else f"adjusted^{estimate.k}": adjust_for_noop(
                estimate.value, p0
            ),
        }
    return scores


def adjust_for_noop(value: float, p0: float) -> float | None:
    """How much of what doing nothing leaves was reached: 0 for p0, 100 for all, below 0 for less
    than p0. None where it leaves nothing."""
    return None if p0 >= 100 else 100 * ((value - p0) / (100 - p0))


def _count_successes(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], tries: int
) -> list[int] | None:
    """How often each task succeeded, None unless all were measured in each epoch."""
    passed: Mapping[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.outcome in MEASURED and 0 <= verdict.epoch < tries:
            passed[verdict.metric, verdict.id][verdict.epoch] = verdict.outcome == "passed"
    task_epochs = [passed[sample.metric, sample.id] for sample in samples]
    if any(len(tried) < tries for tried in task_epochs):
        return None
    return [sum(tried.values()) for tried in task_epochs]
