"""Claimed capability scores computed anew from case reports, and why some do not come out.

Rule: indicator = 100 x points won / points to win, capability = the same over all indicators, each
weighted; both rounded to one decimal. A published score may rest on other weights than its report
states, on leftovers in the report, or on indicator scores that were edited by hand; each reading is
tried in turn, the plain one first.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Literal

from evalcore.exchange.scale.capabilities import metric_of
from evalcore.exchange.scale.forms import CapabilityScore, Indicator
from evalcore.records import Record

Weights = Mapping[str, float]
ScoreReading = Literal[
    "exact",  # the report gives the published score
    "leftovers",  # it leaves out indicators that the report holds twice or from elsewhere
    "configured_weights",  # the report states outdated weights; the configured ones give it
    "from_parts",  # it was put together from the published, rounded or edited, indicator scores
    "from_parts_configured",  # the same by the configured weights, the report states outdated ones
    "unexplained",
]
_EXACT = 1e-9


class IndicatorSum(Record, frozen=True):
    """The sums of one indicator: points won and to win, and the weight that its report states."""

    metric: str
    weight: float
    won: float
    total: float

    @property
    def score(self) -> float:
        return round(100 * self.won / self.total, 1) if self.total else 0.0


class RecomputedScore(Record, frozen=True):
    """A claimed score beside the recomputed ones.

    `own` is by the weights of the report, `configured` by those of SCALE's configuration, both
    without leftovers. `reading` is the first that gives the claimed score.
    """

    claimed: float
    own: float
    configured: float
    reading: ScoreReading


def sum_indicator(indicator: Indicator) -> IndicatorSum:
    return IndicatorSum(
        metric=metric_of(indicator.indicator_name),
        weight=indicator.indicator_weight,
        won=fsum(row.case_weight for row in indicator.case_datas if row.passed),
        total=fsum(row.case_weight for row in indicator.case_datas),
    )


def select_first_parts(
    parts: Iterable[IndicatorSum], metrics: Container[str]
) -> list[IndicatorSum]:
    """The parts that count: the first of each metric among `metrics`, without leftovers."""
    first_parts: dict[str, IndicatorSum] = {}
    for part in parts:
        if part.metric in metrics:
            first_parts.setdefault(part.metric, part)
    return list(first_parts.values())


def compute_capability_score(
    parts: Sequence[IndicatorSum], weights: Weights | None = None
) -> float:
    """The capability score, 0 to 100 with one decimal; without `weights` by the report's own."""
    weighted = [(p, p.weight if weights is None else weights.get(p.metric, 0.0)) for p in parts]
    total = fsum(part.total * weight for part, weight in weighted)
    won = fsum(part.won * weight for part, weight in weighted)
    return round(100 * won / total, 1) if total else 0.0


def recompute_claim(
    claimed: CapabilityScore, parts: Sequence[IndicatorSum], configured: Weights
) -> RecomputedScore:
    """Compare a claim with the indicators of its report; `configured` are SCALE's weights."""
    clean = select_first_parts(parts, configured)
    readings = _compute_readings(claimed, parts, configured)
    fitting = (reading for reading, value in readings if _matches_claim(value, claimed))
    return RecomputedScore(
        claimed=claimed.ability_score,
        own=compute_capability_score(clean),
        configured=compute_capability_score(clean, configured),
        reading=next(fitting, "unexplained"),
    )


def _matches_claim(value: float, claimed: CapabilityScore) -> bool:
    return abs(value - claimed.ability_score) < _EXACT


def parse_indicator_scores(claimed: CapabilityScore) -> dict[str, float]:
    """The published indicator scores by metric."""
    return {metric_of(o.indicator_name): o.indicator_actual_score for o in claimed.indicator_score}


def _compute_readings(
    claimed: CapabilityScore, parts: Sequence[IndicatorSum], configured: Weights
) -> Iterator[tuple[ScoreReading, float]]:
    """Each reading with the score that it gives."""
    clean, published = select_first_parts(parts, configured), parse_indicator_scores(claimed)
    yield "exact", compute_capability_score(parts)
    yield "leftovers", compute_capability_score(clean)
    yield "configured_weights", compute_capability_score(clean, configured)
    yield "configured_weights", compute_capability_score(parts, configured)
    published_sums = [
        IndicatorSum(
            part.metric, part.weight, published[part.metric] / 100 * part.total, part.total
        )
        for part in clean
        if part.metric in published
    ]
    yield "from_parts", compute_capability_score(published_sums)
    yield "from_parts_configured", compute_capability_score(published_sums, configured)


def find_weights_in_force(
    reports: Sequence[tuple[CapabilityScore, Sequence[IndicatorSum]]], configured: Weights
) -> dict[str, float]:
    """The weights by which most scores of a month come out: one rule for all rows of its board.

    Weights were changed in the course of the months, and some reports still state older ones. Of
    equals the configured weights win.
    """
    clean = [(claim, select_first_parts(parts, configured)) for claim, parts in reports]
    candidates = [dict(configured)]
    for _, parts in clean:
        own = {part.metric: part.weight for part in parts}
        candidates += [own] if own not in candidates else []

    def count_agreeing(weights: Weights) -> int:
        return sum(
            set(weights) >= {part.metric for part in parts}
            and _matches_claim(compute_capability_score(parts, weights), claim)
            for claim, parts in clean
        )

    return dict(configured) | max(candidates, key=count_agreeing)
