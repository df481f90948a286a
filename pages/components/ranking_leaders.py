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
from pages.components.ranking_data import RankingView
from pages.components.text import escape_markdown, to_plain_line

_CARD = 190  # pixels, at least
_MAX_CARDS = 12
_TABLE = "ranking.leaders"
_INDENT = "&nbsp;&nbsp;"  # as wide as the space before a link


def draw_leaders(
    leaders: Sequence[Leader], board_filter: BoardFilter, view: RankingView, tr: Translate
) -> None:
    """The best ranked target of each benchmark, or of each metric of the one that the board is
    ranked by."""
    board, parts = view.board, shown_parts(view.board, board_filter.evidence)
    if view.order != SUITE and not board_filter.evidence:
        parts = [part for part in every_part(board) if part.startswith(f"{view.order}/")]
    shown_leaders = [leader for leader in leaders if leader.part in parts]
    if not shown_leaders:
        return
    st.subheader(tr("ranking.leaders"), anchor=False)
    if len(shown_leaders) > _MAX_CARDS:
        _draw_leader_table(shown_leaders, board, tr)
    else:
        with st.grid(min_column_width=_CARD):
            for leader in shown_leaders:
                _draw_leader_card(leader, board, tr)
    st.caption(tr("board.leaders_about"))


def _draw_leader_card(leader: Leader, board: Board, tr: Translate) -> None:
    with st.container(border=True, gap=None):
        st.page_link(
            state.METRICS,
            label=escape_markdown(part_title(leader.part)),
            query_params=_build_part_query(leader.part, board),
        )
        st.page_link(
            state.TARGET,
            label=f"**{escape_markdown(leader.name, 40)}**",
            query_params={"key": leader.identity},
        )
        near = (
            tr("board.leader_near", count=leader.near) if leader.near else tr("board.leader_clear")
        )
        st.markdown(f"{_INDENT}**{numbers.format_score(leader.score)}** :small[:gray[· {near}]]")


def _build_part_query(part: str, board: Board) -> dict[str, str]:
    """The query parameters of a part on the Metrics page."""
    benchmark, _, metric = part.partition("/")
    query = {"suite": board.suite, "board": board.key, "benchmark": benchmark, "metric": metric}
    return {name: value for name, value in query.items() if value}


def _draw_leader_table(leaders: Sequence[Leader], board: Board, tr: Translate) -> None:
    """A row per part, where cards would fill a screen."""
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(
            {
                "part": [part_title(leader.part) for leader in leaders],
                "target": [to_plain_line(leader.name, 60) for leader in leaders],
                "score": [leader.score for leader in leaders],
                "near": [leader.near for leader in leaders],
            }
        ),
        hide_index=True,
        width="content",
        height=38 + 35 * len(leaders),
        key=f"{_TABLE}.table",
        alt=tr("ranking.leaders"),
        column_config={
            "part": _build_leader_column("part", tr("common.metric"), 210),
            "target": _build_leader_column("target", tr("common.target"), "medium"),
            "score": column_config.NumberColumn(tr("common.score"), format="%.1f", width=64),
            "near": column_config.NumberColumn(
                tr("board.near"), help=tr("board.leaders_about"), width="small"
            ),
        },
    )
    for name in ("part", "target"):
        click = st.session_state.get(f"{_TABLE}.{name}")
        if click is not None and click["row"] < len(leaders):
            leader = leaders[click["row"]]
            if name == "part":
                st.switch_page(state.METRICS, query_params=_build_part_query(leader.part, board))
            st.switch_page(state.TARGET, query_params={"key": leader.identity})


def _build_leader_column(name: str, label: str, width: int | Literal["medium"]) -> Any:
    """A column of names that lead somewhere."""
    return st.column_config.ButtonColumn(
        label, type="tertiary", alignment="left", width=width, key=f"{_TABLE}.{name}"
    )
