"""The ways on from the Ranking page: a comparison, the metrics, the rules, a file, the link."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from pages.components import csv_file, share, state
from pages.components.language import Translate

_MAX_COMPARED = 4  # targets at once
_MIN_COMPARED = 2
_HIDDEN_COLUMNS = ["logo"]  # columns that are no data


def draw_ranking_links(rows: pd.DataFrame, board: Board, tr: Translate) -> None:
    """A row of links; `rows` are the rows on the page, in their order."""
    board_query = {"suite": board.suite, "board": board.key}
    first = rows.loc[rows["status"] == "ranked", "run_id"].head(_MAX_COMPARED)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if len(first) >= _MIN_COMPARED:
            st.page_link(
                state.COMPARE,
                label=tr("board.compare", count=len(first)),
                icon=":material/compare_arrows:",
                query_params=state.build_compare_query(first),
            )
        st.page_link(
            state.METRICS,
            label=tr("board.metrics"),
            icon=":material/bar_chart:",
            query_params=board_query,
        )
        st.page_link(
            state.METHODOLOGY,
            label=tr("board.methodology"),
            icon=":material/function:",
            query_params=board_query,
        )
        st.download_button(
            tr("ranking.download"),
            lambda: csv_file.to_csv_bytes(rows.drop(columns=_HIDDEN_COLUMNS)),  # made on a click
            file_name=f"evalboard-{board.suite}-{board.key}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )
        share.draw_share_menu("", tr)
