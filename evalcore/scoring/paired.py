"""Two targets on the same samples: who is ahead, by how much, and could it be chance.

p for equally weighted scores of 0 and 1 is the exact test of Q. McNemar (1947): of the samples on
which the two differ, wins and losses are tosses of a fair coin. Otherwise R. A. Fisher's paired
permutation: the sign of every weighted difference is flipped at random, or all ways where few
samples differ. The interval is that of a score (`evalcore.scoring.intervals`) on a scale on which
a loss is 0, a tie 1/2 and a win 1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import comb, fsum
from typing import TYPE_CHECKING, Literal, TypeVar

from evalcore.records import Interval, Record, content_hash
from evalcore.scoring.intervals import clamp_interval, score_interval
from evalcore.scoring.strata import Stratum

if TYPE_CHECKING:
    import numpy as np

FLIPS = 10_000
EXACT = 14  # up to this many differing samples, all 2^n ways of flipping are tried

K = TypeVar("K", bound=Hashable)
#: (weight, score of a - score of b) per sample, sorted, for every stratum.
ScoreDifferences = list[list[tuple[float, float]]]


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


def compare_paired(
    a: Mapping[K, float],
    b: Mapping[K, float],
    weights: Mapping[K, float],
    stratum: Callable[[K], Hashable] = lambda key: None,
) -> PairedResult:
    """Compare scores of 0 to 1 by sample key; samples that only one of the two has are left out.

    `weights` is difficulty x metric weight and must know every common key (KeyError); `stratum`
    returns the metric of a key. Samples of weight 0 count for nothing, also not as wins. The
    result does not depend on any order.
    """
    common = [key for key in a if key in b and weights[key] > 0]
    wins = sum(a[key] > b[key] for key in common)
    losses = sum(a[key] < b[key] for key in common)
    binary = all(side[key] in (0.0, 1.0) for key in common for side in (a, b))
    plain = binary and len({weights[key] for key in common}) <= 1
    strata: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for key in common:
        strata[stratum(key)].append((float(weights[key]), float(a[key]) - float(b[key])))
    changes = sorted(sorted(pairs) for pairs in strata.values())
    weighted = [w * d for pairs in changes for w, d in pairs if d]
    total = fsum(w for pairs in changes for w, _ in pairs)
    difference = 100 * fsum(weighted) / total if common else None
    return PairedResult(
        common=len(common),
        wins=wins,
        losses=losses,
        ties=len(common) - wins - losses,
        difference=difference,
        interval=None if difference is None else _difference_interval(changes, difference),
        p=mcnemar_p_value(wins, losses) if plain else permutation_p_value(weighted),
        test="mcnemar" if plain else "permutation",
    )


def mcnemar_p_value(wins: int, losses: int) -> float:
    """The two-sided exact p of so uneven a split of the differing samples."""
    differing = wins + losses
    tail = sum(comb(differing, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << differing))


def permutation_p_value(differences: Sequence[float]) -> float:
    """The two-sided p of a sum of differences under random signs; 1.0 where there are none."""
    import numpy as np

    sizes = np.sort(np.abs(np.asarray(differences, dtype=float)))
    seen = abs(fsum(differences)) * (1 - 1e-9)  # sums that differ by rounding only are equal
    if not len(sizes):
        return 1.0
    if len(sizes) <= EXACT:
        return float(np.mean(np.abs(_all_signs(len(sizes)) @ sizes) >= seen))
    rng = np.random.default_rng(int(content_hash(sizes.tolist()), 16))
    counted = Counter(sizes.tolist())
    counts = np.array(list(counted.values()))
    positive = rng.binomial(counts, 0.5, size=(FLIPS, len(counts)))
    sums = (2 * positive - counts) @ np.array(list(counted))
    reached = 1 + int(np.count_nonzero(np.abs(sums) >= seen))  # what was seen is one of the ways
    return reached / (FLIPS + 1)


def _all_signs(count: int) -> np.ndarray:
    import numpy as np

    return (np.arange(2**count)[:, None] >> np.arange(count) & 1) * 2 - 1


def _difference_interval(changes: ScoreDifferences, difference: float) -> Interval:
    """The interval of the difference; `b` against `a` gives that of `a` against `b` mirrored."""
    mirrored = sorted(sorted((weight, 0.0 - d) for weight, d in pairs) for pairs in changes)
    if mirrored < changes:
        interval = _difference_interval(mirrored, -difference)
        return Interval(0.0 - interval.high, 0.0 - interval.low)
    halves = [Stratum.from_pairs("", ((w, (1 + d) / 2) for w, d in pairs)) for pairs in changes]
    interval = score_interval([(stratum, 1.0) for stratum in halves]) or Interval(0.0, 100.0)
    return clamp_interval(difference, 2 * interval.low - 100, 2 * interval.high - 100, -100.0)
