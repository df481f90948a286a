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


class TablePage(NamedTuple):
    """A page of a table: its rows, its number from 1, how many there are, and of how many rows."""

    rows: pd.DataFrame
    number: int
    pages: int
    total: int

    @property
    def row_range(self) -> tuple[int, int]:
        """The places of its first and last row, from 1."""
        first = ROWS * (self.number - 1) + 1
        return first, first + len(self.rows) - 1


def cut_table_page(frame: pd.DataFrame, page: str, name: str, *identity: Any) -> TablePage:
    """The page that the URL asks for by `name`; another list, which `identity` tells, begins
    anew."""
    pages = max(1, -(-len(frame) // ROWS))
    if pages == 1:
        return TablePage(frame, 1, 1, len(frame))
    number = min(
        pages,
        url_state.read_page_number(page=page, name=name, list_signature=content_hash(identity)),
    )
    return TablePage(frame.iloc[ROWS * (number - 1) : ROWS * number], number, pages, len(frame))


def draw_table_pager(table_page: TablePage, page: str, name: str, tr: Translate) -> None:
    """Which rows are shown and the way to the others; nothing where all are."""
    if table_page.pages == 1:
        url_state.clear_filters(name)
        return
    first, last = table_page.row_range
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("common.rows_shown", first=first, last=last, total=table_page.total))
        st.space("stretch")
        url_state.draw_pagination(table_page.number, table_page.pages, page=page, name=name)
