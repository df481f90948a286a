"""Metrics: one metric of a board across its targets, and why answers failed in it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from evalcore import settings
from evalcore.settings import Settings
from evalcore.views.boards import Board
from evalcore.views.published_boards import PUBLISHED
from pages.parts.metrics import metric_scores
from pages.parts.metrics.metric_scores import BoardMetric
from pages.shared import board_view, page_links, published_source, ranking_rows, url_state
from pages.shared.wording import tr

_LOADING = 480  # pixels, of the card and the chart that come


def draw_metrics_page() -> None:
    """Load the headers and show a metric of the board that the URL names."""
    current = settings.load_settings()
    st.title(tr("metrics.title"))
    headers = board_view.require_finished_headers(current)
    controls = published_source.open_controls("metrics")
    with controls:
        is_published = published_source.select_source(current, headers, "metrics") == PUBLISHED
    if is_published:
        with controls:
            source = published_source.select_published_board(current, "metrics")
        _draw_board_metric(source.board, current, controls)
        published_source.draw_source_note(source)
        return
    scored = board_view.require_scored_headers(current, "metrics.empty")
    with controls:
        board = board_view.select_board(scored, "metrics", compact=True)
    if board is not None:
        _draw_board_metric(board, current, controls)


def _draw_board_metric(board: Board, current: Settings, controls: Any) -> None:
    with controls:
        part = _pick_metric_part(board)
        text = url_state.draw_search(
            tr("ranking.search"),
            key="metrics.q",
            placeholder=tr("ranking.search"),
            width=190,
            label_visibility="collapsed",
        )
    with st.skeleton(height=_LOADING):
        metric = metric_scores.load_metric(current, part)
    metric_scores.draw_metric_card(part, metric.view)
    if metric.standing.empty:
        board_view.draw_empty_note("metrics.no_cases", page_links.LAUNCH)
        return
    matches = metric_scores.search_metric(current, part, text)
    if matches.rows.empty:
        st.caption(tr("ranking.no_match"))
        return
    if metric.groups:
        st.markdown(ranking_rows.describe_tie_groups(metric.groups))
    elif not (board.is_publication and len(matches.ranked)):
        board_view.draw_empty_note("ranking.nobody", page_links.LAUNCH)
    name = board_view.metric_title(part.benchmark, part.metric)
    title = f"{name} · {board_view.board_title(part.board)}"
    metric_scores.draw_score_chart(matches.ranked, metric.lines, title)
    metric_scores.draw_metric_tables(matches, text, part)
    if not board.is_publication:
        metric_scores.draw_failure_chart(metric.view.failures, matches.ranked, title)


def _pick_metric_part(board: Board) -> BoardMetric:
    """The benchmark and the metric that the URL names; the benchmark is asked only where there
    is a choice."""
    look = {"label_visibility": "collapsed"}
    benchmark = next(iter(board.columns))
    if len(board.columns) > 1:
        benchmark = board_view.select_benchmark(
            list(board.columns), "metrics.benchmark", width=200, **look
        )
    metrics = [card.key for card in board.columns[benchmark].card.metrics]
    metric = board_view.select_metric(benchmark, metrics, "metrics.metric", width=220, **look)
    return BoardMetric(board, benchmark, metric)


draw_metrics_page()
