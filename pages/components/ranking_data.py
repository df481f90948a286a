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
from pages.components.text import plain

_KEPT = 32
_LABEL = 40  # characters
MOST_BARS = 40
#: What a score can be set against.
AGAINST = ("cost", "latency", "price")
_FEW = 8  # of what is asked for in as many ways as there are visitors


class View(NamedTuple):
    """A board as it is asked for: ranked by what, with the runs of which months. `version` is
    looked up once for all that is read for a page."""

    settings: Settings
    version: str
    board: Board
    order: str
    since: str = ""
    until: str = ""

    @property
    def key(self) -> str:
        """Changes whenever what is read of it may."""
        own = (self.board.suite, self.board.key, self.order, self.since, self.until)
        return "&".join([self.version, *own])


def version(settings: Settings) -> str:
    """Changes with every run and every card."""
    places = f"{settings.data}&{settings.shipped}"
    return (
        f"{places}&{stored_boards.compute_boards_signature(settings)}&{cards_signature(settings)}"
    )


class Drawn(NamedTuple):
    """What the charts draw of the ranked: label (as `name`), colour and score with its interval,
    and the first of them in words.

    `against` has those alone that cost something, by what it is: what all it is known of costs.
    """

    bars: pd.DataFrame
    said: str
    against: dict[str, pd.DataFrame]


class Rows(NamedTuple):
    """The rows of a table that fit a wish, in an order: all of them, those with a rank, what their
    charts draw, the others; and everyone with a rank, whose names come by group of ties."""

    found: pd.DataFrame
    ranked: pd.DataFrame
    drawn: Drawn
    others: pd.DataFrame
    everyone: pd.DataFrame
    groups: list[list[str]]


def choices(view: View) -> dict[str, list[str]]:
    """What rows can be filtered by, and the values of it that there are."""
    return _choices(view.key, view)


def rows(view: View, wish: BoardFilter, sort: str) -> Rows:
    """What a visitor asks for of a table."""
    return _rows(view.key, repr(wish), sort, view, wish)


def table(view: View) -> BoardTable:
    """The rows with all that is known of them."""
    return _table(view.key, view)


def history(view: View, names: Mapping[str, str]) -> pd.DataFrame:
    """The scores of some targets, given as identity to name, from run to run; `series` is the
    name."""
    return _history(view.key, tuple(names), view, names)


def rules(view: View, base: Board) -> tuple[ColumnDifference, ...]:
    """What sets the board apart from another one."""
    return _rules(view.version, base.key, view.board.suite, view.board.key, base, view)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _table(key: str, _view: View) -> BoardTable:
    return board_table(_view.settings, _view.board, _view.order, _view.since, _view.until)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _choices(key: str, _view: View) -> dict[str, list[str]]:
    return ranking_filters.options(table(_view).frame, _view.board)


@st.cache_resource(max_entries=_FEW, show_spinner=False)
def _rows(key: str, asked: str, sort: str, _view: View, _wish: BoardFilter) -> Rows:
    frame = table(_view).frame
    found = sort_board_rows(filter_board_rows(frame, _view.board, _wish), sort)
    first = found["status"] == "ranked"
    ranked = found[first]
    everyone = frame[frame["status"] == "ranked"]
    groups = ranking_words.tied(everyone)
    return Rows(found, ranked, _drawn(ranked), found[~first], everyone, groups)


def _drawn(ranked: pd.DataFrame) -> Drawn:
    looks = {
        "name": [plain(name, _LABEL) for name in ranked["name"]],
        "colour": [colour_of(identity) for identity in ranked["identity"]],
    }
    painted = ranked[["score", "low", "high"]].assign(**looks)
    bars = mark_immutable(painted.head(MOST_BARS))
    said = ", ".join(f"{n} {s:.1f}" for n, s in zip(bars["name"], bars["score"], strict=True))
    against = {what: painted.assign(cost=ranked[what].astype(float)) for what in AGAINST}
    paid = {what: frame[frame["cost"] > 0] for what, frame in against.items()}
    return Drawn(bars, said, {what: mark_immutable(one) for what, one in paid.items() if len(one)})


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _history(
    key: str, identities: tuple[str, ...], _view: View, _names: Mapping[str, str]
) -> pd.DataFrame:
    headers = select_runs_between(
        stored_boards.load_run_headers(_view.settings), _view.since, _view.until
    )
    found = build_score_trend(headers, _view.board, _view.order, identities)
    return mark_immutable(found.assign(series=found["identity"].map(dict(_names))))


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _rules(
    version: str, base: str, suite: str, board: str, _base: Board, _view: View
) -> tuple[ColumnDifference, ...]:
    headers = stored_boards.load_run_headers(_view.settings)
    return board_rules.find_column_differences(_view.settings, headers, _base, _view.board)
