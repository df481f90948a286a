"""What the Ranking page reads: made once per state of the store, shared by all visitors, and never
changed by any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import streamlit as st

from evalcore.chart_cache import mark_immutable
from evalcore.queries import board_rules, stored_boards
from evalcore.queries.board_filters import BoardFilter, filter_board_rows
from evalcore.queries.board_periods import select_runs_between
from evalcore.queries.board_rules import ColumnDifference
from evalcore.queries.board_table import BoardTable, board_table
from evalcore.queries.boards import Board
from evalcore.queries.row_sorting import sort_board_rows
from evalcore.queries.trend import build_score_trend
from evalcore.settings import Settings
from evalcore.target_cards import cards_signature
from evalcore.target_colours import colour_of
from pages.components import ranking_filters, ranking_words
from pages.components.text import to_plain_line

_MAX_CACHED_BOARDS = 32
_LABEL = 40  # characters
MAX_BARS = 40
#: What a score can be set against.
AGAINST = ("cost", "latency", "price")
_MAX_CACHED_SEARCHES = 8  # of what is asked for in as many ways as there are visitors


class RankingView(NamedTuple):
    """A board as it is asked for: ranked by what, with the runs of which months. `version` is
    looked up once for all that is read for a page."""

    settings: Settings
    version: str
    board: Board
    order: str
    since: str = ""
    until: str = ""

    @property
    def cache_key(self) -> str:
        """Changes whenever what is read of it may."""
        own = (self.board.suite, self.board.key, self.order, self.since, self.until)
        return "&".join([self.version, *own])


def compute_store_version(settings: Settings) -> str:
    """Changes with every run and every card."""
    roots = f"{settings.data}&{settings.shipped}"
    return f"{roots}&{stored_boards.compute_boards_signature(settings)}&{cards_signature(settings)}"


class RankingChartData(NamedTuple):
    """What the charts draw of the ranked: label (as `name`), colour and score with its interval,
    and the first of them in words.

    `against` has those alone that cost something, by what it is: what all it is known of costs.
    """

    bars: pd.DataFrame
    summary: str
    against: dict[str, pd.DataFrame]


class RankingRows(NamedTuple):
    """The rows of a table that fit a wish, in an order: all of them, those with a rank, what their
    charts draw, the others; and everyone with a rank, whose names come by group of ties."""

    matching: pd.DataFrame
    ranked: pd.DataFrame
    chart_data: RankingChartData
    others: pd.DataFrame
    everyone: pd.DataFrame
    groups: list[list[str]]


def load_filter_choices(view: RankingView) -> dict[str, list[str]]:
    """What rows can be filtered by, and the values of it that there are."""
    return _load_cached_choices(view.cache_key, view)


def load_ranking_rows(view: RankingView, board_filter: BoardFilter, sort: str) -> RankingRows:
    """What a visitor asks for of a table."""
    return _load_cached_rows(view.cache_key, repr(board_filter), sort, view, board_filter)


def load_board_table(view: RankingView) -> BoardTable:
    """The rows with all that is known of them."""
    return _load_cached_table(view.cache_key, view)


def load_score_history(view: RankingView, names: Mapping[str, str]) -> pd.DataFrame:
    """The scores of some targets, given as identity to name, from run to run; `series` is the
    name."""
    return _load_cached_history(view.cache_key, tuple(names), view, names)


def load_rule_differences(view: RankingView, base: Board) -> tuple[ColumnDifference, ...]:
    """What sets the board apart from another one."""
    return _load_cached_rules(view.version, base.key, view.board.suite, view.board.key, base, view)


@st.cache_resource(max_entries=_MAX_CACHED_BOARDS, show_spinner=False)
def _load_cached_table(key: str, _view: RankingView) -> BoardTable:
    return board_table(_view.settings, _view.board, _view.order, _view.since, _view.until)


@st.cache_resource(max_entries=_MAX_CACHED_BOARDS, show_spinner=False)
def _load_cached_choices(key: str, _view: RankingView) -> dict[str, list[str]]:
    return ranking_filters.list_filter_options(load_board_table(_view).frame, _view.board)


@st.cache_resource(max_entries=_MAX_CACHED_SEARCHES, show_spinner=False)
def _load_cached_rows(
    key: str, filter_key: str, sort: str, _view: RankingView, _board_filter: BoardFilter
) -> RankingRows:
    frame = load_board_table(_view).frame
    matching = sort_board_rows(filter_board_rows(frame, _view.board, _board_filter), sort)
    first = matching["status"] == "ranked"
    ranked = matching[first]
    everyone = frame[frame["status"] == "ranked"]
    groups = ranking_words.group_tied_names(everyone)
    return RankingRows(
        matching, ranked, _build_chart_data(ranked), matching[~first], everyone, groups
    )


def _build_chart_data(ranked: pd.DataFrame) -> RankingChartData:
    looks = {
        "name": [to_plain_line(name, _LABEL) for name in ranked["name"]],
        "colour": [colour_of(identity) for identity in ranked["identity"]],
    }
    painted = ranked[["score", "low", "high"]].assign(**looks)
    bars = mark_immutable(painted.head(MAX_BARS))
    summary = ", ".join(f"{n} {s:.1f}" for n, s in zip(bars["name"], bars["score"], strict=True))
    against = {what: painted.assign(cost=ranked[what].astype(float)) for what in AGAINST}
    paid = {what: frame[frame["cost"] > 0] for what, frame in against.items()}
    return RankingChartData(
        bars, summary, {what: mark_immutable(frame) for what, frame in paid.items() if len(frame)}
    )


@st.cache_resource(max_entries=_MAX_CACHED_BOARDS, show_spinner=False)
def _load_cached_history(
    key: str, identities: tuple[str, ...], _view: RankingView, _names: Mapping[str, str]
) -> pd.DataFrame:
    headers = select_runs_between(
        stored_boards.load_run_headers(_view.settings), _view.since, _view.until
    )
    scores = build_score_trend(headers, _view.board, _view.order, identities)
    return mark_immutable(scores.assign(series=scores["identity"].map(dict(_names))))


@st.cache_resource(max_entries=_MAX_CACHED_BOARDS, show_spinner=False)
def _load_cached_rules(
    version: str, base: str, suite: str, board: str, _base: Board, _view: RankingView
) -> tuple[ColumnDifference, ...]:
    headers = stored_boards.load_run_headers(_view.settings)
    return board_rules.find_column_differences(_view.settings, headers, _base, _view.board)
