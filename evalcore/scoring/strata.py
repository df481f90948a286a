"""A stratum: the weighted scores of one metric's samples, equal ones counted together.

Counting them (most scores are 0 or 1 and most weights 1 to 3) makes every sum independent of the
order of the samples, and cheap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum


@dataclass(frozen=True)
class Stratum:
    """Samples of one metric. `cells` holds (weight, score 0 to 1, how many samples), sorted."""

    name: str
    cells: tuple[tuple[float, float, int], ...]

    @classmethod
    def from_pairs(cls, name: str, samples: Iterable[tuple[float, float]]) -> Stratum:
        """From one (weight, score) pair per sample."""
        counted = Counter((float(weight), float(score)) for weight, score in samples)
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
    """100 x sum(metric points x metric weight) / sum(metric maximum x metric weight).

    The published rule of SCALE. 0 where there is nothing to win.
    """
    maximum = fsum(stratum.maximum * weight for stratum, weight in strata)
    if not maximum:
        return 0.0
    return 100 * fsum(stratum.points * weight for stratum, weight in strata) / maximum
