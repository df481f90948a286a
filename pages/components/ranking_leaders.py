"""Who leads in each part of a board: cards that lead to the metric and to the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from evalcore.queries.board_filters import BoardFilter, every_part, shown_parts
from evalcore.queries.boards import Board
from evalcore.queries.leaders import Leader
from evalcore.queries.ranking import SUITE
from pages.components import numbers, state
from pages.components.board import part_title
from pages.components.language import Translate
from pages.components.ranking_data import View
from pages.components.text import escape, plain

_CARD = 190  # pixels, at least
_MOST_CARDS = 12
_TABLE = "ranking.leaders"
_INDENT = "&nbsp;&nbsp;"  # as wide as the space before a link


def draw(leaders: Sequence[Leader], wish: BoardFilter, view: View, tr: Translate) -> None:
    """The best ranked target of each benchmark, or of each metric of the one that the board is
    ranked by."""
    board, wanted = view.board, shown_parts(view.board, wish.evidence)
    if view.order != SUITE and not wish.evidence:
        wanted = [part for part in every_part(board) if part.startswith(f"{view.order}/")]
    found = [one for one in leaders if one.part in wanted]
    if not found:
        return
    st.subheader(tr("ranking.leaders"), anchor=False)
    if len(found) > _MOST_CARDS:
        _table(found, board, tr)
    else:
        with st.grid(min_column_width=_CARD):
            for one in found:
                _card(one, board, tr)
    st.caption(tr("board.leaders_about"))


def _card(one: Leader, board: Board, tr: Translate) -> None:
    with st.container(border=True, gap=None):
        st.page_link(
            state.METRICS, label=escape(part_title(one.part)), query_params=_metric(one.part, board)
        )
        st.page_link(
            state.TARGET,
            label=f"**{escape(one.name, 40)}**",
            query_params={"key": one.identity},
        )
        near = tr("board.leader_near", count=one.near) if one.near else tr("board.leader_clear")
        st.markdown(f"{_INDENT}**{numbers.score(one.score)}** :small[:gray[· {near}]]")


def _metric(part: str, board: Board) -> dict[str, str]:
    """The query parameters of a part on the Metrics page."""
    benchmark, _, metric = part.partition("/")
    named = {"suite": board.suite, "board": board.key, "benchmark": benchmark, "metric": metric}
    return {name: value for name, value in named.items() if value}


def _table(found: Sequence[Leader], board: Board, tr: Translate) -> None:
    """A row per part, where cards would fill a screen."""
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(
            {
                "part": [part_title(one.part) for one in found],
                "target": [plain(one.name, 60) for one in found],
                "score": [one.score for one in found],
                "near": [one.near for one in found],
            }
        ),
        hide_index=True,
        width="content",
        height=38 + 35 * len(found),
        key=f"{_TABLE}.table",
        alt=tr("ranking.leaders"),
        column_config={
            "part": _button("part", tr("common.metric"), 210),
            "target": _button("target", tr("common.target"), "medium"),
            "score": kinds.NumberColumn(tr("common.score"), format="%.1f", width=64),
            "near": kinds.NumberColumn(
                tr("board.near"), help=tr("board.leaders_about"), width="small"
            ),
        },
    )
    for name in ("part", "target"):
        click = st.session_state.get(f"{_TABLE}.{name}")
        if click is not None and click["row"] < len(found):
            one = found[click["row"]]
            if name == "part":
                st.switch_page(state.METRICS, query_params=_metric(one.part, board))
            st.switch_page(state.TARGET, query_params={"key": one.identity})


def _button(name: str, label: str, width: int | Literal["medium"]) -> Any:
    """A column of names that lead somewhere."""
    return st.column_config.ButtonColumn(
        label, type="tertiary", alignment="left", width=width, key=f"{_TABLE}.{name}"
    )
