"""pass^k, its interval, and what doing nothing is worth."""

from __future__ import annotations

from math import comb

import pytest

from evalcore.benchmarks.tau_bench.environment.reward import NOTHING_TO_DO
from evalcore.benchmarks.tau_bench.score import adjust_for_noop, compute_pass_groups, pass_k
from evalcore.records import Sample, Verdict


def samples(count: int, idle: int = 0) -> list[Sample]:
    return [
        Sample("retail", str(at), {}, meta={"flags": [NOTHING_TO_DO]} if at < idle else {})
        for at in range(count)
    ]


def verdicts(*rows: str) -> list[Verdict]:
    """One row of letters a task: p passed, f failed, e an error of the target, by epoch."""
    words = {"p": "passed", "f": "failed", "e": "target_error"}
    return [
        Verdict("retail", str(at), words[letter], epoch)  # type: ignore[arg-type]
        for at, row in enumerate(rows)
        for epoch, letter in enumerate(row)
    ]


def test_pass_k_is_the_mean_of_combinations():
    rates = pass_k([4, 2, 0], 4)
    expected = [100 * sum(comb(c, k) / comb(4, k) for c in (4, 2, 0)) / 3 for k in range(1, 5)]
    assert [item.k for item in rates] == [1, 2, 3, 4]
    assert [item.value for item in rates] == pytest.approx(expected)


def test_pass_k_never_grows_with_k_and_lies_within_its_interval():
    rates = pass_k([5, 4, 3, 3, 2, 1, 0, 5, 5], 5)
    values = [item.value for item in rates]
    assert values == sorted(values, reverse=True)
    assert all(0 <= item.interval.low <= item.value <= item.interval.high <= 100 for item in rates)
    assert all(item.interval.low < item.interval.high for item in rates)


def test_the_interval_takes_tasks_as_clusters():
    """Four tries at a task say less than four tasks: the interval is about that of 20 tasks."""
    [first, *_] = pass_k([4, 0] * 10, 4)
    assert first.interval.high - first.interval.low > 35


def test_neither_order_nor_chance_moves_an_interval():
    assert pass_k([3, 1, 2, 0, 3], 3) == pass_k([0, 1, 2, 3, 3], 3)


def test_groups_carry_everything_by_name():
    pass_groups = compute_pass_groups(samples(4, idle=1), verdicts("pp", "pf", "ff", "pp"), 2)
    assert pass_groups["pass^1"] == pytest.approx(62.5)
    assert pass_groups["pass^2"] == pytest.approx(50)
    assert pass_groups["p0"] == 25
    assert pass_groups["adjusted"] == pytest.approx(50)
    assert pass_groups["adjusted^2"] == pytest.approx(100 / 3)
    assert pass_groups["pass^2.low"] <= pass_groups["pass^2"] <= pass_groups["pass^2.high"]


@pytest.mark.parametrize("row", ["pe", "p", ""])
def test_an_epoch_that_was_not_measured_leaves_it_open(row):
    pass_groups = compute_pass_groups(samples(2), verdicts("pp", row), 2)
    assert pass_groups == {"p0": 0, "pass^1": None, "pass^2": None, "adjusted": None}


def test_what_was_not_declared_counts_for_nothing():
    more = [*verdicts("p"), Verdict("retail", "0", "failed", 7), Verdict("airline", "0", "failed")]
    assert compute_pass_groups(samples(1), more, 1)["pass^1"] == 100


def test_no_samples_no_groups():
    assert compute_pass_groups([], [], 3) == {}
    assert pass_k([], 3) == ()


def test_adjusted_is_zero_for_doing_nothing_and_below_for_less():
    assert adjust_for_noop(38, 38) == 0
    assert adjust_for_noop(100, 38) == 100
    assert adjust_for_noop(22.5, 38) == pytest.approx(-25)
    assert adjust_for_noop(100, 100) is None
