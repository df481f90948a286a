"""Add own cases: the fields of a case and its templates, the file, what was found in it, keeping
it."""

from __future__ import annotations

import re
from hashlib import sha256

import pandas as pd
import streamlit as st

from evalcore.access import policy
from evalcore.catalog import benchmark_cards, find_benchmark_text
from evalcore.errors import EvalboardError
from evalcore.i18n import Note
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import OwnCard, Upload, UploadPart, Validation
from evalcore.runner.uploads import MAX_CASES, MAX_FILE_BYTES, find_upload_form, guess_part
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from pages.shared import display_names as words
from pages.shared import page_links, url_state, visitor, widgets
from pages.shared.board_view import metric_title, select_benchmark
from pages.shared.tables import EVERY_ROW, draw_grid, number_column, text_column
from pages.shared.wording import (
    current_language,
    escape_markdown,
    localize,
    localize_note,
    look_up,
    to_plain_line,
    tr,
)

# What a case of a benchmark looks like: its fields with examples, and templates to fill in.


def case_part_title(benchmark: str, part: str) -> str:
    """What cases belong to, as people call it."""
    return look_up(f"datasets.part.{part}") or metric_title(benchmark, part)


_templates: SingleFlightCache[list[UploadPart]] = SingleFlightCache(64)


def draw_case_form(benchmark: str, part: str, settings: Settings) -> None:
    """The fields as a table, and a template in each form with the first bundled cases."""
    st.subheader(tr("datasets.form"), anchor=False)
    try:
        with st.spinner(tr("datasets.form_reading")):
            forms = _templates.get(
                (benchmark, part, settings.datasets),
                lambda: data_client.load_upload_templates(benchmark, (part,), settings),
            )
    except EvalboardError as error:
        st.error(escape_markdown(error, 400), icon=":material/error:")
        return
    if not forms:
        st.caption(tr("datasets.no_form"))
        return
    [form] = forms
    st.caption(tr("datasets.form_about"))
    if (special := find_benchmark_text(benchmark, "form", current_language())) is not None:
        st.caption(special)
    with st.container(horizontal=True):
        for kind, content, mime in (
            ("jsonl", form.jsonl, "application/jsonl"),
            ("csv", "\ufeff" + form.csv, "text/csv"),  # so that spreadsheets know it is UTF-8
        ):
            widgets.draw_download(
                tr("datasets.template", form=kind.upper()),
                content,
                f"{part}.{kind}",
                mime,
                key=f"datasets.template.{kind}",
            )
    _draw_form_fields(form)
    with st.expander(tr("datasets.example"), icon=":material/data_object:"):
        st.code(form.jsonl.partition("\n")[0], language="json", wrap_lines=True)


def _draw_form_fields(form: UploadPart) -> None:
    columns = {
        "field": [field.name for field in form.fields],
        "required": [tr("common.yes" if field.required else "common.no") for field in form.fields],
        "kind": [
            " / ".join(tr(f"datasets.kind.{kind}") for kind in field.kinds) for field in form.fields
        ],
        "example": [to_plain_line(field.example, 160) or None for field in form.fields],
    }
    config = {
        "field": text_column("datasets.field", 170),
        "required": text_column("datasets.required", 66),
        "kind": text_column("datasets.kind", 66),
        "example": text_column("datasets.example_value", 160),
    }
    draw_grid(columns, config, tr("datasets.form_alt"), tallest=EVERY_ROW)


# What was found in a file: every error with what to do about it, or the cases as read.

#: Notes that say where the problem is that they hold.
_OUTER_NOTES = frozenset({"located", "upload_cell"})
#: What to do about a problem, by the beginning of the code of its note, and by the words of a
#: problem that is no note; the first that fits.
_HINTS = (
    (
        "gold",
        r"gold_",
        r"engine gives|parser gives|engine ended|not pass\b|not fail\b|with the label",
    ),
    ("encoding", r"upload_(utf|bytes|nul)", r"UTF-8|UTF-16|NUL"),
    ("size", r"upload_(big|many|long)", r"MB; at most|cases; at most|longer than"),
    ("object", r"upload_(json_list|not_object)", r"one JSON object a line|is not a JSON object"),
    (
        "json",
        r"upload_(not_json|deep|levels|field_twice|constant|number)",
        r"not JSON|nested too deep|twice$|which is not JSON",
    ),
    ("csv", r"upload_(csv|cells|column_twice|row_width)", r"CSV|cells, the header|columns"),
    ("column", r"upload_column", r"which is not one of"),
    ("twice", r"upload_(twice|here_twice)", r"already$|stands here twice|is there twice"),
    ("empty", r"upload_(empty|no_case)", r"holds no case"),
    ("missing", r"upload_(missing|is_missing|field_missing|no_object)", r"is missing"),
    (
        "choice",
        r"upload_(none_of|dialect|level|file_name)",
        r"is not one of|unknown|must be \"1\"|is not 1, 2 or 3",
    ),
)


def draw_validation(benchmark: str, validation: Validation) -> None:
    """The errors, or the numbers and the first cases."""
    if validation.ok:
        _draw_valid_cases(benchmark, validation)
    else:
        _draw_validation_errors(validation)


def _draw_validation_errors(validation: Validation) -> None:
    errors = validation.errors
    text_key = "datasets.errors_more" if validation.more else "datasets.errors"
    st.error(tr(text_key, count=len(errors)), icon=":material/error:")
    columns = {
        "line": pd.Series([error.line or None for error in errors], dtype="Int64"),
        "field": [to_plain_line(error.field, 60) or None for error in errors],
        "problem": [to_plain_line(localize_note(error.problem), 300) for error in errors],
        "hint": [tr(find_error_hint(error.problem)) for error in errors],
    }
    config = {
        "line": number_column("datasets.line", width=56),
        "field": text_column("datasets.field", 130),
        "problem": text_column("datasets.problem", 420),
        "hint": text_column("datasets.what_to_do", 380),
    }
    draw_grid(columns, config, tr("datasets.errors_alt"), tallest=12, key="datasets.errors")
    st.caption(tr("datasets.errors_about"))


def find_error_hint(problem: str) -> str:
    """The key of what to do about a problem, by the code of its note, else by its words."""
    while isinstance(problem, Note) and problem.code in _OUTER_NOTES:
        problem = problem.params["problem"]
    if isinstance(problem, Note):
        hints = (hint for hint, codes, _ in _HINTS if re.match(codes, problem.code))
    else:
        hints = (hint for hint, _, words in _HINTS if re.search(words, problem))
    return f"datasets.hint.{next(hints, 'other')}"


def _draw_valid_cases(benchmark: str, validation: Validation) -> None:
    summary, shown = validation.summary, validation.preview
    valid = tr("datasets.valid", count=summary.samples, hash=summary.hash)
    st.success(valid, icon=":material/check:")
    if validation.unconfirmed:
        widgets.draw_unconfirmed(validation.unconfirmed, validation.reason)
    lines = [
        words.format_metric_counts(benchmark, summary),
        words.format_difficulty_counts(summary),
        words.format_value_counts(summary.dialects),
    ]
    st.caption("  \n".join(filter(None, lines)))
    columns = {
        "id": [to_plain_line(case.id, 60) for case in shown],
        "metric": [metric_title(benchmark, case.metric) for case in shown],
        "difficulty": [case.difficulty for case in shown],
        "dialect": [to_plain_line(case.dialect, 60) or None for case in shown],
        "text": [to_plain_line(case.text, 160) for case in shown],
    }
    config = {
        "id": text_column("common.case", 120),
        "metric": text_column("common.metric", 150),
        "difficulty": number_column("common.difficulty", width=80),
        "dialect": text_column("datasets.filter.dialect", 110),
        "text": text_column("datasets.asked", 420),
    }
    draw_grid(columns, config, tr("datasets.preview_alt"), tallest=8, key="datasets.preview")
    if len(shown) < summary.samples:
        st.caption(tr("datasets.preview_more", shown=len(shown), count=summary.samples))


# Add own cases: choose what they are for, take a template, hand in a file, mend, keep it.

_VALIDATION = "datasets.found"
_UNSAFE = re.compile(r"[^a-z0-9_-]+")


def draw_add_dataset(settings: Settings) -> None:
    """The steps on the left, what a case looks like on the right."""
    denial = policy.explain_denial(settings, visitor.current_visitor(), "upload")
    if denial:
        widgets.draw_refusal(localize_note(denial))
    steps, side = st.columns([6, 5], gap="large")
    with steps:
        with st.container(border=True):
            st.subheader(tr("datasets.step.what"), anchor=False)
            benchmark, part = _select_benchmark_part()
        with side, st.container(border=True):
            draw_case_form(benchmark, part, settings)
        if denial:
            return
        with st.container(border=True):
            st.subheader(tr("datasets.step.file"), anchor=False)
            upload = _draw_upload_step(benchmark, part)
    if upload is not None and (validation := _load_validation(upload, settings)) is not None:
        _draw_validation_step(upload, validation, settings)


def _draw_validation_step(upload: Upload, validation: Validation, settings: Settings) -> None:
    """What was found, and where nothing is wrong the way to keep it."""
    with st.container(border=True):
        st.subheader(tr("datasets.step.found"), anchor=False)
        draw_validation(upload.benchmark, validation)
    if validation.ok:
        with st.container(border=True):
            st.subheader(tr("datasets.step.keep"), anchor=False)
            _draw_save_step(upload, settings)


def _select_benchmark_part() -> tuple[str, str]:
    """The benchmark, and what of it cases without a field `metric` belong to. Where a run chooses
    the metrics, cases are folders of tasks, which no file holds."""
    cards = {key: card for key, card in benchmark_cards().items() if not card.open_metrics}
    benchmark = select_benchmark(list(cards), "datasets.add.benchmark")
    st.caption(localize(cards[benchmark].about))
    parts = find_upload_form(benchmark).parts
    if len(parts) < 2:
        return benchmark, parts[0]
    part = url_state.draw_select(
        tr("datasets.part"),
        list(parts),
        key="datasets.add.part",
        title=lambda code: case_part_title(benchmark, code),
        help=tr("datasets.part_help"),
    )
    return benchmark, part


def _draw_upload_step(benchmark: str, part: str) -> Upload | None:
    label, explanation = tr("datasets.file"), tr("datasets.file_help")
    look = {"types": ["jsonl", "csv"], "key": "datasets.file", "explanation": explanation}
    uploaded = visitor.draw_uploader(label, megabytes=MAX_FILE_BYTES >> 20, **look)
    st.caption(tr("datasets.limits", megabytes=MAX_FILE_BYTES >> 20, cases=MAX_CASES))
    if uploaded is None:
        return None
    named_part = guess_part(benchmark, uploaded.name)
    stem = uploaded.name.rpartition("/")[2].split(".")[0]
    if named_part == stem and named_part != part:
        st.caption(tr("datasets.named_part", part=case_part_title(benchmark, named_part)))
        part = named_part
    return Upload(benchmark, uploaded.name, uploaded.getvalue(), part)


def _load_validation(upload: Upload, settings: Settings) -> Validation | None:
    """What was found, from the memory of the session while file and choice are the same."""
    digest = sha256(upload.content).hexdigest()
    cache_key = (digest, upload.file, upload.benchmark, upload.part)
    validation: Validation
    cached_key, validation = st.session_state.get(_VALIDATION, (None, None))
    if cached_key == cache_key:
        return validation
    with widgets.show_errors(limit=600), st.spinner(tr("datasets.looking")):
        validation = data_client.validate_upload(upload, visitor.current_visitor(), settings)
        st.session_state[_VALIDATION] = (cache_key, validation)
        return validation
    return None


def _draw_save_step(upload: Upload, settings: Settings) -> None:
    """The card, and the button that keeps the set."""
    suggested = _UNSAFE.sub("-", upload.file.rpartition(".")[0].lower()).strip("-_")[:40]
    name = st.text_input(
        tr("datasets.name"),
        value=suggested or "my-cases",
        max_chars=40,
        help=tr("datasets.name_help"),
        key=f"datasets.name.{upload.file}",
    ).strip()
    is_taken = _check_name_taken(upload.benchmark, name, settings)
    if is_taken is None:
        return
    replace = is_taken and st.checkbox(tr("datasets.replace", name=escape_markdown(name)))
    with st.form("datasets.card", border=False):
        left, right = st.columns(2)
        default = visitor.current_visitor().name
        author = left.text_input(tr("datasets.who"), value=default, max_chars=80)
        licence = right.text_input(
            tr("datasets.licence"), max_chars=80, placeholder=tr("datasets.licence_hint")
        )
        text = st.text_area(
            tr("datasets.note"), max_chars=1_000, placeholder=tr("datasets.note_hint")
        )
        if not st.form_submit_button(
            tr("datasets.keep"),
            type="primary",
            icon=":material/save:",
            disabled=is_taken and not replace,
            help=tr("datasets.taken") if is_taken and not replace else None,
        ):
            return
    card = OwnCard(upload.benchmark, name, author.strip(), licence.strip(), text.strip())
    save_dataset(upload, card, settings, replace=replace)


def _check_name_taken(benchmark: str, name: str, settings: Settings) -> bool | None:
    """Whether a set of that name would be replaced; None for a name that cannot be."""
    with widgets.show_errors(icon=":material/edit:", draw=st.warning):
        return data_client.is_name_taken(benchmark, name, settings)
    return None


def save_dataset(upload: Upload, card: OwnCard, settings: Settings, *, replace: bool) -> None:
    with widgets.show_errors(limit=600):
        with st.spinner(tr("datasets.keeping")):
            validation, saved = data_client.save_upload(
                upload, card, visitor.current_visitor(), settings, replace=replace
            )
        if saved is None:
            draw_validation(upload.benchmark, validation)
            return
        st.session_state.pop(_VALIDATION, None)
        st.toast(tr("datasets.kept", name=escape_markdown(saved.name)), icon=":material/check:")
        chosen = {"set": f"own:{saved.benchmark}:{saved.name}"}
        page_links.set_query_params(dict.fromkeys(("view", "part", "benchmark")) | chosen)
        st.rerun()
