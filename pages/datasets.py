"""Datasets: browse the data sets, hand in one's own cases, fetch the official sets."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalcore.settings import Settings
from pages.components import datasets_add, datasets_browse, datasets_fetch, url_state, visitor
from pages.components.language import Translate, build_translator

PAGE = "datasets"
_VIEWS: dict[str, Callable[[Settings, Translate], None]] = {
    "browse": datasets_browse.draw_dataset_browser,
    "add": datasets_add.draw_add_dataset,
    "fetch": datasets_fetch.draw_official_sets,
}


def draw_datasets_page() -> None:
    """The heading that all views share, then the view that the URL names."""
    tr, current = build_translator(), visitor.load_visitor_settings()
    st.title(tr("datasets.title"))
    st.caption(tr("datasets.about"))
    view = url_state.draw_segments(
        tr("datasets.view"),
        list(_VIEWS),
        page=PAGE,
        name="view",
        title=lambda code: tr(f"datasets.view.{code}"),
    )
    _VIEWS[view](current, tr)


draw_datasets_page()
