"""What the Launch page says to those who may not launch: why, and how it can be had."""

from __future__ import annotations

import streamlit as st

from evalcore import access, settings
from pages.components import state, visitor
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown


def draw_launch_refused(reason: str, tr: Translate) -> None:
    """A friendly end of the page, with a way on."""
    mode = access.resolve_access_mode(settings.load_settings(), visitor.current_visitor())
    with st.container(border=True, gap="small"):
        st.markdown(f"#### :material/lock: {tr('access.closed')}")
        sentence = localize_note(reason)
        st.markdown(escape_markdown(sentence[:1].upper() + sentence[1:], 400))
        st.caption(tr(f"access.how.{mode}"))
        with st.container(horizontal=True):
            st.page_link(state.RANKING, label=tr("access.board"), icon=":material/leaderboard:")
            st.page_link(state.RUNS, label=tr("common.nav.runs"), icon=":material/monitoring:")
