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
from pages.components.language import Translate, current_language
from pages.components.ranking_data import RankingView
from pages.components.text import escape_markdown, to_plain_line

_MAX_DIFFERENCES = 12  # differences that are listed of a benchmark


def draw_board_about(board: Board, by: str) -> None:
    """The ranking in a sentence or two."""
    st.caption(
        board_words.board_about(
            board, by, current_language(), lambda title: escape_markdown(title, 200)
        )
    )


def draw_separation_menu(view: RankingView, base: Board, tr: Translate) -> None:
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
            _draw_board_separation(view, base, tr)


def _draw_board_separation(view: RankingView, base: Board, tr: Translate) -> None:
    st.markdown(tr("board.why_about"))
    if view.board.key == base.key:
        st.markdown(tr("board.why_default"))
        return
    title = escape_markdown(shared.board_title(base), 200)
    st.markdown(tr("board.why_this", base=title))
    for separation in ranking_data.load_rule_differences(view, base):
        st.markdown(f"**{escape_markdown(shared.benchmark_title(separation.benchmark))}**")
        if separation.differences:
            _draw_rule_differences(separation.differences, tr)
        else:
            st.markdown(_format_column_pair(separation, tr))


def _format_column_pair(separation: ColumnDifference, tr: Translate) -> str:
    """Both columns in words, where the runs do not declare what sets them apart."""
    ours = escape_markdown(shared.column_title(separation.base), 200) if separation.base else DASH
    return tr(
        "board.why_column",
        base=ours,
        other=escape_markdown(shared.column_title(separation.other), 200),
    )


def _draw_rule_differences(differences: Sequence[RuleDifference], tr: Translate) -> None:
    st.table(
        {
            tr("board.rule"): [
                _format_rule_name(difference.rule, tr)
                for difference in differences[:_MAX_DIFFERENCES]
            ],
            tr("board.default_board"): [
                _format_board_rule_value(difference.base)
                for difference in differences[:_MAX_DIFFERENCES]
            ],
            tr("board.this_board"): [
                _format_board_rule_value(difference.other)
                for difference in differences[:_MAX_DIFFERENCES]
            ],
        },
        border="horizontal",
    )


def _format_rule_name(name: str, tr: Translate) -> str:
    """A declared rule in words; an option or a weight keeps its own name."""
    group, dot, own = name.partition(".")
    return f"{tr(f'board.rule.{group}')}{': ' if dot else ''}{escape_markdown(own)}"


def _format_board_rule_value(text: str) -> str:
    return escape_markdown(to_plain_line(text, 40), 40) if text else DASH
