"""Why a board stands by itself: what sets it apart from the default one, and from all others."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries import board_words
from evalcore.queries.board_rules import ColumnDifference
from evalcore.queries.boards import Board
from evalcore.queries.comparison_runs import RuleDifference
from pages.components import board as shared
from pages.components import ranking_data
from pages.components.language import Translate, current
from pages.components.ranking_data import View
from pages.components.text import escape, plain

_MOST = 12  # differences that are listed of a benchmark


def about(board: Board, by: str) -> None:
    """The ranking in a sentence or two."""
    st.caption(board_words.board_about(board, by, current(), lambda title: escape(title, 200)))


def why(view: View, base: Board, tr: Translate) -> None:
    """A button that unfolds why boards are never mixed, and what is peculiar to this one."""
    menu = st.popover(
        tr("board.why"),
        type="tertiary",
        icon=":material/help:",
        key="ranking.why",
        on_change="rerun",
    )
    if menu.open:
        with menu, st.container(width=520):
            _why(view, base, tr)


def _why(view: View, base: Board, tr: Translate) -> None:
    st.markdown(tr("board.why_about"))
    if view.board.key == base.key:
        st.markdown(tr("board.why_default"))
        return
    title = escape(shared.board_title(base), 200)
    st.markdown(tr("board.why_this", base=title))
    for one in ranking_data.rules(view, base):
        st.markdown(f"**{escape(shared.benchmark_title(one.benchmark))}**")
        if one.differences:
            _differences(one.differences, tr)
        else:
            st.markdown(_columns(one, tr))


def _columns(one: ColumnDifference, tr: Translate) -> str:
    """Both columns in words, where the runs do not declare what sets them apart."""
    ours = escape(shared.column_title(one.base), 200) if one.base else DASH
    return tr("board.why_column", base=ours, other=escape(shared.column_title(one.other), 200))


def _differences(told: Sequence[RuleDifference], tr: Translate) -> None:
    st.table(
        {
            tr("board.rule"): [_rule(one.rule, tr) for one in told[:_MOST]],
            tr("board.default_board"): [_value(one.base) for one in told[:_MOST]],
            tr("board.this_board"): [_value(one.other) for one in told[:_MOST]],
        },
        border="horizontal",
    )


def _rule(name: str, tr: Translate) -> str:
    """A declared rule in words; an option or a weight keeps its own name."""
    group, dot, own = name.partition(".")
    return f"{tr(f'board.rule.{group}')}{': ' if dot else ''}{escape(own)}"


def _value(text: str) -> str:
    return escape(plain(text, 40), 40) if text else DASH
