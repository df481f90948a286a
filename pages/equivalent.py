"""Check two statements: whether a rewrite does what the original does, for one pair or a file."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalcore.settings import Settings
from pages.parts.equivalent import check_form, check_result
from pages.shared import url_state, visitor, widgets
from pages.shared.wording import tr

_VIEWS: dict[str, Callable[[Settings], None]] = {
    "pair": check_form.draw_pair_form,
    "file": check_form.draw_file_form,
}


def draw_equivalent_page() -> None:
    """The form of the view that the URL names, then the check that it names."""
    current = visitor.load_visitor_settings()
    st.title(tr("equivalent.title"))
    st.caption(tr("equivalent.about"))
    if denial := visitor.explain_refusal("launch"):
        widgets.draw_refusal(denial)
    view = url_state.draw_segments(
        tr("equivalent.view"),
        list(_VIEWS),
        key="equivalent.view",
        title=lambda code: tr(f"equivalent.view.{code}"),
    )
    _VIEWS[view](current)
    check_result.draw_check(current)


draw_equivalent_page()
