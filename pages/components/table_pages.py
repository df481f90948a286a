"""Long tables a page at a time: what a visitor is sent does not grow with the board.

A table's rows are ordered and narrowed on the server, over all of them; the number of the page is
in the URL, and a file to save holds every row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.records import content_hash
from pages.components import url_state
from pages.components.language import Translate

ROWS = 100  # of a page


class Cut(NamedTuple):
    """A page of a table: its rows, its number from 1, how many there are, and of how many rows."""

    rows: pd.DataFrame
    number: int
    pages: int
    total: int

    @property
    def said(self) -> tuple[int, int]:
        """The places of its first and last row, from 1."""
        first = ROWS * (self.number - 1) + 1
        return first, first + len(self.rows) - 1


def cut(frame: pd.DataFrame, page: str, name: str, *of: Any) -> Cut:
    """The page that the URL asks for by `name`; another list, which `of` tells, begins anew."""
    pages = max(1, -(-len(frame) // ROWS))
    if pages == 1:
        return Cut(frame, 1, 1, len(frame))
    number = min(pages, url_state.page_number(page=page, name=name, of=content_hash(of)))
    return Cut(frame.iloc[ROWS * (number - 1) : ROWS * number], number, pages, len(frame))


def draw(found: Cut, page: str, name: str, tr: Translate) -> None:
    """Which rows are shown and the way to the others; nothing where all are."""
    if found.pages == 1:
        url_state.clear(name)
        return
    first, last = found.said
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("common.rows_shown", first=first, last=last, total=found.total))
        st.space("stretch")
        url_state.pages(found.number, found.pages, page=page, name=name)
