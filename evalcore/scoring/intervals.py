"""Intervals of weighted scores, and of the difference between two targets on the same samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, fsum, sqrt
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from evalcore.records import Record, content_hash
from evalcore.results import Interval

if TYPE_CHECKING:
    import numpy as np

# A stratum: the weighted scores of one metric's samples, equal ones counted together.
# Counting them (most scores are 0 or 1 and most weights 1 to 3) makes every sum independent of
# the order of the samples, and cheap.


@dataclass(frozen=True)
class Stratum:
    """Samples of one metric. `cells` holds (weight, score 0 to 1, how many samples), sorted."""

    name: str
    cells: tuple[tuple[float, float, int], ...]

    @classmethod
    def from_pairs(cls, name: str, samples: Iterable[tuple[float, float]]) -> Stratum:
        """From one (weight, score) pair per sample."""
        return cls.from_counts(name, ((weight, score, 1) for weight, score in samples))

    @classmethod
    def from_counts(cls, name: str, cells: Iterable[tuple[float, float, int]]) -> Stratum:
        """From (weight, score, how many samples)."""
        counted: Counter[tuple[float, float]] = Counter()
        for weight, score, count in cells:
            counted[float(weight), float(score)] += count
        return cls(name, tuple((*pair, n) for pair, n in sorted(counted.items())))

    @cached_property
    def points(self) -> float:
        return fsum(weight * score * n for weight, score, n in self.cells)

    @cached_property
    def maximum(self) -> float:
        return fsum(weight * n for weight, _, n in self.cells)


#: Strata with the weight of each metric.
WeightedStrata = Sequence[tuple[Stratum, float]]


def compute_weighted_score(strata: WeightedStrata) -> float:
    """Compute 100 x sum(metric points x metric weight) / sum(metric maximum x metric weight),
    SCALE's published rule. 0 if the maximum is 0."""
    maximum = fsum(stratum.maximum * weight for stratum, weight in strata)
    if not maximum:
        return 0.0
    return 100 * fsum(stratum.points * weight for stratum, weight in strata) / maximum


# 95 % intervals of weighted, stratified scores: Wilson's interval with an effective sample size.
# A score is a weighted mean over strata (metrics). Its variance is the sum of the strata's own;
# but the scores of a few cases may all be equal by chance, so each stratum is smoothed as A.
# Agresti and B. A. Coull (1998) do with a rate: `PRIOR_CASES` cases like those of the whole
# benchmark are added, and to the whole z^2 cases, half of them right and half wrong. The variance
# says how many equally weighted cases without strata would be worth as much, and E. B. Wilson's
# interval (1927) for that many is the interval of the score, as N. Dean and M. Pagano (2015)
# recommend for surveys. For a plain rate this is Wilson's interval itself. `perf/intervals.py`
# measures how often it holds the truth.

Z95 = 1.959963984540054  # the normal deviate with 2.5 % above it
PRIOR_CASES = 2.0  # by simulation: 1 covers too little with few cases a stratum, 4 is too wide
_PRIOR_WHOLE = Z95 * Z95
_NEGLIGIBLE = 1e-12  # a share of all weight whose square may be no number any more

T = TypeVar("T", float, "np.ndarray")


class Moments(NamedTuple, Generic[T]):
    """What a stratum contributes: the sum of its cases' weights and that of their squares, and the
    weighted means of score and squared score (0 to 1). The means may be arrays, a value for each
    of many scores over the same cases."""

    weight: float
    weight_squares: float
    mean: T
    square: T

    @property
    def cases(self) -> float:
        """L. Kish's effective number of cases: how many equally weighted ones count as much."""
        return self.weight**2 / self.weight_squares


def wilson_interval(rate: float, size: float) -> Interval:
    """The Wilson interval of a rate (0 to 1) seen in `size` samples, as 0 to 100. `size` may be an
    effective, fractional one; raises ValueError unless it is positive."""
    if not size > 0:
        raise ValueError(f"an interval needs at least one sample, not {size}")
    square = Z95 * Z95 / size
    centre = rate + square / 2
    half = sqrt(square * (rate * (1 - rate) + square / 4))
    return clamp_interval(
        100 * rate, 100 * (centre - half) / (1 + square), 100 * (centre + half) / (1 + square)
    )


def effective_size(strata: Sequence[Moments[T]]) -> T:
    """How many equally weighted cases without strata determine the mean as well as these do. Raises
    ValueError without a stratum."""
    if not strata:
        raise ValueError("an effective size needs at least one stratum")
    whole = sum(stratum.weight for stratum in strata)
    cases = whole**2 / sum(stratum.weight_squares for stratum in strata)
    nothing = 0.0 * strata[0].mean
    mean = sum((stratum.weight / whole * stratum.mean for stratum in strata), nothing)
    square = sum((stratum.weight / whole * stratum.square for stratum in strata), nothing)
    prior_mean = (cases * mean + _PRIOR_WHOLE / 2) / (cases + _PRIOR_WHOLE)
    prior_square = (cases * square + _PRIOR_WHOLE / 2) / (cases + _PRIOR_WHOLE)
    if len(strata) == 1:
        return cases * prior_mean * (1 - prior_mean) / (prior_square - prior_mean**2)
    smoothed, variance = nothing, nothing
    for stratum in strata:
        n, all_cases = stratum.cases, stratum.cases + PRIOR_CASES
        mean = (n * stratum.mean + PRIOR_CASES * prior_mean) / all_cases
        square = (n * stratum.square + PRIOR_CASES * prior_square) / all_cases
        unbiased = all_cases**2 / (all_cases**2 - n)  # Bessel's correction where no case is added
        smoothed = smoothed + stratum.weight / whole * mean
        variance = variance + stratum.weight_squares / whole**2 * unbiased * (square - mean**2)
    return smoothed * (1 - smoothed) / variance


def score_interval(strata: WeightedStrata) -> Interval | None:
    """The interval of `compute_weighted_score(strata)`, 0 to 100; None where nothing can be won."""
    whole = fsum(stratum.maximum * factor for stratum, factor in strata)
    moments = [
        compute_moments([(weight * factor / whole, score, n) for weight, score, n in stratum.cells])
        for stratum, factor in strata
        if whole and stratum.maximum * factor / whole > _NEGLIGIBLE
    ]
    return (
        wilson_interval(compute_weighted_score(strata) / 100, effective_size(moments))
        if moments
        else None
    )


def compute_moments(cells: Sequence[tuple[float, float, int]]) -> Moments[float]:
    """Compute a stratum's moments from (weight, score 0 to 1, case count); some weight is above
    0."""
    weight = sum(w * n for w, _, n in cells)
    return Moments(
        weight,
        sum(w * w * n for w, _, n in cells),
        sum(w * n * score for w, score, n in cells) / weight,
        sum(w * n * score * score for w, score, n in cells) / weight,
    )


def clamp_interval(point: float, low: float, high: float, floor: float = 0.0) -> Interval:
    """An interval within its scale that holds the point in spite of rounding."""
    return Interval(max(floor, min(low, point)), min(100.0, max(high, point)))


# Two targets on the same samples: who is ahead, by how much, and could it be chance.
# p for equally weighted scores of 0 and 1 is the exact test of Q. McNemar (1947): of the samples
# on which the two differ, wins and losses are tosses of a fair coin. Otherwise R. A. Fisher's
# paired permutation: the sign of every weighted difference is flipped at random, or all ways
# where few samples differ. The interval is that of a score (`evalcore.scoring.intervals`) on a
# scale on which a loss is 0, a tie 1/2 and a win 1.

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
