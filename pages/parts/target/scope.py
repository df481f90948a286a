"""The boards of a scope: a target ranked with all others on the cases that it was declared for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views.board_titles import DIALECT_TITLES
from evalcore.views.scope_board import ScopeBoard, build_scope_boards
from pages.shared import display_names, page_links, tables, widgets
from pages.shared.board_view import benchmark_title
from pages.shared.wording import escape_markdown, join_names, to_plain_line, tr

_OPENED = "target.open_scope_row"


def draw_scope_boards(runs: Sequence[str], settings: Settings) -> None:
    """A table for each benchmark of the runs, those ranked on every case of the scope."""
    with widgets.show_errors("target.scope_broken", draw=st.warning):
        for run in runs:
            for board in build_scope_boards(run, settings):
                _draw_scope_board(board)


def _draw_scope_board(board: ScopeBoard) -> None:
    st.subheader(escape_markdown(benchmark_title(board.benchmark)), anchor=False)
    names = (DIALECT_TITLES.get(name, name) for group in board.scope.values() for name in group)
    scope = escape_markdown(join_names(names), 200)
    st.caption(tr("target.scope_about", cases=board.cases, total=board.total, scope=scope))
    if not board.rows:
        st.info(tr("target.scope_nobody"))
        return
    _draw_scope_rows(board, f"{_OPENED}.{board.benchmark}")


def _draw_scope_rows(board: ScopeBoard, key: str) -> None:
    """The ranks; a click on a name opens its target."""
    clicked = tables.read_clicked_row(key, len(board.rows))
    if clicked is not None:
        st.switch_page(page_links.TARGET, query_params={"key": board.rows[clicked].identity})
    named = display_names.resolve_target_names({row.identity: row.target_key for row in board.rows})
    columns: dict[str, Any] = {
        "rank": [
            tables.format_number_range(row.rank.low, row.rank.high, "{:.0f}") for row in board.rows
        ],
        "name": [
            ("➤ " if row.own else "") + to_plain_line(named[row.identity]) for row in board.rows
        ],
        "score": [row.rank.score for row in board.rows],
    }
    config = {
        "rank": tables.text_column("ranking.rank_range", "small"),
        "name": tables.link_column("common.target", key),
        "score": tables.number_column("common.score", "%.1f"),
    }
    tables.draw_grid(columns, config, tr("target.scope_alt"), tables.EVERY_ROW)
