"""What the Metrics page reads: made once per state of the store, shared by all visitors, and never
changed by any of them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st

from evalcore.queries import metric_board, stored_boards
from evalcore.queries.boards import Board
from evalcore.queries.metric_board import MetricView
from evalcore.queries.ranking_views import filter_ranking
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import names, ranking_data, ranking_words

_MAX_CACHED_METRICS = 16
_MAX_CACHED_SEARCHES = 8  # of what is asked for in as many ways as there are visitors


class BoardMetric(NamedTuple):
    """The metric of a board that is shown."""

    board: Board
    benchmark: str
    metric: str


class MetricOverview(NamedTuple):
    """A metric across a board: its view, every row with its name, the names of the ranked by group
    of ties, and the scores of the controls that are drawn as lines."""

    view: MetricView
    standing: pd.DataFrame
    groups: list[list[str]]
    lines: dict[str, float]


class MetricRows(NamedTuple):
    """The rows that a search finds, those with a rank and the others; and all of them."""

    ranked: pd.DataFrame
    others: pd.DataFrame
    rows: pd.DataFrame


def load_metric(settings: Settings, part: BoardMetric) -> MetricOverview:
    return _load_cached_metric(_build_metric_key(settings, part), settings, part)


def search_metric(settings: Settings, part: BoardMetric, text: str) -> MetricRows:
    """What a visitor searches for in a metric."""
    return _search_cached_metric(_build_metric_key(settings, part), text, settings, part)


def _build_metric_key(settings: Settings, part: BoardMetric) -> str:
    """Changes whenever what is read may."""
    own = (part.board.suite, part.board.key, part.benchmark, part.metric)
    return "&".join([ranking_data.compute_store_version(settings), *own])


@st.cache_resource(max_entries=_MAX_CACHED_METRICS, show_spinner=False)
def _load_cached_metric(key: str, _settings: Settings, _part: BoardMetric) -> MetricOverview:
    view = shared.metric_view(_settings, *_part)
    standing = names.join_target_names(view.standing)
    lines = metric_board.find_control_lines(stored_boards.load_run_headers(_settings), *_part)
    return MetricOverview(view, standing, ranking_words.group_tied_names(standing), lines)


@st.cache_resource(max_entries=_MAX_CACHED_SEARCHES, show_spinner=False)
def _search_cached_metric(
    key: str, text: str, _settings: Settings, _part: BoardMetric
) -> MetricRows:
    rows = filter_ranking(load_metric(_settings, _part).standing, text)
    first = rows["status"] == "ranked"
    return MetricRows(rows[first], rows[~first], rows)
