"""Ranks: order, intervals, tie groups, and the boards at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.scoring.ranks import FEWEST_DIFFERING, rank_board


def rate(rng, chance, samples=200):
    """Contributions of a target that gets each of equally weighted samples right by chance."""
    return (rng.random(samples) < chance) * (100 / samples)


def test_an_empty_board_has_no_rows():
    assert rank_board({}) == {}


def test_a_single_target_is_first_with_certainty():
    row = rank_board({"alone": np.array([25.0, 0.0, 50.0])})["alone"]
    assert (row.score, row.rank, row.low, row.high) == (75.0, 1, 1, 1)
    assert (row.group, row.leader) == (1, "alone")


def test_targets_without_samples_all_tie():
    board = rank_board({"a": [], "b": []})
    assert [(r.score, r.rank, r.high, r.group) for r in board.values()] == [(0.0, 1, 2, 1)] * 2


def test_identical_scores_share_rank_and_group():
    same = np.array([1.0, 0.0] * 50)
    board = rank_board({"b": same, "a": same.copy(), "worse": np.zeros(100)})
    assert list(board) == ["a", "b", "worse"]
    assert [row.rank for row in board.values()] == [1, 1, 3]
    assert [row.group for row in board.values()] == [1, 1, 2]
    assert (board["b"].low, board["b"].high) == (1, 2), "nothing tells which of the two is better"


def test_equal_totals_from_different_samples_share_a_rank():
    tenths = [0.1] * 10
    board = rank_board({"a": [*tenths, *[0.0] * 10], "b": [*[0.0] * 10, *tenths]})
    assert [row.rank for row in board.values()] == [1, 1]
    assert board["a"].high == 2, "either may well be behind"


def test_clear_leads_are_separate_groups_with_narrow_ranks():
    rng = np.random.default_rng(0)
    board = rank_board({"low": rate(rng, 0.2), "high": rate(rng, 0.9), "mid": rate(rng, 0.55)})
    assert list(board) == ["high", "mid", "low"]
    assert [(r.rank, r.low, r.high, r.group) for r in board.values()] == [
        (1, 1, 1, 1),
        (2, 2, 2, 2),
        (3, 3, 3, 3),
    ]
    assert [row.leader for row in board.values()] == ["high", "mid", "low"]


def test_a_group_is_those_who_cannot_be_told_from_its_leader():
    """In a staircase of small steps the first group ends where the leader's lead is clear."""
    hard = np.arange(200)
    board = rank_board({f"t{right}": (hard < right) * 0.5 for right in (180, 178, 176, 120, 119)})
    assert {name: row.group for name, row in board.items()} == {
        "t180": 1,
        "t178": 1,
        "t176": 1,
        "t120": 2,
        "t119": 2,
    }
    assert board["t119"].leader == "t120"


def test_pairing_sees_a_small_lead_that_is_always_there():
    """Unpaired, 60 % and 55 % of 200 overlap widely; but one is right wherever the other is."""
    rng = np.random.default_rng(4)
    base = rng.random(200) < 0.55
    ahead = base.copy()
    ahead[np.flatnonzero(~base)[:10]] = True
    board = rank_board({"base": base * 0.5, "ahead": ahead * 0.5})
    assert (board["ahead"].group, board["base"].group) == (1, 2)


@pytest.mark.parametrize("differing", [1, FEWEST_DIFFERING - 1, FEWEST_DIFFERING])
def test_a_handful_of_differing_samples_decides_nothing(differing):
    """No exact test of so few samples reaches 0.05."""
    board = rank_board({"a": np.ones(differing), "b": np.zeros(differing)})
    assert (board["b"].group == 2) == (differing >= FEWEST_DIFFERING)


def test_differences_between_metrics_are_no_doubt():
    """All doubt lies in how many samples a metric holds; strata take it away."""
    metric = ["easy"] * 100 + ["hard"] * 100
    solid = np.array([1.0] * 100 + [0.0] * 100)
    other = np.array([0.0] * 90 + [0.0] * 10 + [0.8] * 100)
    loose = rank_board({"solid": solid, "other": other})
    strict = rank_board({"solid": solid, "other": other}, strata=metric)
    assert (loose["solid"].high, strict["solid"].high) == (2, 1)
    assert (loose["other"].group, strict["other"].group) == (1, 2)


@pytest.mark.parametrize(
    ("scores", "strata", "complaint"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, None, "aligned"),
        ({"a": [[1.0, 2.0]]}, None, "aligned"),
        ({"a": [1.0, float("nan")]}, None, "finite"),
        ({"a": [1.0, 2.0]}, ["m"], "1 strata for 2 samples"),
    ],
)
def test_what_is_not_aligned_is_refused(scores, strata, complaint):
    with pytest.raises(ValueError, match=complaint):
        rank_board(scores, strata=strata)


boards = st.integers(1, 30).flatmap(
    lambda samples: st.dictionaries(
        st.sampled_from("abcdefgh"),
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=samples, max_size=samples),
        min_size=1,
    )
)


@settings(max_examples=50, deadline=None)
@given(boards)
def test_ranks_intervals_and_groups_hang_together(scores):
    board = rank_board(scores)
    assert set(board) == set(scores)
    totals = [row.score for row in board.values()]
    assert totals == sorted(totals, reverse=True)
    for name, row in board.items():
        assert row.score == pytest.approx(sum(scores[name]))
        assert row.rank == 1 + sum(other > row.score for other in totals)
        assert 1 <= row.low <= row.rank <= row.high <= len(scores)
        leader = board[row.leader]
        assert leader.group == row.group
        assert leader.rank <= row.rank
    groups = [row.group for row in board.values()]
    assert set(groups) == set(range(1, max(groups) + 1))
    assert groups[0] == 1


@settings(max_examples=30, deadline=None)
@given(boards, st.randoms(use_true_random=False))
def test_the_order_of_targets_and_samples_does_not_matter(scores, rng):
    size = len(next(iter(scores.values())))
    strata = [f"m{i % 3}" for i in range(size)]
    places, names = list(range(size)), list(scores)
    rng.shuffle(places)
    rng.shuffle(names)
    shuffled = {name: [scores[name][i] for i in places] for name in names}
    first = rank_board(scores, strata=strata)
    again = rank_board(shuffled, strata=[strata[i] for i in places])
    assert list(again.items()) == list(first.items())


def false_groups(targets, cells, rate, boards, seed):
    """How many boards of equal targets have a second group; cells are (cases, weight of each)."""
    rng = np.random.default_rng(seed)
    strata = [name for name, (n, _) in enumerate(cells) for _ in range(n)]
    maxima = np.array([weight for n, weight in cells for _ in range(n)])
    maxima *= 100 / maxima.sum()
    apart = 0
    for _ in range(boards):
        scores = {f"t{i}": maxima * (rng.random(len(maxima)) < rate) for i in range(targets)}
        rows = rank_board(scores, strata=strata, maxima=maxima).values()
        apart += max(row.group for row in rows) > 1
    return apart / boards


@pytest.mark.parametrize("targets", [2, 5, 20])
@pytest.mark.parametrize(
    "cells",
    [[(1, 1.0)] * 8 + [(1, 5.0)] * 8, [(3, 1.0)] * 6 + [(3, 4.0)] * 6, [(40, 1.0), (60, 2.0)]],
    ids=["one a metric", "three a metric", "many"],
)
def test_equal_targets_stand_in_one_group(targets, cells):
    """The bootstrap before told equal targets apart on up to 100 % of these boards."""
    groups = [
        false_groups(targets, cells, rate, 100, seed) for seed, rate in enumerate((0.1, 0.5, 0.9))
    ]
    assert sum(groups) / len(groups) <= 0.07


def test_a_metric_that_agrees_with_itself_is_no_certainty():
    """One case a metric: within each, resampling draws the same case again and again."""
    cells = 12
    ahead, behind = np.ones(cells), np.array([0.0] * 6 + [1.0] * 6)
    board = rank_board({"ahead": ahead, "behind": behind}, strata=range(cells))
    assert board["ahead"].high == 1
    weights = np.array([50.0, *[1.0] * 11])
    board = rank_board(
        {"ahead": weights, "behind": weights * behind}, strata=range(cells), maxima=weights
    )
    assert (board["ahead"].high, board["behind"].group) == (2, 1), "one case decides nearly all"


def test_the_best_a_case_could_add_counts_also_where_nobody_solved_it():
    scores = {"a": np.array([1.0] * 6 + [0.0] * 60), "b": np.zeros(66)}
    assert rank_board(scores)["b"].group == 2
    hard = np.array([1.0] * 6 + [9.0] * 60)
    assert rank_board(scores, maxima=hard)["b"].group == 1
    with pytest.raises(ValueError, match="1 maxima for 66 samples"):
        rank_board(scores, maxima=[1.0])


def test_a_wide_board_counts_differing_samples_only_where_it_matters():
    rng = np.random.default_rng(1)
    scores = {f"t{i}": rate(rng, 0.4 + 0.01 * i) for i in range(40)}
    board = rank_board(scores, strata=[i % 4 for i in range(200)])
    assert [row.rank for row in board.values()] == sorted(row.rank for row in board.values())
    assert max(row.group for row in board.values()) > 1
