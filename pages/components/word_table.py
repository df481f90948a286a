"""A small table of texts in which every row is read in full: its cells wrap, as no grid's do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from pages.components.text import escape_markdown


def draw_word_table(columns: Mapping[str, Sequence[str]], alt: str) -> None:
    """The columns by their titles; cells are Markdown there, hence escaped."""
    frame = pd.DataFrame(
        {name: [escape_markdown(text, 300) for text in v] for name, v in columns.items()}
    )
    st.table(frame, border="horizontal", hide_index=True, alt=alt)
