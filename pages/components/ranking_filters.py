"""The filters of the Ranking page: folded into one button, in the URL by code, each on a tag of its
own while it is on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

import pandas as pd
import streamlit as st

from evalcore.queries.board_filters import PRICES, SIZES, BoardFilter, evidence_kinds
from evalcore.queries.boards import Board
from evalcore.queries.facts import CLOSED, OPEN
from pages.components import board as shared
from pages.components import url_state
from pages.components.language import Translate
from pages.components.text import escape_markdown, to_plain_line

PAGE = "ranking"
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
        url_state.read_selected_code(["", *months], page=PAGE, name=name) for name in _RANGE
    )
    return (
        MonthRange(until, since) if since and until and since > until else MonthRange(since, until)
    )


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
        field: tuple(url_state.read_selected_codes(values, page=PAGE, name=filter_url_name(field)))
        for field, values in choices.items()
    }
    return BoardFilter(
        text=text, complete=url_state.is_toggle_on(page=PAGE, name="complete"), **chosen
    )  # type: ignore[arg-type]


def draw_filter_menu(
    choices: dict[str, list[str]], months: Sequence[str], board_filter: BoardFilter, tr: Translate
) -> None:
    """The button and what it unfolds."""
    active_count = sum(field in FOLDED for field in board_filter.active_fields) + any(
        read_month_range(months)
    )
    label = tr("board.filters_on", count=active_count) if active_count else tr("board.filters")
    if _MENU in st.session_state:  # with another label it is another button to Streamlit
        st.session_state[_MENU] = st.session_state[_MENU]
    menu = st.popover(label, icon=":material/filter_list:", key=_MENU, on_change="rerun")
    if not menu.open:
        _draw_filters(choices, months, tr, drawn=False)
        return
    with menu, st.container(width=420):
        _draw_filters(choices, months, tr, drawn=True)
        st.button(
            tr("board.reset"),
            icon=":material/filter_list_off:",
            on_click=reset_ranking_filters,
            disabled=not active_count and not board_filter.text,
        )


def _draw_filters(
    choices: dict[str, list[str]], months: Sequence[str], tr: Translate, *, drawn: bool
) -> None:
    """All filters but the search."""
    if len(months) > 1:
        with st.container(horizontal=True) if drawn else nullcontext():
            for name in _RANGE:
                _select_month(name, months, tr, drawn)
    for field, values in choices.items():
        _draw_filter_choice(field, values, tr, drawn)
    url_state.draw_toggle(
        tr("board.complete"),
        page=PAGE,
        name="complete",
        drawn=drawn,
        help=tr("board.complete_help"),
    )


def _select_month(name: str, months: Sequence[str], tr: Translate, drawn: bool) -> None:
    """The first or the last month."""
    url_state.draw_select(
        tr(f"board.{name}"),
        ["", *months],
        page=PAGE,
        name=name,
        title=lambda month: month or tr("board.any_month"),
        drawn=drawn,
        width=180,
        help=tr("board.range_help"),
    )


def _draw_filter_choice(field: str, values: Sequence[str], tr: Translate, drawn: bool) -> None:
    """One filter; nothing where there is nothing to choose."""
    if not values:
        return
    is_long = field in ("kind", "organization")
    (url_state.draw_multiselect if is_long else url_state.draw_pills)(
        tr(f"board.{field}"),
        values,
        page=PAGE,
        name=filter_url_name(field),
        title=lambda code: filter_value_title(field, code, tr),
        drawn=drawn,
        help=tr(f"board.{field}_help"),
        **({"placeholder": tr("board.any")} if is_long else {}),
    )


def draw_filter_tags(board_filter: BoardFilter, months: MonthRange, tr: Translate) -> None:
    """What is on, each with a click that takes it back, and one for all of it."""
    labels = {
        field: _format_filter_value(board_filter, field, tr) for field in board_filter.active_fields
    }
    labels |= {name: value for name, value in zip(_RANGE, months, strict=True) if value}
    if not labels:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for field, value in labels.items():
            name = tr(f"board.{field}")
            st.button(
                f"{name}: {escape_markdown(value)}" if value else name,
                key=f"ranking.tag.{field}",
                icon=":material/close:",
                help=tr("board.take_back"),
                on_click=url_state.clear_filters,
                args=(filter_url_name(field),),
            )
        if len(labels) > 1:
            st.button(
                tr("board.reset"),
                key="ranking.tag.all",
                type="tertiary",
                on_click=reset_ranking_filters,
            )


def _format_filter_value(board_filter: BoardFilter, field: str, tr: Translate) -> str:
    value = getattr(board_filter, field)
    if field in _SEVERAL:
        return ", ".join(filter_value_title(field, code, tr) for code in value)
    return str(value) if field == "text" else ""


def filter_value_title(field: str, code: str, tr: Translate) -> str:
    """A code of a filter in words."""
    if field == "kind":
        return shared.kind_title(code)
    if field == "organization":
        return to_plain_line(code, 60)
    return tr(f"common.evidence.{code}" if field == "evidence" else f"board.{field}.{code}")
