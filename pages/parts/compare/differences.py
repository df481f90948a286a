"""How the compared runs differ: scores by metric, every run against the base, and the cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.charts.comparisons import assign_series_styles, build_heatmap, build_radar_chart
from evalcore.plain_text import DASH
from evalcore.views import comparison_report, comparison_runs
from evalcore.views.comparison import (
    BenchmarkDetail,
    ColumnGroup,
    DifferingCase,
    PairedScores,
    RunScore,
    build_group_radar,
    group_compared_runs,
)
from evalcore.views.comparison_runs import ComparedRun, Incompatibility, Lineup, RuleDifference
from evalcore.views.user_calibration import UserCalibration
from pages.shared import display_names, exports, page_links, tables, wording
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.page_links import CaseLink
from pages.shared.wording import escape_markdown, format_fact, to_plain_line, tr

_OPENED_TARGET_KEY = "compare.open_target"
_MIN_AXES, _MAX_AXES = 3, 10  # of a radar that can be read
_LEGEND = 24  # characters of a letter and a name
_MAX_DECIMAL_RUNS = 4  # runs; with more of them there is no room for a decimal in a cell


def format_run_label(run: ComparedRun, length: int = 60) -> str:
    """A run in a list: its letter and its target, cut to `length` characters."""
    return f"{run.letter} · {_format_target_name(run, length)}"


def _format_target_name(run: ComparedRun, length: int = 60) -> str:
    name = display_names.resolve_target_name(run.identity, run.target_key)
    return to_plain_line(name, length)


def draw_score_table(comparison: Lineup) -> None:
    """A row per run and a column per column of a benchmark, the best of each with a star."""
    runs = comparison.compared
    columns: dict[str, Any] = {
        "letter": [run.letter for run in runs],
        "target": [_format_target_name(run) for run in runs],
    }
    config = _build_run_columns()
    groups = group_compared_runs(comparison)
    titles = tables.make_names_unique([benchmark_title(group.benchmark) for group in groups])
    for title, group in zip(titles, groups, strict=True):
        marks = {mark.letter: mark for mark in group.marks}
        columns[group.column] = [format_run_score(marks.get(run.letter)) for run in runs]
        size = tr("ranking.cases" if group.full else "ranking.subset", count=group.samples)
        about = f"{to_plain_line(group.dataset, 40)} · {size} · {group.column}"
        config[group.column] = st.column_config.TextColumn(title, help=about)
    columns |= {
        "cost": [wording.format_money(run.totals.cost) for run in runs],
        "latency": [wording.format_duration(run.totals.latency_p50) for run in runs],
        "date": [run.created_at[:10] for run in runs],
        "run": [run.run_id for run in runs],
    }
    look = {"key": f"{_OPENED_TARGET_KEY}.table"}
    tables.draw_grid(columns, config, tr("compare.table_alt"), tables.EVERY_ROW, 2, **look)
    st.caption(tr("compare.table_about"))
    if len({group.benchmark for group in groups}) < len(groups):
        st.caption(tr("compare.apart"))
    if (clicked := tables.read_clicked_row(_OPENED_TARGET_KEY, len(runs))) is not None:
        st.switch_page(page_links.TARGET, query_params={"key": runs[clicked].identity})


def format_run_score(mark: RunScore | None) -> str:
    """A score with its interval: a star on the best, a lower bound as one, a dash for none."""
    if mark is None or mark.score is None:
        return DASH
    span = "" if mark.interval is None else f" [{mark.interval.low:.1f}, {mark.interval.high:.1f}]"
    bound = "" if mark.complete or mark.claimed else "≥ "
    return f"{bound}{mark.score:.1f}{span}{' ★' if mark.best else ''}"


def draw_compared_metrics(benchmark: str, shown: Sequence[ComparedRun]) -> None:
    """The metrics of one benchmark across those who share its column: as outlines where they make
    a shape, and as a heatmap."""
    column = shown[0].scores[benchmark].column
    [group] = [item for item in group_compared_runs(Lineup(tuple(shown))) if item.column == column]
    rows = tables.make_names_unique(
        [metric_title(benchmark, item.metric) for item in group.metrics]
    )
    if not _MIN_AXES <= len(rows) <= _MAX_AXES:
        _draw_metric_heatmap(group, rows, shown)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        _draw_profile_radar(group, rows, shown)
    with right:
        _draw_metric_heatmap(group, rows, shown)


def _draw_profile_radar(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun]
) -> None:
    """An outline per run in the colour of its target, the legend by letter."""
    titles = dict(zip([item.metric for item in group.metrics], rows, strict=True))
    frame = build_group_radar(group)
    frame["axis"] = frame["axis"].map(titles)
    st.markdown(f"**{tr('compare.profile')}**")
    runs = ", ".join(format_run_label(item) for item in shown)
    legend = {item.letter: format_run_label(item, _LEGEND) for item in shown}
    styles = assign_series_styles({item.letter: item.identity for item in shown})
    exports.draw_chart_frame(
        build_radar_chart(frame, rows, legend, styles),
        name=f"compare-profile-{group.column}",
        title=format_fact(benchmark_title(group.benchmark), tr("compare.profile")),
        source=runs,
        alt_text=tr("compare.profile_alt", runs=runs),
        data=lambda: frame,
        width="content",
    )


def _draw_metric_heatmap(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun]
) -> None:
    letters = [run.letter for run in shown]
    marks_by_row = [{mark.letter: mark for mark in line.marks} for line in group.metrics]
    frame = pd.DataFrame(
        _build_heatmap_cell(row, letter, marks.get(letter), len(shown))
        for row, marks in zip(rows, marks_by_row, strict=True)
        for letter in letters
    )
    st.markdown(f"**{tr('compare.metrics')}**")
    labels = {"row": tr("common.metric"), "column": tr("compare.run"), "value": tr("common.score")}
    runs = ", ".join(format_run_label(run) for run in shown)
    exports.draw_chart_frame(
        build_heatmap(frame, list(rows), letters, labels, exports.current_theme()),
        name=f"compare-metrics-{group.column}",
        title=format_fact(benchmark_title(group.benchmark), tr("compare.metrics")),
        source=runs,
        alt_text=tr("compare.metrics_alt", runs=runs),
        data=lambda: frame[["row", "column", "value"]],
    )


def _build_heatmap_cell(row: str, letter: str, mark: RunScore | None, runs: int) -> dict[str, Any]:
    digits = 1 if runs <= _MAX_DECIMAL_RUNS else 0
    value = None if mark is None else mark.score
    star = "★" if mark is not None and mark.best else ""
    text = DASH if value is None else f"{value:.{digits}f}{star}"
    return {"row": row, "column": letter, "value": value, "text": text, "tip": row}


def _build_run_columns() -> dict[str, Any]:
    return {
        "letter": st.column_config.TextColumn("", width=30, pinned=True),
        "target": tables.link_column("common.target", _OPENED_TARGET_KEY, "compare.open_target"),
        "cost": tables.text_column("common.cost", "small"),
        "latency": tables.text_column("common.latency", "small"),
        "date": tables.text_column("runs.started", "small"),
        "run": tables.text_column("compare.run"),
    }


# Every run against the base: wins, losses, difference and doubt; and what cannot be compared.

_ALPHA = 0.05  # of p, shared among the comparisons on show
_MAX_NAMED_RULES = 6  # differing rules that are named
_NESTED = ("options", "weights")


def draw_pair_table(
    detail: BenchmarkDetail, base: ComparedRun, sides: Sequence[ComparedRun]
) -> None:
    """A row per run that may be measured against the base."""
    limit = _ALPHA / len(detail.pairs)
    others = [run for run in sides if run.letter in detail.pairs]
    pairs = [detail.pairs[run.letter] for run in others]
    columns = {
        "run": [format_run_label(run) for run in others],
        "verdict": [
            _format_pair_verdict(pair, run, base, limit)
            for pair, run in zip(pairs, others, strict=True)
        ],
        "wins": [pair.result.wins for pair in pairs],
        "losses": [pair.result.losses for pair in pairs],
        "ties": [pair.result.ties for pair in pairs],
        "difference": [wording.format_difference(pair.result.difference) for pair in pairs],
        "interval": [wording.format_signed_interval(pair.result.interval) for pair in pairs],
        "p": [wording.format_p_value(pair.result.p) for pair in pairs],
        "test": [tr(f"compare.test.{pair.result.test}") for pair in pairs],
    }
    alt = tr("compare.pairs_alt", base=base.letter)
    tables.draw_grid(columns, _build_pair_columns(), alt, tables.EVERY_ROW)
    st.caption(tr("compare.pairs_about", base=base.letter, count=detail.common))
    if len(pairs) > 1:
        st.caption(tr("compare.many", count=len(pairs), limit=f"{limit:.3f}"))
    if not all(run.scores[detail.benchmark].complete for run in sides):
        st.caption(tr("runs.comparison_incomplete"))


def draw_incompatibilities(
    comparison: Lineup, base: ComparedRun, calibrations: Sequence[UserCalibration] = ()
) -> None:
    """What cannot be measured against the base, and why, in full; runs that differ in the simulated
    user alone are compared in a way of their own."""
    calibrated = {(each.letters[1], each.benchmark) for each in calibrations}
    issues = [
        issue
        for issue in comparison_runs.find_incompatibilities(comparison, base)
        if (issue.letter, issue.benchmark) not in calibrated
    ]
    if not issues:
        return
    title = tr("compare.obstacles", base=base.letter, count=len(issues))
    rows = [
        (issue.letter, benchmark_title(issue.benchmark), _describe_incompatibility(issue, base))
        for issue in issues
    ]
    with st.expander(title, icon=":material/rule:"):
        st.caption(tr("compare.obstacles_about"))
        titles = [tr("compare.run"), tr("common.benchmark"), tr("common.reason")]
        tables.draw_word_table(titles, rows, title)


def _build_pair_columns() -> dict[str, Any]:
    return {
        "run": tables.text_column("compare.run"),
        "verdict": tables.text_column("compare.verdict"),
        "wins": tables.number_column("compare.wins"),
        "losses": tables.number_column("compare.losses"),
        "ties": tables.number_column("compare.ties"),
        "difference": tables.text_column("compare.difference", "small"),
        "interval": tables.text_column("compare.interval"),
        "p": st.column_config.TextColumn("p", width="small"),
        "test": tables.text_column("compare.test"),
    }


def _format_pair_verdict(
    pair: PairedScores, run: ComparedRun, base: ComparedRun, limit: float
) -> str:
    """The difference in words, never more than the numbers bear."""
    if pair.result.wins == pair.result.losses == 0:
        return tr("compare.equal")
    if pair.result.p >= limit:
        return tr("compare.open")
    ahead = run if (pair.result.difference or 0) > 0 else base
    return tr("compare.ahead", run=ahead.letter)


def _describe_incompatibility(issue: Incompatibility, base: ComparedRun) -> str:
    if issue.kind != "rules":
        return tr(f"compare.why.{issue.kind}", base=base.letter)
    if not issue.differences:
        return tr("compare.why.scored")
    shown = issue.differences[:_MAX_NAMED_RULES]
    rules = [_format_rule_difference(difference, issue, base) for difference in shown]
    rules += ["…"] * (len(issue.differences) > len(shown))
    return f"{tr('compare.why.rules')} {'; '.join(rules)}"


def _format_rule_difference(
    difference: RuleDifference, issue: Incompatibility, base: ComparedRun
) -> str:
    group, _, part = difference.rule.partition(".")
    title = tr(f"compare.rule.{group}")
    if group in _NESTED:
        weighted = group == "weights"
        label = metric_title(issue.benchmark, part) if weighted else to_plain_line(part, 40)
        title = f"{title} {label}"
    values = [to_plain_line(value, 40) or DASH for value in (difference.base, difference.other)]
    return f"{title}: {base.letter} {values[0]}, {issue.letter} {values[1]}"


# The cases on which the compared runs differ: the weightiest as a picture, all as links.

_PICTURED, _LISTED = 24, 200
_OPENED_CASE_KEY = "compare.open"


def draw_differing_cases(detail: BenchmarkDetail, shown: Sequence[ComparedRun]) -> None:
    """The heatmap and the list, or that there is no such case."""
    if not detail.cases:
        st.info(tr("compare.no_differing"), icon=":material/equal:")
        return
    st.markdown(f"**{tr('compare.differing', count=len(detail.cases))}**")
    _draw_case_heatmap(detail.cases[:_PICTURED], shown, len(detail.cases))
    _draw_case_list(detail.cases[:_LISTED], shown, len(detail.cases))


def _draw_case_heatmap(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int
) -> None:
    rows = tables.make_names_unique([to_plain_line(case.id, 30) for case in cases])
    letters = [run.letter for run in shown]
    frame = pd.DataFrame(
        {
            "row": row,
            "column": letter,
            "value": 100 * case.scores[letter],
            "text": wording.format_score_sign(case.scores[letter]),
            "tip": f"{metric_title(case.benchmark, case.metric)} · {to_plain_line(case.id)}",
        }
        for row, case in zip(rows, cases, strict=True)
        for letter in letters
    )
    labels = {"row": tr("common.case"), "column": tr("compare.run"), "value": tr("common.score")}
    runs = ", ".join(format_run_label(run) for run in shown)
    exports.draw_chart_frame(
        build_heatmap(frame, rows, letters, labels, exports.current_theme()),
        name="compare-cases",
        title=tr("common.case"),
        source=runs,
        alt_text=tr("compare.cases_alt", runs=runs),
        data=lambda: frame[["row", "column", "value"]],
    )
    if total > len(cases):
        st.caption(tr("compare.pictured", count=len(cases)))


def _draw_case_list(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int
) -> None:
    """A click on a score opens the case in that run."""
    columns: dict[str, Any] = {"case": [to_plain_line(case.id, 40) for case in cases]}
    config: dict[str, Any] = {"case": tables.text_column("common.case", pinned=True)}
    for run in shown:
        columns[run.letter] = [wording.format_case_score(case.scores[run.letter]) for case in cases]
        config[run.letter] = st.column_config.ButtonColumn(
            run.letter,
            type="tertiary",
            alignment="left",
            width=64,
            key=f"{_OPENED_CASE_KEY}.{run.letter}",
            help=format_run_label(run),
        )
    columns["metric"] = [metric_title(case.benchmark, case.metric) for case in cases]
    columns["weight"] = [case.weight for case in cases]
    config["metric"] = tables.text_column("common.metric")
    config["weight"] = tables.number_column("compare.weight", "%.3g")
    st.caption(tr("runs.open_case"))
    look = {"key": f"{_OPENED_CASE_KEY}.table"}
    tables.draw_grid(columns, config, tr("compare.list_alt"), tallest=10, **look)
    if total > len(cases):
        st.caption(tr("runs.differing_more", count=total - len(cases)))
    for run in shown:
        clicked = tables.read_clicked_row(f"{_OPENED_CASE_KEY}.{run.letter}", len(cases))
        if clicked is not None:
            case = cases[clicked]
            link = CaseLink(run.run_id, case.benchmark, case.metric, case.id)
            st.switch_page(page_links.CASE, query_params=link.query_params)


def draw_calibrations(calibrations: Sequence[UserCalibration]) -> None:
    """How far outcomes agree between runs that differ in the simulated user, and their tasks."""
    for number, calibration in enumerate(calibrations):
        st.subheader(escape_markdown(benchmark_title(calibration.benchmark)), anchor=False)
        if calibration.agreement is not None and calibration.interval is not None:
            same = len(calibration.tasks) - len(calibration.disagreements)
            figures = {
                "rate": f"{calibration.agreement:.1f}",
                "low": f"{calibration.interval.low:.1f}",
                "high": f"{calibration.interval.high:.1f}",
            }
            count = {"same": same, "count": len(calibration.tasks)}
            st.markdown(tr("compare.calibration.answer", **count, **figures))
        st.caption(tr("compare.calibration.about"))
        for title, columns, rows in comparison_report.build_calibration_tables(calibration, tr):
            st.markdown(f"**{title}**")
            tables.draw_word_table(columns, rows, title)
        _draw_calibrated_tasks(calibration, f"compare.calibrated.{number}")


def _draw_calibrated_tasks(calibration: UserCalibration, key: str) -> None:
    """A click on an outcome opens the case in that run."""
    title, _, rows = comparison_report.build_task_table(calibration, tr)
    st.markdown(f"**{title}**")
    st.caption(tr("compare.calibration.open"))
    columns: dict[str, Any] = {"": [row[0] for row in rows], "case": [row[2] for row in rows]}
    config: dict[str, Any] = {"case": tables.text_column("common.case")}
    for index, letter in enumerate(calibration.letters, 3):
        columns[letter] = [row[index] for row in rows]
        config[letter] = st.column_config.ButtonColumn(letter, type="tertiary", key=key + letter)
    tables.draw_grid(columns, config, title, tallest=10, key=f"{key}.table")
    for letter, run in zip(calibration.letters, calibration.run_ids, strict=True):
        if (clicked := tables.read_clicked_row(key + letter, len(rows))) is not None:
            link = CaseLink(run, calibration.benchmark, rows[clicked][1], rows[clicked][2])
            st.switch_page(page_links.CASE, query_params=link.query_params)
