"""Ranking: who is best on a board, how sure that is, and at what cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.queries import boards, stored_boards
from evalcore.queries.board_table import BoardTable
from evalcore.queries.boards import Board
from evalcore.queries.leaders import Leader
from evalcore.queries.narrowing import Wish, every_part, obstacles, shown_parts
from evalcore.queries.ranking import SUITE, orders
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    notes,
    ranking_boards,
    ranking_charts,
    ranking_data,
    ranking_filters,
    ranking_leaders,
    ranking_links,
    ranking_table,
    ranking_view,
    ranking_words,
    share,
    state,
    table_pages,
    url_state,
)
from pages.components.language import Translate, translator
from pages.components.ranking_data import Rows, View
from pages.components.state import remember
from pages.components.text import escape

PAGE = ranking_filters.PAGE


def page() -> None:
    """Load the headers, or say why there is nothing to rank."""
    tr, current = translator(), settings.load()
    st.title(tr("ranking.title"))
    try:
        headers = stored_boards.headers(current)
        known = bool(boards.suites(headers))
        if known:
            _draw(headers, current, tr)
    except EvalboardError as error:
        st.error(tr("ranking.no_index", reason=escape(error, 400)), icon=":material/error:")
        return
    if not known:
        notes.draw("ranking.empty", state.LAUNCH, tr)


def _draw(headers: Headers, current: Settings, tr: Translate) -> None:
    about = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.choose(headers, PAGE, tr)
        if board is None:
            return
        whole = View(current, board, _order(board, tr))
        ranking_boards.why(whole, boards.boards(headers, board.suite)[0], tr)
    with about:
        ranking_boards.about(board, tr)
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
        wish = ranking_filters.wish(choices, text)
        ranking_filters.draw(choices, everything.months, wish, tr)
        columns = ranking_view.columns(shown_parts(board, wish.evidence), everything.frame, tr)
    period = ranking_filters.period(everything.months)
    ranking_filters.tags(wish, period, tr)
    view = whole._replace(since=period.since, until=period.until)
    _rows(view, wish, sort, columns, tr)


def _rows(view: View, wish: Wish, sort: str, columns: list[str], tr: Translate) -> None:
    """All that follows from what is asked for."""
    table, rows = ranking_data.table(view), ranking_data.rows(view, wish, sort)
    asked = (view.board.key, *view[2:], wish, sort)  # the same list, whatever runs were added to it
    if _ranked(table, rows, wish, view, columns, tr, asked):
        ranking_links.draw(rows.found, view.board, tr)
        ranking_leaders.draw(_leaders(table, wish, view), view.board, tr)
    _unranked(table, rows.others, view, columns, tr, asked)
    _charts(rows.ranked, table.floors, view, tr)
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
        width=200,
    )


def _ranked(
    table: BoardTable,
    rows: Rows,
    wish: Wish,
    view: View,
    columns: list[str],
    tr: Translate,
    asked: tuple[object, ...],
) -> bool:
    """The sentence and the table of those with a rank; whether there are rows to go on from."""
    everyone, shown = rows.everyone, rows.ranked
    if everyone.empty:
        _nobody(table.frame, view, tr)
        return False
    named = everyone[["status", "group"]].assign(identity=everyone["name"])
    st.markdown(ranking_words.decision(named, tr))
    if shown.empty:
        _no_match(everyone, wish, view.board, tr)
        return False
    display = ranking_table.display(view.key, table.frame, tr)
    cut = table_pages.cut(shown, PAGE, "p", *asked)
    ranking_table.ranked(cut.rows, display.loc[cut.rows.index], columns, tr)
    table_pages.draw(cut, PAGE, "p", tr)
    said = tr("ranking.matches", shown=len(shown), total=len(everyone))
    new = tr("board.new_said", count=int(shown["new"].sum())) if shown["new"].any() else ""
    st.caption(" · ".join(filter(None, (said, new, _as_of(view, tr), tr("ranking.open_hint")))))
    return True


def _as_of(view: View, tr: Translate) -> str:
    """Of which months the runs are, where they are not of all."""
    if not view.since and not view.until:
        return ""
    key = "as_of" if not view.since else "as_since" if not view.until else "as_between"
    return tr(f"board.{key}", since=view.since, until=view.until)


def _nobody(frame: pd.DataFrame, view: View, tr: Translate) -> None:
    """Nobody is ranked: in the months that were chosen, in the whole suite, or at all."""
    if view.since or view.until:
        st.info(f"{tr('board.nobody_then')} {_as_of(view, tr)}", icon=":material/calendar_month:")
        st.button(tr("board.reset"), key="ranking.nobody.reset", on_click=ranking_filters.reset)
    elif view.order == SUITE and (frame["status"] == "not_run").any():
        st.info(tr("board.nobody_suite"), icon=":material/splitscreen:")
        with st.container(horizontal=True):
            for name in view.board.columns:
                title = tr("board.rank_by", name=escape(shared.benchmark_title(name)))
                st.button(title, key=f"ranking.by.{name}.go", on_click=remember, args=("by", name))
    else:
        notes.draw("ranking.nobody", state.LAUNCH, tr)


def _no_match(everyone: pd.DataFrame, wish: Wish, board: Board, tr: Translate) -> None:
    """What to loosen, where the filters leave nobody over."""
    names = ", ".join(tr(f"board.{field}") for field in obstacles(everyone, board, wish))
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr('ranking.no_match')}", width="content")
        st.markdown(tr("board.loosen", names=names), width="content")
        st.button(tr("board.reset"), key="ranking.empty.reset", on_click=ranking_filters.reset)


def _leaders(table: BoardTable, wish: Wish, view: View) -> list[Leader]:
    """Of the benchmarks, or of the metrics of the one that the board is ranked by."""
    wanted = shown_parts(view.board, wish.evidence)
    if view.order != SUITE and not wish.evidence:
        wanted = [part for part in every_part(view.board) if part.startswith(f"{view.order}/")]
    return [one for one in table.leaders if one.part in wanted]


def _unranked(
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
    ranking_table.unranked(cut.rows, display.loc[cut.rows.index], columns, tr)
    table_pages.draw(cut, PAGE, "pu", tr)
    published = "ranking.unranked_published"
    st.caption(tr(published if view.board.published else "ranking.unranked_about"))


def _charts(ranked: pd.DataFrame, floors: dict[str, float], view: View, tr: Translate) -> None:
    if ranked.empty:
        return
    left, right = st.columns(2, gap="large")
    with left:
        ranking_charts.bars(ranked, floors, tr)
    with right:
        ranking_charts.against(ranked, PAGE, tr)
    ranking_charts.over_time(view, ranked, tr)


page()
