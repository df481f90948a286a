"""95 % intervals: Wilson for plain rates, a stratified bootstrap for weighted scores.

E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927), keeps
its coverage near 0 and 1, where the normal approximation gives intervals of no width. L. Kish's
effective size, sum(w)^2 / sum(w^2), says how many equally weighted samples are worth as much.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt
from typing import TYPE_CHECKING

from evalcore.records import Interval
from evalcore.scoring.strata import Weighted, score_of

if TYPE_CHECKING:
    import numpy as np

Z95 = 1.959963984540054  # the normal deviate with 2.5 % above it


def wilson(rate: float, size: float) -> Interval:
    """The Wilson interval of a rate (0 to 1) seen in `size` samples, as 0 to 100.

    `size` may be an effective, fractional one; raises ValueError unless it is positive.
    """
    if not size > 0:
        raise ValueError(f"an interval needs at least one sample, not {size}")
    square = Z95 * Z95 / size
    centre = rate + square / 2
    half = sqrt(square * (rate * (1 - rate) + square / 4))
    return around(
        100 * rate, 100 * (centre - half) / (1 + square), 100 * (centre + half) / (1 + square)
    )


def effective_size(weights: Iterable[tuple[float, int]]) -> float:
    """Kish's effective number of samples, from (weight, how many) pairs."""
    pairs = list(weights)
    return fsum(w * n for w, n in pairs) ** 2 / fsum(w * w * n for w, n in pairs)


def score_interval(strata: Weighted) -> Interval | None:
    """The interval of `score_of(strata)`, 0 to 100; None where nothing can be won.

    Wilson for a plain rate (scores 0 or 1, equal weights), and with the effective size wherever all
    samples agree, since resampling equal scores would show no doubt at all. Otherwise a percentile
    bootstrap that resamples every metric by itself.
    """
    cells = [
        (weight * factor, score, n)
        for stratum, factor in strata
        for weight, score, n in stratum.cells
        if weight * factor > 0
    ]
    if not cells:
        return None
    scores = {score for _, score, _ in cells}
    plain = scores <= {0.0, 1.0} and len({weight for weight, _, _ in cells}) == 1
    if plain or len(scores) == 1:
        return wilson(score_of(strata) / 100, effective_size((w, n) for w, _, n in cells))
    return _bootstrap(strata)


def _bootstrap(strata: Weighted) -> Interval:
    import numpy as np

    total = np.sum([stratum.resampled * weight for stratum, weight in strata if stratum.cells], 0)
    drawn = total[:, 1] > 0  # a resample may hold nothing but samples of weight 0
    return percentiles(score_of(strata), 100 * total[drawn, 0] / total[drawn, 1])


def percentiles(
    point: float, resampled: np.ndarray, floor: float = 0.0, ceiling: float = 100.0
) -> Interval:
    """The middle 95 % of resampled values, widened to hold the point estimate."""
    import numpy as np

    low, high = np.quantile(resampled, (0.025, 0.975))
    return around(point, float(low), float(high), floor, ceiling)


def around(
    point: float, low: float, high: float, floor: float = 0.0, ceiling: float = 100.0
) -> Interval:
    """An interval within its scale that holds the point in spite of rounding."""
    return Interval(max(floor, min(low, point)), min(ceiling, max(high, point)))
