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
from pages.components.text import escape, plain

PAGE = "ranking"
_MENU = "ranking.filters"
_RANGE = ("since", "until")
_SEVERAL = ("kind", "organization", "weights", "size", "price", "evidence")
#: Field of a wish -> its name in the URL, where they differ.
_NAMES = {"text": "q", "organization": "org"}
FOLDED = (*_SEVERAL, "complete")


class Period(NamedTuple):
    """The first and the last month of the runs, empty for no limit."""

    since: str
    until: str


def url_name(field: str) -> str:
    return _NAMES.get(field, field)


def reset() -> None:
    """Take every filter back, the search and the range of months among them."""
    url_state.clear(*(url_name(field) for field in ("text", *FOLDED, *_RANGE)))


def period(months: Sequence[str]) -> Period:
    """The range of months that is asked for; one that ends before it begins is turned round."""
    since, until = (url_state.one(["", *months], page=PAGE, name=name) for name in _RANGE)
    return Period(until, since) if since and until and since > until else Period(since, until)


def options(frame: pd.DataFrame, board: Board) -> dict[str, list[str]]:
    """What there is to choose from, by field."""
    makers = sorted({name for name in frame["organization"] if name and "," not in name})
    return {
        "kind": sorted(set(frame["kind"])),
        "organization": makers,
        "weights": [OPEN, CLOSED],
        "size": list(SIZES),
        "price": list(PRICES),
        "evidence": evidence_kinds(board),
    }


def wish(choices: dict[str, list[str]], text: str) -> BoardFilter:
    """What is asked for, before anything is drawn: the button tells how many filters are on."""
    chosen = {
        field: tuple(url_state.codes(known, page=PAGE, name=url_name(field)))
        for field, known in choices.items()
    }
    return BoardFilter(text=text, complete=url_state.is_on(page=PAGE, name="complete"), **chosen)  # type: ignore[arg-type]


def draw(
    choices: dict[str, list[str]], months: Sequence[str], asked: BoardFilter, tr: Translate
) -> None:
    """The button and what it unfolds."""
    said = sum(field in FOLDED for field in asked.active_fields) + any(period(months))
    label = tr("board.filters_on", count=said) if said else tr("board.filters")
    if _MENU in st.session_state:  # with another label it is another button to Streamlit
        st.session_state[_MENU] = st.session_state[_MENU]
    menu = st.popover(label, icon=":material/filter_list:", key=_MENU, on_change="rerun")
    if not menu.open:
        _choices(choices, months, tr, drawn=False)
        return
    with menu, st.container(width=420):
        _choices(choices, months, tr, drawn=True)
        st.button(
            tr("board.reset"),
            icon=":material/filter_list_off:",
            on_click=reset,
            disabled=not said and not asked.text,
        )


def _choices(
    choices: dict[str, list[str]], months: Sequence[str], tr: Translate, *, drawn: bool
) -> None:
    """All filters but the search."""
    if len(months) > 1:
        with st.container(horizontal=True) if drawn else nullcontext():
            for name in _RANGE:
                _month(name, months, tr, drawn)
    for field, known in choices.items():
        _choice(field, known, tr, drawn)
    url_state.toggle(
        tr("board.complete"),
        page=PAGE,
        name="complete",
        drawn=drawn,
        help=tr("board.complete_help"),
    )


def _month(name: str, months: Sequence[str], tr: Translate, drawn: bool) -> None:
    """The first or the last month."""
    url_state.select(
        tr(f"board.{name}"),
        ["", *months],
        page=PAGE,
        name=name,
        title=lambda month: month or tr("board.any_month"),
        drawn=drawn,
        width=180,
        help=tr("board.range_help"),
    )


def _choice(field: str, known: Sequence[str], tr: Translate, drawn: bool) -> None:
    """One filter; nothing where there is nothing to choose."""
    if not known:
        return
    many = field in ("kind", "organization")
    (url_state.many if many else url_state.pills)(
        tr(f"board.{field}"),
        known,
        page=PAGE,
        name=url_name(field),
        title=lambda code: value_title(field, code, tr),
        drawn=drawn,
        help=tr(f"board.{field}_help"),
        **({"placeholder": tr("board.any")} if many else {}),
    )


def tags(asked: BoardFilter, months: Period, tr: Translate) -> None:
    """What is on, each with a click that takes it back, and one for all of it."""
    told = {field: _told(asked, field, tr) for field in asked.active_fields}
    told |= {name: value for name, value in zip(_RANGE, months, strict=True) if value}
    if not told:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for field, value in told.items():
            name = tr(f"board.{field}")
            st.button(
                f"{name}: {escape(value)}" if value else name,
                key=f"ranking.tag.{field}",
                icon=":material/close:",
                help=tr("board.take_back"),
                on_click=url_state.clear,
                args=(url_name(field),),
            )
        if len(told) > 1:
            st.button(tr("board.reset"), key="ranking.tag.all", type="tertiary", on_click=reset)


def _told(asked: BoardFilter, field: str, tr: Translate) -> str:
    value = getattr(asked, field)
    if field in _SEVERAL:
        return ", ".join(value_title(field, code, tr) for code in value)
    return str(value) if field == "text" else ""


def value_title(field: str, code: str, tr: Translate) -> str:
    """A code of a filter in words."""
    if field == "kind":
        return shared.kind_title(code)
    if field == "organization":
        return plain(code, 60)
    return tr(f"common.evidence.{code}" if field == "evidence" else f"board.{field}.{code}")
