"""Intervals: known Wilson values, which rule applies where, coverage, and reproducibility."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.scoring.intervals import effective_size, score_interval, wilson
from evalcore.scoring.resample import resampled_sums
from evalcore.scoring.strata import Stratum, score_of


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
    interval = wilson(right / size, size)
    assert (interval.low, interval.high) == (
        pytest.approx(low, abs=0.01),
        pytest.approx(high, abs=0.01),
    )


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_stays_on_the_scale(pair):
    right, size = pair
    interval = wilson(right / size, size)
    assert 0 <= interval.low <= 100 * right / size <= interval.high <= 100
    assert interval.high - interval.low > 0


@pytest.mark.parametrize("size", [0, -1, float("nan")])
def test_wilson_without_samples_is_refused(size):
    with pytest.raises(ValueError, match="at least one sample"):
        wilson(0.5, size)


def test_the_effective_size_counts_equal_weights_fully():
    assert effective_size([(3.0, 10)]) == pytest.approx(10)
    assert effective_size([(1.0, 1), (2.0, 1), (3.0, 1)]) == pytest.approx(36 / 14)


def test_a_plain_rate_takes_wilson():
    stratum = Stratum.of("m", [(2, 1.0)] * 30 + [(2, 0.0)] * 10)
    assert score_interval([(stratum, 5.0)]) == wilson(0.75, 40)


def test_two_metrics_of_equal_weight_are_one_plain_rate():
    parts = [
        (Stratum.of("a", [(1, 1.0)] * 6), 2.0),
        (Stratum.of("b", [(2, 0.0)] * 4), 1.0),
    ]
    assert score_interval(parts) == wilson(0.6, 10)


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_unanimous_weighted_samples_take_wilson_with_the_effective_size(score):
    strata = [
        (Stratum.of("a", [(1, score), (2, score), (3, score)]), 4.0),
        (Stratum.of("b", [(2, score), (3, score)]), 2.0),
    ]
    size = effective_size([(4, 1), (8, 1), (12, 1), (4, 1), (6, 1)])
    interval = score_interval(strata)
    assert interval is not None
    assert interval == wilson(score_of(strata) / 100, size)
    assert interval.high - interval.low > 20


def test_nothing_to_win_has_no_interval():
    assert score_interval([]) is None
    assert score_interval([(Stratum.of("a", []), 1.0)]) is None
    assert score_interval([(Stratum.of("a", [(0, 1.0)]), 1.0)]) is None
    assert score_interval([(Stratum.of("a", [(1, 1.0)]), 0.0)]) is None


def test_metrics_are_resampled_by_themselves():
    """All of the difference lies between the metrics, so resampling finds next to none within."""
    apart = [
        (Stratum.of("a", [(1, 1.0)] * 99 + [(1, 0.0)]), 1.0),
        (Stratum.of("b", [(2, 0.0)] * 99 + [(2, 1.0)]), 1.0),
    ]
    mixed = [
        (Stratum.of("c", [p for s, _ in apart for w, x, n in s.cells for p in [(w, x)] * n]), 1)
    ]
    narrow, wide = score_interval(apart), score_interval(mixed)
    assert narrow is not None
    assert wide is not None
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_two_metrics_with_equal_cells_are_drawn_independently():
    pairs = [(1.0, float(i % 2)) for i in range(50)]
    first, second = Stratum.of("a", pairs), Stratum.of("b", pairs)
    assert abs(np.corrcoef(first.resampled[:, 0], second.resampled[:, 0])[0, 1]) < 0.1


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
        return [(Stratum.of(m, [(w, s) for name, w, s in of if name == m]), 2.0) for m in "ab"]

    first = score_interval(strata(rows))
    rng.shuffle(rows)
    assert score_interval(strata(rows)) == first
    if first is not None:
        assert 0 <= first.low <= score_of(strata(rows)) <= first.high <= 100


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says():
    """120 simulated boards of 90 weighted samples whose true score is known."""
    rng = random.Random(7)
    chance = {1: 0.9, 2: 0.6, 3: 0.4}
    truth = 100 * sum(w * p for w, p in chance.items()) / sum(chance)
    held = 0
    for trial in range(120):
        rows = [(w, float(rng.random() < p)) for w, p in chance.items() for _ in range(30)]
        interval = score_interval([(Stratum.of(str(trial), rows), 1.0)])
        assert interval is not None
        held += interval.low <= truth <= interval.high
    assert 0.88 <= held / 120 <= 1.0


@pytest.mark.parametrize("merged", [True, False])
def test_both_ways_of_drawing_have_the_moments_of_a_bootstrap(merged):
    """The mean is the sample's sum; the variance is n times that of one draw."""
    ones, size = 30, 120
    if merged:
        values, counts = np.array([[1.0, 2.0], [0.0, 2.0]]), np.array([ones, size - ones])
    else:
        values = np.array([[1.0, 2.0]] * ones + [[0.0, 2.0]] * (size - ones))
        counts = np.ones(size, dtype=int)
    sums = resampled_sums(values, counts, 4000, seed=3)
    assert sums.shape == (4000, 2)
    assert (sums[:, 1] == 2.0 * size).all()
    assert sums[:, 0].mean() == pytest.approx(ones, abs=0.4)
    assert sums[:, 0].var() == pytest.approx(size * 0.25 * 0.75, rel=0.1)
    assert (resampled_sums(values, counts, 4000, seed=3) == sums).all()
    assert (resampled_sums(values, counts, 4000, seed=4) != sums).any()


def test_draws_larger_than_a_block_are_whole():
    values = np.ones((30_000, 1))
    sums = resampled_sums(values, np.ones(30_000, dtype=int), 3, seed=0)
    assert sums.tolist() == [[30_000.0]] * 3
