"""What the Ranking page says where nobody is ranked or nobody is left over, and of which months it
speaks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.queries.board_filters import BoardFilter, find_blocking_fields
from evalcore.queries.boards import Board
from evalcore.queries.ranking import SUITE
from pages.components import board as shared
from pages.components import notes, ranking_filters, state
from pages.components.language import Translate
from pages.components.ranking_data import RankingView
from pages.components.state import set_query_param
from pages.components.text import escape_markdown


def describe_months(view: RankingView, tr: Translate) -> str:
    """Of which months the runs are, where they are not of all."""
    if not view.since and not view.until:
        return ""
    key = "as_of" if not view.since else "as_since" if not view.until else "as_between"
    return tr(f"board.{key}", since=view.since, until=view.until)


def draw_nobody_ranked(frame: pd.DataFrame, view: RankingView, tr: Translate) -> None:
    """Nobody is ranked: in the months that were chosen, in the whole suite, or at all."""
    if view.since or view.until:
        st.info(
            f"{tr('board.nobody_then')} {describe_months(view, tr)}",
            icon=":material/calendar_month:",
        )
        st.button(
            tr("board.reset"),
            key="ranking.nobody.reset",
            on_click=ranking_filters.reset_ranking_filters,
        )
    elif view.order == SUITE and (frame["status"] == "not_run").any():
        st.info(tr("board.nobody_suite"), icon=":material/splitscreen:")
        with st.container(horizontal=True):
            for name in view.board.columns:
                title = tr("board.rank_by", name=escape_markdown(shared.benchmark_title(name)))
                st.button(
                    title, key=f"ranking.by.{name}.go", on_click=set_query_param, args=("by", name)
                )
    else:
        notes.draw_empty_note("ranking.nobody", state.LAUNCH, tr)


def draw_no_match(
    everyone: pd.DataFrame, board_filter: BoardFilter, board: Board, tr: Translate
) -> None:
    """What to loosen, where the filters leave nobody over."""
    names = ", ".join(
        tr(f"board.{field}") for field in find_blocking_fields(everyone, board, board_filter)
    )
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr('ranking.no_match')}", width="content")
        st.markdown(tr("board.loosen", names=names), width="content")
        st.button(
            tr("board.reset"),
            key="ranking.empty.reset",
            on_click=ranking_filters.reset_ranking_filters,
        )
