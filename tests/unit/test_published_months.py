"""All 13 months that SCALE published, with their real gaps, through every way out of a store."""

from __future__ import annotations

import json
import math

import pytest

from evalcore.cli.main import main
from evalcore.exchange.board_export import FORMATS
from evalcore.exchange.site.publish import build_site_files
from evalcore.store import run_folder as published_file
from evalcore.store.run_folder import find_run
from evalcore.views import boards, metric_board, stored_boards, targets
from evalcore.views.ranking import list_board_orders
from evalcore.views.stored_boards import build_score_trend
from tests.support.api import client
from tests.support.scale_months import EACH_MONTH, MONTHS, months, months_store

pytestmark = pytest.mark.slow

__all__ = ["months", "months_store"]  # fixtures
BOARDS = [f"scale-{month}" for month in MONTHS]
#: Runs of which the publisher dropped cases, by the benchmark that lacks them, in June 2026.
DROPPED = {
    ("scale:qwen3.5-397b-a17b", "sql_optimization"),
    ("scale:gemini-3.1-pro-preview", "sql_optimization"),
    ("scale:deepseek-v4-flash", "sql_optimization"),
}


def board_of(settings, key):
    return boards.find_board(
        boards.list_boards(stored_boards.load_run_headers(settings), "sql"), key
    )


def strict_json(text):
    """Parse JSON as a browser does: NaN and Infinity are errors."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def not_finite(frame):
    """The numeric columns that hold an infinity, or a NaN among the scores of ranked rows."""
    ranked = frame[frame["status"] == "ranked"]
    scores = ranked[["score", "low", "high", "coverage"]].astype(float)
    numbers = frame.select_dtypes("number").astype(float)
    return [
        *scores.columns[scores.isna().any()],
        *numbers.columns[numbers.abs().eq(math.inf).any()],
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("month", EACH_MONTH)
def test_every_month_is_ranked_by_everything_it_has(months, month):
    board = board_of(months, f"scale-{month}")
    assert board.key == f"scale-{month}"
    for by in list_board_orders(board):
        frame = stored_boards.board_ranking(months, board, by)
        ranked = frame[frame["status"] == "ranked"]
        assert len(ranked) >= 10
        assert ranked["rank"].notna().all()
        assert not_finite(frame) == []
        assert (frame.loc[frame["status"] == "incomplete", "coverage"] < 1).all()
        assert (
            build_score_trend(
                stored_boards.load_run_headers(months), board, by, set(frame["identity"])
            )
            is not None
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("month", EACH_MONTH)
def test_every_metric_of_every_month_has_its_table(months, month):
    board = board_of(months, f"scale-{month}")
    headers = stored_boards.load_run_headers(months)
    for benchmark in board.columns:
        row = next(row for row in boards.list_board_rows(headers, board) if benchmark in row.runs)
        for metric in row.runs[benchmark].benchmarks[benchmark].metrics:
            view = stored_boards.board_metric(months, board, benchmark, metric)
            assert not_finite(view.standing.assign(coverage=1.0)) == []
            metric_board.find_control_lines(headers, board, benchmark, metric)
        for row in boards.list_board_rows(headers, board):
            frame = targets.build_target_radar(headers, board, row.identity)
            assert frame["score"].notna().all()


def test_dropped_cases_leave_a_run_incomplete_with_a_lower_bound(months):
    board = board_of(months, "scale-2026-06")
    frame = stored_boards.board_ranking(months, board, "sql_optimization")
    incomplete = frame[frame["status"] == "incomplete"]
    assert {(name, "sql_optimization") for name in incomplete["identity"]} == DROPPED
    for _, row in incomplete.iterrows():
        folder = find_run(row["run_id"], months.run_roots)
        score = folder.read_summary().benchmarks["sql_optimization"]
        claim = published_file.read_published(folder).scores["sql_optimization"]
        assert score.score < score.answered
        assert score.coverage < 1
        assert (score.outcomes["missing"], score.complete) == (
            round((1 - score.coverage) * score.samples),
            False,
        )
        assert claim.recomputed == round(score.answered, 1)
        assert "dropped_cases" in {flag.kind for flag in claim.flags}
        assert len(list(folder.read_samples())) > len(list(folder.read_verdicts("published")))


def test_a_metric_that_half_of_a_month_was_never_asked_is_reported_and_not_scored(months):
    board = board_of(months, "scale-2025-06")
    frame = stored_boards.board_ranking(months, board, "sql_understanding")
    assert list(frame["status"]).count("ranked") == 10
    run = find_run("scale-2025-06-o4-mini", months.run_roots)
    score = run.read_summary().benchmarks["sql_understanding"]
    metric = score.metrics["sql_identification"]
    assert (metric.weight, metric.samples, metric.score) == (None, 20, pytest.approx(98, abs=3))
    flags = published_file.read_published(run).scores["sql_understanding"].flags
    assert ("uncommon_indicator", "sql_identification") in {(f.kind, f.metric) for f in flags}
    assert score.views == {"claimed": 84.3}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", ["csv", *FORMATS])
def test_every_month_is_listed_in_every_format(months, capsys, format):
    for key in BOARDS:
        assert main(["board", "--suite", "sql", "--board", key, "--format", format]) == 0
        text = capsys.readouterr().out
        assert "scale:" in text or "scale" in text
        assert "nan" not in text.lower().replace("nano", "")
        if format == "json":
            assert strict_json(text)["total"] >= 11


@pytest.mark.full
def test_the_api_answers_for_every_month(months):
    asked = client()
    listed = strict_json(asked.get("/api/v1/boards?limit=100").text)["items"]
    assert {entry["key"] for entry in listed} == set(BOARDS)
    for item in listed:
        for by in item["orders"]:
            address = f"/api/v1/ranking?suite=sql&board={item['key']}&by={by}&limit=200"
            answer = asked.get(address)
            assert answer.status_code == 200, answer.text
            assert strict_json(answer.text)["total"] >= 10
        row = strict_json(answer.text)["items"][-1]  # of the unranked, where there are any
        query = f"target={row['identity']}&suite=sql&board={item['key']}"
        for path in ("badge.svg", "preview.png"):
            assert asked.get(f"/api/v1/{path}?{query}").status_code == 200
        shared = asked.get(f"/share?suite=sql&board={item['key']}")
        assert shared.status_code == 200
        cases = asked.get(f"/api/v1/cases?run={row['run_id']}&limit=200")
        assert cases.status_code == 200
        assert strict_json(cases.text)["total"] > 50
    runs = asked.get("/api/v1/runs?limit=200")
    assert strict_json(runs.text)["total"] == 309


@pytest.mark.full
def test_the_site_of_all_months_is_written(months):
    site_files = dict(build_site_files(months, "Evalboard", "https://example.org/board/"))
    for key in BOARDS:
        assert any(key in path for path in site_files)
    for path, content in site_files.items():
        if path.endswith(".json"):
            strict_json(content.decode())
        if path.endswith((".html", ".csv")):
            text = content.decode()
            assert ">nan" not in text
            assert ",nan" not in text
