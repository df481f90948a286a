"""Paired comparison: counts, the exact tests against known values, symmetry, small samples."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.scoring.intervals import EXACT, compare_paired, mcnemar_p_value, permutation_p_value


def equal_weights(*sides):
    return dict.fromkeys({key for side in sides for key in side}, 1.0)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (0, 0, 1.0),
        (1, 1, 1.0),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (10, 2, 0.03857421875),
        (12, 4, 0.076812744140625),
        (8, 8, 1.0),
    ],
)
def test_mcnemar_against_binomial_tables(wins, losses, p):
    assert mcnemar_p_value(wins, losses) == pytest.approx(p)
    assert mcnemar_p_value(losses, wins) == pytest.approx(p)


def test_mcnemar_does_not_overflow():
    assert mcnemar_p_value(3000, 2900) == pytest.approx(0.1975, abs=0.002)


def test_permutation_tries_every_way_where_few_differ():
    differences = [0.5, 0.25, -0.75, 1.0]
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=4)
    ]
    expected = sum(abs(x) >= abs(sum(differences)) - 1e-12 for x in sums) / 16
    assert permutation_p_value(differences) == pytest.approx(expected)
    assert permutation_p_value([]) == 1.0
    assert permutation_p_value([0.3]) == 1.0


def test_sampled_flips_agree_with_the_exact_enumeration():
    """One more than the limit is sampled; a tiny difference more cannot change p much."""
    rng = random.Random(3)
    differences = [rng.uniform(-0.4, 1) for _ in range(EXACT)]
    exact, sampled = permutation_p_value(differences), permutation_p_value([*differences, 1e-12])
    assert exact == pytest.approx(sampled, abs=0.02)
    assert sampled == permutation_p_value([1e-12, *differences[::-1]]), (
        "seeded by content, not by order"
    )


def test_sampled_flips_never_claim_p_zero():
    assert 0 < permutation_p_value([0.5] * 200) <= 2 / 10_001


def test_compare_counts_on_the_common_samples_only():
    a = {"1": 1.0, "2": 1.0, "3": 0.0, "4": 1.0, "only a": 1.0}
    b = {"1": 0.0, "2": 1.0, "3": 1.0, "4": 0.0, "only b": 1.0}
    result = compare_paired(a, b, equal_weights(a, b))
    assert (result.common, result.wins, result.losses, result.ties) == (4, 2, 1, 1)
    assert result.difference == pytest.approx(25.0)
    assert (result.p, result.test) == (1.0, "mcnemar")


def test_the_difference_is_that_of_the_weighted_scores():
    a, b = {"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}
    result = compare_paired(a, b, {"x": 12.0, "y": 4.0})
    assert result.difference == pytest.approx(100 * (12 - 4) / 16)


def test_partial_scores_take_the_permutation_test():
    a = {str(i): 0.75 for i in range(8)}
    b = {str(i): 0.5 for i in range(8)}
    result = compare_paired(a, b, equal_weights(a))
    assert result.test == "permutation"
    assert result.p == pytest.approx(2 / 2**8)
    assert result.difference == pytest.approx(25.0)


def test_samples_of_weight_zero_count_for_nothing():
    a, b = {"x": 1.0, "y": 1.0}, {"x": 0.0, "y": 1.0}
    result = compare_paired(a, b, {"x": 0.0, "y": 1.0})
    assert (result.common, result.wins, result.difference) == (1, 0, 0.0)


def test_nothing_in_common_says_so():
    result = compare_paired({"x": 1.0}, {"y": 1.0}, {})
    assert (result.common, result.difference, result.interval, result.p) == (0, None, None, 1.0)


def test_a_common_sample_without_a_weight_is_an_error():
    with pytest.raises(KeyError):
        compare_paired({"x": 1.0}, {"x": 1.0}, {})


@pytest.mark.parametrize("change", [0.0, 1.0])
def test_a_few_unanimous_samples_are_no_certainty(change):
    a = {str(i): change for i in range(3)}
    b = dict.fromkeys(a, 0.0)
    few = compare_paired(a, b, equal_weights(a)).interval
    assert few is not None
    assert few.low < 0.0
    assert few.low <= 100 * change <= few.high <= 100
    a = {str(i): change for i in range(400)}
    many = compare_paired(a, dict.fromkeys(a, 0.0), equal_weights(a)).interval
    assert many is not None
    assert 0 < many.high - many.low < 5


def test_a_clear_lead_is_told_from_chance_and_a_small_one_is_not():
    rng = random.Random(1)
    a = {i: float(rng.random() < 0.8) for i in range(300)}
    b = {i: float(rng.random() < 0.5) for i in range(300)}
    clear = compare_paired(a, b, equal_weights(a))
    assert clear.interval is not None
    assert clear.interval.low > 0
    assert clear.p < 0.001
    nearly = {**a, 0: 1 - a[0], 1: 1 - a[1]}
    close = compare_paired(a, nearly, equal_weights(a))
    assert close.interval is not None
    assert close.interval.low <= 0 <= close.interval.high
    assert close.p > 0.4


tables = st.dictionaries(
    st.integers(0, 40),
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0]), st.integers(0, 3)),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_swapping_turns_it_around(table, rng):
    a, b, weights = ({k: row[i] for k, row in table.items()} for i in range(3))
    result = compare_paired(a, b, weights)
    items = list(a.items())
    rng.shuffle(items)
    assert compare_paired(dict(items), b, weights) == result
    swapped = compare_paired(b, a, weights)
    assert (swapped.wins, swapped.losses, swapped.p) == (result.losses, result.wins, result.p)
    assert result.wins + result.losses + result.ties == result.common
    assert 0 < result.p <= 1
    if result.difference is None or result.interval is None or swapped.interval is None:
        assert not result.common
        return
    assert swapped.difference == -result.difference
    assert -100 <= result.interval.low <= result.difference <= result.interval.high <= 100
    changes = sorted((w, a[k] - b[k]) for k, w in weights.items() if w)
    if changes != sorted((w, -d) for w, d in changes):
        assert swapped.interval.low == -result.interval.high
        assert swapped.interval.high == -result.interval.low


def coverage_of_equals(cells, rate, alike, draws, seed):
    """How often the interval leaves out 0, and p is below 0.05, for targets of equal rate that
    answer a share of the cases alike; cells are (cases, weight of each)."""
    rng = random.Random(seed)
    weights = {(m, i): w for m, (n, w) in enumerate(cells) for i in range(n)}
    by_interval = by_p = 0
    for _ in range(draws):
        a = {key: float(rng.random() < rate) for key in weights}
        b = {key: a[key] if rng.random() < alike else float(rng.random() < rate) for key in weights}
        result = compare_paired(a, b, weights, lambda key: key[0])
        assert result.interval is not None
        by_interval += not result.interval.low <= 0 <= result.interval.high
        by_p += result.p < 0.05
    return by_interval / draws, by_p / draws


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.97])
@pytest.mark.parametrize(
    "cells", [[(1, 1.0)] * 10 + [(1, 4.0)] * 10, [(100, 1.0)]], ids=["one a metric", "plain"]
)
def test_equal_targets_are_seldom_called_different(cells, alike):
    """Five wins and no loss among 100 cases: resampling called that a difference, p = 0.0625."""
    equals = [coverage_of_equals(cells, rate, alike, 200, 3) for rate in (0.1, 0.5, 0.9)]
    assert sum(row[0] for row in equals) / 3 <= 0.06
    assert sum(row[1] for row in equals) / 3 <= 0.06


def test_the_interval_agrees_with_the_exact_test_on_few_differing_samples():
    for wins, losses in ((5, 0), (6, 0), (7, 1), (8, 1), (9, 2), (10, 2)):
        a = dict.fromkeys(range(100), 0.0) | dict.fromkeys(range(wins), 1.0)
        b = dict.fromkeys(range(100), 0.0) | dict.fromkeys(range(wins, wins + losses), 1.0)
        result = compare_paired(a, b, equal_weights(a))
        assert result.interval is not None
        assert (result.interval.low > 0) == (result.p < 0.05), (wins, losses)


def test_wins_of_little_weight_do_not_outvote_heavy_losses():
    """25 easy cases won and 5 heavy ones lost: the weighted score fell, and p is of that score."""
    weights = {i: 1.0 if i < 25 else 6.0 for i in range(30)}
    a = {i: float(i < 25) for i in range(30)}
    b = {i: 1.0 - a[i] for i in range(30)}
    result = compare_paired(a, b, weights)
    assert (result.wins, result.losses, result.test) == (25, 5, "permutation")
    assert result.difference == pytest.approx(100 * (25 - 30) / 55)
    assert result.p > 0.5
