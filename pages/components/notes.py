"""A note in the middle of a page that has nothing to show: why, and what to do about it."""

from __future__ import annotations

import streamlit as st

from pages.components import state, visitor
from pages.components.language import Translate

_ACTIONS = {
    state.LAUNCH: ("ranking.empty_action", ":material/rocket_launch:"),
    state.RANKING: ("target.to_ranking", ":material/leaderboard:"),
}


def draw_empty_note(key: str, target: str, tr: Translate, **values: str) -> None:
    """The texts `key`_title and `key`, and a link to another page; `values` must be escaped."""
    label, icon = _ACTIONS[target]
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr(f'{key}_title')}", width="content")
        st.markdown(tr(key, **values), width="content")
        if target != state.LAUNCH or visitor.is_launcher_listed():
            st.page_link(target, label=tr(label), icon=icon)
