"""A report as titled tables of plain text, the same for every format that people read."""

from __future__ import annotations

from collections.abc import Iterator

from evalcore.exchange.report_data import (
    NOT_EXECUTED,
    BenchmarkReport,
    CaseRow,
    RunReport,
    unexecuted,
)
from evalcore.plain_text import DASH
from evalcore.records import MEASURED, Interval, Record

#: Stands where a number would, for what was not executed.
_NOT_EXECUTED = "n/e"
#: What the groups of a benchmark are, where they are not scores.
_GROUPS = {"swe_bench": "Patch format and localisation (not executed)"}


class Table(Record, frozen=True):
    """Rows of plain text; whoever draws them escapes them. All rows are as long as `columns`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(report: RunReport) -> Iterator[Table]:
    """The run, its scores, then metrics, views, groups and cases of each benchmark."""
    yield _run(report)
    yield _scores(report)
    for benchmark in report.benchmarks:
        yield _metrics(benchmark)
        if benchmark.score.views:
            yield _views(benchmark)
        if benchmark.score.groups:
            yield _groups(benchmark)
        yield _cases(benchmark, report.spec.epochs)


def _run(report: RunReport) -> Table:
    spec, summary, totals = report.spec, report.summary, report.summary.totals
    rows = (
        ("Run", spec.run_id),
        ("Target", spec.target.identity),
        ("Options", ", ".join(f"{k}={v}" for k, v in sorted(spec.target.options.items()))),
        ("Started", spec.created_at),
        ("State", summary.state if summary.is_complete else f"{summary.state} (not ranked)"),
        ("Epochs", str(spec.epochs)),
        ("Seed", str(spec.seed)),
        ("Plain pass rate", "" if report.rate is None else f"{report.rate:.2%}"),
        ("Missing of the suite", ", ".join(report.missing)),
        ("Requests", str(totals.requests)),
        ("Tokens", f"{_count(totals.input_tokens)} in, {_count(totals.output_tokens)} out"),
        ("Cost", "unknown" if totals.cost is None else f"{totals.cost:.4f} USD"),
        ("Cost by", ", ".join(one.replace("_", " ") for one in totals.cost_sources)),
        ("Note", spec.note),
    )
    return Table("Run", ("Field", "Value"), tuple(row for row in rows if row[1]))


def _scores(report: RunReport) -> Table:
    columns = ("Benchmark", "Score", "95 % interval", "Answered only", "Coverage")
    return Table(
        "Scores, 0 to 100",
        (*columns, "Passed", "Total", "Not executed", "Unusable", "Errors", "Mean latency"),
        tuple(
            (
                b.spec.key,
                _NOT_EXECUTED if unexecuted(b.score) else _number(b.score.score),
                _interval(b.score.interval),
                _number(b.score.answered),
                f"{b.score.coverage:.1%}",
                str(b.passed),
                str(b.total),
                str(b.not_executed),
                str(b.unusable),
                str(b.errors),
                DASH if b.latency is None else f"{b.latency:.2f} s",
            )
            for b in report.benchmarks
        ),
    )


def _metrics(benchmark: BenchmarkReport) -> Table:
    return Table(
        f"{benchmark.spec.key}: metrics",
        ("Metric", "Weight", "Score", "95 % interval", "Passed", "Samples"),
        tuple(
            (
                metric.metric,
                "not scored" if metric.weight is None else f"{metric.weight:g}",
                _number(metric.score) if metric.samples else "no cases",
                _interval(metric.interval),
                f"{metric.passed:g}",
                str(metric.samples),
            )
            for metric in benchmark.score.metrics.values()
        ),
    )


def _views(benchmark: BenchmarkReport) -> Table:
    views = benchmark.score.views
    return Table(
        f"{benchmark.spec.key}: views",
        ("View", "Score"),
        tuple((name, f"{score:.1f}") for name, score in views.items()),
    )


def _groups(benchmark: BenchmarkReport) -> Table:
    key = benchmark.spec.key
    return Table(
        f"{key}: {_GROUPS.get(key, 'groups')}",
        ("Group", "Mean, %"),
        tuple((name, _number(value)) for name, value in benchmark.score.groups.items()),
    )


def _cases(benchmark: BenchmarkReport, epochs: int) -> Table:
    return Table(
        f"{benchmark.spec.key}: cases",
        ("#", "Metric", "Case", "Outcome", "Score", "Evidence", "Reason", "Note", "Answer"),
        tuple(
            (
                str(number),
                case.metric,
                case.id if epochs == 1 else f"{case.id} (epoch {case.epoch + 1})",
                case.outcome,
                _score(case),
                case.evidence_kind,
                case.reason,
                case.note,
                case.prediction,
            )
            for number, case in enumerate(benchmark.cases, 1)
        ),
    )


def _score(case: CaseRow) -> str:
    if case.outcome == NOT_EXECUTED:
        return _NOT_EXECUTED
    return f"{case.score:.2f}" if case.outcome in MEASURED else DASH


def _interval(interval: Interval | None) -> str:
    return DASH if interval is None else f"{interval.low:.1f} to {interval.high:.1f}"


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"
