"""The tables of a report, and how they are written as Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from evalcore.catalog import benchmark_cards
from evalcore.exchange.report_data import (
    NOT_EXECUTED,
    BenchmarkReport,
    ReportCase,
    RunReport,
    is_unexecuted,
)
from evalcore.i18n import DEFAULT
from evalcore.plain_text import NOT_RUN
from evalcore.records import MEASURED, Record
from evalcore.results import Interval
from evalcore.views.comparability import assess_run, describe_reasons
from evalcore.views.seals import SealStatus

#: Stands where a number would, for what was not executed.
_NOT_EXECUTED = "n/e"
#: How the calls of a case were read, in words.
_CALL_READINGS = {"native": "as asked", "rescued": "from another format", "lost": "lost to format"}


class ReportTable(Record, frozen=True):
    """Rows of plain text; whoever draws them escapes them. All rows are as long as `columns`. Many
    rows may come one by one, and then only once."""

    title: str
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]


def build_report_tables(report: RunReport) -> Iterator[ReportTable]:
    """The run, its scores, then metrics, views, groups and cases of each benchmark."""
    yield _build_run_table(report)
    yield _build_score_table(report)
    yield _build_comparability_table(report)
    for benchmark in report.benchmarks:
        yield _build_metric_table(benchmark)
        key, score = benchmark.spec.key, benchmark.score
        card = benchmark_cards().get(key)
        if score.views:
            rows = tuple((name, f"{value:.1f}") for name, value in score.views.items())
            yield ReportTable(f"{key}: views", ("View", "Score"), rows)
        readings = benchmark.counts.call_readings
        if any(kind in readings for kind in _CALL_READINGS):
            rows = tuple(
                (name, str(readings.get(kind, 0))) for kind, name in _CALL_READINGS.items()
            )
            yield ReportTable(f"{key}: calls", ("Calls read", "Cases"), rows)
        if score.groups:
            title = (card.groups_title if card else "") or "groups"
            rows = tuple((name, _format_score_cell(value)) for name, value in score.groups.items())
            yield ReportTable(f"{key}: {title}", ("Group", "Mean, %"), rows)
        yield _build_case_table(benchmark, report.spec.epochs)


def _build_run_table(report: RunReport) -> ReportTable:
    spec, summary, totals = report.spec, report.summary, report.summary.totals
    tokens_in, tokens_out = (
        "unknown" if tokens is None else f"{tokens:,}"
        for tokens in (totals.input_tokens, totals.output_tokens)
    )
    rows = (
        ("Run", spec.run_id),
        ("Target", spec.target.identity),
        ("Options", ", ".join(f"{k}={v}" for k, v in sorted(spec.target.options.items()))),
        ("Started", spec.created_at),
        ("State", summary.state if summary.is_complete else f"{summary.state} (not ranked)"),
        ("Epochs", str(spec.epochs)),
        ("Seed", str(spec.seed)),
        ("Plain pass rate", "" if report.pass_rate is None else f"{report.pass_rate:.2%}"),
        ("Missing of the suite", ", ".join(report.missing_benchmarks)),
        ("Requests", str(totals.requests)),
        ("Tokens", f"{tokens_in} in, {tokens_out} out"),
        ("Cost", "unknown" if totals.cost is None else f"{totals.cost:.4f} USD"),
        ("Cost by", ", ".join(source.replace("_", " ") for source in totals.cost_sources)),
        ("Seal", _format_seal(report.seal)),
        ("Note", spec.note),
    )
    return ReportTable("Run", ("Field", "Value"), tuple(row for row in rows if row[1]))


def _format_seal(seal: SealStatus | None) -> str:
    """Who signed the run and whether that still holds, "" without a seal."""
    if seal is None:
        return ""
    signed = f"key {seal.signer}, {seal.sealed_at}"
    return {
        "valid": f"{signed}; unchanged since",
        "imported": f"{signed}; checked when the bundle was imported",
        "unchecked": "not checked; run `evalcore seal verify`",
        "broken": f"BROKEN: {'; '.join(seal.problems)}",
    }[seal.state]


def _build_score_table(report: RunReport) -> ReportTable:
    columns = ("Benchmark", "Score", "95% interval", "Answered only", "Coverage")
    return ReportTable(
        "Scores, 0 to 100",
        (*columns, "Passed", "Total", "Not executed", "Unusable", "Errors", "Mean latency"),
        tuple(
            (
                b.spec.key,
                _NOT_EXECUTED if is_unexecuted(b.score) else _format_score_cell(b.score.score),
                _format_interval_cell(b.score.interval),
                _format_score_cell(b.score.answered),
                f"{b.score.coverage:.1%}",
                NOT_RUN if b.pass_rate is None else str(b.counts.passed),
                str(b.counts.total),
                str(b.counts.not_executed),
                str(b.counts.unusable),
                str(b.counts.errors),
                NOT_RUN if b.counts.latency is None else f"{b.counts.latency:.2f} s",
            )
            for b in report.benchmarks
        ),
    )


def _build_comparability_table(report: RunReport) -> ReportTable:
    assessed = assess_run(report.spec, report.summary)
    return ReportTable(
        "Comparable to the official board",
        ("Benchmark", "Official board", "Comparable", "Because"),
        tuple(
            (
                key,
                each.official_board or NOT_RUN,
                "yes" if each.comparable else "no",
                describe_reasons(each, DEFAULT),
            )
            for key, each in assessed.items()
        ),
    )


def _build_metric_table(benchmark: BenchmarkReport) -> ReportTable:
    return ReportTable(
        f"{benchmark.spec.key}: metrics",
        ("Metric", "Weight", "Score", "95% interval", "Passed", "Samples"),
        tuple(
            (
                metric.metric,
                "not scored" if metric.weight is None else f"{metric.weight:g}",
                _format_score_cell(metric.score),
                _format_interval_cell(metric.interval),
                NOT_RUN if metric.score is None else f"{metric.passed:g}",
                str(metric.samples),
            )
            for metric in benchmark.score.metrics.values()
        ),
    )


def _build_case_table(benchmark: BenchmarkReport, epochs: int) -> ReportTable:
    return ReportTable(
        f"{benchmark.spec.key}: cases",
        ("#", "Metric", "Case", "Outcome", "Score", "Evidence", "Reason", "Note", "Answer"),
        (
            (
                str(number),
                case.metric,
                case.id if epochs == 1 else f"{case.id} (epoch {case.epoch + 1})",
                case.outcome,
                _format_case_score(case),
                case.evidence_kind,
                case.reason,
                case.note,
                case.prediction,
            )
            for number, case in enumerate(benchmark.cases, 1)
        ),
    )


def _format_case_score(case: ReportCase) -> str:
    if case.outcome == NOT_EXECUTED:
        return _NOT_EXECUTED
    return f"{case.score:.2f}" if case.outcome in MEASURED else NOT_RUN


def _format_interval_cell(interval: Interval | None) -> str:
    return NOT_RUN if interval is None else f"{interval.low:.1f} to {interval.high:.1f}"


def _format_score_cell(value: float | None) -> str:
    return NOT_RUN if value is None else f"{value:.1f}"


# Tables as Markdown and as HTML. Every text in them is hostile: nothing of it is ever markup.

_CELL = 160  # characters of a Markdown cell; the other formats hold the whole text

#: Invisible or reordering: controls but tab and line ends, and the bidirectional overrides.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
#: What can begin a tag, link, image, code, emphasis, formula, template or a new cell, and what
#: GitHub makes a link of by itself (`://`, `www.`, mail addresses); `_` within a word is none.
_MARKDOWN = re.compile(
    r"[&<>|`\\*\[\]{}~$@]|:(?=//)|(?<=www)\.|(?<![a-z0-9])_|_(?![a-z0-9])", re.IGNORECASE
)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; margin-bottom: 2rem; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; }
td { overflow-wrap: anywhere; vertical-align: top; white-space: pre-wrap; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_markdown_tables(title: str, tables: Iterable[ReportTable]) -> str:
    return "".join(iterate_markdown_tables(title, tables))


def iterate_markdown_tables(title: str, tables: Iterable[ReportTable]) -> Iterator[str]:
    """GitHub-flavoured Markdown, line by line; texts become one line and are cut, markup in them is
    shown."""
    yield f"# {_escape_markdown(title)}\n"
    for table in tables:
        yield f"\n## {_escape_markdown(table.title)}\n\n"
        yield _render_markdown_row(table.columns) + "\n"
        yield "|" + "---|" * len(table.columns) + "\n"
        for row in table.rows:
            yield _render_markdown_row(row) + "\n"


def _render_markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"


def _escape_markdown(text: str) -> str:
    """Text as character references wherever Markdown would read more into it than text."""
    line = _LINE_END.sub(" ⏎ ", _escape_invisible(text)).replace("\t", " ").strip()
    short = line if len(line) <= _CELL else line[: _CELL - 1] + "…"
    return _MARKDOWN.sub(lambda match: f"&#{ord(match.group())};", short)


def iterate_html_tables(title: str, tables: Iterable[ReportTable]) -> Iterator[str]:
    """One HTML file that loads nothing and runs nothing, line by line; texts are whole and
    escaped."""
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_escape_html(_POLICY)}">\n'
    yield f"<title>{_escape_html(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    yield f"<h1>{_escape_html(title)}</h1>\n"
    for table in tables:
        head = "".join(f"<th>{_escape_html(column)}</th>" for column in table.columns)
        yield f"<h2>{_escape_html(table.title)}</h2>\n<table><thead><tr>{head}</tr></thead>\n"
        yield "<tbody>\n"
        for row in table.rows:
            yield "<tr>" + "".join(f"<td>{_escape_html(cell)}</td>" for cell in row) + "</tr>\n"
        yield "</tbody></table>\n"
    yield "</body>\n</html>\n"


def _escape_html(text: str) -> str:
    return html.escape(_escape_invisible(text), quote=True)


def _escape_invisible(text: str) -> str:
    """Characters that hide or reorder text, written out as their code points."""
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
