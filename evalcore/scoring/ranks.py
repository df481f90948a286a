"""The ranks of a board with what is known of them: an interval per rank, and groups of ties.

Targets are compared in pairs on the same samples: a hard sample is hard for everybody, and only
the differences between targets decide who is ahead. The interval of a difference is that of a
score (`evalcore.scoring.intervals`) on a scale on which a loss is 0, a tie 1/2 and a win 1.

The best of many equal targets leads by luck, so the level of a comparison follows Z. Sidak (1967):
on 95 of 100 boards of equal targets not one pair is told apart. With two targets it is the plain
95 % interval. `perf/intervals.py` measures both.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist

import numpy as np

from evalcore.records import Record
from evalcore.scoring.intervals import Moments, effective_size

#: With fewer differing samples no exact paired test reaches 0.05: 2 / 2^5 = 0.0625.
FEWEST_DIFFERING = 6
_LEVEL = 0.95
_DIGITS = 9  # sums that differ only by the order of their terms are equal


class RankRow(Record, frozen=True):
    """`rank` is 1 for the best and shared by equal scores; `low` to `high` is its 95 % interval:
    1 + how many targets are significantly better, to how many are not significantly worse.

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
    maxima: np.ndarray | Sequence[float] | None = None,
    fixed: Mapping[str, float] | None = None,
) -> dict[str, RankRow]:
    """Rank targets by the sum of their contributions; the best first, equals by name.

    `scores` holds per target one contribution for each of the same samples in the same order: 100 x
    weight x score / sum of weights, so that the sum is the score. `strata` names the metric of each
    sample; `maxima` is what a score of 1 would contribute, by default the largest contribution of
    all. `fixed` adds points to a total that rest on no sample, such as a price. Neither the order
    of targets nor that of samples matters. Raises ValueError where the arrays are not aligned or
    not finite.
    """
    if not scores:
        return {}
    names = sorted(scores)
    points, sizes, heaviest = _sort_contributions([scores[name] for name in names], strata, maxima)
    added = np.array([(fixed or {}).get(name, 0.0) for name in names])
    totals = (points.sum(axis=0) + added).round(_DIGITS) + 0.0  # no negative zero
    ranks = _compute_ranks(totals[None, :])[0]
    better = _significantly_better(points, sizes, heaviest, added)
    low = 1 + better.sum(axis=0)
    high = len(names) - better.sum(axis=1)
    best_first = sorted(range(len(names)), key=lambda t: (ranks[t], names[t]))
    groups = _build_tie_groups(best_first, better)
    return {
        names[t]: RankRow(
            score=float(totals[t]),
            rank=int(ranks[t]),
            low=int(low[t]),
            high=int(high[t]),
            group=groups[t][0],
            leader=names[groups[t][1]],
        )
        for t in best_first
    }


def _align_contributions(rows: Sequence[np.ndarray | Sequence[float]]) -> np.ndarray:
    """The contributions as an array of shape (samples, targets)."""
    arrays = [np.asarray(row, dtype=float) for row in rows]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1:
        raise ValueError(f"contributions must be aligned on the same samples, not {shapes}")
    points = np.stack(arrays, axis=1)
    if not np.isfinite(points).all():
        raise ValueError("a contribution is not a finite number")
    return points


def _sort_contributions(
    rows: Sequence[np.ndarray | Sequence[float]],
    strata: Sequence[Hashable] | None,
    maxima: np.ndarray | Sequence[float] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The samples that can win anything, sorted by stratum and content; how many each stratum
    holds; and what each can contribute."""
    points = _align_contributions(rows)
    labels = [repr(label) for label in strata] if strata is not None else [""] * len(points)
    if len(labels) != len(points):
        raise ValueError(f"{len(labels)} strata for {len(points)} samples")
    if maxima is None:
        heaviest = np.full(len(points), points.max(initial=0.0))
    elif len(maxima) == len(points):
        heaviest = np.maximum(np.asarray(maxima, dtype=float), points.max(axis=1))
    else:
        raise ValueError(f"{len(maxima)} maxima for {len(points)} samples")
    order = np.lexsort((*points.T, heaviest, labels))
    order = order[heaviest[order] > 0]
    _, sizes = np.unique(np.asarray(labels)[order], return_counts=True)
    return points[order], sizes, heaviest[order]


def _significantly_better(
    points: np.ndarray, sizes: np.ndarray, heaviest: np.ndarray, fixed: np.ndarray
) -> np.ndarray:
    """Whether the row's target is better than the column's beyond chance: (targets, targets)."""
    targets = points.shape[1]
    if targets < 2:
        return np.zeros((targets, targets), dtype=bool)
    ahead = fixed[:, None] - fixed  # without chance
    if not len(points):
        return np.asarray(ahead.round(_DIGITS) > 0)
    ends = np.cumsum(sizes)
    moments = [
        _pair_moments(points[end - size : end], heaviest[end - size : end])
        for size, end in zip(sizes, ends, strict=True)
    ]
    whole = heaviest.sum()
    ahead = ahead / (2 * whole)
    lead = sum(stratum.weight / whole * stratum.mean for stratum in moments) - 0.5 + ahead
    pairs = targets * (targets - 1) / 2
    z = NormalDist().inv_cdf((1 + _LEVEL ** (1 / pairs)) / 2)
    # Wilson's interval ends short of 1/2 where a score test rejects 1/2, whose variance is 1/4.
    bound = z * np.sqrt(0.25 / effective_size(moments))
    apart = lead > bound
    for better, worse in np.argwhere(
        apart & (ahead <= bound) & (_bound_differing_samples(points, heaviest) < FEWEST_DIFFERING)
    ):
        differing = np.count_nonzero(points[:, better] != points[:, worse])
        apart[better, worse] = differing >= FEWEST_DIFFERING
    return np.asarray(apart)


def _pair_moments(points: np.ndarray, heaviest: np.ndarray) -> Moments[np.ndarray]:
    """Compute the moments of (1 + score of the row's target - score of the column's) / 2."""
    weight = heaviest.sum()
    totals = points.sum(axis=0)
    mean = (totals[:, None] - totals) / weight
    rooted = points / np.sqrt(heaviest)[:, None]
    products = rooted.T @ rooted / weight
    own = np.diag(products)
    square = np.maximum(own[:, None] + own - 2 * products, 0.0)
    weight_squares = float(heaviest @ heaviest)
    return Moments(float(weight), weight_squares, (1 + mean) / 2, (1 + 2 * mean + square) / 4)


def _bound_differing_samples(points: np.ndarray, heaviest: np.ndarray) -> np.ndarray:
    """A lower bound of how many samples differ, for every pair: sum(d)^2 <= n x sum(d^2)."""
    scores = points / heaviest[:, None]
    totals, products = scores.sum(axis=0), scores.T @ scores
    own = np.diag(products)
    squares = np.maximum(own[:, None] + own - 2 * products, 1e-12)
    return np.asarray((totals[:, None] - totals) ** 2 / squares * (1 - 1e-9))


def _compute_ranks(totals: np.ndarray) -> np.ndarray:
    """Competition ranks within each row: 1 + how many targets are strictly better."""
    order = np.argsort(-totals, axis=1)
    in_order = np.take_along_axis(totals, order, axis=1)
    positions = np.zeros(totals.shape, dtype=np.int64)
    positions[:, 1:] = np.where(
        in_order[:, 1:] < in_order[:, :-1], np.arange(1, totals.shape[1]), 0
    )
    ranks = np.empty_like(positions)  # of equals the first place counts
    np.put_along_axis(ranks, order, 1 + np.maximum.accumulate(positions, axis=1), axis=1)
    return ranks


def _build_tie_groups(best_first: Sequence[int], better: np.ndarray) -> dict[int, tuple[int, int]]:
    """(group, leader) per target: those whom the leader is not significantly better than, then on
    from the best that is left."""
    groups: dict[int, tuple[int, int]] = {}
    remaining, number = list(best_first), 0
    while remaining:
        leader, number = remaining[0], number + 1
        groups.update({t: (number, leader) for t in remaining if not better[leader, t]})
        remaining = [t for t in remaining if better[leader, t]]
    return groups


# How sure the first place is: how often a target leads when the cases are drawn anew.

RESAMPLES = 2_000
_BATCH = 250  # resamples that are in memory together


def resample_leads(
    scores: Mapping[str, np.ndarray | Sequence[float]],
    *,
    strata: Sequence[Hashable] | None = None,
    maxima: np.ndarray | Sequence[float] | None = None,
    fixed: Mapping[str, float] | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, float]:
    """The share of resamples (0 to 1) in which each target leads; arguments as in `rank_board`.

    A paired bootstrap (B. Efron, 1979): within each stratum the samples are drawn with replacement,
    the same for all targets, and a stratum keeps its weight. Those who share a lead share the
    resample. The draw follows from the numbers, so that equal boards give equal shares.
    """
    if not scores:
        return {}
    names = sorted(scores)
    points, sizes, heaviest = _sort_contributions([scores[name] for name in names], strata, maxima)
    added = np.array([(fixed or {}).get(name, 0.0) for name in names])
    rng = np.random.default_rng(zlib.crc32(points.round(_DIGITS).tobytes()))
    blocks = _merge_equal_samples(points, sizes, heaviest)
    leads = np.zeros(len(names))
    for start in range(0, resamples, _BATCH):
        count = min(_BATCH, resamples - start)
        totals = np.tile(added, (count, 1))
        for block, maximum, copies in blocks:
            drawn = rng.multinomial(copies.sum(), copies / copies.sum(), size=count)
            weight = float(maximum @ copies)
            totals += (drawn @ block) * (weight / (drawn @ maximum))[:, None]
        totals = totals.round(_DIGITS)
        first = totals == totals.max(axis=1, keepdims=True)
        leads += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return dict(zip(names, (leads / resamples).tolist(), strict=True))


def _merge_equal_samples(
    points: np.ndarray, sizes: np.ndarray, heaviest: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By stratum the samples that differ: contributions, maxima, and how often each is there."""
    blocks = []
    end = 0
    for size in sizes:
        start, end = end, end + int(size)
        both = np.column_stack([heaviest[start:end], points[start:end]])
        rows, copies = np.unique(both, axis=0, return_counts=True)
        blocks.append((rows[:, 1:], rows[:, 0], copies))
    return blocks
