"""The tables of the Ranking page: the ranked, and those without a rank.

What a table shows of a row is made once per board and language; a visitor's rows and columns are
cut from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from pages.components import ranking_view, state
from pages.components.board import cost_format, format_number_range, kind_title
from pages.components.language import Translate, current_language
from pages.components.text import to_plain_line

_NAME_LENGTH = 60
_TALLEST = 20  # rows before the table scrolls
_MAX_CACHED_DISPLAYS = 32
_NAME = 184  # pixels of a name and the logo before it
_NARROW = {"width": 76, "alignment": "center"}


def draw_ranked_table(
    frame: pd.DataFrame, shown: pd.DataFrame, columns: Sequence[str], tr: Translate
) -> None:
    """The ranked targets; a click on a name opens the target. `shown` is what
    `build_display_frame` made."""
    table = _arrange_columns(frame, shown, ["rank", "target", "score"], columns)
    _draw_ranking_table(frame, table, "ranking.open", tr("ranking.table_alt"), tr)


def draw_unranked_table(
    frame: pd.DataFrame, shown: pd.DataFrame, columns: Sequence[str], tr: Translate
) -> None:
    """The targets without a rank, each with the reason."""
    visible_columns = [name for name in columns if name not in ranking_view.RANKED_ONLY]
    table = _arrange_columns(frame, shown, ["target", "status", "score"], visible_columns)
    _draw_ranking_table(frame, table, "ranking.open_other", tr("ranking.unranked_alt"), tr)


def build_display_frame(key: str, frame: pd.DataFrame, tr: Translate) -> pd.DataFrame:
    """Every column of every row as it is shown, under the index of `frame`; the frame of one `key`
    is always the same."""
    return _build_cached_display(key, current_language(), frame, tr)


@st.cache_resource(max_entries=_MAX_CACHED_DISPLAYS, show_spinner=False)
def _build_cached_display(
    key: str, language: str, _frame: pd.DataFrame, _tr: Translate
) -> pd.DataFrame:
    frame, tr = _frame, _tr
    whole = frame["measured"] + frame["errors"]
    titles = {kind: kind_title(kind) for kind in set(frame["kind"])}
    self_judged_label = tr("ranking.self_judged")
    columns = {
        "target": [to_plain_line(name, _NAME_LENGTH) for name in frame["name"]],
        "logo": frame["logo"],
        "new": [tr("board.new") if new else None for new in frame["new"]],
        "status": [
            None if status == "ranked" else tr(f"ranking.status.{status}")
            for status in frame["status"]
        ],
        "interval": _format_column_ranges(frame, "low", "high", "{:.1f}"),
        "range": _format_column_ranges(frame, "rank_low", "rank_high", "{:.0f}"),
        "organization": [
            to_plain_line(name, _NAME_LENGTH) or None for name in frame["organization"]
        ],
        "passed": [f"{p}/{n}" if n else None for p, n in zip(frame["passed"], whole, strict=True)],
        "tokens": frame["input_tokens"].astype(float) + frame["output_tokens"].astype(float),
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "weights": [tr(f"board.weights.{code}") if code else None for code in frame["weights"]],
        "released": frame["released"].replace("", None),
        "date": frame["date"].dt.date,
        "kind": [
            f"{titles[kind]} · {self_judged_label}" if by_itself else titles[kind]
            for kind, by_itself in zip(frame["kind"], frame["self_judged"], strict=True)
        ],
    }
    scores = {name: frame[name].astype(float) for name in frame.columns if _is_part(name, frame)}
    return frame.assign(**columns, **scores)


def _is_part(name: str, frame: pd.DataFrame) -> bool:
    """Whether a column holds the score of a benchmark or of one of its metrics."""
    return "/" in name or any(other.startswith(f"{name}/") for other in frame.columns)


def _arrange_columns(
    frame: pd.DataFrame, shown: pd.DataFrame, first: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """The rows of `frame` with the columns in order: on a phone those up to the score are seen. The
    logos, which stand before the names, and the mark of the new come only where a row has one."""
    new = ["new"] if frame["new"].any() else []
    logo = ["logo"] if (frame["logo"] != "").any() else []
    column_groups = [[*logo, name] if name == "target" else [name] for name in first]
    names = [*(name for group in column_groups for name in group), *columns, *new]
    return shown[names].loc[frame.index]


def _draw_ranking_table(
    frame: pd.DataFrame, table: pd.DataFrame, key: str, alt: str, tr: Translate
) -> None:
    """The table; `key` holds the click on a name, which is gone after one run of the page."""
    st.dataframe(
        table,
        hide_index=True,
        column_config=_build_ranking_config(table, frame, key, tr),
        placeholder=DASH,
        height=38 + 35 * min(len(table), _TALLEST),
        key=f"{key}.table",
        alt=alt,
    )
    click = st.session_state.get(key)
    if click is not None and click["row"] < len(frame):
        identity = frame["identity"].iloc[click["row"]]
        st.switch_page(state.TARGET, query_params={"key": identity})


def _format_column_ranges(frame: pd.DataFrame, low: str, high: str, form: str) -> list[str | None]:
    return [
        format_number_range(a, b, form) or None
        for a, b in zip(frame[low], frame[high], strict=True)
    ]


def _build_ranking_config(
    table: pd.DataFrame, frame: pd.DataFrame, key: str, tr: Translate
) -> dict[str, Any]:
    """How each of the columns looks that are drawn."""
    column_config = st.column_config
    own: dict[str, Callable[[], Any]] = {
        "target": lambda: column_config.ButtonColumn(
            tr("common.target"),
            type="tertiary",
            alignment="left",
            width=_NAME - 40 * ("rank" in table and "logo" in table),
            pinned=True,
            key=key,
            help=tr("ranking.open_hint"),
        ),
        "logo": lambda: column_config.ImageColumn("", width=40, pinned=True),
        "score": lambda: column_config.ProgressColumn(
            tr("common.score"), min_value=0, max_value=100, format="%.1f", width=118
        ),
        "status": lambda: column_config.TextColumn(tr("ranking.status"), width="medium"),
        "cost": lambda: column_config.NumberColumn(
            tr("common.cost"),
            format=cost_format(frame["cost"]),
            help=tr("ranking.cost_help"),
            width="small",
        ),
    }
    return {
        name: own[name]() if name in own else _build_plain_column(name, tr)
        for name in table.columns
    }


def _build_plain_column(name: str, tr: Translate) -> Any:
    """A column whose look stands in `_LOOKS`, else one of scores."""
    column_config = st.column_config
    if name not in _LOOKS:
        title = ranking_view.ranking_column_title(name, tr)
        return column_config.NumberColumn(title, format="%.1f", width=_part_width(title))
    kind, about, look = _LOOKS[name]
    title = tr("ranking.rank") if name == "rank" else ranking_view.ranking_column_title(name, tr)
    return getattr(column_config, kind)(title, help=tr(about) if about else None, **look)


#: Column -> kind of column, text key of its help, look.
_LOOKS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "rank": (
        "NumberColumn",
        "ranking.rank_help",
        {"width": 52, "alignment": "center", "pinned": True},
    ),
    "new": ("TextColumn", "board.new_help", {"width": 56}),
    "interval": ("TextColumn", "board.interval_help", {"width": 105}),
    "range": ("TextColumn", "ranking.rank_range_help", _NARROW),
    "group": ("NumberColumn", "ranking.group_help", _NARROW),
    "organization": ("TextColumn", "", {"width": 120}),
    "passed": ("TextColumn", "ranking.passed_help", {"width": "small", "alignment": "right"}),
    "tokens": ("NumberColumn", "", {"format": "compact", "width": "small"}),
    "latency": ("NumberColumn", "ranking.latency_help", {"format": "%.2f s", "width": "small"}),
    "price": ("NumberColumn", "board.price_help", {"format": "$%.2f", "width": "small"}),
    "parameters": ("NumberColumn", "board.size_help", {"format": "%.3g B", "width": "small"}),
    "weights": ("TextColumn", "board.weights_help", {"width": "small"}),
    "released": ("TextColumn", "", {"width": "small"}),
    "coverage": ("NumberColumn", "ranking.coverage_help", {"format": "percent", "width": "small"}),
    "date": ("DateColumn", "", {"format": "YYYY-MM-DD", "width": "small"}),
    "kind": ("TextColumn", "", {"width": "medium"}),
}


def _part_width(title: str) -> int:
    """Pixels that a title takes: its characters, those of Chinese being twice as wide."""
    return 28 + sum(7 if ord(sign) < 0x2E80 else 14 for sign in title)
