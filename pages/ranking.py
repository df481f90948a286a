"""Ranking: who is best on a board, how sure that is, and at what cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.queries import boards, stored_boards
from evalcore.queries.boards import Board
from evalcore.queries.ranking import SUITE, orders
from evalcore.queries.ranking_views import fitting
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    notes,
    ranking_charts,
    ranking_table,
    ranking_words,
    share,
    state,
    url_state,
)
from pages.components.language import Translate, translator
from pages.components.text import escape

PAGE = "ranking"


def page() -> None:
    """Load the headers, or say why there is nothing to rank."""
    tr, current = translator(), settings.load()
    st.title(tr("ranking.title"))
    try:
        headers = stored_boards.headers(current)
    except EvalboardError as error:
        st.error(tr("ranking.no_index", reason=escape(error, 400)), icon=":material/error:")
        return
    if not boards.suites(headers):
        notes.draw("ranking.empty", state.LAUNCH, tr)
        return
    _draw(headers, current, tr)


def _draw(headers: Headers, current: Settings, tr: Translate) -> None:
    explanation = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.choose(headers, PAGE, tr)
        if board is None:
            return
        order = _order(board, tr)
        text = url_state.search(
            tr("ranking.search"),
            page=PAGE,
            name="q",
            placeholder=tr("ranking.search_hint"),
            width=220,
        )
        frame = shared.frame(current, board, order)
        kinds = _kinds(frame, tr)
    about = "ranking.about_published" if board.published else "ranking.about"
    about = "ranking.about_bundles" if board.handed_in else about
    explanation.caption(tr(about, board=escape(shared.board_title(board, tr), 200)))
    found = fitting(frame, text, kinds)
    _ranked(frame, found, board, tr)
    _unranked(found, board, tr)
    _beyond(found, headers, board, order, tr)
    share.draw("", tr)


def _order(board: Board, tr: Translate) -> str:
    """What to rank by; asked only where there is a choice."""
    choices = orders(board)
    if len(choices) == 1:
        return choices[0]
    return url_state.select(
        tr("ranking.order"),
        choices,
        page=PAGE,
        name="by",
        title=lambda code: shared.order_title(code, tr),
        width=220,
    )


def _kinds(frame: pd.DataFrame, tr: Translate) -> list[str]:
    """Which kinds of target to show; empty means all."""
    return url_state.many(
        tr("ranking.kind"),
        sorted(set(frame["kind"])),
        page=PAGE,
        name="kind",
        title=shared.kind_title,
        placeholder=tr("ranking.kind_hint"),
        width=260,
    )


def _ranked(frame: pd.DataFrame, found: pd.DataFrame, board: Board, tr: Translate) -> None:
    total = int((frame["status"] == "ranked").sum())
    shown = found[found["status"] == "ranked"]
    if not total:
        notes.draw("ranking.nobody", state.LAUNCH, tr)
        return
    st.markdown(ranking_words.decision(frame, tr))
    if shown.empty:
        st.caption(tr("ranking.no_match"))
        return
    ranking_table.ranked(shown.reset_index(drop=True), board, tr)
    with st.container(horizontal=True, vertical_alignment="center"):
        matches = tr("ranking.matches", shown=len(shown), total=total)
        st.caption(f"{matches} · {tr('ranking.open_hint')}")
        st.space("stretch")
        st.download_button(
            tr("ranking.download"),
            ranking_table.as_csv(found),
            file_name=f"evalboard-{board.suite}-{board.key}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


def _unranked(found: pd.DataFrame, board: Board, tr: Translate) -> None:
    others = found[found["status"] != "ranked"].reset_index(drop=True)
    if others.empty:
        return
    st.subheader(tr("ranking.unranked"), anchor=False)
    ranking_table.unranked(others, board, tr)
    published = "ranking.unranked_published"
    st.caption(tr(published if board.published else "ranking.unranked_about"))


def _beyond(found: pd.DataFrame, headers: Headers, board: Board, order: str, tr: Translate) -> None:
    """Below the tables: the leaders of the parts and the charts."""
    if not (found["status"] == "ranked").any():
        return
    floors = boards.floors(headers, board, "" if order == SUITE else order)
    if ranking_charts.priced(found).empty:
        ranking_charts.bars(found, floors, tr)
        st.caption(tr("ranking.cost_none"))
    else:
        left, right = st.columns(2, gap="large")
        with left:
            ranking_charts.bars(found, floors, tr)
        with right:
            ranking_charts.cost(found, tr)
    st.subheader(tr("ranking.leaders"), anchor=False)
    ranking_words.draw_leaders(found, board, tr)


page()
