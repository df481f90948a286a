"""What a case of a benchmark looks like: its fields with examples, and templates to fill in."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.i18n import lookup_text
from evalcore.plain_text import DASH
from evalcore.runner import dataset_client
from evalcore.runner.dataset_client import UploadPart
from evalcore.settings import Settings
from pages.components import datasets_words as words
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line


def case_part_title(benchmark: str, part: str) -> str:
    """What cases belong to, as people call it."""
    translated = lookup_text(f"datasets.part.{part}", current_language())
    return translated or words.metric_title(benchmark, part)


def draw_case_form(benchmark: str, part: str, settings: Settings, tr: Translate) -> None:
    """The fields as a table, and a template in each form with the first bundled cases."""
    st.subheader(tr("datasets.form"), anchor=False)
    try:
        with st.spinner(tr("datasets.form_reading")):
            form = _load_case_template(benchmark, part, settings.datasets, settings)
    except EvalboardError as error:
        st.error(escape_markdown(error, 400), icon=":material/error:")
        return
    if form is None:
        st.caption(tr("datasets.no_form"))
        return
    st.caption(tr("datasets.form_about"))
    if (special := lookup_text(f"datasets.form.{benchmark}", current_language())) is not None:
        st.caption(special)
    with st.container(horizontal=True):
        for kind, content, mime in (
            ("jsonl", form.jsonl, "application/jsonl"),
            ("csv", "\ufeff" + form.csv, "text/csv"),  # so that spreadsheets know it is UTF-8
        ):
            st.download_button(
                tr("datasets.template", form=kind.upper()),
                content,
                file_name=f"{part}.{kind}",
                mime=mime,
                icon=":material/download:",
                on_click="ignore",
                key=f"datasets.template.{kind}",
            )
    _draw_form_fields(form, tr)
    with st.expander(tr("datasets.example"), icon=":material/data_object:"):
        st.code(form.jsonl.partition("\n")[0], language="json", wrap_lines=True)


@st.cache_data(max_entries=64, show_spinner=False)
def _load_case_template(
    benchmark: str, part: str, folder: str, _settings: Settings
) -> UploadPart | None:
    return dataset_client.load_upload_template(benchmark, part, _settings)


def _draw_form_fields(form: UploadPart, tr: Translate) -> None:
    rows = [
        (
            field.name,
            tr("common.yes" if field.required else "common.no"),
            " / ".join(tr(f"datasets.kind.{kind}") for kind in field.kinds),
            to_plain_line(field.example, 160) or None,
        )
        for field in form.fields
    ]
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["field", "required", "kind", "example"]),
        hide_index=True,
        height=38 + 35 * len(rows),
        placeholder=DASH,
        column_config={
            "field": column_config.TextColumn(tr("datasets.field"), width=150),
            "required": column_config.TextColumn(tr("datasets.required"), width=66),
            "kind": column_config.TextColumn(tr("datasets.kind"), width=66),
            "example": column_config.TextColumn(tr("datasets.example_value"), width=180),
        },
        alt=tr("datasets.form_alt"),
    )
