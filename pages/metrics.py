"""Metrics: one metric of a board across its targets, and why answers failed in it."""

from __future__ import annotations

import streamlit as st

from evalcore import settings
from evalcore.catalog import benchmark_cards
from evalcore.queries import metric_board
from evalcore.queries.boards import Board
from evalcore.queries.ranking_views import fitting
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    loaded,
    metrics_about,
    metrics_charts,
    metrics_table,
    names,
    notes,
    ranking_words,
    state,
    url_state,
)
from pages.components.language import Translate, translator
from pages.components.metrics_table import Part

PAGE = "metrics"
_LOADING = 480  # pixels, of the card and the chart that come


def page() -> None:
    """Load the headers and show a metric of the board that the URL names."""
    tr, current = translator(), settings.load()
    st.title(tr("metrics.title"))
    _draw(loaded.headers(current, "metrics.empty", tr), current, tr)


def _draw(headers: Headers, current: Settings, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        board = shared.choose(headers, PAGE, tr)
        if board is None:
            return
        part = _part(board, tr)
        text = url_state.search(
            tr("ranking.search"),
            page=PAGE,
            name="q",
            placeholder=tr("board.search_hint"),
            width=200,
        )
    with st.skeleton(height=_LOADING):
        view = shared.metric_view(current, board, part.benchmark, part.metric)
    standing = names.beside(view.standing)
    metrics_about.draw(part, view, tr)
    if standing.empty:
        notes.draw("metrics.no_cases", state.LAUNCH, tr)
        return
    shown = fitting(standing, text)
    if shown.empty:
        st.caption(tr("ranking.no_match"))
        return
    if (standing["status"] == "ranked").any():
        st.markdown(ranking_words.decision(standing))
    else:
        notes.draw("ranking.nobody", state.LAUNCH, tr)
    lines = metric_board.lines(headers, board, part.benchmark, part.metric)
    told = _told(part)
    metrics_charts.scores(shown, lines, told, tr)
    metrics_table.draw(shown, part, tr)
    metrics_charts.failures(view.failures, shown, told, tr)


def _told(part: Part) -> str:
    """Metric and board in one line."""
    metric = shared.metric_title(part.benchmark, part.metric)
    return f"{metric} · {shared.board_title(part.board)}"


def _part(board: Board, tr: Translate) -> Part:
    """The benchmark and the metric that the URL names; the benchmark is asked only where there
    is a choice."""
    benchmark = next(iter(board.columns))
    if len(board.columns) > 1:
        benchmark = url_state.select(
            tr("common.benchmark"),
            list(board.columns),
            page=PAGE,
            name="benchmark",
            title=shared.benchmark_title,
            width=220,
        )
    metric = url_state.select(
        tr("common.metric"),
        [card.key for card in benchmark_cards()[benchmark].metrics],
        page=PAGE,
        name="metric",
        title=lambda code: shared.metric_title(benchmark, code),
        width=260,
    )
    return Part(board, benchmark, metric)


page()
