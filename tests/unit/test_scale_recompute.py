"""The readings of a published score, and the weights that hold for a month."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.exchange.scale.forms import CapabilityScore, Indicator
from evalcore.exchange.scale.month_scan import parse_claim, sum_indicator
from evalcore.scoring.claims import (
    compute_claimed_score,
    find_weights_in_force,
    recompute_claim,
)
from tests.support.scale_tree import claim, indicator, row

CONFIGURED = {"a": 4.0, "b": 2.0}


def decoded(*parts):
    report = msgspec.convert(parts, tuple[Indicator, ...], strict=False)
    return [sum_indicator(indicator) for indicator in report]


def claimed(value, indicators=None):
    return parse_claim(msgspec.convert(claim(value, indicators), CapabilityScore))


#: a: 2 of 3 points, b: 3 of 4 points; by 4 and 2: (8 + 6) / (12 + 8) = 70.0, by 1 and 1: 5 of 7.
A = indicator("a", [row(1, True, 2), row(2, False, 1)], 4)
B = indicator("b", [row(1, True, 3), row(2, False, 1)], 2)
OLD = [A | {"indicator_weight": 1}, B | {"indicator_weight": 1}]
TWICE = indicator("b", [row(1, False, 3), row(2, False, 1)], 2)
FOREIGN = indicator("c", [row(1, False, 3)], 4)


@pytest.mark.parametrize(
    ("report", "value", "parts", "reading"),
    [
        ([A, B], 70.0, {}, "exact"),
        (OLD, 71.4, {}, "exact"),
        (OLD, 70.0, {}, "configured_weights"),
        ([A, B, TWICE], 70.0, {}, "leftovers"),
        ([A, B, FOREIGN], 70.0, {}, "leftovers"),
        ([A, B], 85.0, {"a": 91.7, "b": 75.0}, "from_parts"),
        (OLD, 83.3, {"a": 100.0, "b": 58.3}, "from_parts_configured"),
        ([A, B], 50.0, {"a": 66.7, "b": 75.0}, "unexplained"),
        ([A, B], 50.0, {}, "unexplained"),
    ],
)
def test_a_claim_is_explained_by_the_plainest_reading(report, value, parts, reading):
    result = recompute_claim(claimed(value, parts), decoded(*report), CONFIGURED)
    assert result.reading == reading
    assert result.claimed == value


def test_own_and_configured_weights_give_scores_of_their_own():
    result = recompute_claim(claimed(1.0), decoded(*OLD), CONFIGURED)
    assert (result.own, result.configured) == (71.4, 70.0)


def test_a_report_without_points_scores_zero():
    assert compute_claimed_score(decoded(indicator("a", [row(1, True, 0)]))) == 0.0
    assert compute_claimed_score([]) == 0.0


def test_the_weights_of_most_claims_hold_for_the_month():
    old = (claimed(71.4), decoded(*OLD))
    new = (claimed(70.0), decoded(A, B))
    assert find_weights_in_force([old, old, new], CONFIGURED) == {"a": 1, "b": 1}
    assert find_weights_in_force([old, new], CONFIGURED) == CONFIGURED
    assert find_weights_in_force([], CONFIGURED) == CONFIGURED
