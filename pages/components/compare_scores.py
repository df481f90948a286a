"""The scores of the compared runs: all of them in a table, and metric by metric as a heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.heatmap import build_heatmap
from evalcore.plain_text import DASH
from evalcore.queries.comparison_groups import ColumnGroup, RunScore
from evalcore.queries.comparison_runs import ComparedRun, Lineup
from evalcore.radar import assign_series_styles, build_radar_chart
from pages.components import chart_frame, compare_data, names, numbers, state, tables
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate
from pages.components.text import to_plain_line

_OPENED_TARGET_KEY = "compare.open_target"
_MIN_AXES, _MAX_AXES = 3, 10  # of a radar that can be read
_LEGEND = 24  # characters of a letter and a name
_MAX_DECIMAL_RUNS = 4  # runs; with more of them there is no room for a decimal in a cell


def format_run_label(run: ComparedRun, length: int = 60) -> str:
    """A run in a list: its letter and its target, cut to `length` characters."""
    return (
        f"{run.letter} · "
        f"{to_plain_line(names.resolve_target_name(run.identity, run.target_key), length)}"
    )


def draw_score_table(comparison: Lineup, tr: Translate) -> None:
    """A row per run and a column per column of a benchmark, the best of each with a star."""
    columns: dict[str, Any] = {
        "letter": [run.letter for run in comparison.compared],
        "target": [
            to_plain_line(names.resolve_target_name(run.identity, run.target_key), 60)
            for run in comparison.compared
        ],
    }
    config = _build_run_columns(tr)
    groups = compare_data.group_runs_by_column(comparison)
    titles = tables.make_names_unique([benchmark_title(group.benchmark) for group in groups])
    for title, group in zip(titles, groups, strict=True):
        marks_by_letter = {mark.letter: mark for mark in group.marks}
        columns[group.column] = [
            format_run_score(marks_by_letter.get(run.letter)) for run in comparison.compared
        ]
        config[group.column] = st.column_config.TextColumn(
            title, help=_describe_score_column(group, tr)
        )
    columns |= {
        "cost": [numbers.format_money(run.totals.cost, tr) for run in comparison.compared],
        "latency": [
            numbers.format_duration(run.totals.latency_p50, tr) for run in comparison.compared
        ],
        "date": [run.created_at[:10] for run in comparison.compared],
        "run": [run.run_id for run in comparison.compared],
    }
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        height=38 + 35 * len(comparison.compared),
        key=f"{_OPENED_TARGET_KEY}.table",
        column_config=config,
        alt=tr("compare.table_alt"),
    )
    st.caption(tr("compare.table_about"))
    if len({group.benchmark for group in groups}) < len(groups):
        st.caption(tr("compare.apart"))
    click = st.session_state.get(_OPENED_TARGET_KEY)
    if click is not None and click["row"] < len(comparison.compared):
        key = comparison.compared[click["row"]].identity
        st.switch_page(state.TARGET, query_params={"key": key})


def format_run_score(mark: RunScore | None) -> str:
    """A score with its interval: a star on the best, a lower bound as one, a dash for none."""
    if mark is None or mark.score is None:
        return DASH
    span = "" if mark.interval is None else f" [{mark.interval.low:.1f}, {mark.interval.high:.1f}]"
    bound = "" if mark.complete or mark.claimed else "≥ "
    return f"{bound}{mark.score:.1f}{span}{' ★' if mark.best else ''}"


def draw_compared_metrics(benchmark: str, shown: Sequence[ComparedRun], tr: Translate) -> None:
    """The metrics of one benchmark across those who share its column: as outlines where they make
    a shape, and as a heatmap."""
    column = shown[0].scores[benchmark].column
    [group] = [
        item
        for item in compare_data.group_runs_by_column(Lineup(tuple(shown)))
        if item.column == column
    ]
    rows = tables.make_names_unique(
        [metric_title(benchmark, item.metric) for item in group.metrics]
    )
    if not _MIN_AXES <= len(rows) <= _MAX_AXES:
        _draw_metric_heatmap(group, rows, shown, tr)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        _draw_profile_radar(group, rows, shown, tr)
    with right:
        _draw_metric_heatmap(group, rows, shown, tr)


def _draw_profile_radar(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun], tr: Translate
) -> None:
    """An outline per run in the colour of its target, the legend by letter."""
    titles = dict(zip([item.metric for item in group.metrics], rows, strict=True))
    frame = compare_data.build_group_profile(group)
    frame["axis"] = frame["axis"].map(titles)
    st.markdown(f"**{tr('compare.profile')}**")
    runs = ", ".join(format_run_label(item) for item in shown)
    chart_frame.draw_chart_frame(
        build_radar_chart(
            frame,
            rows,
            {item.letter: format_run_label(item, _LEGEND) for item in shown},
            assign_series_styles({item.letter: item.identity for item in shown}),
        ),
        tr,
        name=f"compare-profile-{group.column}",
        title=f"{benchmark_title(group.benchmark)}: {tr('compare.profile')}",
        source=runs,
        alt_text=tr("compare.profile_alt", runs=runs),
        data=lambda: frame,
        width="content",
    )


def _draw_metric_heatmap(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun], tr: Translate
) -> None:
    letters = [run.letter for run in shown]
    records: list[dict[str, Any]] = []
    for row, line in zip(rows, group.metrics, strict=True):
        marks_by_letter = {mark.letter: mark for mark in line.marks}
        for letter in letters:
            records.append(
                _build_heatmap_cell(row, letter, marks_by_letter.get(letter), len(shown))
            )
    st.markdown(f"**{tr('compare.metrics')}**")
    labels = {"row": tr("common.metric"), "column": tr("compare.run"), "value": tr("common.score")}
    frame = pd.DataFrame(records)
    runs = ", ".join(format_run_label(run) for run in shown)
    chart_frame.draw_chart_frame(
        build_heatmap(frame, list(rows), letters, labels),
        tr,
        name=f"compare-metrics-{group.column}",
        title=f"{benchmark_title(group.benchmark)}: {tr('compare.metrics')}",
        source=runs,
        alt_text=tr("compare.metrics_alt", runs=runs),
        data=lambda: frame[["row", "column", "value"]],
    )


def _build_heatmap_cell(row: str, letter: str, mark: RunScore | None, runs: int) -> dict[str, Any]:
    digits = 1 if runs <= _MAX_DECIMAL_RUNS else 0
    value = None if mark is None else mark.score
    star = "★" if mark is not None and mark.best else ""
    text = DASH if value is None else f"{value:.{digits}f}{star}"
    return {"row": row, "column": letter, "value": value, "said": text, "tip": row}


def _describe_score_column(group: ColumnGroup, tr: Translate) -> str:
    """What a column of the table rests on."""
    size = tr("ranking.cases" if group.full else "ranking.subset", count=group.samples)
    return f"{to_plain_line(group.dataset, 40)} · {size} · {group.column}"


def _build_run_columns(tr: Translate) -> dict[str, Any]:
    column_config = st.column_config
    return {
        "letter": column_config.TextColumn("", width=30, pinned=True),
        "target": column_config.ButtonColumn(
            tr("common.target"),
            type="tertiary",
            alignment="left",
            key=_OPENED_TARGET_KEY,
            help=tr("compare.open_target"),
        ),
        "cost": column_config.TextColumn(tr("common.cost"), width="small"),
        "latency": column_config.TextColumn(tr("common.latency"), width="small"),
        "date": column_config.TextColumn(tr("runs.started"), width="small"),
        "run": column_config.TextColumn(tr("compare.run")),
    }
