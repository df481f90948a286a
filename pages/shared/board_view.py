"""The board that a page shows: its choice, its frames, the titles on it, and a note where there is
nothing to show.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.settings import Settings
from evalcore.views import board_titles, boards, stored_boards, targets
from evalcore.views.boards import Board, Column
from evalcore.views.metric_board import MetricView
from evalcore.views.stored_boards import Headers
from pages.shared import page_links, url_state, visitor
from pages.shared.wording import Translate, current_language, escape_markdown, to_plain_line

# What the pages of a board share: which board is shown, its frames, the names on it.
# Frames are kept for all sessions until a run on the board changes.


def select_board(headers: Headers, page: str, tr: Translate, identity: str = "") -> Board | None:
    """The board the URL names, with pickers where there is a choice; None without any score.

    With an `identity` only the boards on which that target has a score.
    """
    suites = boards.list_suites(
        targets.list_target_runs(headers, identity) if identity else headers
    )
    if not suites:
        return None
    suite = _select_suite(suites, page, tr)
    boards_by_key = {
        board.key: board
        for board in boards.list_boards(headers, suite)
        if not identity
        or any(row.identity == identity for row in boards.list_board_rows(headers, board))
    }
    if len(boards_by_key) < 2:
        only_board = next(iter(boards_by_key.values()), None)
        if only_board is not None:
            title = board_title(only_board)
            label = tr("ranking.board")
            url_state.pin_choice(
                label, only_board.key, page=page, name="board", title=lambda code: title
            )
        return only_board
    titles = _disambiguate_board_titles(boards_by_key)
    key = url_state.draw_select(
        tr("ranking.board"),
        list(boards_by_key),
        page=page,
        name="board",
        title=lambda code: titles[code],
        help=tr("ranking.board_help"),
        width=330,
    )
    return boards_by_key[key]


def _select_suite(suites: Sequence[str], page: str, tr: Translate) -> str:
    label = tr("ranking.suite")
    titles = {code: suite_title(code) for code in suites}
    if len(suites) > 1:
        return url_state.draw_select(
            label, suites, page=page, name="suite", title=titles.__getitem__, width=140
        )
    url_state.pin_choice(label, suites[0], page=page, name="suite", title=titles.__getitem__)
    return suites[0]


def load_board_ranking(settings: Settings, board: Board, order: str = "") -> pd.DataFrame:
    """The ranking of a board, kept while its runs are unchanged."""
    return stored_boards.load_cached_ranking(settings, board, order)


def _disambiguate_board_titles(boards_by_key: Mapping[str, Board]) -> dict[str, str]:
    """The titles of boards by key; those that read alike, such as two versions of a data set, are
    followed by the day of their newest run and the beginning of their key."""
    titles = {key: board_title(board) for key, board in boards_by_key.items()}
    title_counts = Counter(titles.values())
    for key, title in titles.items():
        if title_counts[title] > 1:
            newest = max(column.newest for column in boards_by_key[key].columns.values())
            titles[key] = f"{title} · {newest[:10]} · {to_plain_line(key, 8)}"
    return titles


def metric_view(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """One metric across the targets of a board, kept while its runs are unchanged."""
    return stored_boards.load_cached_metric(settings, board, benchmark, metric)


def board_title(board: Board) -> str:
    """The columns of a board in words; of a published one its publication."""
    return board_titles.board_title(board, current_language())


def column_title(column: Column) -> str:
    """Data set, mode and size of one column."""
    return board_titles.column_title(column, current_language())


def describe_score(score: Mapping[str, Any]) -> str:
    """What a score rests on, as `board_words.describe` tells it."""
    return board_titles.describe_score(score, current_language())


def suite_title(suite: str) -> str:
    return board_titles.suite_title(suite, current_language())


def benchmark_title(benchmark: str) -> str:
    return board_titles.benchmark_title(benchmark, current_language())


def metric_title(benchmark: str, metric: str) -> str:
    return board_titles.metric_title(benchmark, metric, current_language())


def part_title(part: str) -> str:
    """The title of a benchmark or of a "benchmark/metric"."""
    return board_titles.part_title(part, current_language())


def order_title(order: str) -> str:
    """What a board is ranked by."""
    return board_titles.order_title(order, current_language())


def kind_title(kind: str) -> str:
    """The title of a kind of target, by its prefix."""
    return board_titles.kind_title(kind, current_language())


def format_bold(name: str) -> str:
    """A name from outside in bold, for a sentence that is Markdown."""
    return f"**{escape_markdown(name, 60)}**"


def cost_format(costs: pd.Series[float]) -> str:
    """A number format with two digits of the smallest cost above zero, the same for a column."""
    above = costs.astype(float)[costs.astype(float) > 0]
    digits = 2 if above.empty else min(6, max(2, 1 - math.floor(math.log10(above.min()))))
    return f"$%.{digits}f"


def format_number_range(low: float, high: float, template: str) -> str:
    """An interval as "85.2 – 95.3", one number where both ends read the same, else empty."""
    if pd.isna(low) or pd.isna(high):
        return ""
    first, last = template.format(low), template.format(high)
    return first if first == last else f"{first} – {last}"


# A note in the middle of a page that has nothing to show: why, and what to do about it.

_ACTIONS = {
    page_links.LAUNCH: ("ranking.empty_action", ":material/rocket_launch:"),
    page_links.RANKING: ("target.to_ranking", ":material/leaderboard:"),
}


def draw_empty_note(key: str, target: str, tr: Translate, **values: str) -> None:
    """The texts `key`_title and `key`, and a link to another page; `values` must be escaped."""
    label, icon = _ACTIONS[target]
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr(f'{key}_title')}", width="content")
        st.markdown(tr(key, **values), width="content")
        if target != page_links.LAUNCH or visitor.is_launcher_listed():
            st.page_link(target, label=tr(label), icon=icon)


# The finished runs for a page of boards, or the reason why it has nothing to show.


def require_scored_headers(settings: Settings, empty: str, tr: Translate) -> Headers:
    """The headers of all finished runs; the page ends here where the store cannot be read, or
    where no run has a score, which the texts `empty`_title and `empty` tell."""
    headers = require_finished_headers(settings, tr)
    if not boards.list_suites(headers):
        draw_empty_note(empty, page_links.LAUNCH, tr)
        st.stop()
    return headers


def require_finished_headers(settings: Settings, tr: Translate) -> Headers:
    """The headers of all finished runs, with a score or without; the page ends here where the store
    cannot be read."""
    try:
        return stored_boards.load_run_headers(settings)
    except EvalboardError as error:
        draw_store_error(error, tr)
        st.stop()


def draw_store_error(error: EvalboardError, tr: Translate) -> None:
    """The store cannot be read, and why."""
    st.error(tr("ranking.no_index", reason=escape_markdown(error, 400)), icon=":material/error:")
