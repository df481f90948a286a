"""A metric that did not run prints -- and is null in every output, for each way not to run."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from evalcore.cli.main import main
from evalcore.exchange.reports import write_slm_reports
from evalcore.records import TargetSpec, Verdict
from evalcore.store import sweeps
from tests.support import judged_runs
from tests.support.api import client
from tests.support.boards import BENCHMARK, Plan, make_run
from tests.support.pages import store as store

CASES = 4
#: A number that a reader would take for a measurement of nothing.
ZERO = re.compile(r"(?<![\d.])0\.0+(?![\d%])")


def fail_all_judges(number, cost):
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


@pytest.fixture(params=["server", "judges"])
def lost(request, store, monkeypatch):
    """A run of which nothing was measured: its server failed, or all its judges did."""
    if request.param == "server":
        plan = Plan(target="openai:lost", cases=CASES, failing=10_000, price=None)
        return make_run(store, plan)
    monkeypatch.setattr(judged_runs, "_verdict", fail_all_judges)
    return judged_runs.make_judged_run(store, "20260301-100000-aaaaaa")


def benchmark_of(folder):
    return folder.read_spec().benchmarks[0].key


def target_of(folder):
    return folder.read_spec().target.key


def printed(capsys, *verb):
    assert main(verb) in (0, 3)
    return capsys.readouterr().out


def test_show_prints_dashes_and_null(capsys, lost):
    text = printed(capsys, "show", lost.run_id)
    [line] = [line for line in text.splitlines() if line.startswith(benchmark_of(lost))][:1]
    assert re.search(r" -- +\(only 0%", line)
    assert not ZERO.search(text)
    shown = json.loads(printed(capsys, "show", lost.run_id, "--json"))
    score = shown["benchmarks"][benchmark_of(lost)]
    assert (score["score"], score["interval"]) == (None, None)
    assert {metric["score"] for metric in score["metrics"].values()} == {None}
    [error] = shown["errors"]
    assert error["remedy"]
    metric, case = lost.read_samples().__iter__().__next__().sample.key.split("/", 1)
    text = printed(capsys, "show", lost.run_id, f"{metric}/{case}")
    assert re.search(r"^(score +--|outcome +target_error)$", text, re.M)
    assert "Remedy" in text


@pytest.mark.parametrize("form", ["text", "md", "latex"])
def test_boards_print_dashes(capsys, lost, form):
    text = printed(capsys, "board", "--format", form)
    [line] = [line for line in text.splitlines() if target_of(lost) in line.replace("\\_", "_")]
    assert line.replace("{-}", "-").count("--") >= 3, line
    assert not ZERO.search(line)


def test_boards_have_null_and_empty_cells(capsys, lost):
    [row] = json.loads(printed(capsys, "board", "--format", "json"))["items"]
    assert (row["score"], row["low"], row["high"]) == (None, None, None)
    assert set(row["scores"].values()) | set(row["metrics"].values()) == {None}
    [cells] = csv.DictReader(io.StringIO(printed(capsys, "board", "--format", "csv")))
    assert (cells["score"], cells["low"], cells[benchmark_of(lost)]) == ("", "", "")
    own = ("board", "--target", target_of(lost))
    assert not ZERO.search(printed(capsys, *own))
    items = json.loads(printed(capsys, *own, "--format", "json"))["items"]
    assert {item["score"] for item in items} == {None}


def test_comparisons_print_dashes(capsys, store, lost):
    other = make_run(store, Plan(target="openai:good", skill=0.8, cases=CASES))
    runs = (other.run_id, lost.run_id)
    for form in ("text", "md"):
        text = printed(capsys, "compare", *runs, "--format", form)
        assert "--" in text
        assert not ZERO.search(text)
    rows = csv.DictReader(io.StringIO(printed(capsys, "compare", *runs, "--format", "csv")))
    assert {row["score"] for row in rows if row["run"] == lost.run_id} == {""}
    assert "Not compared" in printed(capsys, "diff", *runs)
    diff = json.loads(printed(capsys, "diff", *runs, "--json"))
    assert benchmark_of(lost) in diff["not_compared"]
    assert diff["benchmarks"] == {}


@pytest.mark.parametrize("form", ["json", "csv", "md", "html"])
def test_reports_print_dashes_and_null(capsys, lost, form):
    text = printed(capsys, "export", lost.run_id, "--format", form)
    if form == "json":
        report = json.loads(text)
        assert report["aggregate_score"] is None
        own = report["benchmarks"][benchmark_of(lost)]
        assert (own["score"], own["weighted"].get("score")) == (None, None)
        metrics = own["weighted"]["metrics"].values()
        assert {metric["score"] for metric in metrics} == {None}
    elif form == "csv":
        [row] = csv.DictReader(io.StringIO(text))
        assert (row["score"], row["weighted_score"], row["answered"]) == ("", "", "")
    else:
        assert "--" in text
        assert not ZERO.search(re.sub(r"<style>.*</style>", "", text, flags=re.S))


def test_files_of_slm_evals_have_null(lost, tmp_path):
    write_slm_reports(lost, tmp_path / "out")
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["aggregate_score"] is None
    assert results["benchmarks"][benchmark_of(lost)]["score"] is None
    [row] = csv.DictReader(io.StringIO((tmp_path / "out" / "results.csv").read_text()))
    assert row["score"] == ""
    assert not ZERO.search((tmp_path / "out" / "report.md").read_text())


def test_exports_of_results_refuse_it(capsys, lost):
    task = f"{benchmark_of(lost)}=owner/name:task"
    assert main(["export", lost.run_id, "--format", "eval_results", "--hub", task]) == 2
    assert "not complete" in capsys.readouterr().err


def test_the_api_has_null(lost):
    asked = client()
    [row] = asked.get("/api/v1/ranking").json()["items"]
    assert (row["score"], set(row["scores"].values())) == (None, {None})
    [run] = asked.get("/api/v1/runs").json()["items"]
    assert run["scores"] == {benchmark_of(lost): None}
    items = asked.get(f"/api/v1/target?target={target_of(lost)}").json()["items"]
    assert {item["score"] for item in items} == {None}
    cases = asked.get(f"/api/v1/cases?run={lost.run_id}").json()["items"]
    assert cases
    assert {case["score"] for case in cases} == {None}


def test_a_sweep_prints_dashes(capsys, store, lost):
    good = make_run(store, Plan(target="openai:good", skill=0.8, cases=CASES))
    variants = tuple(
        sweeps.Variant(folder.run_id, TargetSpec(target_of(folder)), run_id=folder.run_id)
        for folder in (good, lost)
    )
    sweeps.save_sweep(sweeps.Sweep("s1", "2026-01-01", variants), store)
    text = printed(capsys, "sweep", "--show", "s1")
    [line] = [line for line in text.splitlines() if line.startswith(lost.run_id)]
    assert line.split()[1] == "--"
    assert not ZERO.search(line)
    report = json.loads(printed(capsys, "sweep", "--show", "s1", "--json"))
    rows = {row["run_id"]: row for row in report["rows"]}
    assert rows[lost.run_id].get("score") is None


def test_a_metric_without_cases_prints_dashes_beside_measured_ones(capsys, store):
    plan = Plan(target="openai:part", skill=1.0, cases=CASES, failing=CASES)
    folder = make_run(store, plan)
    text = printed(capsys, "show", folder.run_id)
    [line] = [line for line in text.splitlines() if line.startswith("  execution_accuracy")]
    assert line.split()[1] == "--"
    report = printed(capsys, "export", folder.run_id, "--format", "md")
    [row] = [row for row in report.splitlines() if row.startswith("| execution_accuracy |")][:1]
    assert row.split(" | ")[2] == "--"
    items = json.loads(printed(capsys, "board", "--target", "openai:part", "--format", "json"))[
        "items"
    ]
    scores = {item.get("metric"): item["score"] for item in items}
    assert scores["execution_accuracy"] is None
    assert BENCHMARK
