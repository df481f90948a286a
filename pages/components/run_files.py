"""What of a finished run can be taken away: reports and the bundle, made when asked for."""

from __future__ import annotations

from functools import partial

import streamlit as st

from evalcore.queries.runs import RunRow
from evalcore.runner import export_client
from evalcore.runner.export_client import BUNDLE_FORM, EXPORT_FORMS
from evalcore.settings import Settings
from pages.components import visitor
from pages.components.language import Translate
from pages.components.text import to_plain_line

_ICONS = {
    "md": ":material/markdown:",
    "json": ":material/data_object:",
    "csv": ":material/csv:",
    BUNDLE_FORM: ":material/folder_zip:",
}


def list_export_formats(row: RunRow) -> tuple[str, ...]:
    """Reports of whatever has scores; the bundle of what was run here to its end."""
    if row.is_active or not row.scores:
        return ()
    whole = row.origin == "executed" and row.state == "done"
    return tuple(form for form in EXPORT_FORMS if form != BUNDLE_FORM or whole)


def draw_export_menu(row: RunRow, settings: Settings, tr: Translate) -> None:
    """The menu; nothing where there is nothing to take away."""
    forms = list_export_formats(row)
    if not forms:
        return
    acting_visitor = visitor.current_visitor()
    with st.popover(tr("submit.export"), icon=":material/download:"):
        for form in forms:
            st.download_button(
                tr(f"submit.form.{form}"),
                partial(export_client.export_run_file, row.run_id, form, acting_visitor, settings),
                file_name=f"{to_plain_line(row.run_id)}.{EXPORT_FORMS[form].ending}",
                mime=EXPORT_FORMS[form].mime,
                icon=_ICONS[form],
                key=f"runs.file.{form}.{row.run_id}",
                on_click="ignore",
                type="tertiary",
            )
        st.caption(tr("submit.export_about"))
        if BUNDLE_FORM in forms:
            st.caption(tr("submit.bundle_about"))
