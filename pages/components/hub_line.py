"""One line of the Runs page: whether results are kept on the Hub, and what keeps them from it."""

from __future__ import annotations

import streamlit as st

from evalcore import access
from evalcore.queries import hub
from evalcore.queries.hub import HubSyncStatus
from evalcore.settings import Settings
from pages.components import numbers, visitor
from pages.components.language import Translate
from pages.components.text import escape_markdown


def draw_hub_status(settings: Settings, tr: Translate) -> None:
    """Nothing where the settings keep nothing; names and reasons only for who may steer runs."""
    status = hub.load_hub_status(settings)
    if status is None:
        return
    can_see_details = not access.explain_denial(settings, visitor.current_visitor(), "steer")
    repo = escape_markdown(status.repo, 200) if can_see_details else tr("hub.repository")
    if not status.token:
        st.warning(tr("hub.no_token", repo=repo), icon=":material/cloud_off:")
    elif status.problem:
        reason = f"  \n:small[{escape_markdown(status.problem, 300)}]" if can_see_details else ""
        st.warning(tr("hub.problem", repo=repo) + reason, icon=":material/cloud_off:")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if status.token and not status.problem:
            _draw_sync_time(status, repo, tr)
        if status.held:
            _draw_withheld_runs(status, can_see_details, tr)


def _draw_sync_time(status: HubSyncStatus, repo: str, tr: Translate) -> None:
    sent_time = numbers.format_timestamp(status.sent_at)
    name = "sent" if status.sent_at else "waiting"
    icon = ":material/cloud_done:" if status.sent_at else ":material/cloud:"
    st.caption(f"{icon} {tr(f'hub.{name}', repo=repo, when=sent_time)}", width="content")


def _draw_withheld_runs(status: HubSyncStatus, can_see_details: bool, tr: Translate) -> None:
    line = tr("hub.held", count=len(status.held))
    if not can_see_details:
        st.caption(f":material/lock: {line}", width="content")
        return
    with st.popover(line, icon=":material/lock:", type="tertiary"):
        st.text("\n".join(f"{run}: {reason}" for run, reason in status.held.items()))
