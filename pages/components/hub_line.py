"""One line of the Runs page: whether results are kept on the Hub, and what keeps them from it."""

from __future__ import annotations

import streamlit as st

from evalcore import access
from evalcore.queries import hub
from evalcore.queries.hub import Kept
from evalcore.settings import Settings
from pages.components import numbers, visitor
from pages.components.language import Translate
from pages.components.text import escape


def draw(settings: Settings, tr: Translate) -> None:
    """Nothing where the settings keep nothing; names and reasons only for who may steer runs."""
    kept = hub.kept(settings)
    if kept is None:
        return
    told = not access.refusal(settings, visitor.current(), "steer")
    repo = escape(kept.repo) if told else tr("hub.repository")
    if not kept.token:
        st.warning(tr("hub.no_token", repo=repo), icon=":material/cloud_off:")
    elif kept.problem:
        st.warning(tr("hub.problem", repo=repo), icon=":material/cloud_off:")
        if told:
            st.text(kept.problem)
    elif kept.sent_at:
        when = numbers.moment(kept.sent_at, tr)
        st.caption(f":material/cloud_done: {tr('hub.sent', repo=repo, when=when)}")
    else:
        st.caption(f":material/cloud: {tr('hub.waiting', repo=repo)}")
    if kept.held:
        _held(kept, told, tr)


def _held(kept: Kept, told: bool, tr: Translate) -> None:
    line = tr("hub.held", count=len(kept.held))
    if not told:
        st.caption(f":material/lock: {line}")
        return
    with st.expander(line, icon=":material/lock:"):
        st.text("\n".join(f"{run}: {why}" for run, why in kept.held.items()))
