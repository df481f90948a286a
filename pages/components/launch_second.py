"""The part of the launch form that names a second target, to be run on the same cases."""

from __future__ import annotations

import streamlit as st

from evalcore.settings import Settings
from pages.components import launch_target
from pages.components.language import Translate
from pages.components.launch_target import ChosenTarget

SLOT = "launch.second"


def draw_second_target(
    first: ChosenTarget, settings: Settings, tr: Translate
) -> ChosenTarget | None:
    """Draw the switch and, where it is on, the second target; None where it is off."""
    is_enabled = st.toggle(
        tr("launch.second"),
        key=SLOT,
        help=tr("launch.second_help"),
        persist_state="session",
    )
    if not is_enabled:
        return None
    with st.container(border=True):
        return launch_target.draw_target_choice(settings, tr, SLOT, first)
