"""Two runs side by side: their note, their partner, the paired numbers and the differing cases."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.store.headers import (
    ComparisonSide,
    create_comparison_sides,
    format_comparison_note,
    parse_comparison_note,
)
from evalcore.views import comparison, runs
from evalcore.views.reproduce import model_card
from tests.support.pair_runs import FIRST, SECOND, pair_of_runs
from tests.support.stored_runs import BENCHMARK


def test_a_note_is_read_back_and_no_other_text_is_one():
    first, second = create_comparison_sides()
    assert (first.id, first.side, second.side) == (second.id, "first", "second")
    assert parse_comparison_note(format_comparison_note(first)) == first
    assert parse_comparison_note(format_comparison_note(second)) == second
    assert parse_comparison_note("comparison of mine: first of two") is None
    assert (
        parse_comparison_note(format_comparison_note(ComparisonSide("0" * 8, "first")) + " ")
        is None
    )


def test_both_runs_find_each_other_until_one_is_gone(tmp_path):
    folders = pair_of_runs(tmp_path)
    rows = runs.all_rows([tmp_path])
    for run in (FIRST, SECOND):
        pair = comparison.find_run_pair(rows, run)
        assert (pair.first.run_id, pair.second.run_id) == (FIRST, SECOND)
    alone = [row for row in rows if row.run_id == FIRST]
    assert comparison.find_run_pair(alone, FIRST) is None
    assert comparison.find_run_pair(rows, "another") is None
    assert folders[0].read_spec().note != folders[1].read_spec().note


def test_the_second_is_measured_against_the_first(tmp_path):
    pair_of_runs(tmp_path, first=(True, False, False), second=(False, True, True))
    table = comparison.load_common_cases([tmp_path], FIRST, SECOND)
    [result] = comparison.compare_benchmarks(table)
    weights = dict(zip(table["id"], table["weight"], strict=True))
    total = sum(weights.values())
    assert result.first == pytest.approx(100 * weights["1"] / total)
    assert result.second == pytest.approx(100 - result.first)
    assert (result.result.wins, result.result.losses, result.result.ties) == (2, 1, 0)
    assert result.result.difference == pytest.approx(result.second - result.first)
    assert result.result.interval.low <= result.result.difference <= result.result.interval.high
    assert result.result.p == 0.5, "the case that was lost weighs less than those won"


def test_differing_cases_come_by_their_weight_and_equal_ones_not_at_all(tmp_path):
    pair_of_runs(tmp_path, first=(True, False, True), second=(False, True, True))
    table = comparison.find_differing_cases(comparison.load_common_cases([tmp_path], FIRST, SECOND))
    assert table["id"].tolist() == ["2", "1"]
    assert table["change"].tolist() == [1.0, -1.0]
    assert table["weight"].is_monotonic_decreasing


def test_runs_by_other_rules_are_not_compared(tmp_path):
    _, second = pair_of_runs(tmp_path)
    summary = second.read_summary()
    other = msgspec.structs.replace(summary.benchmarks[BENCHMARK], column="another")
    second.write_summary(msgspec.structs.replace(summary, benchmarks={BENCHMARK: other}))
    table = comparison.load_common_cases([tmp_path], FIRST, SECOND)
    assert table.empty
    assert comparison.compare_benchmarks(table) == []


def test_an_unknown_run_is_an_error_and_the_signature_follows_the_files(tmp_path):
    first, _ = pair_of_runs(tmp_path)
    with pytest.raises(UsageError, match="no run"):
        comparison.load_common_cases([tmp_path], FIRST, "missing")
    before = comparison.compute_pair_signature([tmp_path], FIRST, SECOND)
    (first.path / "samples.jsonl").touch()
    assert comparison.compute_pair_signature([tmp_path], FIRST, SECOND) != before


def test_the_card_of_a_model_is_read_once_it_is_loaded(tmp_path):
    first, second = pair_of_runs(tmp_path)
    assert model_card([tmp_path], FIRST) is None
    first.write_card({"model": "m", "revision": ""})
    assert model_card([tmp_path], FIRST) is None
    first.write_card({"model": "m", "parameters": 7, "dtype": "int8", "load_seconds": 1.5})
    assert model_card([tmp_path], FIRST).dtype == "int8"
    (second.path / "card.json").write_text('{"parameters": "many"}')
    assert model_card([tmp_path], SECOND) is None
    (second.path / "card.json").write_text("{torn")
    assert model_card([tmp_path], SECOND) is None
    assert model_card([tmp_path], "missing") is None
