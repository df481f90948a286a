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
from evalcore.exchange import markup, report_data, report_told
from evalcore.exchange.report_data import BenchmarkReport, CaseRow, RunReport
from evalcore.exchange.report_tables import tables
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


def render(
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
    report = report_data.read(folder, show_gated=show_gated)
    if censored is not None:
        report = report_told.told(report, censored)
    return _WRITERS[format](report, experiment or folder.run_id)


def _json(report: RunReport, experiment: str) -> str:
    spec = report.spec
    summary = {
        name: value for name, value in _plain(report.summary).items() if name != "benchmarks"
    }
    content = {
        "experiment_name": experiment,
        "model_path": spec.target.key,
        "timestamp": spec.created_at,
        "aggregate_score": report.rate,
        "missing": report.missing,
        "benchmarks": {b.spec.key: _benchmark(b) for b in report.benchmarks},
        "summary": summary,
        "spec": _plain(spec),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _benchmark(benchmark: BenchmarkReport) -> dict[str, Any]:
    """The fields of slm-evals, then `weighted`: our score with interval, coverage and outcomes."""
    resolving = benchmark.spec.key in _RESOLVING
    return {
        "name": benchmark.spec.key,
        "total": benchmark.total,
        "passed": benchmark.passed,
        "score": benchmark.rate,
        "error_count": benchmark.errors,
        "not_executed": benchmark.not_executed,
        "unusable": benchmark.unusable,
        "avg_latency_s": benchmark.latency,
        "weighted": _plain(benchmark.score),
        "samples": [
            _sample(case) | ({"resolved": case.resolved} if resolving else {})
            for case in benchmark.cases
        ],
    }


def _sample(case: CaseRow) -> dict[str, Any]:
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


def _csv(report: RunReport, experiment: str) -> str:
    """One row per benchmark under CSV_COLUMNS; what is unknown is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for benchmark in report.benchmarks:
        score, interval = benchmark.score, benchmark.score.interval
        row = {
            "benchmark": benchmark.spec.key,
            "total": benchmark.total,
            "passed": benchmark.passed,
            "score": _rounded(benchmark.rate),
            "experiment": experiment,
            "timestamp": report.spec.created_at,
            "model_path": report.spec.target.key,
            "error_count": benchmark.errors,
            "avg_latency_s": _rounded(benchmark.latency),
            "weighted_score": _rounded(score.score),
            "low": _rounded(interval.low if interval else None),
            "high": _rounded(interval.high if interval else None),
            "answered": _rounded(score.answered),
            "coverage": round(score.coverage, 4),
            "complete": score.complete,
            "full": score.full,
            "dataset": benchmark.spec.dataset,
            "column": score.column,
        }
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return text.getvalue()


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def _markdown(report: RunReport, experiment: str) -> str:
    return markup.markdown(f"Report of {experiment}", tables(report))


def _html(report: RunReport, experiment: str) -> str:
    return markup.page(f"Report of {experiment}", tables(report))


def _plain(record: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return plain


_WRITERS: dict[str, Callable[[RunReport, str], str]] = {
    "json": _json,
    "csv": _csv,
    "md": _markdown,
    "html": _html,
}
