"""`evalcore compare`: text, JSON, Markdown and CSV of one comparison, and what it refuses."""

from __future__ import annotations

import csv
import io
import json

import pytest

from evalcore.cli.main import main
from evalcore.settings import Settings
from evalcore.views import comparison, comparison_report, comparison_runs
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in
from tests.support.page_stores import CANARY, CORRUPT, corrupt_run


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    result = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_SHIPPED", result.shipped)
    return result


@pytest.fixture
def call(settings, capsys):
    """`call(words...)`: status, output and errors of `evalcore compare`."""

    def called(*words: str) -> tuple[int, str, str]:
        status = main(["compare", *words, "--data", settings.data])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return called


def runs_of(settings: Settings, *plans: Plan) -> list[str]:
    return [make_run(settings, plan).run_id for plan in plans]


THREE = (
    Plan("openai:a", skill=0.2),
    Plan("openai:b", skill=0.8),
    Plan("openai:c", skill=0.5, mode="official"),
)


def test_text_tells_scores_pairs_cases_and_obstacles(call, settings):
    runs = runs_of(settings, *THREE)
    status, text, _ = call(*runs)
    assert status == 0
    assert "A (base)  openai:a" in text
    assert f"{BENCHMARK} vs. A, on 80 common cases" in text
    assert "★" in text
    assert "options.mode: verified / official" in text
    assert "cases that differ, the first 20" in text


def test_json_holds_the_whole_report(call, settings):
    runs = runs_of(settings, *THREE)
    payload = json.loads(call(*runs, "--json", "--base", runs[1], "--cases", "3")[1])
    assert payload["base"] == "B"
    assert [run["run_id"] for run in payload["runs"]] == runs
    [detail] = payload["details"]
    result = detail["pairs"]["A"]["result"]
    assert result["wins"] + result["losses"] + result["ties"] == detail["common"] == 80
    assert result["difference"] < 0
    assert len(detail["cases"]) == 3 < payload["differing"][BENCHMARK]
    assert [obstacle["kind"] for obstacle in payload["obstacles"]] == ["rules"]


def test_csv_has_a_row_per_run_and_metric_and_pairs_on_the_whole(call, settings):
    runs = runs_of(settings, *THREE)
    rows = list(csv.DictReader(io.StringIO(call(*runs, "--format", "csv")[1])))
    assert len(rows) == 3 * 5
    paired = [row for row in rows if row["p"]]
    assert [(row["letter"], row["metric"], row["base"]) for row in paired] == [("B", "", runs[0])]
    assert {row["column"] for row in rows if row["letter"] != "C"}.isdisjoint(
        row["column"] for row in rows if row["letter"] == "C"
    )


def test_a_metric_moves_the_pair_to_its_row(call, settings):
    runs = runs_of(settings, *THREE[:2])
    words = (*runs, "--format", "csv", "--metric", "sql_identification")
    rows = list(csv.DictReader(io.StringIO(call(*words)[1])))
    assert [row["metric"] for row in rows if row["p"]] == ["sql_identification"]


def test_nothing_hostile_is_markup_or_a_formula(settings):
    hostile = (f"openai:{CANARY}|<script>", "=HYPERLINK(1):x")
    runs = runs_of(settings, *(Plan(name, skill=n / 2) for n, name in enumerate(hostile)))
    roots = settings.run_roots
    report = comparison_report.build_comparison_report(
        roots, comparison_runs.load_lineup(roots, runs)
    )
    text = comparison_report.as_markdown(report)
    assert not any(sign in text for sign in ("![", "](", "<script>", "://", "**", ":red["))
    for line in text.splitlines():
        assert line.count("|") in (0, line.split(" | ").__len__() + 1) or set(line) <= set("|-")
    assert ",=HYPERLINK" not in comparison_report.as_csv(report)
    assert "\x1b" not in comparison_report.as_text(report)


def test_the_differing_cases_as_csv(settings):
    runs = runs_of(settings, *THREE[:2])
    who = comparison_runs.load_lineup(settings.run_roots, runs)
    sides = comparison.find_comparable_runs(who, who.compared[1])[BENCHMARK]
    detail = comparison.compare_with_base(
        comparison.load_lineup_scores(settings.run_roots, who), BENCHMARK, sides
    )
    rows = list(csv.DictReader(io.StringIO(comparison_report.cases_csv(detail))))
    assert len(rows) == len(detail.cases)
    assert all(row["A"] != row["B"] for row in rows)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("gone",), "2 to 8 different runs, got 1"),
        (("{0}", "{0}"), "2 to 8 different runs, got 1"),
        (("{0}", "gone"), "no run 'gone'"),
        (("{0}", CORRUPT), "spec.json"),
        (("{0}", "{1}", "--base", "gone"), "not among the compared"),
        (("{0}", "{1}", "--benchmark", "bfcl"), "none of the runs has benchmark 'bfcl'"),
        (("{0}", "{1}", "--metric", "nothing"), "metric 'nothing'"),
        (("{0}", "{1}", "--cases", "-1"), "must not be negative"),
    ],
)
def test_what_is_refused_says_why(call, settings, words, text):
    corrupt_run(settings.runs_dir)
    runs = runs_of(settings, *THREE[:2])
    status, out, error = call(*(word.format(*runs) for word in words))
    assert (status, out) == (2, "")
    assert text in error


def test_runs_without_anything_in_common_are_told_and_no_error(call, settings):
    runs = runs_of(settings, THREE[0], THREE[2])
    status, text, _ = call(*runs)
    assert status == 0
    assert "Not compared with A" in text
    assert "against A" not in text
