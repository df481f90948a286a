"""The ways on from a target: its neighbours in the ranking, a comparison, its run, its card."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries import targets
from evalcore.queries.boards import Board, Row
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import card_editor, state
from pages.components.language import Translate
from pages.components.text import escape_markdown

_NAME = 28  # characters


def draw_target_links(
    headers: Headers,
    board: Board,
    frame: pd.DataFrame,
    row: Row,
    titles: Mapping[str, str],
    settings: Settings,
    tr: Translate,
) -> None:
    """One row of buttons and links; `frame` is the ranking of the board."""
    order = frame["identity"].tolist()
    position = order.index(row.identity)
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _draw_neighbour_button("previous", order[position - 1] if position else "", titles, tr)
        _draw_neighbour_button(
            "next", order[position + 1] if position + 1 < len(order) else "", titles, tr
        )
        _draw_compare_link(headers, board, row, titles, tr)
        st.page_link(
            state.RUNS,
            label=tr("target.its_run"),
            icon=":material/monitoring:",
            query_params={"run": newest.run_id},
        )
        st.space("stretch")
        card_editor.draw_card_edit_button(settings, row.target_key, tr)


def _draw_neighbour_button(
    name: str, neighbour: str, titles: Mapping[str, str], tr: Translate
) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon = {"previous": ":material/arrow_upward:", "next": ":material/arrow_downward:"}[name]
    st.button(
        escape_markdown(titles.get(neighbour, neighbour), _NAME) if neighbour else DASH,
        key=f"target.{name}",
        icon=icon,
        type="tertiary",
        disabled=not neighbour,
        help=tr(f"target.{name}"),
        on_click=state.set_query_param,
        args=("key", neighbour),
    )


def _draw_compare_link(
    headers: Headers, board: Board, row: Row, titles: Mapping[str, str], tr: Translate
) -> None:
    """To Compare, with the best other target that ran the same; alone where there is none."""
    own_run, label = next(iter(row.runs.items())), tr("compare.link")
    runs = [own_run[1].run_id]
    best = targets.find_best_other(headers, board, row, own_run[0])
    if best is not None:
        runs.append(best.runs[own_run[0]].run_id)
        name = titles.get(best.identity, best.identity)
        label = tr("target.compare", name=escape_markdown(name, _NAME))
    st.page_link(
        state.COMPARE,
        label=label,
        icon=":material/compare_arrows:",
        query_params={"runs": ",".join(dict.fromkeys(runs))},
    )
