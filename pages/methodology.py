"""Methodology: the rules behind the scores of a board, worked with its own numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views import boards, methodology, stored_boards, targets
from evalcore.views.ranking import SUITE, list_board_orders
from evalcore.views.stored_boards import Headers
from pages.parts.methodology import board_rules, published, scoring
from pages.shared import board_view, display_names, published_source, url_state, visitor
from pages.shared.published_source import PUBLISHED
from pages.shared.wording import to_plain_line, tr

_LOADING = 38  # pixels, of the field that comes


def draw_methodology_page() -> None:
    """Load the board that the URL names, or say that there is none yet."""
    current = visitor.load_visitor_settings()
    st.title(tr("methodology.title"))
    st.caption(tr("methodology.about"))
    visitor.draw_skipped_plugins()
    finished = board_view.require_finished_headers(current)
    controls = published_source.open_controls("methodology")
    with controls:
        is_published = published_source.select_source(current, finished, "methodology") == PUBLISHED
    if is_published:
        published.draw_published_methodology(current, controls)
        return
    headers = board_view.require_scored_headers(current, "methodology.empty")
    _draw_methodology(headers, current, controls)


def _draw_methodology(headers: Headers, current: Settings, controls: Any) -> None:
    with controls:
        board = board_view.select_board(headers, "methodology", compact=True)
        if board is None:
            return
        with st.skeleton(height=_LOADING):
            ranking = stored_boards.load_cached_ranking(current, board)
            frame = display_names.join_target_names(ranking)
        titles = dict(zip(frame["identity"], frame["name"], strict=True))
        identity = url_state.draw_select(
            tr("methodology.target"),
            list(frame["identity"]),
            "methodology.key",
            lambda code: to_plain_line(titles[code]),
            width=340,
            label_visibility="collapsed",
        )
    row = targets.find_target_row(headers, board, identity)
    if row is None:
        return
    everyone = boards.list_board_rows(headers, board)
    scoring.draw_worked_score(row, titles[identity], board, current)
    left, right = st.columns(2, gap="large")
    with left:
        scoring.draw_interval_rules(row, titles[identity], current)
    with right:
        order = list_board_orders(board)[0]
        pair = methodology.compare_rivals(current.run_roots, everyone, board, order, frame)
        scoring.draw_rank_rules(frame, pair, titles)
    left, right = st.columns([7, 5], gap="large")
    with left:
        scoring.draw_standing_rules(frame)
    with right:
        floors = boards.compute_floors(headers, board, "" if order == SUITE else order)
        board_rules.draw_floor_scores(floors)
    board_rules.draw_benchmark_rules(board.columns)
    board_rules.draw_outcome_rules()
    board_rules.draw_evidence_rules(board)
    board_rules.draw_judge_panel(board, everyone, current)
    board_rules.draw_benchmark_prompts(row, current)
    board_rules.draw_column_versions(row, current)


draw_methodology_page()
