"""Intervals: known Wilson values, strata and weights, coverage by simulation, reproducibility."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.scoring.intervals import (
    Moments,
    Stratum,
    compute_moments,
    compute_weighted_score,
    effective_size,
    score_interval,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("right", "size", "low", "high"),
    [
        (189, 189, 98.008, 100.0),
        (0, 10, 0.0, 27.753),
        (5, 10, 23.659, 76.341),
        (1, 1, 20.654, 100.0),
        (81, 263, 25.532, 36.621),  # Newcombe (1998), table I
        (15, 148, 6.238, 16.055),
        (0, 20, 0.0, 16.113),
        (1, 29, 0.611, 17.176),
    ],
)
def test_wilson_against_published_values(right, size, low, high):
    interval = wilson_interval(right / size, size)
    assert (interval.low, interval.high) == (
        pytest.approx(low, abs=0.01),
        pytest.approx(high, abs=0.01),
    )


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_stays_on_the_scale(pair):
    right, size = pair
    interval = wilson_interval(right / size, size)
    assert 0 <= interval.low <= 100 * right / size <= interval.high <= 100
    assert interval.high - interval.low > 0


@pytest.mark.parametrize("size", [0, -1, float("nan")])
def test_wilson_without_samples_is_refused(size):
    with pytest.raises(ValueError, match="at least one sample"):
        wilson_interval(0.5, size)


def plain(interval):
    return pytest.approx((interval.low, interval.high), abs=1e-9)


def bounds(strata):
    interval = score_interval(strata)
    assert interval is not None
    return interval.low, interval.high


def test_equally_weighted_cases_count_fully_and_others_less():
    assert compute_moments([(3.0, 1.0, 10)]).cases == pytest.approx(10)
    cells = [(1.0, 0.0, 1), (2.0, 1.0, 1), (3.0, 1.0, 1)]
    assert compute_moments(cells).cases == pytest.approx(36 / 14)


def test_an_effective_size_without_strata_is_refused():
    with pytest.raises(ValueError, match="at least one stratum"):
        effective_size([])


def test_arrays_have_the_effective_sizes_of_their_items():
    rng = np.random.default_rng(2)
    shapes = [(5.0, 5.0), (3.0, 9.0)]
    means = rng.random((2, 7))
    squares = means**2 + 0.1 * rng.random((2, 7))
    whole = effective_size(
        [Moments(*shape, m, s) for shape, m, s in zip(shapes, means, squares, strict=True)]
    )
    for i, size in enumerate(whole):
        strata = [Moments(*shapes[h], float(means[h, i]), float(squares[h, i])) for h in (0, 1)]
        assert effective_size(strata) == pytest.approx(size)


def test_a_plain_rate_takes_wilson():
    stratum = Stratum.from_pairs("m", [(2, 1.0)] * 30 + [(2, 0.0)] * 10)
    assert bounds([(stratum, 5.0)]) == plain(wilson_interval(0.75, 40))


def test_metrics_that_differ_say_more_than_one_plain_rate():
    parts = [
        (Stratum.from_pairs("a", [(1, 1.0)] * 60), 2.0),
        (Stratum.from_pairs("b", [(2, 0.0)] * 40), 1.0),
    ]
    low, high = bounds(parts)
    rate = wilson_interval(0.6, 100)
    assert rate.low < low < 60 < high < rate.high
    assert high - low > 1


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_unanimous_metrics_have_about_wilsons_interval_with_the_effective_size(score):
    strata = [
        (Stratum.from_pairs("a", [(3, score), (3, score), (3, score)]), 4.0),
        (Stratum.from_pairs("b", [(2, score)] * 3), 6.0),
    ]
    rate = wilson_interval(score, 6)
    low, high = bounds(strata)
    assert low <= rate.low
    assert high >= rate.high
    assert high - low < 1.1 * (rate.high - rate.low)


def test_equal_partial_scores_are_no_certainty():
    """The next case may well be right or wrong: three in n of them could have been missed."""
    low, high = bounds([(Stratum.from_pairs("a", [(1, 0.5)] * 20), 1.0)])
    assert low < 50 - 0.5 * 100 * 3 / 20
    assert high > 50 + 0.5 * 100 * 3 / 20


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_few_cases_a_metric_are_no_certainty(cases):
    """Every metric agrees with itself, so that resampling within the metrics finds no doubt."""
    strata = [
        (Stratum.from_pairs(str(h), [(1, float(h % 2))] * cases), 1 + h / 7) for h in range(12)
    ]
    low, high = bounds(strata)
    assert high - low > (20 if cases == 1 else 10)


def test_weights_too_small_to_square_are_left_out():
    strata = [
        (Stratum.from_pairs("a", [(1, 1.0)] * 9), 1.0),
        (Stratum.from_pairs("b", [(1, 0.0)]), 1e-200),
    ]
    assert bounds(strata) == plain(wilson_interval(1.0, 9))
    assert bounds([(Stratum.from_pairs("a", [(1e150, 1.0)] * 9), 1e150)]) == plain(
        wilson_interval(1.0, 9)
    )


def test_nothing_to_win_has_no_interval():
    assert score_interval([]) is None
    assert score_interval([(Stratum.from_pairs("a", []), 1.0)]) is None
    assert score_interval([(Stratum.from_pairs("a", [(0, 1.0)]), 1.0)]) is None
    assert score_interval([(Stratum.from_pairs("a", [(1, 1.0)]), 0.0)]) is None


def test_the_doubt_of_a_score_is_that_within_its_metrics():
    """All of the difference lies between the metrics, next to none within."""
    apart = [
        (Stratum.from_pairs("a", [(1, 1.0)] * 99 + [(1, 0.0)]), 1.0),
        (Stratum.from_pairs("b", [(2, 0.0)] * 99 + [(2, 1.0)]), 1.0),
    ]
    mixed = [
        (
            Stratum.from_pairs(
                "c", [p for s, _ in apart for w, x, n in s.cells for p in [(w, x)] * n]
            ),
            1,
        )
    ]
    narrow, wide = score_interval(apart), score_interval(mixed)
    assert narrow is not None
    assert wide is not None
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.floats(0, 1)),
        min_size=1,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_the_interval_holds_the_score_and_ignores_order(rows, rng):
    def strata(of):
        return [
            (Stratum.from_pairs(m, [(w, s) for name, w, s in of if name == m]), 2.0) for m in "ab"
        ]

    first = score_interval(strata(rows))
    rng.shuffle(rows)
    assert score_interval(strata(rows)) == first
    if first is not None:
        assert 0 <= first.low <= compute_weighted_score(strata(rows)) <= first.high <= 100


#: (cases, points) of the categories of BFCL: few cases of some weigh as much as many of others.
BFCL = (
    *((23, 5.0), (14, 5.0), (23, 4.0), (10, 1.8), (10, 1.8), (14, 2.4), (10, 7.5), (5, 7.5)),
    *((7, 7.5), (8, 7.5), (24, 2.5), (22, 2.5), (21, 2.5), (13, 0.8), (12, 0.8), (24, 0.8)),
)
DRAWS = 300


def coverage(cells, rates, seed, graded=False):
    """The share of intervals that hold the true score, and their mean width."""
    rng, held, width = np.random.default_rng(seed), 0, 0.0
    truth = 100 * sum(p * points for p, (_, points) in zip(rates, cells, strict=True))
    truth /= sum(points for _, points in cells)
    for _ in range(DRAWS):
        strata = []
        for name, (p, (n, points)) in enumerate(zip(rates, cells, strict=True)):
            scores = rng.binomial(2, p, n) / 2 if graded else (rng.random(n) < p) * 1.0
            strata.append((Stratum.from_pairs(str(name), [(1.0, s) for s in scores]), points / n))
        low, high = bounds(strata)
        held += low - 1e-9 <= truth <= high + 1e-9
        width += (high - low) / DRAWS
    return held / DRAWS, width


@pytest.mark.parametrize("cases", [None, 3, 1])
def test_intervals_cover_the_truth_where_metrics_hold_few_cases(cases):
    """The bootstrap before covered 90 %, 82 % and 10 % of these."""
    cells = [(cases or n, points) for n, points in BFCL]
    spread = np.linspace(0.05, 0.95, len(cells))
    alternating = [0.95 if i % 2 else 0.05 for i in range(len(cells))]
    extreme = [1.0 if i % 2 else 0.5 for i in range(len(cells))]
    rates = [[p] * len(cells) for p in (0.05, 0.25, 0.5, 0.75, 0.95)]
    result = [
        coverage(cells, item, seed)[0]
        for seed, item in enumerate([*rates, spread, alternating, extreme])
    ]
    result.append(coverage(cells, spread, 99, graded=True)[0])
    assert sum(result) / len(result) >= 0.94
    assert min(result) >= 0.89


@pytest.mark.parametrize(
    "cells",
    [[(75, 75.0), (67, 67.0)], [(27, 27.0)] * 2, [(7, 7.0), (8, 8.0), (5, 5.0)]],
    ids=["tau_bench", "gaia", "swe_bench"],
)
def test_intervals_of_equal_weights_are_no_wider_than_the_plain_rate_says(cells):
    count = sum(n for n, _ in cells)
    for seed, rate in enumerate((0.1, 0.5, 0.9)):
        held, width = coverage(cells, [rate] * len(cells), seed)
        plain_rate = wilson_interval(rate, count)
        assert held >= 0.9
        assert width <= 1.05 * (plain_rate.high - plain_rate.low)


def test_difficulties_within_a_metric_do_not_lower_the_coverage():
    rng = random.Random(7)
    chance = {1: 0.9, 2: 0.6, 3: 0.4}
    truth = 100 * sum(w * p for w, p in chance.items()) / sum(chance)
    held = 0
    for _ in range(DRAWS):
        rows = [(w, float(rng.random() < p)) for w, p in chance.items() for _ in range(30)]
        low, high = bounds([(Stratum.from_pairs("m", rows), 1.0)])
        held += low <= truth <= high
    assert held / DRAWS >= 0.93
