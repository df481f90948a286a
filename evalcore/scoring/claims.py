"""Weighted scores that others claim, computed again from their verdicts, and why some do not come
out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Literal

import msgspec

from evalcore.records import Record

# The rule of the publishers: a metric is 100 x points won / points to win, a benchmark the same
# over all its metrics, each weighted; both are rounded to one decimal. A published score may rest
# on other weights than its report states, on leftovers in the report, or on metric scores that
# were edited by hand; each reading is tried in turn, the plain one first.

Weights = Mapping[str, float]
ScoreReading = Literal[
    "exact",  # the report gives the published score
    "leftovers",  # it leaves out metrics that the report holds twice or from elsewhere
    "configured_weights",  # the report states outdated weights; the configured ones give it
    "from_parts",  # it was put together from the published, rounded or edited, metric scores
    "from_parts_configured",  # the same by the configured weights, the report states outdated ones
    "unexplained",
]
_EXACT = 1e-9


class Claim(Record, frozen=True):
    """A claimed score and its metrics, 0 to 100 with one decimal."""

    score: float
    metrics: dict[str, float] = {}


class ClaimSum(Record, frozen=True):
    """The sums of one metric: points won and to win, and the weight that its report states."""

    metric: str
    weight: float
    won: float
    total: float

    @property
    def score(self) -> float:
        return round(100 * self.won / self.total, 1) if self.total else 0.0


class RecomputedScore(Record, frozen=True):
    """A claimed score beside the recomputed ones.

    `own` is by the weights of the report, `configured` by those of the publisher's configuration,
    both without leftovers. `reading` is the first that gives the claimed score.
    """

    claimed: float
    own: float
    configured: float
    reading: ScoreReading


def select_first_parts(parts: Iterable[ClaimSum], metrics: Container[str]) -> list[ClaimSum]:
    """The parts that count: the first of each metric among `metrics`, without leftovers."""
    first_parts: dict[str, ClaimSum] = {}
    for part in parts:
        if part.metric in metrics:
            first_parts.setdefault(part.metric, part)
    return list(first_parts.values())


def compute_claimed_score(parts: Sequence[ClaimSum], weights: Weights | None = None) -> float:
    """The score of all parts, 0 to 100 with one decimal; without `weights` by the report's own."""
    weighted = [(p, p.weight if weights is None else weights.get(p.metric, 0.0)) for p in parts]
    total = fsum(part.total * weight for part, weight in weighted)
    won = fsum(part.won * weight for part, weight in weighted)
    return round(100 * won / total, 1) if total else 0.0


def recompute_claim(
    claim: Claim, parts: Sequence[ClaimSum], configured: Weights
) -> RecomputedScore:
    """Compare a claim with the sums of its report; `configured` are the publisher's weights."""
    clean = select_first_parts(parts, configured)
    readings = _compute_readings(claim, parts, configured)
    fitting = (reading for reading, value in readings if _matches_claim(value, claim))
    return RecomputedScore(
        claimed=claim.score,
        own=compute_claimed_score(clean),
        configured=compute_claimed_score(clean, configured),
        reading=next(fitting, "unexplained"),
    )


def _matches_claim(value: float, claim: Claim) -> bool:
    return abs(value - claim.score) < _EXACT


def _compute_readings(
    claim: Claim, parts: Sequence[ClaimSum], configured: Weights
) -> Iterator[tuple[ScoreReading, float]]:
    clean = select_first_parts(parts, configured)
    yield "exact", compute_claimed_score(parts)
    yield "leftovers", compute_claimed_score(clean)
    yield "configured_weights", compute_claimed_score(clean, configured)
    yield "configured_weights", compute_claimed_score(parts, configured)
    published_sums = [
        msgspec.structs.replace(part, won=claim.metrics[part.metric] / 100 * part.total)
        for part in clean
        if part.metric in claim.metrics
    ]
    yield "from_parts", compute_claimed_score(published_sums)
    yield "from_parts_configured", compute_claimed_score(published_sums, configured)


def find_weights_in_force(
    reports: Sequence[tuple[Claim, Sequence[ClaimSum]]], configured: Weights
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
            and _matches_claim(compute_claimed_score(parts, weights), claim)
            for claim, parts in clean
        )

    return dict(configured) | max(candidates, key=count_agreeing)
