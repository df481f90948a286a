"""Decisions: rankings by a person's own weights, who is left out, how sure the leader is, and what
would change it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalcore.errors import UsageError
from evalcore.scoring.ranks import rank_board, resample_leads
from evalcore.views.decision import (
    Candidate,
    Criterion,
    CriterionScores,
    DecisionLimits,
    DecisionTable,
    decide,
    find_crossing,
    format_weights,
    parse_bounded,
    parse_weights,
)

EVERYONE = DecisionLimits()


def score_cases(verdicts: dict[str, str], stratum: str) -> CriterionScores:
    """Scores from a line of 1 and 0 for each target."""
    marks = np.array([[float(mark) for mark in line] for line in verdicts.values()])
    share = 100.0 / marks.shape[1]
    points = marks * share
    return CriterionScores(
        values=dict(zip(verdicts, points.sum(axis=1).tolist(), strict=True)),
        rows={name: row for row, name in enumerate(verdicts)},
        points=points,
        maxima=np.full(marks.shape[1], share),
        strata=[stratum] * marks.shape[1],
    )


def build_table(
    reading: dict[str, str], writing: dict[str, str], cost: dict[str, float] | None = None
) -> DecisionTable:
    names = sorted({*reading, *writing})
    scores = {"reading": score_cases(reading, "r"), "writing": score_cases(writing, "w")}
    criteria = [Criterion("reading", 50, 1), Criterion("writing", 50, 1)]
    if cost is not None:
        lacking = set(names) - cost.keys()
        scores["cost"] = CriterionScores(cost, dict.fromkeys(lacking, "no_cost"))
        criteria.append(Criterion("cost", 0, reference=1.0))
    candidates = tuple(
        Candidate(name, name.upper(), name, "endpoint", cost_per_case=(cost or {}).get(name))
        for name in names
    )
    return DecisionTable("benchmarks", ("benchmarks",), tuple(criteria), candidates, scores)


READER, WRITER = "1" * 18 + "0" * 2, "1" * 6 + "0" * 14
TWO = build_table({"a": READER, "b": WRITER}, {"a": WRITER, "b": READER})


def test_the_weights_decide_who_leads():
    for weights, leader in (
        ({"reading": 80, "writing": 20}, "a"),
        ({"reading": 1, "writing": 9}, "b"),
    ):
        decision = decide(TWO, weights, EVERYONE)
        assert decision.leader.candidate.identity == leader
        assert decision.leader.score == pytest.approx(
            sum(weights[key] * decision.leader.parts[key] for key in weights)
            / sum(weights.values())
        )
        assert decision.leader.low <= decision.leader.score <= decision.leader.high


def test_equal_weights_of_mirrored_targets_are_a_tie_whose_lead_is_shared():
    decision = decide(TWO, TWO.default_weights, EVERYONE)
    assert [row.rank for row in decision.ranked] == [1, 1]
    assert {row.group for row in decision.ranked} == {1}
    assert sum(row.leads for row in decision.ranked) == pytest.approx(1.0)
    assert decision.tied_count == 1


@pytest.mark.parametrize(
    "weights", [{"reading": 0, "writing": 0}, {"reading": 0.0, "writing": -0.0}]
)
def test_without_any_weight_nobody_is_ranked(weights):
    decision = decide(TWO, weights, EVERYONE)
    assert decision.ranked == ()
    assert not decision.has_weights
    assert decision.leader is None


def test_who_lacks_something_is_left_out_only_where_it_weighs():
    table = build_table({"a": "11", "b": "10"}, {"a": "10"})
    both = decide(table, {"reading": 5, "writing": 5}, EVERYONE)
    assert [row.candidate.identity for row in both.ranked] == ["a"]
    assert [
        (e.candidate.identity, e.reasons[0].reason, e.reasons[0].criterion) for e in both.excluded
    ] == [("b", "not_run", "writing")]
    assert both.changes == ()
    alone = decide(table, {"reading": 5, "writing": 0}, EVERYONE)
    assert {row.candidate.identity: row.parts["writing"] for row in alone.ranked} == {
        "a": 50.0,
        "b": None,
    }


def test_a_single_target_leads_every_resample():
    decision = decide(
        build_table({"a": "1100"}, {"a": "10"}), {"reading": 1, "writing": 1}, EVERYONE
    )
    assert [(row.rank, row.group, row.leads) for row in decision.ranked] == [(1, 1, 1.0)]


def test_a_cost_shifts_scores_and_adds_no_uncertainty():
    same = {"a": "1" * 10 + "0" * 10, "b": "1" * 10 + "0" * 10}
    table = build_table(same, same, {"a": 90.0, "b": 10.0})
    without = decide(table, {"reading": 1, "writing": 1, "cost": 0}, EVERYONE)
    assert {row.group for row in without.ranked} == {1}
    priced = decide(table, {"reading": 1, "writing": 1, "cost": 2}, EVERYONE)
    assert [row.candidate.identity for row in priced.ranked] == ["a", "b"]
    first, second = priced.ranked
    assert first.score - second.score == pytest.approx(40.0)
    assert (first.group, second.group) == (1, 2)
    assert first.leads == 1.0
    assert first.high - first.low == pytest.approx(second.high - second.low)


def test_cost_alone_ranks_without_a_test():
    table = build_table({"a": "1"}, {"a": "1", "b": "1"}, {"a": 10.0, "b": 90.0})
    decision = decide(table, {"reading": 0, "writing": 0, "cost": 1}, EVERYONE)
    assert [row.candidate.identity for row in decision.ranked] == ["b", "a"]
    assert not decision.tested
    assert {(row.low, row.leads, row.rank_low, row.group) for row in decision.ranked} == {
        (None, None, None, None)
    }


def test_an_unknown_price_is_no_price_of_zero():
    table = build_table({"a": "11", "b": "10"}, {"a": "11", "b": "10"}, {"b": 50.0})
    weighed = decide(table, {"reading": 1, "writing": 1, "cost": 1}, EVERYONE)
    assert [row.candidate.identity for row in weighed.ranked] == ["b"]
    assert weighed.excluded[0].reasons[0].reason == "no_cost"
    limited = decide(
        table, {"reading": 1, "writing": 1, "cost": 0}, DecisionLimits(max_cost_per_case=60.0)
    )
    assert [row.candidate.identity for row in limited.ranked] == ["b"]
    assert limited.excluded[0].reasons[0].unknown


def test_a_criterion_without_weight_keeps_those_that_lack_it():
    table = build_table({"a": "11", "b": "10"}, {"a": "11", "b": "10"}, {"b": 50.0})
    decision = decide(table, {"reading": 1, "writing": 1, "cost": 0}, EVERYONE)
    assert len(decision.ranked) == 2
    assert "cost" not in {change.criterion for change in decision.changes}


@pytest.mark.parametrize(
    ("ahead", "gain", "weight", "expected"),
    [
        (300.0, 10.0, 20, 31),  # needs more than 30
        (305.0, 10.0, 20, 31),
        (-300.0, -10.0, 50, 29),  # overtakes below 30
        (300.0, 1.0, 20, None),  # 300 is above every weight
        (300.0, 0.0, 20, None),
        (-1.0, -10.0, 50, 0),
        (0.0, -10.0, 50, None),  # at weight 0 they would only tie
    ],
)
def test_the_weight_at_which_two_change_places(ahead, gain, weight, expected):
    assert find_crossing(ahead, gain, weight) == expected


def test_of_several_that_overtake_at_one_weight_the_one_with_the_most_points_is_named():
    marks = {"a": "1" * 50 + "0" * 50, "b": "1" * 49 + "0" * 51, "c": "1" * 48 + "0" * 52}
    table = build_table(marks, marks, {"a": 0.0, "b": 30.0, "c": 60.0})
    weights = {"reading": 20.0, "writing": 20.0, "cost": 0.0}
    change = decide(table, weights, EVERYONE).changes[0]
    changed = decide(table, weights | {change.criterion: change.changed}, EVERYONE)
    assert (change.criterion, change.leader, change.changed) == ("cost", "c", 2)
    assert changed.leader.candidate.identity == change.leader


def test_each_stated_change_changes_the_leader_and_the_weight_before_it_does_not():
    rng = np.random.default_rng(7)

    def draw() -> dict[str, str]:
        return {name: "".join(map(str, rng.integers(0, 2, 40))) for name in "abcde"}

    checked = 0
    for _ in range(20):
        table = build_table(draw(), draw(), {name: float(rng.integers(0, 101)) for name in "abcde"})
        weights = {"reading": 40.0, "writing": 30.0, "cost": 20.0}
        decision = decide(table, weights, EVERYONE)
        leader = decision.leader.candidate.identity
        for change in decision.changes:
            changed = decide(table, weights | {change.criterion: change.changed}, EVERYONE)
            assert changed.leader.candidate.identity == change.leader != leader
            step = 1 if change.changed < change.weight else -1
            before = decide(table, weights | {change.criterion: change.changed + step}, EVERYONE)
            top = [row.candidate.identity for row in before.ranked if row.rank == 1]
            assert leader in top
            checked += 1
    assert checked > 10


def test_the_limits_on_kind_organization_and_license():
    table = TWO
    named = tuple(
        Candidate(c.identity, c.name, c.target_key, kind, organization, licence)
        for c, (kind, organization, licence) in zip(
            table.candidates, (("local", "Acme", "MIT"), ("endpoint", "", "")), strict=True
        )
    )
    table = DecisionTable("benchmarks", ("benchmarks",), table.criteria, named, table.scores)

    def rank(**limits):
        decision = decide(table, table.default_weights, DecisionLimits(**limits))
        return [row.candidate.identity for row in decision.ranked]

    assert rank(kinds=("local",)) == ["a"]
    assert rank(organizations=("Acme",)) == ["a"]
    assert rank(licences=("unknown",)) == ["b"]
    assert rank(licences=("MIT", "unknown"), kinds=("endpoint",)) == ["b"]
    assert rank(organizations=("Nobody",)) == []


# Weights as people write them.


@pytest.mark.parametrize("number", ["nan", "NaN", "inf", "-1", "101", "", "ten", "1e9", "0x10"])
def test_a_weight_that_cannot_be_is_refused_by_name(number):
    with pytest.raises(UsageError, match="reading"):
        parse_weights([f"reading:{number}"], TWO.criteria)


@pytest.mark.parametrize("text", ["reading", "other:3", ":3", "=", "reading;3"])
def test_a_weight_of_no_criterion_names_those_there_are(text):
    with pytest.raises(UsageError, match="reading, writing"):
        parse_weights([text], TWO.criteria)


def test_weights_are_written_as_they_are_read():
    weights = parse_weights(["writing=12.5"], TWO.criteria)
    assert weights == {"reading": 50, "writing": 12.5}
    text = format_weights(weights, TWO.criteria)
    assert text == "writing:12.5"
    assert parse_weights(text.split(","), TWO.criteria) == weights
    assert format_weights(TWO.default_weights, TWO.criteria) == ""


def test_no_number_is_negative_zero():
    assert math.copysign(1.0, parse_bounded("-0", "x")) == 1.0


# The scoring that decisions rest on.


def test_fixed_points_move_totals_and_decide_where_no_case_does():
    same = {"a": [1.0, 0.0], "b": [1.0, 0.0]}
    ranks = rank_board(same, fixed={"b": 5.0}, maxima=[1.0, 1.0])
    assert {name: (row.score, row.rank) for name, row in ranks.items()} == {
        "b": (6.0, 1),
        "a": (1.0, 2),
    }
    none = rank_board({"a": [], "b": []}, fixed={"a": 2.0})
    assert (none["a"].group, none["b"].group) == (1, 2)
    assert rank_board(same, fixed={}) == rank_board(same)


def test_a_few_differing_cases_stay_a_tie_whatever_is_added():
    """With too few differing cases nothing is told apart, unless the fixed part alone does."""
    cases = {"a": [1.0] * 3 + [0.0] * 97, "b": [0.0] * 100}
    assert rank_board(cases, maxima=[1.0] * 100, fixed={"a": 0.01})["b"].group == 1
    assert rank_board(cases, maxima=[1.0] * 100, fixed={"a": 60.0})["b"].group == 2


def test_shares_of_resamples_add_up_and_do_not_depend_on_any_order():
    rng = np.random.default_rng(3)
    scores = {name: rng.integers(0, 2, 60).astype(float) for name in "abc"}
    strata = ["x"] * 20 + ["y"] * 40
    shares = resample_leads(scores, strata=strata, resamples=400)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(shares, key=shares.get) == max(scores, key=lambda name: scores[name].sum())
    order = rng.permutation(60)
    shuffled = {name: scores[name][order] for name in "cab"}
    assert resample_leads(shuffled, strata=[strata[n] for n in order], resamples=400) == shares


def test_the_share_of_resamples_is_that_of_a_plain_bootstrap():
    """Against drawing the cases one by one."""
    rng = np.random.default_rng(11)
    a, b = rng.integers(0, 2, 50).astype(float), rng.integers(0, 2, 50).astype(float)
    draws = rng.integers(0, 50, size=(20_000, 50))
    gaps = (a - b)[draws].sum(axis=1)
    plain = (gaps > 0).mean() + (gaps == 0).mean() / 2
    shares = resample_leads({"a": a, "b": b}, maxima=np.ones(50), resamples=20_000)
    assert shares["a"] == pytest.approx(plain, abs=0.02)


def test_nobody_leads_where_nobody_is():
    assert resample_leads({}) == {}
