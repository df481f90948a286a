"""Ranking: who is best on a board, how sure that is, and at what cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from evalcore import settings
from evalcore.catalog import suite_cards
from evalcore.settings import Settings
from evalcore.views import board_titles, boards
from evalcore.views.board_table import BoardFilter, shown_parts
from evalcore.views.boards import Board
from evalcore.views.published_boards import HERE, PUBLISHED, choose_default_source, load_publishers
from evalcore.views.ranking import list_board_orders
from evalcore.views.stored_boards import Headers
from pages.parts.ranking import (
    answer,
    board_notes,
    own_run,
    published_view,
    ranking_charts,
    ranking_table,
)
from pages.parts.ranking.ranking_table import TableView
from pages.shared import board_view, drawn_html, exports, page_links, ranking_rows, url_state
from pages.shared.drawn_columns import ScoreAxis, build_score_axis
from pages.shared.ranking_rows import RankingRows, RankingView
from pages.shared.wording import current_language, tr


def draw_ranking_page() -> None:
    """Load the headers, or say why there is nothing to rank."""
    current = settings.load_settings()
    st.title(tr("ranking.title"))
    st.caption(tr("ranking.product"))
    with board_view.show_store_error():  # of a run folder that became unreadable
        _draw_ranking(board_view.require_finished_headers(current), current)
    drawn_html.keep_session_on_links()


def _draw_ranking(headers: Headers, current: Settings) -> None:
    """What was measured here or, by choice and until a model was, what others published."""
    measured = boards.list_suites(headers)
    published = {publisher.suite for publisher in load_publishers(current)}
    suites = [*measured, *(suite for suite in suite_cards() if suite in published - set(measured))]
    if not suites:
        board_view.draw_empty_note("ranking.empty", page_links.LAUNCH)
        return
    answer_place = st.container(gap="small")
    controls = st.container(key="ranking-controls", horizontal=True, vertical_alignment="bottom")
    with controls:
        look = {"label_visibility": "collapsed", "width": 120}
        suite = board_view.select_suite(suites, "ranking", **look)
        sources = [HERE] * (suite in measured) + [PUBLISHED] * (suite in published)
        source = _pick_source(sources, headers, current, suite)
    if source == PUBLISHED:
        published_view.draw_published_ranking(current, suite, answer_place, controls)
    else:
        _draw_measured_ranking(headers, current, suite, answer_place, controls)


def _pick_source(sources: list[str], headers: Headers, current: Settings, suite: str) -> str:
    """Whose results; a link to a board or a run of ours means ours."""
    is_own_link = bool({"board", "run"} & set(st.query_params))
    default = HERE if is_own_link else choose_default_source(current, headers, suite)
    return url_state.draw_select(
        tr("published.source"),
        sorted(sources, key=lambda source: source != default),
        "ranking.source",
        lambda source: tr(f"published.source.{source}"),
        drawn_alone=False,
        width=150,
        label_visibility="collapsed",
    )


def _draw_measured_ranking(
    headers: Headers, current: Settings, suite: str, answer_place: Any, controls: Any
) -> None:
    with controls:
        board = board_view.select_board(headers, "ranking", suite=suite, compact=True)
        if board is None:
            return
        version = ranking_rows.compute_store_version(current)
        order = _pick_ranking_order(board)
        whole = RankingView(current, version, board, order, language=current_language())
        everything = ranking_rows.load_board_table(whole)
        look = {"placeholder": tr("ranking.search"), "width": 190}
        text = url_state.draw_search(
            tr("ranking.search"), "ranking.q", label_visibility="collapsed", **look
        )
        choices = ranking_rows.load_filter_choices(whole)
        board_filter = ranking_rows.read_board_filter(choices, text)
        ranking_rows.draw_filter_menu(choices, everything.months, board_filter)
        parts = shown_parts(board, board_filter.evidence)
        shown = ranking_table.draw_view_menu(board, parts, everything.frame)
    period = ranking_rows.read_month_range(everything.months)
    ranking_rows.draw_filter_tags(board_filter, period)
    view = whole._replace(since=period.since, until=period.until)
    base = boards.list_boards(headers, board.suite)[0]
    _draw_ranking_rows(view, board_filter, shown, answer_place, base)


def _draw_ranking_rows(
    view: RankingView, board_filter: BoardFilter, shown: TableView, answer_place: Any, base: Board
) -> None:
    """All that follows from what is asked for; `base` is the default board of the suite."""
    table = ranking_rows.load_board_table(view)
    rows = ranking_rows.load_ranking_rows(view, board_filter, shown.sort)
    standing = own_run.load_own_standing(view)
    with answer_place:
        if rows.everyone.empty:
            board_notes.draw_nobody_ranked(table.frame, view)
        answer.draw_answer(table, rows, view.board, view.order)
        if standing is not None:
            own_run.draw_own_run(standing, table.frame, exports.build_page_address(""))
        if not rows.everyone.empty:
            answer.draw_next_steps(rows.everyone, view.board)
    # the same list, whatever runs were added to it
    asked = (view.board.key, *view[3:], board_filter, shown.sort)
    axis = build_score_axis(rows.everyone, table.floors)
    own = standing.identity if standing else ""
    is_ranked = _draw_ranked_rows(rows, board_filter, view, shown.columns, asked, axis, own)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if is_ranked:
            ranking_table.draw_ranking_links(rows.matching, view.board)
        board_notes.draw_separation_menu(view, base)
        exports.draw_share_menu("")
    if len(rows.others):
        cut = url_state.cut_table_page(rows.others, "ranking.pu", *asked)
        with board_view.draw_unranked_frame(cut, view.board):
            ranking_table.draw_unranked_table(cut.rows, shown.columns, axis, own)
    if is_ranked:
        board_notes.draw_leaders(table.leaders, board_filter, view)
    load_trend = partial(ranking_rows.load_score_history, view)
    ranking_charts.draw_ranking_charts(rows, table.floors, load_trend)


def _pick_ranking_order(board: Board) -> str:
    """What to rank by; asked only where there is a choice."""
    choices, language = list_board_orders(board), current_language()
    if len(choices) == 1:
        return choices[0]
    return url_state.draw_select(
        tr("ranking.order"),
        choices,
        "ranking.by",
        lambda order: board_titles.order_title(order, language),
        width=190,
        label_visibility="collapsed",
    )


def _draw_ranked_rows(
    rows: RankingRows,
    board_filter: BoardFilter,
    view: RankingView,
    columns: list[str],
    asked: tuple[object, ...],
    axis: ScoreAxis,
    own: str,
) -> bool:
    """The table of those with a rank; whether there are rows to go on from."""
    everyone, shown = rows.everyone, rows.ranked
    if everyone.empty:
        return False
    if shown.empty:
        board_notes.draw_no_match(everyone, board_filter, view.board)
        return False
    cut = url_state.cut_table_page(shown, "ranking.p", *asked)
    ranking_table.draw_ranked_table(cut.rows, columns, axis, own)
    url_state.draw_table_pager(cut)
    facts = [
        tr("ranking.matches", shown=len(shown), total=len(everyone)),
        ranking_rows.describe_group_count(rows.groups),
        tr("board.new_said", count=int(shown["new"].sum())) if shown["new"].any() else "",
        board_notes.describe_months(view),
        tr("ranking.open_hint"),
    ]
    st.caption(" · ".join(filter(None, facts)))
    board_notes.draw_board_about(view.board, view.order)
    return True


draw_ranking_page()
