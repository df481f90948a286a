"""The rows of a ranking: read once per state of the store, filtered by what the URL names, and said
in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import msgspec
import pandas as pd
import streamlit as st

from evalcore.charts.plots import mark_immutable
from evalcore.i18n import DEFAULT, name_term
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.target_cards import cards_signature, colour_of
from evalcore.views import board_titles, boards, comparison_runs, stored_boards
from evalcore.views.board_table import (
    CLOSED,
    OPEN,
    PRICES,
    SIZES,
    BoardFilter,
    BoardTable,
    board_table,
    evidence_kinds,
    filter_board_rows,
)
from evalcore.views.boards import Board
from evalcore.views.comparison_runs import ColumnDifference
from evalcore.views.ranking import list_board_orders, list_sort_keys, sort_board_rows, tie_groups
from evalcore.views.stored_boards import build_score_trend, select_runs_between
from pages.shared import board_view as shared
from pages.shared import url_state
from pages.shared.board_view import format_bold
from pages.shared.wording import (
    current_language,
    escape_markdown,
    format_fact,
    join_names,
    to_plain_line,
    tr,
)

# What a ranking says in a sentence: who leads, and what cannot be told apart.


def group_tied_names(frame: pd.DataFrame) -> list[list[str]]:
    """The names of the ranked by group of ties, the best group first."""
    names = dict(zip(frame["identity"].tolist(), frame["name"].tolist(), strict=True))
    return [[names[who] for who in group] for group in tie_groups(frame)]


def describe_tie_groups(groups: list[list[str]]) -> str:
    """One or two sentences on what `group_tied_names` found, as Markdown with the names escaped;
    empty where nobody is ranked."""
    return board_titles.describe_ranking(groups, current_language(), format_bold)


def describe_group_count(groups: list[list[str]]) -> str:
    """How many groups the ranked form; empty where there is but one."""
    if len(groups) < 2:
        return ""
    return tr("ranking.groups", groups=len(groups), targets=sum(map(len, groups)))


# The filters of the Ranking page: folded into one button, in the URL by code, each on a tag of
# its own while it is on.

_MENU = "ranking.filters"
_RANGE = ("since", "until")
_SEVERAL = ("kind", "organization", "weights", "size", "price", "evidence")
#: Field of a wish -> its name in the URL, where they differ.
_NAMES = {"text": "q", "organization": "org"}
FOLDED = (*_SEVERAL, "complete")


class MonthRange(NamedTuple):
    """The first and the last month of the runs, empty for no limit."""

    since: str
    until: str


def filter_url_name(field: str) -> str:
    return _NAMES.get(field, field)


def reset_ranking_filters() -> None:
    """Take every filter back, the search and the range of months among them."""
    url_state.clear_filters(*(filter_url_name(field) for field in ("text", *FOLDED, *_RANGE)))


def read_month_range(months: Sequence[str]) -> MonthRange:
    """The range of months that is asked for; one that ends before it begins is turned round."""
    since, until = (
        url_state.read_selected_code(["", *months], key=f"ranking.{name}") for name in _RANGE
    )
    turned = bool(since and until and since > until)
    return MonthRange(until, since) if turned else MonthRange(since, until)


def list_filter_options(frame: pd.DataFrame, board: Board) -> dict[str, list[str]]:
    """What there is to choose from, by field."""
    organizations = sorted({name for name in frame["organization"] if name and "," not in name})
    return {
        "kind": sorted(set(frame["kind"])),
        "organization": organizations,
        "weights": [OPEN, CLOSED],
        "size": list(SIZES),
        "price": list(PRICES),
        "evidence": evidence_kinds(board),
    }


def read_board_filter(choices: dict[str, list[str]], text: str) -> BoardFilter:
    """What is asked for, before anything is drawn: the button tells how many filters are on."""
    chosen = {
        field: tuple(url_state.read_selected_codes(values, key=f"ranking.{filter_url_name(field)}"))
        for field, values in choices.items()
    }
    return BoardFilter(text=text, complete=url_state.is_toggle_on(key="ranking.complete"), **chosen)  # type: ignore[arg-type]


def draw_filter_menu(
    choices: dict[str, list[str]], months: Sequence[str], board_filter: BoardFilter
) -> None:
    """The button and what it unfolds."""
    active = sum(field in FOLDED for field in board_filter.active_fields)
    active_count = active + any(read_month_range(months))
    label = tr("board.filters_on", count=active_count) if active_count else tr("board.filters")
    menu = url_state.draw_menu(label, "filter_list", _MENU)
    if not menu.open:
        _draw_filters(choices, months, drawn=False)
        return
    with menu, st.container(width=420):
        _draw_filters(choices, months, drawn=True)
        st.button(
            tr("board.reset"),
            icon=":material/filter_list_off:",
            on_click=reset_ranking_filters,
            disabled=not active_count and not board_filter.text,
        )


def _draw_filters(choices: dict[str, list[str]], months: Sequence[str], *, drawn: bool) -> None:
    """All filters but the search."""
    if len(months) > 1:
        with st.container(horizontal=True) if drawn else nullcontext():
            for name in _RANGE:
                _select_month(name, months, drawn)
    for field, values in choices.items():
        _draw_filter_choice(field, values, drawn)
    url_state.draw_toggle(
        tr("board.complete"), key="ranking.complete", drawn=drawn, help=tr("board.complete_help")
    )


def _select_month(name: str, months: Sequence[str], drawn: bool) -> None:
    """The first or the last month."""
    url_state.draw_select(
        tr(f"board.{name}"),
        ["", *months],
        key=f"ranking.{name}",
        title=lambda month: month or tr("board.any_month"),
        drawn=drawn,
        width=180,
        help=tr("board.range_help"),
    )


def _draw_filter_choice(field: str, values: Sequence[str], drawn: bool) -> None:
    """One filter; nothing where there is nothing to choose."""
    if not values:
        return
    is_long = field in ("kind", "organization")
    (url_state.draw_multiselect if is_long else url_state.draw_pills)(
        tr(f"board.{field}"),
        values,
        key=f"ranking.{filter_url_name(field)}",
        title=lambda code: filter_value_title(field, code),
        drawn=drawn,
        help=tr(f"board.{field}_help"),
        **({"placeholder": tr("board.any")} if is_long else {}),
    )


def draw_filter_tags(board_filter: BoardFilter, months: MonthRange) -> None:
    """What is on, each with a click that takes it back, and one for all of it."""
    labels = {
        field: _format_filter_value(board_filter, field) for field in board_filter.active_fields
    }
    labels |= {name: value for name, value in zip(_RANGE, months, strict=True) if value}
    if not labels:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for field, value in labels.items():
            name = tr(f"board.{field}")
            st.button(
                format_fact(name, escape_markdown(value)) if value else name,
                key=f"ranking.tag.{field}",
                icon=":material/close:",
                help=tr("board.take_back"),
                on_click=url_state.clear_filters,
                args=(filter_url_name(field),),
            )
        if len(labels) > 1:
            look = {"type": "tertiary", "on_click": reset_ranking_filters}
            st.button(tr("board.reset"), key="ranking.tag.all", **look)


def _format_filter_value(board_filter: BoardFilter, field: str) -> str:
    value = getattr(board_filter, field)
    if field in _SEVERAL:
        return join_names(filter_value_title(field, code) for code in value)
    return str(value) if field == "text" else ""


def filter_value_title(field: str, code: str) -> str:
    """A code of a filter in words."""
    if field == "kind":
        return shared.kind_title(code)
    if field == "organization":
        return to_plain_line(code, 60)
    return tr(f"common.evidence.{code}" if field == "evidence" else f"board.{field}.{code}")


# What the Ranking page reads: made once per state of the store, shared by all visitors, and never
# changed by any of them.

_MAX_CACHED_BOARDS = 32
_LABEL = 40  # characters
MAX_BARS = 40
#: What a score can be set against.
AGAINST = ("cost", "latency", "price")
_MAX_CACHED_SEARCHES = 8  # of what is asked for in as many ways as there are visitors


class RankingView(NamedTuple):
    """A board as it is asked for: ranked by what, with the runs of which months, its targets named
    in which language. `version` is looked up once for all that is read for a page."""

    settings: Settings
    version: str
    board: Board
    order: str
    since: str = ""
    until: str = ""
    language: str = DEFAULT

    @property
    def cache_key(self) -> str:
        """Changes whenever what is read of it may."""
        own = (self.board.suite, self.board.key, self.order, self.since, self.until, self.language)
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


_tables: SingleFlightCache[BoardTable] = SingleFlightCache(_MAX_CACHED_BOARDS)
_choices: SingleFlightCache[dict[str, list[str]]] = SingleFlightCache(_MAX_CACHED_BOARDS)
_rows: SingleFlightCache[RankingRows] = SingleFlightCache(_MAX_CACHED_SEARCHES)
_histories: SingleFlightCache[pd.DataFrame] = SingleFlightCache(_MAX_CACHED_BOARDS)
_rule_differences: SingleFlightCache[tuple[ColumnDifference, ...]] = SingleFlightCache(
    _MAX_CACHED_BOARDS
)


def load_filter_choices(view: RankingView) -> dict[str, list[str]]:
    """What rows can be filtered by, and the values of it that there are."""
    return _choices.get(
        view.cache_key, lambda: list_filter_options(load_board_table(view).frame, view.board)
    )


def load_ranking_rows(view: RankingView, board_filter: BoardFilter, sort: str) -> RankingRows:
    """What a visitor asks for of a table."""
    key = (view.cache_key, repr(board_filter), sort)
    return _rows.get(
        key,
        lambda: select_ranking_rows(load_board_table(view).frame, view.board, board_filter, sort),
    )


def load_board_table(view: RankingView) -> BoardTable:
    """The rows with all that is known of them."""

    def build_table() -> BoardTable:
        table = board_table(view.settings, view.board, view.order, view.since, view.until)
        names = [name_term(name, view.language) for name in table.frame["name"]]
        return msgspec.structs.replace(table, frame=table.frame.assign(name=names))

    return _tables.get(view.cache_key, build_table)


def load_score_history(view: RankingView, names: Mapping[str, str]) -> pd.DataFrame:
    """The scores of some targets, given as identity to name, from run to run; `series` is the
    name."""
    return _histories.get((view.cache_key, tuple(names)), lambda: _build_score_history(view, names))


def load_rule_differences(view: RankingView, base: Board) -> tuple[ColumnDifference, ...]:
    """What sets the board apart from another one."""
    key = (view.version, base.key, view.board.suite, view.board.key)
    headers = stored_boards.load_run_headers(view.settings)
    return _rule_differences.get(
        key,
        lambda: comparison_runs.find_column_differences(view.settings, headers, base, view.board),
    )


def select_ranking_rows(
    frame: pd.DataFrame, board: Board, board_filter: BoardFilter, sort: str
) -> RankingRows:
    """The rows of the frame of a `BoardTable` that fit a filter, in an order."""
    matching = sort_board_rows(filter_board_rows(frame, board, board_filter), sort)
    first = matching["status"] == "ranked"
    ranked = matching[first]
    everyone = frame[frame["status"] == "ranked"]
    groups = group_tied_names(everyone)
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


def _build_score_history(view: RankingView, names: Mapping[str, str]) -> pd.DataFrame:
    headers = select_runs_between(
        stored_boards.load_run_headers(view.settings), view.since, view.until
    )
    scores = build_score_trend(headers, view.board, view.order, tuple(names))
    return mark_immutable(scores.assign(series=scores["identity"].map(dict(names))))


# What the first visitor would otherwise wait for: the code of all pages, the rows of the boards
# that are shown first.


def warm_up_pages(settings: Settings) -> None:
    """Load the parts of all pages, then what the Ranking page shows where nothing is asked for.
    Raises what reading the store does."""
    root = Path(__file__).parents[1]
    for path in [*root.glob("shared/*.py"), *root.glob("parts/*/*.py")]:
        import_module(".".join(["pages", *path.relative_to(root).with_suffix("").parts]))
    headers = stored_boards.load_run_headers(settings)
    for suite in boards.list_suites(headers):
        board = boards.list_boards(headers, suite)[0]
        view = RankingView(
            settings, compute_store_version(settings), board, list_board_orders(board)[0]
        )
        load_ranking_rows(view, BoardFilter(), list_sort_keys(board)[0])
        load_filter_choices(view)
