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
from pages.components.language import Translate, build_translator
from pages.components.text import to_plain_line

PAGE = "methodology"
_LOADING = 38  # pixels, of the field that comes


def draw_methodology_page() -> None:
    """Load the board that the URL names, or say that there is none yet."""
    tr, current = build_translator(), visitor.load_visitor_settings()
    st.title(tr("methodology.title"))
    st.caption(tr("methodology.about"))
    left_out.draw_skipped_plugins(tr)
    _draw_methodology(loaded.require_scored_headers(current, "methodology.empty", tr), current, tr)


def _draw_methodology(headers: Headers, current: Settings, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.select_board(headers, PAGE, tr)
        if board is None:
            return
        with st.skeleton(height=_LOADING):
            frame = names.join_target_names(shared.load_board_ranking(current, board))
        titles = dict(zip(frame["identity"], frame["name"], strict=True))
        identity = url_state.draw_select(
            tr("methodology.target"),
            list(frame["identity"]),
            page=PAGE,
            name="key",
            title=lambda code: to_plain_line(titles[code]),
            width=420,
        )
    row = targets.find_target_row(headers, board, identity)
    if row is None:
        return
    everyone = boards.list_board_rows(headers, board)
    method_score.draw_worked_score(row, titles[identity], board, current, tr)
    left, right = st.columns(2, gap="large")
    with left:
        method_sure.draw_interval_rules(row, titles[identity], current, tr)
    with right:
        pair = methodology_worked.compare_rivals(
            current.run_roots, everyone, board, list_board_orders(board)[0], frame
        )
        method_sure.draw_rank_rules(frame, pair, titles, tr)
    left, right = st.columns([7, 5], gap="large")
    with left:
        method_sure.draw_standing_rules(frame, tr)
    with right:
        method_rules.draw_floor_scores(_load_control_floors(headers, board), tr)
    method_benchmarks.draw_benchmark_rules(board.columns, tr)
    method_rules.draw_outcome_rules(tr)
    method_rules.draw_evidence_rules(board, tr)
    method_judges.draw_judge_panel(board, everyone, current, tr)
    method_rules.draw_benchmark_prompts(row, current, tr)
    method_rules.draw_column_versions(row, current, tr)


def _load_control_floors(headers: Headers, board: Board) -> dict[str, float]:
    """What the controls score on what the board is ranked by."""
    order = list_board_orders(board)[0]
    return boards.compute_floors(headers, board, "" if order == SUITE else order)


draw_methodology_page()
