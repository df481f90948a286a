"""Two targets on the same samples: who is ahead, by how much, and could it be chance.

p for scores of 0 and 1 is the exact test of Q. McNemar (1947): of the samples on which the two
differ, wins and losses are tosses of a fair coin. Otherwise R. A. Fisher's paired permutation:
the sign of every weighted difference is flipped at random, or all ways where few samples differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import comb, fsum
from typing import TYPE_CHECKING, Literal, TypeVar

from evalcore.records import Interval, Record, content_hash
from evalcore.scoring.intervals import around, effective_size, percentiles, wilson
from evalcore.scoring.strata import RESAMPLES

if TYPE_CHECKING:
    import numpy as np

FLIPS = 10_000
EXACT = 14  # up to this many differing samples, all 2^n ways of flipping are tried
_BLOCK = 500  # flips at a time, to bound the memory

K = TypeVar("K", bound=Hashable)
Changes = list[tuple[float, float]]  # (weight, score of a - score of b) per sample, sorted


class PairedResult(Record, frozen=True):
    """`a` against `b` on their `common` samples; a win is a sample where `a` scores higher.

    `difference` is the weighted score of `a` minus that of `b`, -100 to 100, with its 95 %
    interval; None where the common samples weigh nothing.
    """

    common: int
    wins: int
    losses: int
    ties: int
    difference: float | None
    interval: Interval | None
    p: float
    test: Literal["mcnemar", "permutation"]


def compare(a: Mapping[K, float], b: Mapping[K, float], weights: Mapping[K, float]) -> PairedResult:
    """Compare scores of 0 to 1 by sample key; samples that only one of the two has are left out.

    `weights` is difficulty x metric weight and must know every common key (KeyError). Samples of
    weight 0 count for nothing, also not as wins. The result does not depend on any order.
    """
    trios = sorted(
        (float(weights[key]), float(score), float(b[key]))
        for key, score in a.items()
        if key in b and weights[key] > 0
    )
    wins = sum(x > y for _, x, y in trios)
    losses = sum(x < y for _, x, y in trios)
    binary = all(score in (0.0, 1.0) for _, x, y in trios for score in (x, y))
    changes = sorted((weight, x - y) for weight, x, y in trios)
    difference = _difference(changes) if changes else None
    return PairedResult(
        common=len(trios),
        wins=wins,
        losses=losses,
        ties=len(trios) - wins - losses,
        difference=difference,
        interval=None if difference is None else _interval(changes, difference),
        p=mcnemar(wins, losses) if binary else permutation([w * d for w, d in changes if d]),
        test="mcnemar" if binary else "permutation",
    )


def mcnemar(wins: int, losses: int) -> float:
    """The two-sided exact p of so uneven a split of the differing samples."""
    differing = wins + losses
    tail = sum(comb(differing, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << differing))


def permutation(differences: Sequence[float]) -> float:
    """The two-sided p of a sum of differences under random signs; 1.0 where there are none."""
    import numpy as np

    sizes = np.sort(np.abs(np.asarray(differences, dtype=float)))
    seen = abs(fsum(differences)) * (1 - 1e-9)  # sums that differ by rounding only are equal
    if not len(sizes):
        return 1.0
    if len(sizes) <= EXACT:
        return float(np.mean(np.abs(_all_signs(len(sizes)) @ sizes) >= seen))
    rng = np.random.default_rng(int(content_hash(sizes.tolist()), 16))
    reached = 1  # what was seen is one of the ways
    for _ in range(FLIPS // _BLOCK):
        signs = rng.integers(0, 2, size=(_BLOCK, len(sizes))) * 2 - 1
        reached += int(np.count_nonzero(np.abs(signs @ sizes) >= seen))
    return reached / (FLIPS + 1)


def _all_signs(count: int) -> np.ndarray:
    import numpy as np

    return (np.arange(2**count)[:, None] >> np.arange(count) & 1) * 2 - 1


def _difference(changes: Changes) -> float:
    return 100 * fsum(w * d for w, d in changes) / fsum(w for w, _ in changes)


def _interval(changes: Changes, difference: float) -> Interval:
    """The interval of the difference; `b` against `a` gives that of `a` against `b` mirrored."""
    mirrored = sorted((weight, 0.0 - change) for weight, change in changes)  # never -0.0
    if mirrored < changes:
        interval = _interval(mirrored, -difference)
        return Interval(0.0 - interval.high, 0.0 - interval.low)
    if len({change for _, change in changes}) == 1:
        return _unanimous(changes, difference)
    return _bootstrap(changes, difference)


def _unanimous(changes: Changes, difference: float) -> Interval:
    """Where every sample shows the same change, resampling would show no doubt at all.

    Instead the Wilson limit of the share of samples that may behave otherwise is taken to go all
    the way to a loss, or to a win.
    """
    other = wilson(0.0, effective_size((weight, 1) for weight, _ in changes)).high / 100
    low, high = difference - other * (100 + difference), difference + other * (100 - difference)
    return around(difference, low, high, -100.0)


def _bootstrap(changes: Changes, difference: float) -> Interval:
    import numpy as np

    from evalcore.scoring.resample import resampled_sums

    values = np.array([(weight * change, weight) for weight, change in changes])
    single = np.ones(len(changes), dtype=np.int64)
    sums = resampled_sums(values, single, RESAMPLES, int(content_hash(changes), 16))
    return percentiles(difference, 100 * sums[:, 0] / sums[:, 1], -100.0)
