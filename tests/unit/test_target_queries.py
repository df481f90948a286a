"""One target as frames: profile, metrics, history, outcomes; what is missing stays missing."""

import msgspec
import pandas as pd
import pytest

from evalcore.views import boards, stored_boards, targets
from evalcore.views.boards import is_control, list_board_rows
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in
from tests.support.headers import header, score, two_benchmarks

__all__ = ["two_benchmarks"]  # a fixture


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("store"))
    day = "2026-11-{:02d}T00:00:00.000+00:00".format
    make_run(settings, Plan(target="openai:a", skill=0.4, created_at=day(1)))
    make_run(settings, Plan(target="openai:a", skill=0.6, created_at=day(2)))
    make_run(settings, Plan(target="openai:a", skill=0.5, mode="scale", created_at=day(3)))
    make_run(settings, Plan(target="openai:best", skill=0.9, created_at=day(4)))
    make_run(settings, Plan(target="openai:cut", skill=1.0, failing=5, created_at=day(5)))
    make_run(settings, Plan(target="control:null", skill=0.1, price=None))
    make_run(settings, Plan(target="control:reference", skill=1.0, price=None))
    return stored_boards.load_run_headers(settings)


@pytest.fixture
def board(store):
    return boards.list_boards(store, "sql")[0]


def test_identities_put_models_before_controls(store):
    assert targets.list_identities(store) == [
        "openai:a",
        "openai:best",
        "openai:cut",
        "control:null",
        "control:reference",
    ]


def test_runs_of_a_target_are_newest_first_and_an_unknown_one_has_none(store):
    runs = targets.list_target_runs(store, "openai:a")
    assert [run.created_at[:10] for run in runs] == ["2026-11-03", "2026-11-02", "2026-11-01"]
    assert targets.list_target_runs(store, "openai:nobody") == []


def test_a_target_without_a_score_on_the_board_has_no_row(store, board):
    assert targets.find_target_row(store, board, "openai:nobody") is None
    assert targets.find_target_row(store, board, "openai:a").identity == "openai:a"


def test_the_profile_stands_beside_the_best_ranked_and_the_floor(store, board):
    frame = targets.build_target_radar(store, board, "openai:a")
    table = frame.pivot_table(index="axis", columns="series", values="score")
    assert sorted(table.index) == sorted(targets.list_radar_axes(board))
    assert (table["best"] >= table["target"]).all()
    assert (table["best"] < 100).any()  # neither the reference nor the incomplete run counts
    assert table["floor"].mean() < table["target"].mean()


def test_axes_are_metrics_while_benchmarks_are_few(board):
    assert targets.list_radar_axes(board)[0] == f"{BENCHMARK}/execution_accuracy"
    assert len(targets.list_radar_axes(board)) == 4


def test_metric_scores_follow_the_catalogue_and_carry_best_and_floor(store, board):
    frame = targets.TargetView(store, board, "openai:a").build_metric_frame(BENCHMARK)
    assert list(frame["metric"]) == [
        "execution_accuracy",
        "sql_identification",
        "explain_detection",
        "syntax_error_detection",
    ]
    assert list(frame["weight"]) == [4, 3, 2, 1]
    assert (frame["low"] <= frame["score"]).all()
    assert (frame["samples"] == 20).all()
    assert frame["best"].notna().all()


def test_a_metric_without_cases_is_none_and_not_zero():
    headers = [
        header(
            "openai:a",
            1,
            **{BENCHMARK: score(metrics={"sql_identification": (0.0, None, None, 0)})},
        )
    ]
    board = boards.list_boards(headers, "sql")[0]
    frame = targets.TargetView(headers, board, "openai:a").build_metric_frame(BENCHMARK)
    assert frame["score"].isna().all()
    assert (frame["samples"] == 0).all()


def test_history_marks_the_runs_of_the_board_and_goes_from_old_to_new(store, board):
    frame = targets.build_run_history(targets.list_target_runs(store, "openai:a"), board)
    assert list(frame["on_board"]) == [True, True, False]
    assert frame["date"].is_monotonic_increasing
    assert str(frame["date"].dt.tz) == "UTC"


def test_the_history_of_nobody_is_an_empty_frame_with_columns():
    frame = targets.build_run_history([])
    assert frame.empty
    assert {"date", "score", "run_id"} <= set(frame.columns)


def test_outcomes_count_the_cases_that_occur(store, board):
    frame = targets.count_target_outcomes(targets.find_target_row(store, board, "openai:cut"))
    assert dict(zip(frame["outcome"], frame["count"], strict=True)) == {
        "passed": 75,
        "target_error": 5,
    }


@pytest.mark.usefixtures("two_benchmarks")
def test_benchmark_frame_says_none_for_what_was_not_run():
    headers = [
        header("openai:a", 1),
        header("openai:b", 1, other=score("o1", 40.0, dataset="other")),
    ]
    board = boards.list_boards(headers, "sql")[0]
    frame = targets.benchmark_frame(targets.find_target_row(headers, board, "openai:a"), board)
    assert list(frame["benchmark"]) == [BENCHMARK, "other"]
    assert pd.isna(frame["score"].iloc[1])
    assert list(frame["complete"]) == [True, False]


def test_axes_are_the_metrics_of_what_a_target_ran_while_that_is_little(store, board):
    column = board.columns[BENCHMARK]
    wide = msgspec.structs.replace(
        board,
        columns=dict.fromkeys((BENCHMARK, "dialect_conversion", "sql_optimization"), column),
    )
    row = targets.find_target_row(store, board, "openai:a")
    assert targets.list_radar_axes(wide) == list(wide.columns)
    assert targets.list_radar_axes(wide, row) == targets.list_radar_axes(board)
    full = msgspec.structs.replace(row, runs=dict.fromkeys(wide.columns, row.runs[BENCHMARK]))
    assert targets.list_radar_axes(wide, full) == list(wide.columns)


def test_the_best_other_target_is_complete_and_no_control(store, board):
    row = targets.find_target_row(store, board, "openai:a")
    best = targets.find_best_other(store, board, row, BENCHMARK)
    others = [
        other
        for other in list_board_rows(store, board)
        if other.identity != "openai:a" and not is_control(other.target_key) and other.is_complete
    ]
    assert best.score(BENCHMARK).score == max(o.score(BENCHMARK).score for o in others)
    alone = [header for header in store if header.identity == "openai:a"]
    assert targets.find_best_other(alone, board, row, BENCHMARK) is None
