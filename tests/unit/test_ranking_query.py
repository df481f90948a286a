"""The ranking as a frame, from whole run folders: ranks, ties, what is missing, what is hostile."""

import json
import shutil

import pandas as pd
import pytest

from evalcore.store.run_folder import list_run_folders
from evalcore.views import board_table, boards, case_points, ranking, stored_boards
from tests.support.boards import BENCHMARK, Plan, build_ranking, make_run, settings_in
from tests.support.headers import header, score, two_benchmarks

__all__ = ["two_benchmarks"]  # a fixture

STRONG = Plan(target="openai:strong", skill=0.85)
WEAK = Plan(target="openai:weak", skill=0.3)


def ranked(settings, order=""):
    board = boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]
    return stored_boards.board_ranking(settings, board, order)


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def test_the_better_target_is_first_with_its_interval_and_rank_interval(settings):
    for plan in (WEAK, STRONG):
        make_run(settings, plan)
    frame = ranked(settings)
    assert list(frame["identity"]) == ["openai:strong", "openai:weak"]
    assert list(frame["rank"]) == [1, 2]
    assert list(frame["group"]) == [1, 2]
    assert list(frame["leader"]) == list(frame["identity"])
    assert ((frame["low"] <= frame["score"]) & (frame["score"] <= frame["high"])).all()
    assert ((frame["rank_low"] <= frame["rank"]) & (frame["rank"] <= frame["rank_high"])).all()


def test_ranks_rest_on_the_scores_of_the_headers(settings):
    for plan in (STRONG, WEAK):
        make_run(settings, plan)
    headers = stored_boards.load_run_headers(settings)
    board = boards.list_boards(headers, "sql")[0]
    frame = ranked(settings)
    by_header = {run.identity: run.benchmarks[BENCHMARK].score for run in headers}
    assert dict(zip(frame["identity"], frame["score"], strict=True)) == pytest.approx(by_header)
    rows = boards.list_board_rows(headers, board)
    points = case_points.load_board_points(settings, rows, board)
    standings = ranking.compute_standings(rows, board, BENCHMARK, points)
    assert {name: row.score for name, row in standings.items()} == pytest.approx(by_header)


def test_without_a_run_there_are_no_cases():
    assert case_points.case_scores([]).empty


def test_targets_that_answer_alike_are_one_tie_group(settings):
    same = {"skill": 1.0}
    make_run(settings, Plan(target="openai:a", **same))
    make_run(settings, Plan(target="openai:b", **same))
    frame = ranked(settings)
    assert list(frame["rank"]) == [1, 1]
    assert ranking.tie_groups(frame) == [["openai:a", "openai:b"]]


def test_an_incomplete_run_is_below_without_a_rank_however_high_it_scores(settings):
    make_run(settings, WEAK)
    make_run(settings, Plan(target="openai:cut", skill=1.0, failing=3))
    frame = ranked(settings)
    assert list(frame["status"]) == ["ranked", "incomplete"]
    cut = frame.iloc[1]
    assert pd.isna(cut["rank"])
    assert cut["coverage"] < 1
    assert cut["errors"] == 3
    assert cut["score"] > frame["score"].iloc[0]


def test_controls_are_listed_last_and_take_no_rank(settings):
    make_run(settings, Plan(target="control:reference", skill=1.0, price=None))
    make_run(settings, WEAK)
    frame = ranked(settings)
    assert list(frame["status"]) == ["ranked", "control"]
    assert frame["rank"].iloc[0] == 1
    assert pd.isna(frame["rank"].iloc[1])


def test_an_unknown_cost_is_none_and_not_zero(settings):
    make_run(settings, Plan(target="openai:unpriced", price=None))
    make_run(settings, Plan(target="openai:free", price=0.0))
    costs = ranked(settings).set_index("identity")["cost"]
    assert pd.isna(costs["openai:unpriced"])
    assert costs["openai:free"] == 0.0


def test_a_run_whose_journals_are_broken_is_listed_as_unreadable(settings):
    folder = make_run(settings, STRONG)
    make_run(settings, WEAK)
    (folder.path / "samples.jsonl").write_text("{not json\n", encoding="utf-8")
    frame = ranked(settings)
    assert list(frame["status"]) == ["ranked", "unreadable"]
    assert list(frame["identity"]) == ["openai:weak", "openai:strong"]


def test_a_run_that_was_deleted_meanwhile_leaves_the_board(settings):
    folder = make_run(settings, STRONG)
    board = boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]
    shutil.rmtree(folder.path)
    assert list(stored_boards.board_ranking(settings, board)["status"]) == []


def test_the_newest_run_is_shown_and_the_signature_follows_the_store(settings):
    make_run(settings, STRONG)
    before = stored_boards.compute_boards_signature(settings)
    later = make_run(
        settings, Plan(target="openai:strong", skill=0.4, created_at="2026-11-15T00:00:00.000Z")
    )
    assert stored_boards.compute_boards_signature(settings) != before
    frame = ranked(settings)
    assert list(frame["run_id"]) == [later.run_id]


def test_metric_columns_hold_scores_and_none_without_cases(settings):
    make_run(settings, STRONG)
    frame = ranked(settings)
    part = frame[f"{BENCHMARK}/execution_accuracy"].iloc[0]
    assert 0 <= part <= 100
    headers = [header("openai:a", 1, **{BENCHMARK: score(metrics={})})]
    board = boards.list_boards(headers, "sql")[0]
    empty = build_ranking(headers, board, pd.DataFrame(columns=["run"]))
    assert empty[f"{BENCHMARK}/execution_accuracy"].isna().all()


@pytest.mark.usefixtures("two_benchmarks")
def test_a_suite_is_ranked_by_its_mean_and_a_missing_benchmark_is_a_dash():
    both = {
        BENCHMARK: score(value=80.0),
        "other": score("o1", 40.0, dataset="other", low=36.0, high=44.0),
    }
    headers = [header("openai:a", 1, run="a", **both), header("openai:b", 2, run="b")]
    board = boards.list_boards(headers, "sql")[0]
    cases = pd.DataFrame(
        [
            {"run": "a", "benchmark": BENCHMARK, "metric": "m", "id": str(n), "weight": 1.0}
            | {"score": float(n < 8)}
            for n in range(10)
        ]
        + [
            {"run": "a", "benchmark": "other", "metric": "m", "id": str(n), "weight": 2.0}
            | {"score": float(n < 4)}
            for n in range(10)
        ]
    )
    assert ranking.list_board_orders(board) == [ranking.SUITE, BENCHMARK, "other"]
    frame = build_ranking(headers, board, cases)
    assert list(frame["status"]) == ["ranked", "not_run"]
    assert frame["score"].iloc[0] == pytest.approx(60.0)
    assert frame["low"].iloc[0] == pytest.approx(60.0 - (25 + 16) ** 0.5 / 2)
    assert pd.isna(frame["score"].iloc[1])
    assert pd.isna(frame["other"].iloc[1])
    assert ranking.list_board_parts(board) == [BENCHMARK, "other"]


@pytest.mark.usefixtures("two_benchmarks")
def test_costs_are_unknown_where_a_run_did_more_than_the_board_shows():
    more = {BENCHMARK: score(), "elsewhere": score("e")}
    headers = [header("openai:a", 1, run="a", **more)]
    board = boards.list_boards(headers, "sql")[0]
    frame = build_ranking(headers, board, pd.DataFrame(columns=["run"]))
    assert frame["cost"].isna().all()


def test_leaders_name_the_best_ranked_target_of_each_metric(settings):
    make_run(settings, Plan(target="openai:strong", skill=0.8, skills={"sql_identification": 0.2}))
    make_run(settings, Plan(target="openai:parser", skill=0.3, skills={"sql_identification": 0.9}))
    make_run(settings, Plan(target="control:reference", skill=1.0))
    board = boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]
    actual_leaders = board_table.board_table(settings, board, BENCHMARK).leaders
    leaders = {item.part: item.identity for item in actual_leaders}
    assert leaders[f"{BENCHMARK}/sql_identification"] == "openai:parser"
    assert leaders[f"{BENCHMARK}/execution_accuracy"] == "openai:strong"


def test_filters_keep_the_ranks_and_take_text_literally(settings):
    for plan in (STRONG, WEAK, Plan(target="baseline:a.b", skill=0.5)):
        make_run(settings, plan)
    frame = ranked(settings)
    assert list(ranking.filter_ranking(frame, "WEAK", [])["rank"]) == [3]
    assert list(ranking.filter_ranking(frame, "", ["baseline"])["identity"]) == ["baseline:a.b"]
    assert ranking.filter_ranking(frame, "a+b", []).empty
    assert ranking.filter_ranking(frame, "(", []).empty


def test_a_complete_run_that_lacks_cases_of_its_column_is_not_ranked(settings):
    """Imports from before dropped cases were declared say that they are complete."""
    for name in "abc":
        make_run(settings, Plan(target=f"openai:{name}", skill=0.5))
    short = make_run(settings, Plan(target="openai:short", skill=1.0))
    lines = (short.path / "samples.jsonl").read_bytes().splitlines(keepends=True)
    (short.path / "samples.jsonl").write_bytes(b"".join(lines[:-1]))
    frame = ranked(settings).set_index("identity")
    assert frame.loc["openai:short", "status"] == "incomplete"
    assert list(frame["status"]) == ["ranked"] * 3 + ["incomplete"]
    assert frame.loc[["openai:a", "openai:b", "openai:c"], "rank"].notna().all()
    headers = stored_boards.load_run_headers(settings)
    board = boards.list_boards(headers, "sql")[0]
    view = stored_boards.board_metric(settings, board, BENCHMARK, lines_metric(lines[-1]))
    assert list(view.standing["status"]) == ["ranked"] * 3 + ["incomplete"]


def lines_metric(line):
    return json.loads(line)["sample"]["metric"]


def test_a_benchmark_whose_cases_all_weigh_nothing_breaks_no_ranking(settings):
    for name in "ab":
        make_run(settings, Plan(target=f"openai:{name}"))
    headers = stored_boards.load_run_headers(settings)
    board = boards.list_boards(headers, "sql")[0]
    cases = case_points.case_scores(list_run_folders(settings.run_roots)).assign(weight=0.0)
    frame = build_ranking(headers, board, cases)
    assert list(frame["rank"]) == [1, 1]
