"""The official groups and weights, and that what is missing is never counted as nothing."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.bfcl.categories import (
    GROUPS,
    MULTI_TURN,
    OVERALL_WEIGHTS,
    SINGLE_TURN,
    Tally,
    group_scores,
)
from evalcore.benchmarks.bfcl.dataset import FLAGGED
from tests.support.bfcl import list_flagged_ids

AGENTIC = (
    *("web_search_base", "web_search_no_snippet"),
    *("memory_kv", "memory_vector", "memory_rec_sum"),
)
ALL = (*SINGLE_TURN, *MULTI_TURN, *AGENTIC)


def test_all_right_is_a_hundred_everywhere():
    scores = group_scores({name: Tally(7, 7) for name in ALL})
    assert {score.score for score in scores.values()} == {100.0}
    assert set(scores) == {*GROUPS, "single_turn", "overall"}


def test_weights_of_the_overall_score():
    for group, weight in OVERALL_WEIGHTS.items():
        inside = set(_categories(group))
        scores = group_scores({name: Tally(float(name in inside), 1) for name in ALL})
        assert scores["overall"].score == pytest.approx(weight)


def _categories(group: str) -> list[str]:
    if group not in GROUPS:
        return [group]
    return [name for member in GROUPS[group].members for name in _categories(member)]


def test_non_live_is_a_plain_mean_of_means_and_live_counts_samples():
    tallies = {name: Tally(0, 10) for name in SINGLE_TURN}
    tallies["simple_java"] = Tally(10, 10)
    tallies["parallel"] = Tally(5, 10)
    tallies["live_multiple"] = Tally(30, 30)
    scores = group_scores(tallies)
    assert scores["simple"].score == pytest.approx(100 / 3)
    assert scores["non_live"].score == pytest.approx((100 / 3 + 50) / 4)
    assert scores["live"].score == pytest.approx(100 * 30 / 60)


def test_the_single_turn_composite_and_what_is_missing():
    tallies = {name: Tally(1, 2) for name in SINGLE_TURN if name != "live_relevance"}
    scores = group_scores(tallies)
    assert scores["single_turn"].score == pytest.approx(50)
    assert scores["overall"].score is None
    assert scores["overall"].missing == (*MULTI_TURN, *AGENTIC)
    del tallies["simple_java"]
    tallies["live_parallel"] = Tally(0, 0)
    scores = group_scores(tallies)
    assert scores["simple"].missing == ("simple_java",)
    assert scores["single_turn"].missing == ("simple_java", "live_parallel")
    assert scores["single_turn"].score is None
    assert scores["hallucination"].score == pytest.approx(50)


def test_nothing_measured():
    assert all(score.score is None for score in group_scores({}).values())


def test_flagged_entries_have_reasons():
    assert len(list_flagged_ids("unsatisfiable")) == 4
    assert len(list_flagged_ids("java_array")) == 8
    assert all(flag.reason.endswith(".") for flag in FLAGGED.values())
