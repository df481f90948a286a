"""For the operator: which plug-ins are installed and left out, and what helps."""

from __future__ import annotations

import streamlit as st

from evalcore import access, catalog, settings
from pages.components import visitor
from pages.components.language import Translate
from pages.components.text import escape_markdown


def draw_skipped_plugins(tr: Translate) -> None:
    """A warning with a line per plug-in; nothing for visitors of a board of somebody else."""
    configured = settings.load_settings()
    if access.resolve_access_mode(configured, visitor.current_visitor()) != "open":
        return
    lines = [*map(str, catalog.list_skipped_plugins())]
    lines += catalog.find_membership_problems(configured.suites)
    if lines:
        st.warning(
            "\n".join(
                [
                    tr("common.plugins_left_out"),
                    "",
                    *(f"- {escape_markdown(line)}" for line in lines),
                ]
            ),
            icon=":material/extension_off:",
        )
