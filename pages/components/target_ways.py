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
from pages.components.text import escape

_NAME = 28  # characters


def draw(
    headers: Headers,
    board: Board,
    frame: pd.DataFrame,
    row: Row,
    titles: Mapping[str, str],
    current: Settings,
    tr: Translate,
) -> None:
    """One row of buttons and links; `frame` is the ranking of the board."""
    order = frame["identity"].tolist()
    place = order.index(row.identity)
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _step("previous", order[place - 1] if place else "", titles, tr)
        _step("next", order[place + 1] if place + 1 < len(order) else "", titles, tr)
        _compare(headers, board, row, titles, tr)
        st.page_link(
            state.RUNS,
            label=tr("target.its_run"),
            icon=":material/monitoring:",
            query_params={"run": newest.run_id},
        )
        st.space("stretch")
        card_editor.button(current, row.target_key, tr)


def _step(name: str, to: str, titles: Mapping[str, str], tr: Translate) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon = {"previous": ":material/arrow_upward:", "next": ":material/arrow_downward:"}[name]
    st.button(
        escape(titles.get(to, to), _NAME) if to else DASH,
        key=f"target.{name}",
        icon=icon,
        type="tertiary",
        disabled=not to,
        help=tr(f"target.{name}"),
        on_click=state.remember,
        args=("key", to),
    )


def _compare(
    headers: Headers, board: Board, row: Row, titles: Mapping[str, str], tr: Translate
) -> None:
    """To Compare, with the best other target that ran the same; alone where there is none."""
    own, label = next(iter(row.runs.items())), tr("compare.link")
    runs = [own[1].run_id]
    best = targets.find_best_other(headers, board, row, own[0])
    if best is not None:
        runs.append(best.runs[own[0]].run_id)
        name = titles.get(best.identity, best.identity)
        label = tr("target.compare", name=escape(name, _NAME))
    st.page_link(
        state.COMPARE,
        label=label,
        icon=":material/compare_arrows:",
        query_params={"runs": ",".join(dict.fromkeys(runs))},
    )
