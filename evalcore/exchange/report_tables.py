"""The tables of a report, and how they are written as Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evalcore.catalog import benchmark_cards
from evalcore.exchange.report_data import (
    NOT_EXECUTED,
    BenchmarkReport,
    ReportCase,
    RunReport,
    is_unexecuted,
)
from evalcore.i18n import DEFAULT, lookup_text, name_term, t, translate_note
from evalcore.plain_text import NOT_RUN
from evalcore.records import MEASURED, Record
from evalcore.results import Interval
from evalcore.views import board_titles
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


class _Words(NamedTuple):
    """The words of a report in a language; in English keys and codes stand for themselves."""

    language: str

    def say(self, word: str) -> str:
        return name_term(word, self.language)

    def name(self, area: str, code: str) -> str:
        """The name of an outcome, an evidence, a state or a cause."""
        text = lookup_text(f"common.{area}.{code}", self.language)
        return code if self.language == DEFAULT or text is None else text

    def title_part(self, benchmark: str, metric: str = "") -> str:
        if self.language == DEFAULT:
            return metric or benchmark
        part = f"{benchmark}/{metric}" if metric else benchmark
        return board_titles.part_title(part, self.language)

    def build_table(
        self, title: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]
    ) -> ReportTable:
        """A table whose columns are named here."""
        return ReportTable(title, tuple(map(self.say, columns)), rows)


def build_report_tables(report: RunReport, language: str = DEFAULT) -> Iterator[ReportTable]:
    """The run, its scores, then metrics, views, groups and cases of each benchmark."""
    w = _Words(language)
    yield _build_run_table(report, w)
    yield _build_score_table(report, w)
    yield _build_comparability_table(report, w)
    for benchmark in report.benchmarks:
        yield _build_metric_table(benchmark, w)
        key, score = benchmark.spec.key, benchmark.score
        title = w.title_part(key)
        card = benchmark_cards().get(key)
        if score.views:
            rows = tuple((name, f"{value:.1f}") for name, value in score.views.items())
            yield w.build_table(f"{title}: {w.say('views')}", ("View", "Score"), rows)
        readings = benchmark.counts.call_readings
        if any(kind in readings for kind in _CALL_READINGS):
            rows = tuple(
                (w.say(name), str(readings.get(kind, 0))) for kind, name in _CALL_READINGS.items()
            )
            yield w.build_table(f"{title}: {w.say('calls')}", ("Calls read", "Cases"), rows)
        if score.groups:
            groups = w.say((card.groups_title if card else "") or "groups")
            rows = tuple((name, _format_score_cell(value)) for name, value in score.groups.items())
            yield w.build_table(f"{title}: {groups}", ("Group", "Mean, %"), rows)
        yield _build_case_table(benchmark, report.spec.epochs, w)


def _build_run_table(report: RunReport, w: _Words) -> ReportTable:
    spec, summary, totals = report.spec, report.summary, report.summary.totals
    state, unranked = w.name("state", summary.state), w.say("not ranked")
    missing = [w.title_part(key) for key in report.missing_benchmarks]
    tokens_in, tokens_out = (
        w.say("unknown") if tokens is None else f"{tokens:,}"
        for tokens in (totals.input_tokens, totals.output_tokens)
    )
    rows = (
        ("Run", spec.run_id),
        ("Target", spec.target.identity),
        ("Options", ", ".join(f"{k}={v}" for k, v in sorted(spec.target.options.items()))),
        ("Started", spec.created_at),
        ("State", state if summary.is_complete else f"{state} ({unranked})"),
        ("Epochs", str(spec.epochs)),
        ("Seed", str(spec.seed)),
        ("Plain pass rate", "" if report.pass_rate is None else f"{report.pass_rate:.2%}"),
        ("Missing of the suite", ", ".join(missing)),
        ("Requests", str(totals.requests)),
        ("Tokens", t("cli.report.tokens", w.language, sent=tokens_in, received=tokens_out)),
        ("Cost", w.say("unknown") if totals.cost is None else f"{totals.cost:.4f} USD"),
        ("Cost by", ", ".join(w.say(source.replace("_", " ")) for source in totals.cost_sources)),
        ("Seal", _format_seal(report.seal, w)),
        ("Note", spec.note),
    )
    shown = tuple((w.say(name), value) for name, value in rows if value)
    return w.build_table(w.say("Run"), ("Field", "Value"), shown)


def _format_seal(seal: SealStatus | None, w: _Words) -> str:
    """Who signed the run and whether that still holds, "" without a seal."""
    if seal is None:
        return ""
    words = {"signer": seal.signer, "date": seal.sealed_at, "problems": "; ".join(seal.problems)}
    return t(f"cli.report.seal.{seal.state}", w.language, **words)


def _build_score_table(report: RunReport, w: _Words) -> ReportTable:
    columns = ("Benchmark", "Score", "95% interval", "Answered only", "Coverage")
    return w.build_table(
        w.say("Scores, 0 to 100"),
        (*columns, "Passed", "Total", "Not executed", "Unusable", "Errors", "Mean latency"),
        tuple(
            (
                w.title_part(b.spec.key),
                _NOT_EXECUTED if is_unexecuted(b.score) else _format_score_cell(b.score.score),
                _format_interval_cell(b.score.interval, w),
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


def _build_comparability_table(report: RunReport, w: _Words) -> ReportTable:
    assessed = assess_run(report.spec, report.summary)
    return w.build_table(
        w.say("Comparable to the official board"),
        ("Benchmark", "Official board", "Comparable", "Because"),
        tuple(
            (
                w.title_part(key),
                each.official_board or NOT_RUN,
                w.say("yes" if each.comparable else "no"),
                describe_reasons(each, w.language),
            )
            for key, each in assessed.items()
        ),
    )


def _build_metric_table(benchmark: BenchmarkReport, w: _Words) -> ReportTable:
    key = benchmark.spec.key
    return w.build_table(
        f"{w.title_part(key)}: {w.say('metrics')}",
        ("Metric", "Weight", "Score", "95% interval", "Passed", "Samples"),
        tuple(
            (
                w.title_part(key, metric.metric),
                w.say("not scored") if metric.weight is None else f"{metric.weight:g}",
                _format_score_cell(metric.score),
                _format_interval_cell(metric.interval, w),
                NOT_RUN if metric.score is None else f"{metric.passed:g}",
                str(metric.samples),
            )
            for metric in benchmark.score.metrics.values()
        ),
    )


def _build_case_table(benchmark: BenchmarkReport, epochs: int, w: _Words) -> ReportTable:
    key = benchmark.spec.key
    return w.build_table(
        f"{w.title_part(key)}: {w.say('cases')}",
        ("#", "Metric", "Case", "Outcome", "Score", "Evidence", "Reason", "Note", "Answer"),
        (
            (
                str(number),
                w.title_part(key, case.metric),
                case.id if epochs == 1 else f"{case.id} ({w.say('epoch')} {case.epoch + 1})",
                w.name("outcome", case.outcome),
                _format_case_score(case),
                w.name("evidence", case.evidence_kind),
                w.name("cause", case.reason),
                case.note if w.language == DEFAULT else translate_note(case.note, w.language),
                case.prediction,
            )
            for number, case in enumerate(benchmark.cases, 1)
        ),
    )


def _format_case_score(case: ReportCase) -> str:
    if case.outcome == NOT_EXECUTED:
        return _NOT_EXECUTED
    return f"{case.score:.2f}" if case.outcome in MEASURED else NOT_RUN


def _format_interval_cell(interval: Interval | None, w: _Words) -> str:
    if interval is None:
        return NOT_RUN
    return t(
        "cli.report.interval", w.language, low=f"{interval.low:.1f}", high=f"{interval.high:.1f}"
    )


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


def iterate_html_tables(
    title: str, tables: Iterable[ReportTable], language: str = DEFAULT
) -> Iterator[str]:
    """One HTML file that loads nothing and runs nothing, line by line; texts are whole and
    escaped."""
    tag = {"zh": "zh-Hans"}.get(language, language)
    yield f'<!doctype html>\n<html lang="{tag}">\n<head>\n<meta charset="utf-8">\n'
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
