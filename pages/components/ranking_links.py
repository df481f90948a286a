"""The ways on from the Ranking page: a comparison, the metrics, the rules, a file, the link."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from pages.components import csv_file, state
from pages.components.language import Translate

_COMPARED = 4  # targets at once
_FEWEST = 2
_UNSAID = ["logo"]  # columns that are no data


def draw(found: pd.DataFrame, board: Board, tr: Translate) -> None:
    """A row of links; `found` are the rows on the page, in their order."""
    place = {"suite": board.suite, "board": board.key}
    first = found.loc[found["status"] == "ranked", "run_id"].head(_COMPARED)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if len(first) >= _FEWEST:
            st.page_link(
                state.COMPARE,
                label=tr("board.compare", count=len(first)),
                icon=":material/compare_arrows:",
                query_params=state.compare_link(first),
            )
        st.page_link(
            state.METRICS,
            label=tr("board.metrics"),
            icon=":material/bar_chart:",
            query_params=place,
        )
        st.page_link(
            state.METHODOLOGY,
            label=tr("board.methodology"),
            icon=":material/function:",
            query_params=place,
        )
        st.download_button(
            tr("ranking.download"),
            lambda: csv_file.as_csv(found.drop(columns=_UNSAID)),  # made on a click
            file_name=f"evalboard-{board.suite}-{board.key}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )
        with (
            st.popover(
                tr("board.link"), icon=":material/link:", type="tertiary", key="ranking.link"
            ),
            st.container(width=420),
        ):
            st.code(address(), language=None, wrap_lines=True)
            st.caption(tr("board.link_about"))


def address() -> str:
    """The address of the page as it is filtered now."""
    parts = urlsplit(st.context.url or "")
    query = urlencode({name: st.query_params[name] for name in st.query_params})
    base = f"{parts.scheme}://{parts.netloc}{parts.path or '/'}" if parts.netloc else "/"
    return f"{base}?{query}" if query else base
