"""Best for me: which target fits a person's own weights and requirements, and how sure that is."""

from __future__ import annotations

import streamlit as st

from evalcore import settings
from evalcore.settings import Settings
from evalcore.views.decision import LEVELS, DecisionTable, Level
from evalcore.views.decision_sources import (
    build_published_table,
    load_decision,
    load_decision_table,
)
from evalcore.views.published_boards import PUBLISHED, PublishedBoard
from evalcore.views.stored_boards import Headers
from pages.parts.decide import outcome, requirements, weights
from pages.parts.decide.outcome import DecisionBoard
from pages.shared import board_view, drawn_html, page_links, published_source, url_state
from pages.shared.wording import tr


def draw_decision_page() -> None:
    """The answer first, then what it is asked with, then who stands where and why."""
    current = settings.load_settings()
    st.title(tr("decide.title"))
    st.caption(tr("decide.about"))
    with board_view.show_store_error():
        headers = board_view.require_finished_headers(current)
        if published_source.list_result_suites(current, headers):
            _draw_decision(headers, current)
        else:
            board_view.draw_empty_note("decide.empty", page_links.LAUNCH)
    drawn_html.keep_session_on_links()


def _draw_decision(headers: Headers, current: Settings) -> None:
    answer_slot = st.container(gap="small")
    with published_source.open_controls("decide"):
        board = _choose_board(headers, current)
    if board is None:
        return
    left, right = st.columns([3, 8], gap="medium")
    with left:
        limits = requirements.draw_requirements(board.table)
        chosen = weights.draw_weights(board.key, board.table)
        decision = load_decision(board.table, chosen, limits)
        outcome.draw_changes(board, decision)
    with answer_slot:
        outcome.draw_answer(board, decision)
    with right:
        outcome.draw_ranked(board, decision)
        outcome.draw_excluded(board, decision)
    if board.source is not None:
        published_source.draw_source_note(board.source)


def _choose_board(headers: Headers, current: Settings) -> DecisionBoard | None:
    """The board that the URL names, of runs here or of a publisher, at the level that it names."""
    source: PublishedBoard | None = None
    if published_source.select_source(current, headers, "decide") == PUBLISHED:
        source = published_source.select_published_board(current, "decide")
        board = source.board
    else:
        measured = board_view.select_board(headers, "decide", compact=True)
        if measured is None:
            return None
        board = measured

    def load_table(level: Level) -> DecisionTable:
        if source is not None:
            return build_published_table(source, level)
        return load_decision_table(current, headers, board, level)

    levels = load_table(LEVELS[0]).levels
    code = url_state.draw_segments(
        tr("decide.level"),
        list(levels),
        "decide.level",
        lambda level: tr(f"decide.level.{level}"),
        drawn_alone=False,
    )
    level = next((each for each in levels if each == code), levels[0])
    return DecisionBoard(f"{board.key}&{level}", board, source, load_table(level))


draw_decision_page()
