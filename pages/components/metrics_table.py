"""The tables of the Metrics page: the ranked targets, and those without a rank with the reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries.metric_board import level_columns
from pages.components import csv_file, state, table_pages
from pages.components.board import cost_format, format_number_range
from pages.components.language import Translate
from pages.components.metrics_data import BoardMetric, MetricRows
from pages.components.text import to_plain_line

_NAME_LENGTH = 60
_PAGE = "metrics"
_TALLEST = 20  # rows before the table scrolls


def draw_metric_tables(
    metric_rows: MetricRows, text: str, part: BoardMetric, tr: Translate
) -> None:
    """The ranked with the way to targets and cases, the others below, and all of it as CSV; `text`
    is what found them."""
    query_key = (part.board.key, part.benchmark, part.metric, text)
    page_slices = [
        table_pages.cut_table_page(rows, _PAGE, name, *query_key)
        for rows, name in ((metric_rows.ranked, "p"), (metric_rows.others, "pu"))
    ]
    ranked, others = (page_slice.rows.reset_index(drop=True) for page_slice in page_slices)
    if len(ranked):
        rank_columns = {
            "range": _format_column_ranges(ranked, "rank_low", "rank_high", "{:.0f}"),
            "group": ranked["group"],
        }
        table = (
            {"rank": ranked["rank"]}
            | _build_metric_columns(ranked)
            | rank_columns
            | _build_trailing_columns(ranked)
        )
        _draw_metric_table(ranked, table, part, "ranked", tr)
        table_pages.draw_table_pager(page_slices[0], _PAGE, "p", tr)
        _draw_table_footer(metric_rows.rows, part, tr)
    if len(others):
        st.subheader(tr("ranking.unranked"), anchor=False)
        reasons = [tr(f"ranking.status.{status}") for status in others["status"]]
        table = (
            _build_metric_columns(others) | {"status": reasons} | _build_trailing_columns(others)
        )
        _draw_metric_table(others, table, part, "unranked", tr)
        table_pages.draw_table_pager(page_slices[1], _PAGE, "pu", tr)
        published = "ranking.unranked_published"
        st.caption(tr(published if part.board.published else "ranking.unranked_about"))


def _draw_table_footer(frame: pd.DataFrame, part: BoardMetric, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("metrics.open_hint"))
        st.space("stretch")
        st.download_button(
            tr("ranking.download"),
            lambda: csv_file.to_csv_bytes(frame),  # made on a click
            file_name=f"evalboard-{part.benchmark}-{part.metric}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


def _build_metric_columns(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "target": [to_plain_line(name, _NAME_LENGTH) for name in frame["name"]],
        "score": frame["score"].astype(float),
        "interval": _format_column_ranges(frame, "low", "high", "{:.1f}"),
        "passed": _format_passed_cases(frame),
    }


def _build_trailing_columns(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        **{level: frame[level].astype(float) for level in level_columns(frame)},
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "date": frame["date"].dt.date,
    }


def _draw_metric_table(
    frame: pd.DataFrame, columns: dict[str, Any], part: BoardMetric, name: str, tr: Translate
) -> None:
    """One table; a click on a name or on the cases is gone after one run of the page."""
    key = f"metrics.{name}"
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        column_config=_build_metric_config(frame, key, tr),
        placeholder=DASH,
        height=38 + 35 * min(len(frame), _TALLEST),
        key=f"{key}.table",
        alt=tr(f"metrics.{name}_alt"),
    )
    _follow_table_click(frame, part, key)


def _follow_table_click(frame: pd.DataFrame, part: BoardMetric, key: str) -> None:
    """Go where a click asks: to the target, or to its cases of this metric."""
    for name in ("target", "cases"):
        click = st.session_state.get(f"{key}.{name}")
        if click is not None and click["row"] < len(frame):
            identity = frame["identity"].iloc[click["row"]]
            link = state.build_metric_query(identity, part.board, part.benchmark, part.metric)
            query = link if name == "cases" else {"key": identity}
            st.switch_page(state.TARGET, query_params=query)


def _format_passed_cases(frame: pd.DataFrame) -> list[str | None]:
    """Passed of all cases; a mean over several tries may be a fraction."""
    return [
        None if pd.isna(cases) else f"{round(passed, 2):g}/{cases:.0f}"
        for passed, cases in zip(frame["passed"], frame["cases"], strict=True)
    ]


def _format_column_ranges(frame: pd.DataFrame, low: str, high: str, form: str) -> list[str | None]:
    return [
        format_number_range(a, b, form) or None
        for a, b in zip(frame[low], frame[high], strict=True)
    ]


def _build_metric_config(frame: pd.DataFrame, key: str, tr: Translate) -> dict[str, Any]:
    column_config = st.column_config
    narrow: dict[str, Any] = {"width": 76, "alignment": "center"}
    config = {
        "rank": column_config.NumberColumn(
            tr("ranking.rank"), help=tr("ranking.rank_help"), width=52, alignment="center"
        ),
        "target": _build_link_column(
            tr("common.target"), tr("ranking.open_hint"), f"{key}.target", 220
        ),
        "score": column_config.ProgressColumn(
            tr("common.score"), min_value=0, max_value=100, format="%.1f", width=140
        ),
        "interval": column_config.TextColumn(tr("ranking.interval"), width=105),
        "passed": _build_link_column(
            tr("ranking.passed"), tr("metrics.cases_help"), f"{key}.cases", 86
        ),
        "range": column_config.TextColumn(
            tr("ranking.rank_range"), help=tr("ranking.rank_range_help"), **narrow
        ),
        "group": column_config.NumberColumn(
            tr("ranking.group"), help=tr("ranking.group_help"), **narrow
        ),
        "status": column_config.TextColumn(tr("ranking.status"), width="medium"),
        "cost": column_config.NumberColumn(
            tr("metrics.cost"),
            format=cost_format(frame["cost"]),
            help=tr("metrics.cost_help"),
            width="small",
        ),
        "latency": column_config.NumberColumn(
            tr("common.latency"), format="%.2f s", help=tr("ranking.latency_help"), width="small"
        ),
        "date": column_config.DateColumn(tr("ranking.date"), format="YYYY-MM-DD", width="small"),
    }
    for level in level_columns(frame):
        config[level] = column_config.NumberColumn(
            tr("metrics.level", level=level.partition("/")[2]),
            format="%.1f",
            help=tr("metrics.level_help"),
            width="small",
        )
    return config


def _build_link_column(label: str, about: str, key: str, width: int) -> Any:
    """A column of names that lead somewhere."""
    return st.column_config.ButtonColumn(
        label, type="tertiary", alignment="left", width=width, key=key, help=about
    )
