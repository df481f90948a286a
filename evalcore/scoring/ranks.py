"""The ranks of a board with what is known of them: an interval per rank, and groups of ties.

All targets are resampled together, sample by sample: a hard sample is hard for everybody, and
only the differences between targets decide who is ahead.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from evalcore.records import Record
from evalcore.scoring.resample import resampled_sums

RESAMPLES = 1000
#: With fewer differing samples no exact paired test reaches 0.05: 2 / 2^5 = 0.0625.
FEWEST_DIFFERING = 6
_TAIL = 0.025
_DIGITS = 9  # sums that differ only by the order of their terms are equal


class RankRow(Record, frozen=True):
    """`rank` is 1 for the best and shared by equal scores; `low` to `high` is its 95 % interval.

    `group` counts from 1: all in it cannot be told from `leader`, the best of the group.
    """

    score: float
    rank: int
    low: int
    high: int
    group: int
    leader: str


def rank_board(
    scores: Mapping[str, np.ndarray | Sequence[float]],
    *,
    strata: Sequence[Hashable] | None = None,
) -> dict[str, RankRow]:
    """Rank targets by the sum of their contributions; the best first, equals by name.

    `scores` holds per target one contribution for each of the same samples in the same order: 100 x
    weight x score / sum of weights, so that the sum is the score. `strata` names the metric of each
    sample; every metric is resampled by itself. Neither the order of targets nor that of samples
    matters. Raises ValueError where the arrays are not aligned or not finite.
    """
    if not scores:
        return {}
    names = sorted(scores)
    points, sizes = _canonical(_aligned([scores[name] for name in names]), strata)
    totals = points.sum(axis=0).round(_DIGITS) + 0.0  # no negative zero
    resampled = _resampled(points, sizes).round(_DIGITS)
    ranks, drawn = _ranks(totals[None, :])[0], _ranks(resampled)
    low = np.quantile(drawn, _TAIL, axis=0, method="lower")
    high = np.quantile(drawn, 1 - _TAIL, axis=0, method="higher")
    best_first = sorted(range(len(names)), key=lambda t: (ranks[t], names[t]))
    groups = _groups(best_first, points, resampled)
    return {
        names[t]: RankRow(
            score=float(totals[t]),
            rank=int(ranks[t]),
            low=int(min(low[t], ranks[t])),
            high=int(max(high[t], ranks[t])),
            group=groups[t][0],
            leader=names[groups[t][1]],
        )
        for t in best_first
    }


def _aligned(rows: Sequence[np.ndarray | Sequence[float]]) -> np.ndarray:
    """The contributions as an array of shape (samples, targets)."""
    arrays = [np.asarray(row, dtype=float) for row in rows]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1:
        raise ValueError(f"contributions must be aligned on the same samples, not {shapes}")
    points = np.stack(arrays, axis=1)
    if not np.isfinite(points).all():
        raise ValueError("a contribution is not a finite number")
    return points


def _canonical(
    points: np.ndarray, strata: Sequence[Hashable] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The samples sorted by stratum and content, and how many each stratum holds."""
    labels = [repr(label) for label in strata] if strata is not None else [""] * len(points)
    if len(labels) != len(points):
        raise ValueError(f"{len(labels)} strata for {len(points)} samples")
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return points[np.lexsort((*points.T, codes))], sizes


def _resampled(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The totals of all targets in each resample: shape (RESAMPLES, targets)."""
    totals = np.zeros((RESAMPLES, points.shape[1]))
    for seed, stratum in enumerate(np.split(points, np.cumsum(sizes)[:-1])):
        if len(stratum):
            single = np.ones(len(stratum), dtype=np.int64)
            totals += resampled_sums(stratum, single, RESAMPLES, seed)
    return totals


def _ranks(totals: np.ndarray) -> np.ndarray:
    """Competition ranks within each row: 1 + how many targets are strictly better."""
    order = np.argsort(-totals, axis=1)
    in_order = np.take_along_axis(totals, order, axis=1)
    places = np.zeros(totals.shape, dtype=np.int64)
    places[:, 1:] = np.where(in_order[:, 1:] < in_order[:, :-1], np.arange(1, totals.shape[1]), 0)
    ranks = np.empty_like(places)  # of equals the first place counts
    np.put_along_axis(ranks, order, 1 + np.maximum.accumulate(places, axis=1), axis=1)
    return ranks


def _groups(
    best_first: Sequence[int], points: np.ndarray, resampled: np.ndarray
) -> dict[int, tuple[int, int]]:
    """(group, leader) per target: who cannot be told from the leader, then on from the best left.

    Told apart means that the 95 % interval of the paired difference lies above 0, and that enough
    samples differ.
    """
    groups: dict[int, tuple[int, int]] = {}
    left, number = list(best_first), 0
    while left:
        leader, number = left[0], number + 1
        behind_or_equal = np.mean(resampled[:, [leader]] <= resampled[:, left], axis=0)
        differing = np.count_nonzero(points[:, left] != points[:, [leader]], axis=0)
        apart = (behind_or_equal < _TAIL) & (differing >= FEWEST_DIFFERING)
        groups.update({t: (number, leader) for t, far in zip(left, apart, strict=True) if not far})
        left = [t for t, far in zip(left, apart, strict=True) if far]
    return groups
