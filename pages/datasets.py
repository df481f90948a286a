"""Datasets: browse the data sets, hand in one's own cases, fetch the official sets."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalcore.settings import Settings
from pages.parts.datasets import dataset_jobs, dataset_list, paste, upload
from pages.shared import url_state, visitor
from pages.shared.wording import tr

_VIEWS: dict[str, Callable[[Settings], None]] = {
    "browse": dataset_list.draw_dataset_browser,
    "add": upload.draw_add_dataset,
    "paste": paste.draw_paste,
    "fetch": dataset_jobs.draw_official_sets,
}


def draw_datasets_page() -> None:
    """The heading that all views share, then the view that the URL names."""
    current = visitor.load_visitor_settings()
    st.title(tr("datasets.title"))
    st.caption(tr("datasets.about"))
    view = url_state.draw_segments(
        tr("datasets.view"),
        list(_VIEWS),
        key="datasets.view",
        title=lambda code: tr(f"datasets.view.{code}"),
    )
    _VIEWS[view](current)


draw_datasets_page()
