"""Reports of agentic runs: what was not executed is not passed, and gated answers stay hidden."""

from __future__ import annotations

import csv
import io
import json

import pytest

from evalcore.benchmarks.swe_bench import verdict as swe_verdict
from evalcore.exchange import report_data, reports
from evalcore.exchange.reports import render_report
from evalcore.records import BenchmarkSpec, Episode, RunSpec, Sample, TargetSpec, Verdict
from evalcore.results import RunSummary
from evalcore.runner.plan import create_benchmark
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict

#: In two parts, since no id of this form may stand in the project.
GATED = "0f0f0f0f-1111-4222-" + "8333-444455556666"
PATCH = "--- a/x.py\n+++ b/x.py\n"
RESOLVED = {"official": 1.0, "hardened": 0.0, "repaired": 1.0}
UNRESOLVED = {"official": 0.0, "hardened": 0.0, "repaired": 1.0}
MEASURES = {"file_recall": 1.0, "hunk_recall": 0.5, "line_f1": 0.25}


def swe(id, outcome, **more):
    """A verdict as SWE-bench gives it."""
    resolved = {"passed": True, "failed": False}.get(outcome)
    details = {"resolved": resolved, **MEASURES} | ({"applied": "apply"} if resolved else {})
    return Verdict("unrated", id, outcome, details=details, **more)


def gaia(id, outcome="passed", **more):
    views = {"strict": 0.0, "lenient": 1.0}
    return Verdict("level_1", id, outcome, score=1.0, views=views, note="inf was read", **more)


NOT_EXECUTED = swe("n", "not_executed", reason="no_repository")
UNUSABLE = swe("u", "environment_error", reason="unusable_task")
SOME = (
    swe("r", "passed", score=1.0, views=RESOLVED, evidence_kind="executed"),
    swe("f", "failed", score=0.0, views=UNRESOLVED, evidence_kind="executed"),
    NOT_EXECUTED,
    UNUSABLE,
)


def agentic_run(root, **verdicts):
    """A scored run of agentic benchmarks, by their keys."""
    specs, scores, samples, folder = [], {}, [], RunFolder(root / "run")
    for key, verdict in verdicts.items():
        benchmark = create_benchmark(key, {})
        declared = [
            Sample(entry.metric, entry.id, {}, meta={"gated": True} if entry.id == GATED else {})
            for entry in verdict
        ]
        samples += [(key, sample) for sample in declared]
        options = (key, "agentic", "d", "d1", benchmark.options, benchmark.card.weights)
        specs.append(BenchmarkSpec(*options, "1", "1", "c1", len(declared)))
        scores[key] = benchmark.aggregate(declared, verdict, benchmark.card.weights)
    target, created = TargetSpec("openai:m"), "2026-02-01T10:00:00.000+00:00"
    folder.create(RunSpec("run", created, target, tuple(specs)), samples)
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / "s1" / "w1.jsonl") as scored,
    ):
        for key, verdict in verdicts.items():
            for item in verdict:
                state = {"patch": PATCH} if key == "swe_bench" else {"answer": "secret 42"}
                episode = Episode(f"{item.metric}/{item.id}", 0, "Done.", state=state)
                generations.append(StoredEpisode(key, episode))
                scored.append(StoredVerdict(key, item))
    folder.write_summary(RunSummary("run", target, "done", "s1", scores, created_at=created))
    return folder


def test_what_was_not_executed_is_never_passed_nor_resolved(tmp_path):
    report = json.loads(render_report(agentic_run(tmp_path, swe_bench=SOME), "json"))
    benchmark = report["benchmarks"]["swe_bench"]
    fields = [
        (sample["id"], sample["passed"], sample["resolved"]) for sample in benchmark["samples"]
    ]
    assert fields == [
        ("r", True, True),
        ("f", False, False),
        ("n", False, None),
        ("u", False, None),
    ]
    assert [sample["prediction"] for sample in benchmark["samples"]] == [PATCH] * 4
    counts = {name: benchmark[name] for name in ("total", "passed", "not_executed", "unusable")}
    assert counts == {"total": 3, "passed": 1, "not_executed": 1, "unusable": 1}
    assert benchmark["error_count"] == 0
    assert benchmark["score"] == report["aggregate_score"] == pytest.approx(1 / 3)
    assert benchmark["weighted"]["score"] == pytest.approx(100 / 3)


def test_unusable_tasks_are_known_by_the_reason_that_their_benchmark_gives():
    assert report_data.UNUSABLE == swe_verdict.UNUSABLE


def test_a_task_that_one_epoch_found_unusable_is_out_in_all(tmp_path):
    folder = agentic_run(tmp_path, swe_bench=SOME[:1])
    spec = json.loads((folder.path / "spec.json").read_bytes())
    (folder.path / "spec.json").write_text(json.dumps(spec | {"epochs": 2}))
    with Journal(folder.path / "verdicts" / "s1" / "w2.jsonl") as scored:
        late = swe("r", "environment_error", reason="unusable_task", epoch=1)
        scored.append(StoredVerdict("swe_bench", late))
    report = json.loads(render_report(folder, "json"))
    benchmark = report["benchmarks"]["swe_bench"]
    assert (benchmark["total"], benchmark["passed"], benchmark["unusable"]) == (0, 0, 2)
    assert (benchmark["score"], report["aggregate_score"]) == (None, None)


def test_a_benchmark_of_which_nothing_was_executed_is_not_in_the_mean(tmp_path):
    folder = agentic_run(tmp_path, swe_bench=(NOT_EXECUTED,), gaia=(gaia("a"),))
    report = json.loads(render_report(folder, "json"))
    assert report["aggregate_score"] == report["benchmarks"]["gaia"]["score"] == 1.0
    assert report["benchmarks"]["swe_bench"]["score"] is None
    assert report["missing"] == ["bfcl", "tau_bench", "tau2_bench", "swe_bench"]
    swe_row, gaia_row = csv.DictReader(io.StringIO(render_report(folder, "csv")))
    assert (swe_row["passed"], swe_row["score"], gaia_row["score"]) == ("0", "", "1.0")
    for form, cell in (("md", "| {} |"), ("html", "<td>{}</td>")):
        text = render_report(folder, form)
        assert cell.format("bfcl, tau_bench, tau2_bench, swe_bench") in text
        assert text.count("n/e") == 2, "the benchmark and its case"
    lines = [
        line.split() for line in report_data.format_run_summary(folder.read_summary()).splitlines()
    ]
    assert ["swe_bench", "n/e"] in [line[:2] for line in lines]


def test_views_and_measures_stand_in_tables_of_their_own(tmp_path):
    folder = agentic_run(tmp_path, swe_bench=SOME, gaia=(gaia("a"),))
    text = render_report(folder, "md")
    parts = {part.splitlines()[0]: part for part in text.split("\n## ")[1:]}
    views = parts["swe_bench: views"]
    for row in ("| hardened | 0.0 |", "| official | 33.3 |", "| repaired | 66.7 |"):
        assert row in views
    assert "| strict | 0.0 |" in parts["gaia: views"]
    measures = parts["swe_bench: Patch format and localization (not executed)"]
    for row in ("| applies_rate | 50.0 |", "| file_recall | 100.0 |", "| line_f1 | 25.0 |"):
        assert row in measures
    assert "gaia: groups" not in text
    assert "<h2>swe_bench: Patch format and localization (not executed)</h2>" in render_report(
        folder, "html"
    )
    assert "  view repaired" in report_data.format_run_summary(folder.read_summary())


def test_the_measures_do_not_enter_a_score(tmp_path):
    folder = agentic_run(tmp_path, swe_bench=(NOT_EXECUTED,))
    weighted = json.loads(render_report(folder, "json"))["benchmarks"]["swe_bench"]["weighted"]
    assert (weighted["groups"]["file_recall"], weighted["score"]) == (100.0, None)
    assert weighted["groups"]["applies_rate"] is None
    assert "| applies_rate | -- |" in render_report(folder, "md")


@pytest.mark.parametrize("form", ["json", "csv", "md", "html"])
def test_answers_to_gated_questions_are_shown_only_on_demand(tmp_path, form):
    folder = agentic_run(tmp_path, gaia=(gaia(GATED), gaia("own")))
    hidden, shown = render_report(folder, form), render_report(folder, form, show_gated=True)
    times = 0 if form == "csv" else 1
    for text in ("secret 42", "inf was read"):
        assert (hidden.count(text), shown.count(text)) == (times, 2 * times)
    assert hidden.count("gated") == 2 * times
    assert "gated" not in shown


def test_the_files_of_slm_evals_hide_what_is_gated(tmp_path):
    folder = agentic_run(tmp_path, gaia=(gaia(GATED),))
    for show_gated in (False, True):
        reports.write_slm_reports(folder, tmp_path / "out", show_gated=show_gated)
        names = {"results.json", "results.csv", "report.md"}
        texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
        assert set(texts) == names
        assert ("secret" in texts["results.json"]) is show_gated
        assert ("secret" in texts["report.md"]) is show_gated


def test_a_gated_question_without_an_answer_hides_nothing(tmp_path):
    folder = agentic_run(tmp_path, gaia=(gaia(GATED),))
    for journal in folder.path.glob("generations/*.jsonl"):
        journal.unlink()
    [sample] = json.loads(render_report(folder, "json"))["benchmarks"]["gaia"]["samples"]
    assert (sample["prediction"], sample["note"]) == ("", "(gated: not shown)")


def test_a_report_counts_how_calls_were_read(tmp_path):
    kinds = ("native", "native", "rescued", "lost", "")
    verdicts = tuple(
        Verdict("simple_python", str(number), "failed", score=0.0, details={"call_reading": kind})
        for number, kind in enumerate(kinds)
    )
    report = render_report(agentic_run(tmp_path, bfcl=verdicts), "md")
    assert "bfcl: calls" in report
    for row in ("| as asked | 2 |", "| from another format | 1 |", "| lost to format | 1 |"):
        assert row in report
    without = agentic_run(tmp_path / "other", gaia=(gaia("a"),))
    assert "gaia: calls" not in render_report(without, "md")
