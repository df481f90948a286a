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
from pages.components.text import plain

_OPEN = "compare.open_target"
_FEWEST_AXES, _MOST_AXES = 3, 10  # of a radar that can be read
_LEGEND = 24  # characters of a letter and a name
_FEW = 4  # runs; with more of them there is no room for a decimal in a cell


def name(one: ComparedRun, length: int = 60) -> str:
    """A run in a list: its letter and its target, cut to `length` characters."""
    return f"{one.letter} · {plain(names.of(one.identity, one.target_key), length)}"


def table(who: Lineup, tr: Translate) -> None:
    """A row per run and a column per column of a benchmark, the best of each with a star."""
    columns: dict[str, Any] = {
        "letter": [one.letter for one in who.compared],
        "target": [plain(names.of(one.identity, one.target_key), 60) for one in who.compared],
    }
    config = _config(tr)
    found = compare_data.groups(who)
    titles = tables.unique([benchmark_title(group.benchmark) for group in found])
    for title, group in zip(titles, found, strict=True):
        own = {mark.letter: mark for mark in group.marks}
        columns[group.column] = [score(own.get(one.letter)) for one in who.compared]
        config[group.column] = st.column_config.TextColumn(title, help=_about(group, tr))
    columns |= {
        "cost": [numbers.money(one.totals.cost, tr) for one in who.compared],
        "latency": [numbers.duration(one.totals.latency_p50, tr) for one in who.compared],
        "date": [one.created_at[:10] for one in who.compared],
        "run": [one.run_id for one in who.compared],
    }
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        height=38 + 35 * len(who.compared),
        key=f"{_OPEN}.table",
        column_config=config,
        alt=tr("compare.table_alt"),
    )
    st.caption(tr("compare.table_about"))
    if len({group.benchmark for group in found}) < len(found):
        st.caption(tr("compare.apart"))
    click = st.session_state.get(_OPEN)
    if click is not None and click["row"] < len(who.compared):
        key = who.compared[click["row"]].identity
        st.switch_page(state.TARGET, query_params={"key": key})


def score(mark: RunScore | None) -> str:
    """A score with its interval: a star on the best, a lower bound as one, a dash for none."""
    if mark is None or mark.score is None:
        return DASH
    span = "" if mark.interval is None else f" [{mark.interval.low:.1f}, {mark.interval.high:.1f}]"
    bound = "" if mark.complete or mark.claimed else "≥ "
    return f"{bound}{mark.score:.1f}{span}{' ★' if mark.best else ''}"


def metrics(benchmark: str, shown: Sequence[ComparedRun], tr: Translate) -> None:
    """The metrics of one benchmark across those who share its column: as outlines where they make
    a shape, and as a heatmap."""
    column = shown[0].scores[benchmark].column
    [group] = [one for one in compare_data.groups(Lineup(tuple(shown))) if one.column == column]
    rows = tables.unique([metric_title(benchmark, one.metric) for one in group.metrics])
    if not _FEWEST_AXES <= len(rows) <= _MOST_AXES:
        _heatmap(group, rows, shown, tr)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        _radar(group, rows, shown, tr)
    with right:
        _heatmap(group, rows, shown, tr)


def _radar(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun], tr: Translate
) -> None:
    """An outline per run in the colour of its target, the legend by letter."""
    titles = dict(zip([one.metric for one in group.metrics], rows, strict=True))
    frame = compare_data.profile(group)
    frame["axis"] = frame["axis"].map(titles)
    st.markdown(f"**{tr('compare.profile')}**")
    runs = ", ".join(name(one) for one in shown)
    chart_frame.draw(
        build_radar_chart(
            frame,
            rows,
            {one.letter: name(one, _LEGEND) for one in shown},
            assign_series_styles({one.letter: one.identity for one in shown}),
        ),
        tr,
        name=f"compare-profile-{group.column}",
        title=f"{benchmark_title(group.benchmark)}: {tr('compare.profile')}",
        source=runs,
        alt_text=tr("compare.profile_alt", runs=runs),
        data=lambda: frame,
        width="content",
    )


def _heatmap(
    group: ColumnGroup, rows: Sequence[str], shown: Sequence[ComparedRun], tr: Translate
) -> None:
    letters = [one.letter for one in shown]
    records: list[dict[str, Any]] = []
    for row, line in zip(rows, group.metrics, strict=True):
        own = {mark.letter: mark for mark in line.marks}
        for letter in letters:
            records.append(_cell(row, letter, own.get(letter), len(shown)))
    st.markdown(f"**{tr('compare.metrics')}**")
    labels = {"row": tr("common.metric"), "column": tr("compare.run"), "value": tr("common.score")}
    frame = pd.DataFrame(records)
    runs = ", ".join(name(one) for one in shown)
    chart_frame.draw(
        build_heatmap(frame, list(rows), letters, labels),
        tr,
        name=f"compare-metrics-{group.column}",
        title=f"{benchmark_title(group.benchmark)}: {tr('compare.metrics')}",
        source=runs,
        alt_text=tr("compare.metrics_alt", runs=runs),
        data=lambda: frame[["row", "column", "value"]],
    )


def _cell(row: str, letter: str, mark: RunScore | None, runs: int) -> dict[str, Any]:
    digits = 1 if runs <= _FEW else 0
    value = None if mark is None else mark.score
    star = "★" if mark is not None and mark.best else ""
    said = DASH if value is None else f"{value:.{digits}f}{star}"
    return {"row": row, "column": letter, "value": value, "said": said, "tip": row}


def _about(group: ColumnGroup, tr: Translate) -> str:
    """What a column of the table rests on."""
    size = tr("ranking.cases" if group.full else "ranking.subset", count=group.samples)
    return f"{plain(group.dataset, 40)} · {size} · {group.column}"


def _config(tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    return {
        "letter": kinds.TextColumn("", width=30, pinned=True),
        "target": kinds.ButtonColumn(
            tr("common.target"),
            type="tertiary",
            alignment="left",
            key=_OPEN,
            help=tr("compare.open_target"),
        ),
        "cost": kinds.TextColumn(tr("common.cost"), width="small"),
        "latency": kinds.TextColumn(tr("common.latency"), width="small"),
        "date": kinds.TextColumn(tr("runs.started"), width="small"),
        "run": kinds.TextColumn(tr("compare.run")),
    }
