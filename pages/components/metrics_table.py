"""The tables of the Metrics page: the ranked targets, and those without a rank with the reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries.metric_board import level_columns
from pages.components import csv_file, state, table_pages
from pages.components.board import cost_format, span
from pages.components.language import Translate
from pages.components.metrics_data import Found, Part
from pages.components.text import plain

_NAME_LENGTH = 60
_PAGE = "metrics"
_TALLEST = 20  # rows before the table scrolls


def draw(found: Found, text: str, part: Part, tr: Translate) -> None:
    """The ranked with the way to targets and cases, the others below, and all of it as CSV; `text`
    is what found them."""
    asked = (part.board.key, part.benchmark, part.metric, text)
    known = [
        table_pages.cut(rows, _PAGE, name, *asked)
        for rows, name in ((found.ranked, "p"), (found.others, "pu"))
    ]
    ranked, others = (cut.rows.reset_index(drop=True) for cut in known)
    if len(ranked):
        sure = {
            "range": _spans(ranked, "rank_low", "rank_high", "{:.0f}"),
            "group": ranked["group"],
        }
        table = {"rank": ranked["rank"]} | _scores(ranked) | sure | _rest(ranked)
        _table(ranked, table, part, "ranked", tr)
        table_pages.draw(known[0], _PAGE, "p", tr)
        _below(found.rows, part, tr)
    if len(others):
        st.subheader(tr("ranking.unranked"), anchor=False)
        reasons = [tr(f"ranking.status.{status}") for status in others["status"]]
        table = _scores(others) | {"status": reasons} | _rest(others)
        _table(others, table, part, "unranked", tr)
        table_pages.draw(known[1], _PAGE, "pu", tr)
        published = "ranking.unranked_published"
        st.caption(tr(published if part.board.published else "ranking.unranked_about"))


def _below(frame: pd.DataFrame, part: Part, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("metrics.open_hint"))
        st.space("stretch")
        st.download_button(
            tr("ranking.download"),
            lambda: csv_file.as_csv(frame),  # made on a click
            file_name=f"evalboard-{part.benchmark}-{part.metric}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


def _scores(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "target": [plain(name, _NAME_LENGTH) for name in frame["name"]],
        "score": frame["score"].astype(float),
        "interval": _spans(frame, "low", "high", "{:.1f}"),
        "passed": _passed(frame),
    }


def _rest(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        **{level: frame[level].astype(float) for level in level_columns(frame)},
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "date": frame["date"].dt.date,
    }


def _table(
    frame: pd.DataFrame, columns: dict[str, Any], part: Part, name: str, tr: Translate
) -> None:
    """One table; a click on a name or on the cases is gone after one run of the page."""
    key = f"metrics.{name}"
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        column_config=_config(frame, key, tr),
        placeholder=DASH,
        height=38 + 35 * min(len(frame), _TALLEST),
        key=f"{key}.table",
        alt=tr(f"metrics.{name}_alt"),
    )
    _follow(frame, part, key)


def _follow(frame: pd.DataFrame, part: Part, key: str) -> None:
    """Go where a click asks: to the target, or to its cases of this metric."""
    for name in ("target", "cases"):
        click = st.session_state.get(f"{key}.{name}")
        if click is not None and click["row"] < len(frame):
            identity = frame["identity"].iloc[click["row"]]
            link = state.metric_link(identity, part.board, part.benchmark, part.metric)
            query = link if name == "cases" else {"key": identity}
            st.switch_page(state.TARGET, query_params=query)


def _passed(frame: pd.DataFrame) -> list[str | None]:
    """Passed of all cases; a mean over several tries may be a fraction."""
    return [
        None if pd.isna(cases) else f"{round(passed, 2):g}/{cases:.0f}"
        for passed, cases in zip(frame["passed"], frame["cases"], strict=True)
    ]


def _spans(frame: pd.DataFrame, low: str, high: str, form: str) -> list[str | None]:
    return [span(a, b, form) or None for a, b in zip(frame[low], frame[high], strict=True)]


def _config(frame: pd.DataFrame, key: str, tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    narrow: dict[str, Any] = {"width": 76, "alignment": "center"}
    config = {
        "rank": kinds.NumberColumn(
            tr("ranking.rank"), help=tr("ranking.rank_help"), width=52, alignment="center"
        ),
        "target": _button(tr("common.target"), tr("ranking.open_hint"), f"{key}.target", 220),
        "score": kinds.ProgressColumn(
            tr("common.score"), min_value=0, max_value=100, format="%.1f", width=140
        ),
        "interval": kinds.TextColumn(tr("ranking.interval"), width=105),
        "passed": _button(tr("ranking.passed"), tr("metrics.cases_help"), f"{key}.cases", 86),
        "range": kinds.TextColumn(
            tr("ranking.rank_range"), help=tr("ranking.rank_range_help"), **narrow
        ),
        "group": kinds.NumberColumn(tr("ranking.group"), help=tr("ranking.group_help"), **narrow),
        "status": kinds.TextColumn(tr("ranking.status"), width="medium"),
        "cost": kinds.NumberColumn(
            tr("metrics.cost"),
            format=cost_format(frame["cost"]),
            help=tr("metrics.cost_help"),
            width="small",
        ),
        "latency": kinds.NumberColumn(
            tr("common.latency"), format="%.2f s", help=tr("ranking.latency_help"), width="small"
        ),
        "date": kinds.DateColumn(tr("ranking.date"), format="YYYY-MM-DD", width="small"),
    }
    for level in level_columns(frame):
        config[level] = kinds.NumberColumn(
            tr("metrics.level", level=level.partition("/")[2]),
            format="%.1f",
            help=tr("metrics.level_help"),
            width="small",
        )
    return config


def _button(label: str, about: str, key: str, width: int) -> Any:
    """A column of names that lead somewhere."""
    return st.column_config.ButtonColumn(
        label, type="tertiary", alignment="left", width=width, key=key, help=about
    )
