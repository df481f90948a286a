"""A run of which nothing was measured has no score anywhere: null, empty or a dash, never 0."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import msgspec
import pytest

from evalcore.cli.main import main
from evalcore.exchange.board_export import FORMATS
from evalcore.exchange.reports import render_report
from evalcore.exchange.site.publish import build_site_files
from evalcore.records import Verdict
from evalcore.results import BenchmarkScore
from evalcore.store.headers import HeaderScore, build_run_header
from evalcore.store.index import open_index
from evalcore.views import (
    boards,
    comparison,
    comparison_report,
    comparison_runs,
    stored_boards,
    targets,
)
from evalcore.views.targets import find_score_extremes
from tests.support import judged_runs
from tests.support.api import client
from tests.support.boards import BENCHMARK, Plan, make_run
from tests.support.pages import open_page, words
from tests.support.pages import store as store

CASES = 4
LOST = Plan(target="openai:lost", cases=CASES, failing=10_000)
GOOD = Plan(target="openai:good", skill=0.8, cases=CASES)
METRIC = "execution_accuracy"
#: The first metric was lost, the others were measured.
PART = Plan(target="openai:part", skill=0.8, cases=CASES, failing=CASES)


@pytest.fixture
def runs(store):
    return {plan.target: make_run(store, plan) for plan in (LOST, GOOD, PART)}


def row_of(items):
    return next(item for item in items if item["identity"] == "openai:lost")


def printed(capsys, *verb):
    assert main(verb) in (0, 3)  # 3: the run is not complete
    return capsys.readouterr().out


def test_show_prints_null(capsys, runs):
    shown = json.loads(printed(capsys, "show", runs["openai:lost"].run_id, "--json"))
    score = shown["benchmarks"][BENCHMARK]
    assert (score["score"], score["interval"], score["coverage"]) == (None, None, 0.0)
    assert {metric["score"] for metric in score["metrics"].values()} == {None}
    assert "0.0" not in printed(capsys, "show", runs["openai:lost"].run_id)
    part = json.loads(printed(capsys, "show", runs["openai:part"].run_id, "--json"))
    assert part["benchmarks"][BENCHMARK]["score"] > 0
    assert part["benchmarks"][BENCHMARK]["metrics"][METRIC]["score"] is None


@pytest.mark.parametrize("format", ["csv", *FORMATS])
def test_a_board_lists_it_without_a_score(capsys, runs, format):
    text = printed(capsys, "board", "--format", format)
    if format == "json":
        row = row_of(json.loads(text)["items"])
        assert (row["status"], row["score"]) == ("incomplete", None)
        assert row["scores"] == {BENCHMARK: None}
        assert set(row["metrics"].values()) == {None}
    elif format == "csv":
        row = row_of(csv.DictReader(io.StringIO(text)))
        assert (row["score"], row["low"], row[BENCHMARK], row[f"{BENCHMARK}/{METRIC}"]) == ("",) * 4
    else:
        [line] = [line for line in text.splitlines() if "openai:lost" in line]
        assert "0.0 " not in line.replace("0.00", "")


def test_the_api_and_the_badge_know_no_score(runs):
    asked = client()
    row = row_of(asked.get("/api/v1/ranking").json()["items"])
    assert (row["score"], row["metrics"][f"{BENCHMARK}/{METRIC}"]) == (None, None)
    listed = asked.get("/api/v1/runs").json()["items"]
    [own] = [item for item in listed if item["target"] == "openai:lost"]
    assert own["scores"] == {BENCHMARK: None}
    assert "no score yet" in asked.get("/api/v1/badge.svg?target=openai:lost").text
    assert asked.get("/api/v1/preview.png?target=openai:lost").status_code == 200
    assert asked.get("/share/target?key=openai:lost").status_code == 200


@pytest.mark.parametrize("format", ["json", "csv", "md", "html"])
def test_reports_leave_it_out(runs, format):
    text = render_report(runs["openai:lost"], format)
    if format == "json":
        report = json.loads(text)["benchmarks"][BENCHMARK]
        assert (report["score"], report["weighted"].get("score")) == (None, None)
        assert {sample["score"] for sample in report["samples"]} == {None}
    elif format == "csv":
        [row] = csv.DictReader(io.StringIO(text))
        assert (row["score"], row["weighted_score"], row["low"]) == ("", "", "")
    else:
        assert ">0.0<" not in text
        assert "| 0.0 |" not in text


def test_a_comparison_measures_nobody_against_it(store, runs):
    ids = [runs[name].run_id for name in ("openai:good", "openai:lost")]
    who = comparison_runs.load_lineup(store.run_roots, ids)
    [group] = comparison.group_compared_runs(who)
    assert [mark.score is None for mark in group.marks] == [False, True]
    assert comparison.find_comparable_runs(who, who.compared[0]) == {}
    assert [
        incompatibility.kind
        for incompatibility in comparison_runs.find_incompatibilities(who, who.compared[0])
    ] == ["unmeasured"]
    report = comparison_report.build_comparison_report(store.run_roots, who)
    assert "nothing of it was measured" in comparison_report.as_text(report)
    rows = list(csv.DictReader(io.StringIO(comparison_report.as_csv(report))))
    assert {row["score"] for row in rows if row["letter"] == "B"} == {""}


def test_a_bundle_of_it_claims_nothing(store, runs, tmp_path, capsys):
    path = tmp_path / "lost.zip"
    run = runs["openai:lost"]
    assert main(["export", run.run_id, "--format", "bundle", "--out", str(path)]) == 0
    capsys.readouterr()
    with zipfile.ZipFile(path) as bundle:
        [name] = [name for name in bundle.namelist() if name.endswith("summary.json")]
        score = json.loads(bundle.read(name))["benchmarks"][BENCHMARK]
    assert (score["score"], score["interval"]) == (None, None)


def test_the_site_and_frames_hold_none(store, runs):
    site_files = dict(build_site_files(store, "Evalboard", ""))
    row = row_of(json.loads(site_files["data/sql-default.json"])["items"])
    assert row["score"] is None
    headers = stored_boards.load_run_headers(store)
    board = boards.list_boards(headers, "sql")[0]
    lost = targets.find_target_row(headers, board, "openai:lost")
    frame = targets.benchmark_frame(lost, board)
    assert frame["score"].isna().all()
    for values in find_score_extremes(headers, board):
        assert None not in values.values()
    view = stored_boards.board_metric(store, board, BENCHMARK, METRIC)
    assert "openai:lost" not in set(view.standing["identity"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_of_it_opens(runs, language):
    open_page("ranking", language)
    app = open_page("target", language, key="openai:lost")
    assert not app.error
    ids = ",".join(folder.run_id for folder in runs.values())
    app = open_page("compare", language, runs=ids)
    assert not app.error
    app = open_page("methodology", language, key="openai:lost")
    text = {"en": "Nothing was measured here", "zh": "没有任何用例得到有效测量"}[language]
    assert text in words(app)
    app = open_page("runs", language, run=runs["openai:lost"].run_id)
    assert not app.error


def test_an_old_index_is_read_without_zeros(store, runs):
    spec, summary = runs["openai:lost"].read_spec(), runs["openai:lost"].read_summary()
    header = build_run_header(spec, summary)
    score = header.benchmarks[BENCHMARK]
    old = msgspec.to_builtins(score) | {"score": 0.0, "low": 0.0, "high": 9.0}
    old["metrics"] = {name: (0.0, 0.0, 49.0, line[3]) for name, line in score.metrics.items()}
    assert msgspec.convert(old, HeaderScore) == score
    assert open_index(store).rebuild() == 3


@pytest.fixture
def judged(store, monkeypatch):
    """A run whose judges all failed; the answers were not in the form that was asked for."""

    def fail(number, cost):
        return Verdict(
            metric=judged_runs.METRIC,
            id=str(number),
            outcome="judge_error",
            score=None,
            evidence_kind="judged",
            reason="judge_error",
            views={"strict": 0.0},
            details={"judge_requests": 3},
        )

    monkeypatch.setattr(judged_runs, "_verdict", fail)
    return judged_runs.make_judged_run(store, "20260301-100000-aaaaaa")


def test_readings_are_left_out_where_all_judges_failed(store, judged, capsys):
    summary = judged.read_summary()
    score = summary.benchmarks["dialect_conversion"]
    assert (score.score, score.views) == (None, {})
    old = msgspec.to_builtins(score) | {"score": 0.0, "views": {"strict": 0.0, "claimed": 61.0}}
    assert msgspec.convert(old, BenchmarkScore).views == {"claimed": 61.0}
    header = build_run_header(judged.read_spec(), summary).benchmarks["dialect_conversion"]
    assert msgspec.convert(
        msgspec.to_builtins(header) | {"views": old["views"]}, HeaderScore
    ).views == {"claimed": 61.0}
    assert "0.0" not in printed(capsys, "show", judged.run_id)


def test_tables_of_a_report_have_dashes_where_all_judges_failed(judged):
    report = json.loads(render_report(judged, "json"))["benchmarks"]["dialect_conversion"]
    for metric in report["weighted"]["metrics"].values():
        assert (metric["score"], metric["passed"], metric["points"]) == (None, None, None)
    rows = [
        row for row in render_report(judged, "md").splitlines() if "| dialect_conversion" in row
    ]
    assert rows[0].startswith("| dialect_conversion | -- | -- | -- | 0.0% | -- | 4 |")
    [row] = [row for row in render_report(judged, "md").splitlines() if "| logical_eq" in row][:1]
    assert row == "| logical_equivalence | 4 | -- | -- | -- | 4 |"


def test_scale_gets_no_zero_for_what_no_judge_ruled_on(judged, tmp_path, capsys):
    out = tmp_path / "public"
    assert main(["export", judged.run_id, "--format", "scale", "--out", str(out)]) == 2
    assert "nothing of run 20260301-100000-aaaaaa was measured" in capsys.readouterr().err
    assert not list(out.rglob("*.json"))
