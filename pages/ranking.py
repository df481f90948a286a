"""Ranking: who is best on a board, how sure that is, and at what cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.settings import Settings
from evalcore.views import boards
from evalcore.views.board_table import BoardFilter, BoardTable, shown_parts
from evalcore.views.boards import Board
from evalcore.views.ranking import list_board_orders
from evalcore.views.stored_boards import Headers
from pages.parts.ranking import board_notes, ranking_charts, ranking_table
from pages.shared import board_view, exports, ranking_rows, url_state
from pages.shared import board_view as shared
from pages.shared.ranking_rows import RankingRows, RankingView
from pages.shared.wording import Translate, build_translator

PAGE = ranking_rows.PAGE


def draw_ranking_page() -> None:
    """Load the headers, or say why there is nothing to rank."""
    tr, current = build_translator(), settings.load_settings()
    st.title(tr("ranking.title"))
    try:
        _draw_ranking(board_view.require_scored_headers(current, "ranking.empty", tr), current, tr)
    except EvalboardError as error:  # of a run folder that became unreadable
        board_view.draw_store_error(error, tr)


def _draw_ranking(headers: Headers, current: Settings, tr: Translate) -> None:
    about = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.select_board(headers, PAGE, tr)
        if board is None:
            return
        whole = RankingView(
            current,
            ranking_rows.compute_store_version(current),
            board,
            _pick_ranking_order(board, tr),
        )
        board_notes.draw_separation_menu(whole, boards.list_boards(headers, board.suite)[0], tr)
    with about:
        board_notes.draw_board_about(board, whole.order)
    everything = ranking_rows.load_board_table(whole)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = url_state.draw_search(
            tr("ranking.search"),
            page=PAGE,
            name="q",
            placeholder=tr("board.search_hint"),
            width=230,
        )
        sort = ranking_table.select_sort_key(board, tr)
        choices = ranking_rows.load_filter_choices(whole)
        board_filter = ranking_rows.read_board_filter(choices, text)
        ranking_rows.draw_filter_menu(choices, everything.months, board_filter, tr)
        columns = ranking_table.select_ranking_columns(
            shown_parts(board, board_filter.evidence), everything.frame, tr
        )
    period = ranking_rows.read_month_range(everything.months)
    ranking_rows.draw_filter_tags(board_filter, period, tr)
    view = whole._replace(since=period.since, until=period.until)
    _draw_ranking_rows(view, board_filter, sort, columns, tr)


def _draw_ranking_rows(
    view: RankingView, board_filter: BoardFilter, sort: str, columns: list[str], tr: Translate
) -> None:
    """All that follows from what is asked for."""
    table, rows = (
        ranking_rows.load_board_table(view),
        ranking_rows.load_ranking_rows(view, board_filter, sort),
    )
    # the same list, whatever runs were added to it
    asked = (view.board.key, *view[3:], board_filter, sort)
    if _draw_ranked_rows(table, rows, board_filter, view, columns, tr, asked):
        ranking_table.draw_ranking_links(rows.matching, view.board, tr)
        board_notes.draw_leaders(table.leaders, board_filter, view, tr)
    else:
        exports.draw_share_menu("", tr)
    _draw_unranked_rows(table, rows.others, view, columns, tr, asked)
    ranking_charts.draw_ranking_charts(rows, table.floors, view, tr)


def _pick_ranking_order(board: Board, tr: Translate) -> str:
    """What to rank by; asked only where there is a choice."""
    choices = list_board_orders(board)
    if len(choices) == 1:
        return choices[0]
    return url_state.draw_select(
        tr("ranking.order"),
        choices,
        page=PAGE,
        name="by",
        title=shared.order_title,
        width=200,
    )


def _draw_ranked_rows(
    table: BoardTable,
    rows: RankingRows,
    board_filter: BoardFilter,
    view: RankingView,
    columns: list[str],
    tr: Translate,
    asked: tuple[object, ...],
) -> bool:
    """The sentence and the table of those with a rank; whether there are rows to go on from."""
    everyone, shown = rows.everyone, rows.ranked
    if everyone.empty:
        board_notes.draw_nobody_ranked(table.frame, view, tr)
        return False
    st.markdown(ranking_rows.describe_tie_groups(rows.groups))
    if shown.empty:
        board_notes.draw_no_match(everyone, board_filter, view.board, tr)
        return False
    display = ranking_table.build_display_frame(view.cache_key, table.frame, tr)
    cut = url_state.cut_table_page(shown, PAGE, "p", *asked)
    ranking_table.draw_ranked_table(cut.rows, display, columns, tr)
    url_state.draw_table_pager(cut, PAGE, "p", tr)
    match_count = tr("ranking.matches", shown=len(shown), total=len(everyone))
    new = tr("board.new_said", count=int(shown["new"].sum())) if shown["new"].any() else ""
    st.caption(
        " · ".join(
            filter(
                None,
                (
                    match_count,
                    new,
                    board_notes.describe_months(view, tr),
                    tr("ranking.open_hint"),
                ),
            )
        )
    )
    return True


def _draw_unranked_rows(
    table: BoardTable,
    others: pd.DataFrame,
    view: RankingView,
    columns: list[str],
    tr: Translate,
    asked: tuple[object, ...],
) -> None:
    if others.empty:
        return
    st.subheader(tr("ranking.unranked"), anchor=False)
    display = ranking_table.build_display_frame(view.cache_key, table.frame, tr)
    cut = url_state.cut_table_page(others, PAGE, "pu", *asked)
    ranking_table.draw_unranked_table(cut.rows, display, columns, tr)
    url_state.draw_table_pager(cut, PAGE, "pu", tr)
    published = "ranking.unranked_published"
    st.caption(tr(published if view.board.published else "ranking.unranked_about"))


draw_ranking_page()
