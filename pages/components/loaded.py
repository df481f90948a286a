"""The finished runs for a page of boards, or the reason why it has nothing to show."""

from __future__ import annotations

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.queries import boards, stored_boards
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import notes, state
from pages.components.language import Translate
from pages.components.text import escape_markdown


def require_scored_headers(settings: Settings, empty: str, tr: Translate) -> Headers:
    """The headers of all finished runs; the page ends here where the store cannot be read, or
    where no run has a score, which the texts `empty`_title and `empty` tell."""
    headers = require_finished_headers(settings, tr)
    if not boards.list_suites(headers):
        notes.draw_empty_note(empty, state.LAUNCH, tr)
        st.stop()
    return headers


def require_finished_headers(settings: Settings, tr: Translate) -> Headers:
    """The headers of all finished runs, with a score or without; the page ends here where the store
    cannot be read."""
    try:
        return stored_boards.load_run_headers(settings)
    except EvalboardError as error:
        draw_store_error(error, tr)
        st.stop()


def draw_store_error(error: EvalboardError, tr: Translate) -> None:
    """The store cannot be read, and why."""
    st.error(tr("ranking.no_index", reason=escape_markdown(error, 400)), icon=":material/error:")
