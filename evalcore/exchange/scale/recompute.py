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
Reading = Literal[
    "exact",  # the report gives the published score
    "leftovers",  # it leaves out indicators that the report holds twice or from elsewhere
    "configured_weights",  # the report states outdated weights; the configured ones give it
    "from_parts",  # it was put together from the published, rounded or edited, indicator scores
    "from_parts_configured",  # the same by the configured weights, the report states outdated ones
    "unexplained",
]
_EXACT = 1e-9


class Part(Record, frozen=True):
    """The sums of one indicator: points won and to win, and the weight that its report states."""

    metric: str
    weight: float
    won: float
    total: float

    @property
    def score(self) -> float:
        return round(100 * self.won / self.total, 1) if self.total else 0.0


class Recomputed(Record, frozen=True):
    """A claimed score beside the recomputed ones.

    `own` is by the weights of the report, `configured` by those of SCALE's configuration, both
    without leftovers. `reading` is the first that gives the claimed score.
    """

    claimed: float
    own: float
    configured: float
    reading: Reading


def part_of(indicator: Indicator) -> Part:
    return Part(
        metric=metric_of(indicator.indicator_name),
        weight=indicator.indicator_weight,
        won=fsum(row.case_weight for row in indicator.case_datas if row.passed),
        total=fsum(row.case_weight for row in indicator.case_datas),
    )


def first_of_each(parts: Iterable[Part], known: Container[str]) -> list[Part]:
    """The parts that count: the first of each metric among `known`, without leftovers."""
    kept: dict[str, Part] = {}
    for part in parts:
        if part.metric in known:
            kept.setdefault(part.metric, part)
    return list(kept.values())


def score(parts: Sequence[Part], weights: Weights | None = None) -> float:
    """The capability score, 0 to 100 with one decimal; without `weights` by the report's own."""
    weighted = [(p, p.weight if weights is None else weights.get(p.metric, 0.0)) for p in parts]
    total = fsum(part.total * weight for part, weight in weighted)
    won = fsum(part.won * weight for part, weight in weighted)
    return round(100 * won / total, 1) if total else 0.0


def recompute(claimed: CapabilityScore, parts: Sequence[Part], configured: Weights) -> Recomputed:
    """Compare a claim with the indicators of its report; `configured` are SCALE's weights."""
    clean = first_of_each(parts, configured)
    readings = _readings(claimed, parts, configured)
    fitting = (reading for reading, value in readings if _equal(value, claimed))
    return Recomputed(
        claimed=claimed.ability_score,
        own=score(clean),
        configured=score(clean, configured),
        reading=next(fitting, "unexplained"),
    )


def _equal(value: float, claimed: CapabilityScore) -> bool:
    return abs(value - claimed.ability_score) < _EXACT


def told_parts(claimed: CapabilityScore) -> dict[str, float]:
    """The published indicator scores by metric."""
    return {metric_of(o.indicator_name): o.indicator_actual_score for o in claimed.indicator_score}


def _readings(
    claimed: CapabilityScore, parts: Sequence[Part], configured: Weights
) -> Iterator[tuple[Reading, float]]:
    """Each reading with the score that it gives."""
    clean, published = first_of_each(parts, configured), told_parts(claimed)
    yield "exact", score(parts)
    yield "leftovers", score(clean)
    yield "configured_weights", score(clean, configured)
    yield "configured_weights", score(parts, configured)
    told = [
        Part(part.metric, part.weight, published[part.metric] / 100 * part.total, part.total)
        for part in clean
        if part.metric in published
    ]
    yield "from_parts", score(told)
    yield "from_parts_configured", score(told, configured)


def weights_in_force(
    reports: Sequence[tuple[CapabilityScore, Sequence[Part]]], configured: Weights
) -> dict[str, float]:
    """The weights by which most scores of a month come out: one rule for all rows of its board.

    Weights were changed in the course of the months, and some reports still state older ones. Of
    equals the configured weights win.
    """
    clean = [(claim, first_of_each(parts, configured)) for claim, parts in reports]
    candidates = [dict(configured)]
    for _, parts in clean:
        own = {part.metric: part.weight for part in parts}
        candidates += [own] if own not in candidates else []

    def agreeing(weights: Weights) -> int:
        return sum(
            set(weights) >= {part.metric for part in parts} and _equal(score(parts, weights), claim)
            for claim, parts in clean
        )

    return dict(configured) | max(candidates, key=agreeing)
