"""What was not measured has no score: neither 0.0 nor an interval."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from evalcore.cli.main import main
from evalcore.settings import Settings
from evalcore.views import payloads
from evalcore.views.runs import all_rows
from tests.support import stored_runs
from tests.support.boards import settings_in


@pytest.fixture
def settings(tmp_path, monkeypatch):
    result = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_SHIPPED", result.shipped)
    return result


def unmeasured_run(settings, **changes):
    """A finished run of which no case was measured, or as the `changes` have it."""
    folder = stored_runs.finish(settings.runs_dir, "run-1")
    summary = folder.read_summary()
    score = summary.benchmarks[stored_runs.BENCHMARK]
    lost = {"score": 0.0, "answered": None, "measured": 0}
    metrics = {name: replace(m, **lost) for name, m in score.metrics.items()}
    nothing = {"score": 0.0, "coverage": 0.0, "answered": None, "metrics": metrics}
    score = replace(score, **nothing | changes)
    folder.write_summary(replace(summary, benchmarks={stored_runs.BENCHMARK: score}))
    return folder


def shown(settings, capsys, *flags):
    main(["show", "run-1", "--data", settings.data, *flags])
    return capsys.readouterr().out


def test_show_prints_null(settings, capsys):
    unmeasured_run(settings)
    benchmark = json.loads(shown(settings, capsys, "--json"))["benchmarks"][stored_runs.BENCHMARK]
    assert benchmark["score"] is None
    assert benchmark["interval"] is None
    assert {metric["score"] for metric in benchmark["metrics"].values()} == {None}
    assert "0.0" not in shown(settings, capsys).replace("view", "")


def test_lists_and_rows_have_none(settings):
    unmeasured_run(settings)
    assert [row["scores"] for row in payloads.build_listing("runs", settings)] == [
        {stored_runs.BENCHMARK: None}
    ]
    assert all_rows(settings.run_roots)[0].scores == {stored_runs.BENCHMARK: None}


def test_a_zero_that_was_measured_and_a_claim_stay_numbers(settings):
    unmeasured_run(settings, coverage=0.5, answered=0.0)
    assert all_rows(settings.run_roots)[0].scores == {stored_runs.BENCHMARK: 0.0}
    unmeasured = unmeasured_run
    (settings.runs_dir / "run-1").rename(settings.runs_dir / "away")
    unmeasured(settings, level=0)
    rows = {row.run_id: row for row in all_rows(settings.run_roots)}
    assert rows["run-1"].scores == {stored_runs.BENCHMARK: 0.0}


def test_tasks_in_the_folders_of_domains_are_listed_as_cases():
    listed = {row["name"]: row for row in payloads.build_listing("datasets", Settings())}
    assert {listed[name]["cases"] for name in ("tau_bench", "tau2_bench")}.isdisjoint({0})
    assert payloads.as_text([{"new": True}, {"new": False}], "zh").split()[1:] == ["是", "否"]
    assert listed["tau2_bench"]["files"].keys() == {
        f"{domain}/tasks_bundled.jsonl"
        for domain in ("retail", "airline", "telecom", "banking_knowledge")
    }
