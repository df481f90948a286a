"""How the rows of the Ranking page stand: which columns, in which order. Both are in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from evalcore.queries.row_sorting import RANK, is_ascending, list_sort_keys
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


def columns(parts: Sequence[str], frame: pd.DataFrame, tr: Translate) -> list[str]:
    """The columns beside rank, target and score that are wanted, in the order of the table."""
    known = [*_BEFORE, *parts, *_AFTER, *_LAST]
    usual = {*_USUAL, *parts} | ({"organization"} if (frame["organization"] != "").any() else set())
    menu = st.popover(
        tr("board.columns"),
        icon=":material/view_column:",
        key="ranking.columns",
        on_change="rerun",
    )
    with menu.container(width=420) if menu.open else nullcontext():
        chosen = url_state.picked(
            tr("board.columns_label"),
            known,
            [name for name in known if name in usual],
            page=PAGE,
            name="cols",
            title=lambda name: title(name, tr),
            drawn=menu.open,
            help=tr("board.columns_help"),
            placeholder=tr("board.columns_none"),
        )
    return [name for name in known if name in chosen]


def sort(board: Board, tr: Translate) -> str:
    """What the rows are put in order by."""
    return url_state.select(
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
    if code in (RANK, "name", "date"):
        return tr(f"board.sort.{code}")
    way = "board.sort.low_first" if is_ascending(code) else "board.sort.high_first"
    return tr(way, name=title(code, tr))


def title(name: str, tr: Translate) -> str:
    """The title of a column."""
    if name in _TITLES:
        return tr(_TITLES[name])
    known = name in (*_BEFORE, *_AFTER, *_LAST)
    return tr(f"board.{name}") if known else shared.part_title(name)
