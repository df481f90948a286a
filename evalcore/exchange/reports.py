"""A run's report as JSON, CSV, Markdown or HTML.

The JSON and CSV carry the fields of slm-evals, so that its readers go on working: `score` there is
passed/total from 0 to 1, and nothing (null, an empty cell) where no case was executed. Ours stand
beside them and run from 0 to 100.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange import markup, report_data, report_redaction
from evalcore.exchange.report_data import BenchmarkReport, ReportCase, RunReport
from evalcore.exchange.report_tables import build_report_tables
from evalcore.plain_text import safe_cell
from evalcore.privacy import Redactor
from evalcore.store.run_folder import RunFolder

CSV_COLUMNS = (
    *("benchmark", "total", "passed", "score"),
    *("experiment", "timestamp", "model_path", "error_count", "avg_latency_s"),
    *("weighted_score", "low", "high", "answered", "coverage", "complete", "full"),
    *("dataset", "column"),
)
#: Benchmarks whose cases are resolved, or not, by being executed.
_RESOLVING = frozenset({"swe_bench"})


def render_report(
    folder: RunFolder,
    format: str,
    experiment: str = "",
    *,
    show_gated: bool = False,
    censored: Redactor | None = None,
) -> str:
    """The report of a scored run; `experiment` names it where the run id shall not.

    Answers to gated questions are in it only with `show_gated`; with `censored` it goes to others
    and is without keys and places of this machine.

    Raises UsageError for an unknown format and for a run without scores, RunFolderError for a
    folder that cannot be read.
    """
    if format not in _WRITERS:
        raise UsageError(f"unknown report format {format!r}; known: {', '.join(_WRITERS)}")
    report = report_data.read_run_report(folder, show_gated=show_gated)
    if censored is not None:
        report = report_redaction.redact_report(report, censored)
    return _WRITERS[format](report, experiment or folder.run_id)


def _render_json_report(report: RunReport, experiment: str) -> str:
    spec = report.spec
    summary = {
        name: value
        for name, value in _struct_to_dict(report.summary).items()
        if name != "benchmarks"
    }
    content = {
        "experiment_name": experiment,
        "model_path": spec.target.key,
        "timestamp": spec.created_at,
        "aggregate_score": report.pass_rate,
        "missing": report.missing_benchmarks,
        "benchmarks": {b.spec.key: _benchmark_to_dict(b) for b in report.benchmarks},
        "summary": summary,
        "spec": _struct_to_dict(spec),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _benchmark_to_dict(benchmark: BenchmarkReport) -> dict[str, Any]:
    """The fields of slm-evals, then `weighted`: our score with interval, coverage and outcomes."""
    resolving = benchmark.spec.key in _RESOLVING
    return {
        "name": benchmark.spec.key,
        "total": benchmark.total_count,
        "passed": benchmark.passed_count,
        "score": benchmark.pass_rate,
        "error_count": benchmark.error_count,
        "not_executed": benchmark.not_executed_count,
        "unusable": benchmark.unusable_count,
        "avg_latency_s": benchmark.mean_latency,
        "weighted": _struct_to_dict(benchmark.score),
        "samples": [
            _case_to_dict(case) | ({"resolved": case.resolved} if resolving else {})
            for case in benchmark.cases
        ],
    }


def _case_to_dict(case: ReportCase) -> dict[str, Any]:
    return {
        "id": case.id,
        "prediction": case.prediction,
        "passed": case.passed,
        "score": case.score,
        "note": case.note,
        "latency_s": case.latency,
        "metric": case.metric,
        "epoch": case.epoch,
        "difficulty": case.difficulty,
        "weight": case.weight,
        "outcome": case.outcome,
        "reason": case.reason,
        "evidence_kind": case.evidence_kind,
    }


def _render_csv_report(report: RunReport, experiment: str) -> str:
    """One row per benchmark under CSV_COLUMNS; what is unknown is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for benchmark in report.benchmarks:
        score, interval = benchmark.score, benchmark.score.interval
        row = {
            "benchmark": benchmark.spec.key,
            "total": benchmark.total_count,
            "passed": benchmark.passed_count,
            "score": _round_csv_cell(benchmark.pass_rate),
            "experiment": experiment,
            "timestamp": report.spec.created_at,
            "model_path": report.spec.target.key,
            "error_count": benchmark.error_count,
            "avg_latency_s": _round_csv_cell(benchmark.mean_latency),
            "weighted_score": _round_csv_cell(score.score),
            "low": _round_csv_cell(interval.low if interval else None),
            "high": _round_csv_cell(interval.high if interval else None),
            "answered": _round_csv_cell(score.answered),
            "coverage": round(score.coverage, 4),
            "complete": score.complete,
            "full": score.full,
            "dataset": benchmark.spec.dataset,
            "column": score.column,
        }
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return text.getvalue()


def _round_csv_cell(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def _render_markdown_report(report: RunReport, experiment: str) -> str:
    return markup.render_markdown_tables(f"Report of {experiment}", build_report_tables(report))


def _render_html_report(report: RunReport, experiment: str) -> str:
    return markup.render_html_tables(f"Report of {experiment}", build_report_tables(report))


def _struct_to_dict(record: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return plain


_WRITERS: dict[str, Callable[[RunReport, str], str]] = {
    "json": _render_json_report,
    "csv": _render_csv_report,
    "md": _render_markdown_report,
    "html": _render_html_report,
}
