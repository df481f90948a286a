"""The file uploader of pages: the one widget that lets a session use the server's upload route.

A page draws it only where the visitor may hand something in; the permit ends when they leave that
page or may no longer do so. `tests/unit/test_uploads.py` holds that no page draws another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from evalcore.uploads import UPLOADS
from pages.components import visitor

_PAGE = "uploader.page"


def enter_upload_page(page: str) -> None:
    """Note the page that is drawn, and end the permit for another one or of another visitor."""
    st.session_state[_PAGE] = f"/{page}"
    UPLOADS.restrict_session(_get_session_id(), f"/{page}" if _may_upload() else "")


def draw_uploader(
    label: str, *, types: Sequence[str], megabytes: int, key: str, explanation: str
) -> UploadedFile | None:
    """Draw the uploader for one file, and permit the session to use it if the visitor may."""
    if _may_upload():
        UPLOADS.permit_session(_get_session_id(), st.session_state.get(_PAGE, "/"))
    return st.file_uploader(label, type=types, max_upload_size=megabytes, key=key, help=explanation)


def _may_upload() -> bool:
    return visitor.is_action_allowed("upload") or visitor.is_action_allowed("edit")


def _get_session_id() -> str:
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""
