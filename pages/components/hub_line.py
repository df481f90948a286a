"""One line of the Runs page: whether results are kept on the Hub, and what keeps them from it."""

from __future__ import annotations

import streamlit as st

from evalcore import access
from evalcore.queries import hub
from evalcore.queries.hub import HubSyncStatus
from evalcore.settings import Settings
from pages.components import numbers, visitor
from pages.components.language import Translate
from pages.components.text import escape


def draw(settings: Settings, tr: Translate) -> None:
    """Nothing where the settings keep nothing; names and reasons only for who may steer runs."""
    kept = hub.load_hub_status(settings)
    if kept is None:
        return
    told = not access.explain_denial(settings, visitor.current(), "steer")
    repo = escape(kept.repo, 200) if told else tr("hub.repository")
    if not kept.token:
        st.warning(tr("hub.no_token", repo=repo), icon=":material/cloud_off:")
    elif kept.problem:
        reason = f"  \n:small[{escape(kept.problem, 300)}]" if told else ""
        st.warning(tr("hub.problem", repo=repo) + reason, icon=":material/cloud_off:")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if kept.token and not kept.problem:
            _fine(kept, repo, tr)
        if kept.held:
            _held(kept, told, tr)


def _fine(kept: HubSyncStatus, repo: str, tr: Translate) -> None:
    when = numbers.moment(kept.sent_at)
    name = "sent" if kept.sent_at else "waiting"
    icon = ":material/cloud_done:" if kept.sent_at else ":material/cloud:"
    st.caption(f"{icon} {tr(f'hub.{name}', repo=repo, when=when)}", width="content")


def _held(kept: HubSyncStatus, told: bool, tr: Translate) -> None:
    line = tr("hub.held", count=len(kept.held))
    if not told:
        st.caption(f":material/lock: {line}", width="content")
        return
    with st.popover(line, icon=":material/lock:", type="tertiary"):
        st.text("\n".join(f"{run}: {why}" for run, why in kept.held.items()))
