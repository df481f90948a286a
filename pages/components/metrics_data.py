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

_KEPT = 16
_FEW = 8  # of what is asked for in as many ways as there are visitors


class Part(NamedTuple):
    """The metric of a board that is shown."""

    board: Board
    benchmark: str
    metric: str


class Metric(NamedTuple):
    """A metric across a board: its view, every row with its name, the names of the ranked by group
    of ties, and the scores of the controls that are drawn as lines."""

    view: MetricView
    standing: pd.DataFrame
    groups: list[list[str]]
    lines: dict[str, float]


class Found(NamedTuple):
    """The rows that a search finds, those with a rank and the others; and all of them."""

    ranked: pd.DataFrame
    others: pd.DataFrame
    rows: pd.DataFrame


def metric(settings: Settings, part: Part) -> Metric:
    return _metric(_key(settings, part), settings, part)


def found(settings: Settings, part: Part, text: str) -> Found:
    """What a visitor searches for in a metric."""
    return _found(_key(settings, part), text, settings, part)


def _key(settings: Settings, part: Part) -> str:
    """Changes whenever what is read may."""
    own = (part.board.suite, part.board.key, part.benchmark, part.metric)
    return "&".join([ranking_data.version(settings), *own])


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _metric(key: str, _settings: Settings, _part: Part) -> Metric:
    view = shared.metric_view(_settings, *_part)
    standing = names.beside(view.standing)
    lines = metric_board.find_control_lines(stored_boards.load_run_headers(_settings), *_part)
    return Metric(view, standing, ranking_words.tied(standing), lines)


@st.cache_resource(max_entries=_FEW, show_spinner=False)
def _found(key: str, text: str, _settings: Settings, _part: Part) -> Found:
    rows = filter_ranking(metric(_settings, _part).standing, text)
    first = rows["status"] == "ranked"
    return Found(rows[first], rows[~first], rows)
