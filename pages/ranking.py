"""Ranking: who is best on a board, how sure that is, and at what cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.queries import boards
from evalcore.queries.board_filters import BoardFilter, shown_parts
from evalcore.queries.board_table import BoardTable
from evalcore.queries.boards import Board
from evalcore.queries.ranking import list_board_orders
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    loaded,
    ranking_boards,
    ranking_charts,
    ranking_data,
    ranking_empty,
    ranking_filters,
    ranking_leaders,
    ranking_links,
    ranking_table,
    ranking_view,
    ranking_words,
    share,
    table_pages,
    url_state,
)
from pages.components.language import Translate, translator
from pages.components.ranking_data import Rows, View

PAGE = ranking_filters.PAGE


def draw_ranking_page() -> None:
    """Load the headers, or say why there is nothing to rank."""
    tr, current = translator(), settings.load_settings()
    st.title(tr("ranking.title"))
    try:
        _draw_ranking(loaded.headers(current, "ranking.empty", tr), current, tr)
    except EvalboardError as error:  # of a run folder that became unreadable
        loaded.broken(error, tr)


def _draw_ranking(headers: Headers, current: Settings, tr: Translate) -> None:
    about = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.choose(headers, PAGE, tr)
        if board is None:
            return
        whole = View(current, ranking_data.version(current), board, _pick_ranking_order(board, tr))
        ranking_boards.why(whole, boards.list_boards(headers, board.suite)[0], tr)
    with about:
        ranking_boards.about(board, whole.order)
    everything = ranking_data.table(whole)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = url_state.search(
            tr("ranking.search"),
            page=PAGE,
            name="q",
            placeholder=tr("board.search_hint"),
            width=230,
        )
        sort = ranking_view.sort(board, tr)
        choices = ranking_data.choices(whole)
        board_filter = ranking_filters.wish(choices, text)
        ranking_filters.draw(choices, everything.months, board_filter, tr)
        columns = ranking_view.columns(
            shown_parts(board, board_filter.evidence), everything.frame, tr
        )
    period = ranking_filters.period(everything.months)
    ranking_filters.tags(board_filter, period, tr)
    view = whole._replace(since=period.since, until=period.until)
    _draw_ranking_rows(view, board_filter, sort, columns, tr)


def _draw_ranking_rows(
    view: View, board_filter: BoardFilter, sort: str, columns: list[str], tr: Translate
) -> None:
    """All that follows from what is asked for."""
    table, rows = ranking_data.table(view), ranking_data.rows(view, board_filter, sort)
    # the same list, whatever runs were added to it
    asked = (view.board.key, *view[3:], board_filter, sort)
    if _draw_ranked_rows(table, rows, board_filter, view, columns, tr, asked):
        ranking_links.draw(rows.found, view.board, tr)
        ranking_leaders.draw(table.leaders, board_filter, view, tr)
    else:
        share.draw("", tr)
    _draw_unranked_rows(table, rows.others, view, columns, tr, asked)
    ranking_charts.draw(rows, table.floors, view, tr)


def _pick_ranking_order(board: Board, tr: Translate) -> str:
    """What to rank by; asked only where there is a choice."""
    choices = list_board_orders(board)
    if len(choices) == 1:
        return choices[0]
    return url_state.select(
        tr("ranking.order"),
        choices,
        page=PAGE,
        name="by",
        title=shared.order_title,
        width=200,
    )


def _draw_ranked_rows(
    table: BoardTable,
    rows: Rows,
    board_filter: BoardFilter,
    view: View,
    columns: list[str],
    tr: Translate,
    asked: tuple[object, ...],
) -> bool:
    """The sentence and the table of those with a rank; whether there are rows to go on from."""
    everyone, shown = rows.everyone, rows.ranked
    if everyone.empty:
        ranking_empty.nobody(table.frame, view, tr)
        return False
    st.markdown(ranking_words.decision(rows.groups))
    if shown.empty:
        ranking_empty.no_match(everyone, board_filter, view.board, tr)
        return False
    display = ranking_table.display(view.key, table.frame, tr)
    cut = table_pages.cut(shown, PAGE, "p", *asked)
    ranking_table.ranked(cut.rows, display, columns, tr)
    table_pages.draw(cut, PAGE, "p", tr)
    match_count = tr("ranking.matches", shown=len(shown), total=len(everyone))
    new = tr("board.new_said", count=int(shown["new"].sum())) if shown["new"].any() else ""
    st.caption(
        " · ".join(
            filter(None, (match_count, new, ranking_empty.as_of(view, tr), tr("ranking.open_hint")))
        )
    )
    return True


def _draw_unranked_rows(
    table: BoardTable,
    others: pd.DataFrame,
    view: View,
    columns: list[str],
    tr: Translate,
    asked: tuple[object, ...],
) -> None:
    if others.empty:
        return
    st.subheader(tr("ranking.unranked"), anchor=False)
    display = ranking_table.display(view.key, table.frame, tr)
    cut = table_pages.cut(others, PAGE, "pu", *asked)
    ranking_table.unranked(cut.rows, display, columns, tr)
    table_pages.draw(cut, PAGE, "pu", tr)
    published = "ranking.unranked_published"
    st.caption(tr(published if view.board.published else "ranking.unranked_about"))


draw_ranking_page()
