"""How well a run is vouched for: badges of the levels of evidence behind its scores."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from pages.components.language import Translate

_COLOURS = {0: "orange", 1: "green", 2: "blue", 3: "gray"}
RUN_HERE = 3


def draw_level_badges(levels: Iterable[int], tr: Translate) -> None:
    """A badge per level, the lowest first."""
    for level in sorted(set(levels)):
        st.badge(tr(f"submit.level.{level}"), color=_COLOURS.get(level, "gray"))  # type: ignore[arg-type]


def format_levels(levels: Iterable[int], tr: Translate) -> str:
    """The levels of a run in words, for a cell of a table."""
    return ", ".join(tr(f"submit.level.{level}") for level in sorted(set(levels)))
