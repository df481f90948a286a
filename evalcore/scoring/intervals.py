"""95 % intervals of weighted, stratified scores: Wilson's interval with an effective sample size.

A score is a weighted mean over strata (metrics). Its variance is the sum of the strata's own; but
the scores of a few cases may all be equal by chance, so each stratum is smoothed as A. Agresti and
B. A. Coull (1998) do with a rate: `PRIOR_CASES` cases like those of the whole benchmark are added,
and to the whole z^2 cases, half of them right and half wrong. The variance says how many equally
weighted cases without strata would be worth as much, and E. B. Wilson's interval (1927) for that
many is the interval of the score, as N. Dean and M. Pagano (2015) recommend for surveys. For a
plain rate this is Wilson's interval itself. `perf/intervals.py` measures how often it holds the
truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from evalcore.records import Interval
from evalcore.scoring.strata import WeightedStrata, compute_weighted_score

if TYPE_CHECKING:
    import numpy as np

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
    """The Wilson interval of a rate (0 to 1) seen in `size` samples, as 0 to 100.

    `size` may be an effective, fractional one; raises ValueError unless it is positive.
    """
    if not size > 0:
        raise ValueError(f"an interval needs at least one sample, not {size}")
    square = Z95 * Z95 / size
    centre = rate + square / 2
    half = sqrt(square * (rate * (1 - rate) + square / 4))
    return clamp_interval(
        100 * rate, 100 * (centre - half) / (1 + square), 100 * (centre + half) / (1 + square)
    )


def effective_size(strata: Sequence[Moments[T]]) -> T:
    """How many equally weighted cases without strata determine the mean as well as these do.

    Raises ValueError without a stratum.
    """
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
    """The moments of a stratum from (weight, score 0 to 1, how many cases), some weight above 0."""
    weight = sum(w * n for w, _, n in cells)
    return Moments(
        weight,
        sum(w * w * n for w, _, n in cells),
        sum(w * n * score for w, score, n in cells) / weight,
        sum(w * n * score * score for w, score, n in cells) / weight,
    )


def clamp_interval(
    point: float, low: float, high: float, floor: float = 0.0, ceiling: float = 100.0
) -> Interval:
    """An interval within its scale that holds the point in spite of rounding."""
    return Interval(max(floor, min(low, point)), min(ceiling, max(high, point)))
