"""Methodology: the rules behind the scores of a board, worked with its own numbers."""

from __future__ import annotations

import streamlit as st

from evalcore.queries import boards, methodology_worked, targets
from evalcore.queries.boards import Board
from evalcore.queries.ranking import SUITE, list_board_orders
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    left_out,
    loaded,
    method_benchmarks,
    method_judges,
    method_rules,
    method_score,
    method_sure,
    names,
    url_state,
    visitor,
)
from pages.components.language import Translate, translator
from pages.components.text import plain

PAGE = "methodology"
_LOADING = 38  # pixels, of the field that comes


def draw_methodology_page() -> None:
    """Load the board that the URL names, or say that there is none yet."""
    tr, current = translator(), visitor.seen()
    st.title(tr("methodology.title"))
    st.caption(tr("methodology.about"))
    left_out.draw(tr)
    _draw_methodology(loaded.headers(current, "methodology.empty", tr), current, tr)


def _draw_methodology(headers: Headers, current: Settings, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.choose(headers, PAGE, tr)
        if board is None:
            return
        with st.skeleton(height=_LOADING):
            frame = names.beside(shared.frame(current, board))
        titles = dict(zip(frame["identity"], frame["name"], strict=True))
        identity = url_state.select(
            tr("methodology.target"),
            list(frame["identity"]),
            page=PAGE,
            name="key",
            title=lambda code: plain(titles[code]),
            width=420,
        )
    row = targets.find_target_row(headers, board, identity)
    if row is None:
        return
    everyone = boards.list_board_rows(headers, board)
    method_score.score(row, titles[identity], board, current, tr)
    left, right = st.columns(2, gap="large")
    with left:
        method_sure.interval(row, titles[identity], current, tr)
    with right:
        pair = methodology_worked.compare_rivals(
            current.run_roots, everyone, board, list_board_orders(board)[0], frame
        )
        method_sure.ranks(frame, pair, titles, tr)
    left, right = st.columns([7, 5], gap="large")
    with left:
        method_sure.standing(frame, tr)
    with right:
        method_rules.floors(_load_control_floors(headers, board), tr)
    method_benchmarks.draw(board.columns, tr)
    method_rules.outcomes(tr)
    method_rules.evidence(board, tr)
    method_judges.panel(board, everyone, current, tr)
    method_rules.prompts(row, current, tr)
    method_rules.versions(row, current, tr)


def _load_control_floors(headers: Headers, board: Board) -> dict[str, float]:
    """What the controls score on what the board is ranked by."""
    order = list_board_orders(board)[0]
    return boards.compute_floors(headers, board, "" if order == SUITE else order)


draw_methodology_page()
