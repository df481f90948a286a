"""The outcome of a gate: lines for a terminal, Markdown for a pull request, JUnit XML for CI."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from evalcore.exchange.report_tables import ReportTable, render_markdown_tables
from evalcore.i18n import DEFAULT, name_term, t, t_count, translate_note
from evalcore.plain_text import format_count, pad_cell, to_single_line
from evalcore.views.gate import FlippedCase, GateCheck, GateReport

_WORDS = {"passed": "passed", "failed": "FAILED", "inconclusive": "inconclusive"}
_FLIP_COLUMNS = ("benchmark", "metric", "case", "before", "after")
_MARKS = {"passed": "✅", "failed": "❌", "inconclusive": "❔"}


def format_gate_lines(report: GateReport, language: str = DEFAULT) -> str:
    """The checks, one a line, and the outcome."""
    words = {state: name_term(word, language) for state, word in _WORDS.items()}
    heads = {state: pad_cell(word, 12) for state, word in words.items()}
    lines = [f"{heads[check.state]}  {describe_check(check, language)}" for check in report.checks]
    if report.rules.against:
        counts = {"lost": report.lost_count, "gained": report.gained_count}
        flips = [t_count(f"cli.gate.{key}", language, n) for key, n in counts.items()]
        lines.append(t("cli.gate.list", language).join(flips))
    return "\n".join([*lines, t("cli.gate.outcome", language, state=words[report.state])])


def describe_check(check: GateCheck, language: str = DEFAULT) -> str:
    """One check in a line."""
    is_drop = check.rule == "max_drop"
    sign, unit = ("+", name_term("points", language)) if is_drop else ("", "")
    bound = t(f"cli.gate.{check.rule}", language, bound=f"{check.bound:g}")
    parts = [f"{check.benchmark}: {bound}"]
    if check.estimate is not None and check.interval is not None:
        low, high = check.interval.low, check.interval.high
        between = f"[{low:{sign}.1f}, {high:{sign}.1f}]"
        parts.append(f"{check.estimate:{sign}.1f} {between} {unit}".rstrip())
    parts.append(t_count("cli.gate.cases", language, check.cases))
    if check.reason:
        parts.append(translate_note(check.reason, language, in_terminal=True))
    elif check.needed is not None:
        parts.append(t_count("cli.gate.needed", language, check.needed))
    elif check.state == "inconclusive":
        parts.append(t("cli.gate.never", language))
    return "; ".join(parts)


def render_gate_markdown(report: GateReport) -> str:
    """A summary for a pull request, with the cases that flipped."""
    base = f" against {report.rules.against}" if report.rules.against else ""
    checks = tuple((_MARKS[check.state], describe_check(check)) for check in report.checks)
    tables = [
        ReportTable(f"Run {report.run} of {report.target}{base}", ("", "check"), checks),
        *(
            ReportTable(f"{title}: {_describe_count(flips, count)}", _FLIP_COLUMNS, _to_rows(flips))
            for title, flips, count in (
                ("Lost", report.lost, report.lost_count),
                ("Gained", report.gained, report.gained_count),
            )
            if flips
        ),
    ]
    title = f"{_MARKS[report.state]} Evaluation gate: {report.state}"
    return render_markdown_tables(title, tables)


def _describe_count(flips: Sequence[FlippedCase], count: int) -> str:
    listed = f", {len(flips)} of them listed" if count > len(flips) else ""
    return f"{format_count(count, 'case')}{listed}"


def _to_rows(flips: Sequence[FlippedCase]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (flip.benchmark, flip.metric, flip.id, f"{flip.before:.2f}", f"{flip.after:.2f}")
        for flip in flips
    )


def render_gate_junit(report: GateReport) -> bytes:
    """JUnit XML: a test case per check; failed is a failure, inconclusive an error, and the lost
    cases stand in the output."""
    states = [check.state for check in report.checks]
    suite = ElementTree.Element(
        "testsuite",
        name="evalcore gate",
        tests=str(len(states)),
        failures=str(states.count("failed")),
        errors=str(states.count("inconclusive")),
        skipped="0",
    )
    for check in report.checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"gate.{check.benchmark}", name=check.rule
        )
        if check.state != "passed":
            tag = "failure" if check.state == "failed" else "error"
            problem = ElementTree.SubElement(case, tag, message=describe_check(check))
            problem.text = describe_check(check)
        lost = [flip for flip in report.lost if flip.benchmark == check.benchmark]
        if check.rule == "max_drop" and lost:
            output = ElementTree.SubElement(case, "system-out")
            output.text = "\n".join(
                to_single_line(
                    f"lost: {flip.metric}/{flip.id} ({flip.before:.2f} to {flip.after:.2f})"
                )
                for flip in lost
            )
    ElementTree.indent(suite)
    content: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content + b"\n"
