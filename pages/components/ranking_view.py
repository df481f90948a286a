"""How the rows of the Ranking page stand: which columns, in which order. Both are in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from evalcore.queries.row_sorting import RANK_ORDER, is_ascending, list_sort_keys
from pages.components import board as shared
from pages.components import url_state
from pages.components.language import Translate

PAGE = "ranking"
#: In the order in which they stand in the table; the parts of the board come after `_BEFORE`.
_BEFORE = ("interval", "range", "group")
_AFTER = (
    "cost",
    "organization",
    "passed",
    "tokens",
    "latency",
    "price",
    "parameters",
    "weights",
    "released",
)
_LAST = ("coverage", "date", "kind")
_USUAL = ("interval", "range", "group", "cost", "latency", "date")
#: Columns that only a rank gives a meaning.
RANKED_ONLY = ("range", "group")
_TITLES = {
    **{name: f"common.{name}" for name in ("cost", "latency")},
    **{name: f"ranking.{name}" for name in ("interval", "group", "passed", "tokens", "coverage")},
    "date": "ranking.date",
    "new": "board.new_column",
    "range": "ranking.rank_range",
    "kind": "ranking.kind_column",
}


def select_ranking_columns(parts: Sequence[str], frame: pd.DataFrame, tr: Translate) -> list[str]:
    """The columns beside rank, target and score that are wanted, in the order of the table."""
    all_columns = [*_BEFORE, *parts, *_AFTER, *_LAST]
    default_columns = {*_USUAL, *parts} | (
        {"organization"} if (frame["organization"] != "").any() else set()
    )
    menu = st.popover(
        tr("board.columns"),
        icon=":material/view_column:",
        key="ranking.columns",
        on_change="rerun",
    )
    with menu.container(width=420) if menu.open else nullcontext():
        chosen = url_state.draw_default_multiselect(
            tr("board.columns_label"),
            all_columns,
            [name for name in all_columns if name in default_columns],
            page=PAGE,
            name="cols",
            title=lambda name: ranking_column_title(name, tr),
            drawn=menu.open,
            help=tr("board.columns_help"),
            placeholder=tr("board.columns_none"),
        )
    return [name for name in all_columns if name in chosen]


def select_sort_key(board: Board, tr: Translate) -> str:
    """What the rows are put in order by."""
    return url_state.draw_select(
        tr("board.sort"),
        list_sort_keys(board),
        page=PAGE,
        name="sort",
        title=lambda code: _sort_title(code, tr),
        width=210,
        help=tr("board.sort_help"),
    )


def _sort_title(code: str, tr: Translate) -> str:
    """Says with which end the order begins."""
    if code in (RANK_ORDER, "name", "date"):
        return tr(f"board.sort.{code}")
    way = "board.sort.low_first" if is_ascending(code) else "board.sort.high_first"
    return tr(way, name=ranking_column_title(code, tr))


def ranking_column_title(name: str, tr: Translate) -> str:
    """The title of a column."""
    if name in _TITLES:
        return tr(_TITLES[name])
    is_fixed_column = name in (*_BEFORE, *_AFTER, *_LAST)
    return tr(f"board.{name}") if is_fixed_column else shared.part_title(name)
