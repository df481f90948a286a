"""The board that a page shows: its choice, its frames, the titles on it, and a note where there is
nothing to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views import board_titles, boards, stored_boards, targets
from evalcore.views.boards import Board
from evalcore.views.stored_boards import Headers
from pages.shared import page_links, url_state, visitor, widgets
from pages.shared.url_state import TablePage
from pages.shared.wording import current_language, escape_markdown, to_plain_line, tr


def select_board(
    headers: Headers, page: str, identity: str = "", *, suite: str = "", compact: bool = False
) -> Board | None:
    """The board the URL names, with pickers where there is a choice; None without any score. With
    an `identity` only the boards on which that target has a score. A `suite` that was chosen is not
    asked for; `compact` hides the title of the picker."""
    look: dict[str, Any] = {"label_visibility": "collapsed"} if compact else {}
    owned = targets.list_target_runs(headers, identity) if identity else headers
    suites = boards.list_suites(owned)
    if not suites:
        return None
    chosen = suite or select_suite(suites, page, **look)
    boards_by_key = {
        board.key: board
        for board in boards.list_boards(headers, chosen)
        if not identity
        or any(row.identity == identity for row in boards.list_board_rows(headers, board))
    }
    if not boards_by_key:
        return None
    titles = _disambiguate_board_titles(boards_by_key)
    key = url_state.draw_select(
        tr("ranking.board"),
        list(boards_by_key),
        f"{page}.board",
        titles.__getitem__,
        drawn_alone=False,
        **(look or {"help": tr("ranking.board_help")}),
        width=230 if compact else 330,
    )
    return boards_by_key[key]


def select_suite(suites: Sequence[str], page: str, **look: Any) -> str:
    """One of the suites, asked only where there are several."""
    look = {"width": 140, "drawn_alone": False, **look}
    return url_state.draw_select(tr("ranking.suite"), suites, f"{page}.suite", suite_title, **look)


def select_benchmark(benchmarks: Sequence[str], key: str, **look: Any) -> str:
    """One of the benchmarks, "" being all of them."""

    def format_title(code: str) -> str:
        return benchmark_title(code) if code else tr("common.all")

    return url_state.draw_select(tr("common.benchmark"), benchmarks, key, format_title, **look)


def select_metric(benchmark: str, metrics: Sequence[str], key: str, **look: Any) -> str:
    """One of the metrics of a benchmark, "" being all of them."""

    def format_title(code: str) -> str:
        return metric_title(benchmark, code) if code else tr("common.all")

    return url_state.draw_select(tr("common.metric"), metrics, key, format_title, **look)


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


def _in_session_language(build_title: Callable[..., str]) -> Callable[..., str]:
    return lambda *names: build_title(*names, current_language())


board_title = _in_session_language(board_titles.board_title)
describe_score = _in_session_language(board_titles.describe_score)
suite_title = _in_session_language(board_titles.suite_title)
benchmark_title = _in_session_language(board_titles.benchmark_title)
metric_title = _in_session_language(board_titles.metric_title)
kind_title = _in_session_language(board_titles.kind_title)
part_title = _in_session_language(board_titles.part_title)


def format_bold(name: str) -> str:
    """A name from outside in bold, for a sentence that is Markdown."""
    return f"**{escape_markdown(name, 60)}**"


_ACTIONS = {
    page_links.LAUNCH: ("ranking.empty_action", "rocket_launch"),
    page_links.RANKING: ("target.to_ranking", "leaderboard"),
}


def draw_empty_note(key: str, target: str, **values: str) -> None:
    """The texts `key`_title and `key`, and a link to another page; `values` must be escaped."""
    label, icon = _ACTIONS[target]
    with widgets.draw_centred_note(tr(f"{key}_title"), tr(key, **values)):
        if target != page_links.LAUNCH or visitor.is_launcher_listed():
            widgets.draw_link(target, tr(label), icon)


def require_scored_headers(settings: Settings, empty: str) -> Headers:
    """The headers of all finished runs; the page ends here where the store cannot be read, or
    where no run has a score, which the texts `empty`_title and `empty` tell."""
    headers = require_finished_headers(settings)
    if not boards.list_suites(headers):
        draw_empty_note(empty, page_links.LAUNCH)
        st.stop()
    return headers


def require_finished_headers(settings: Settings) -> Headers:
    """The headers of all finished runs, with a score or without; the page ends here where the store
    cannot be read."""
    with show_store_error():
        return stored_boards.load_run_headers(settings)
    st.stop()


def show_store_error() -> AbstractContextManager[None]:
    """The store cannot be read, and why."""
    return widgets.show_errors("ranking.no_index")


@contextmanager
def draw_unranked_frame(cut: TablePage, board: Board) -> Iterator[None]:
    """The heading and the foot of a table of targets without a rank."""
    st.subheader(tr("ranking.unranked"), anchor=False)
    yield
    url_state.draw_table_pager(cut)
    published = "ranking.unranked_published"
    st.caption(tr(published if board.published else "ranking.unranked_about"))
