"""Add own cases: choose what they are for, take a template, hand in a file, mend, keep it."""

from __future__ import annotations

import re
from hashlib import sha256

import streamlit as st

from evalcore import access
from evalcore.catalog import benchmark_cards, localize_text
from evalcore.errors import EvalboardError
from evalcore.runner import dataset_client
from evalcore.runner.dataset_client import OwnCard, Upload, Validation
from evalcore.runner.upload_forms import MAX_CASES, MAX_FILE_BYTES, find_upload_form, guess_part
from evalcore.settings import Settings
from pages.components import datasets_form, datasets_found, state, uploader, url_state, visitor
from pages.components import datasets_words as words
from pages.components.language import Translate, current_language, localize_note
from pages.components.text import escape_markdown

PAGE = "datasets"
_VALIDATION = "datasets.found"
_UNSAFE = re.compile(r"[^a-z0-9_-]+")


def draw_add_dataset(settings: Settings, tr: Translate) -> None:
    """The steps on the left, what a case looks like on the right."""
    denial = access.explain_denial(settings, visitor.current_visitor(), "upload")
    if denial:
        st.info(
            tr("datasets.refused", reason=escape_markdown(localize_note(denial), 300)),
            icon=":material/lock:",
        )
    steps, side = st.columns([6, 5], gap="large")
    with steps:
        with st.container(border=True):
            st.subheader(tr("datasets.step.what"), anchor=False)
            benchmark, part = _select_benchmark_part(tr)
        with side, st.container(border=True):
            datasets_form.draw_case_form(benchmark, part, settings, tr)
        if denial:
            return
        with st.container(border=True):
            st.subheader(tr("datasets.step.file"), anchor=False)
            upload = _draw_upload_step(benchmark, part, tr)
    if upload is not None and (validation := _load_validation(upload, settings, tr)) is not None:
        _draw_validation_step(upload, validation, settings, tr)


def _draw_validation_step(
    upload: Upload, validation: Validation, settings: Settings, tr: Translate
) -> None:
    """What was found, and where nothing is wrong the way to keep it."""
    with st.container(border=True):
        st.subheader(tr("datasets.step.found"), anchor=False)
        datasets_found.draw_validation(upload.benchmark, validation, tr)
    if validation.ok:
        with st.container(border=True):
            st.subheader(tr("datasets.step.keep"), anchor=False)
            _draw_save_step(upload, settings, tr)


def _select_benchmark_part(tr: Translate) -> tuple[str, str]:
    """The benchmark, and what of it cases without a field `metric` belong to."""
    cards = benchmark_cards()
    benchmark = url_state.draw_select(
        tr("common.benchmark"),
        list(cards),
        page=f"{PAGE}.add",
        name="benchmark",
        title=words.benchmark_title,
    )
    st.caption(localize_text(cards[benchmark].about, current_language()))
    parts = find_upload_form(benchmark).parts
    if len(parts) < 2:
        return benchmark, parts[0]
    part = url_state.draw_select(
        tr("datasets.part"),
        list(parts),
        page=f"{PAGE}.add",
        name="part",
        title=lambda code: datasets_form.case_part_title(benchmark, code),
        help=tr("datasets.part_help"),
    )
    return benchmark, part


def _draw_upload_step(benchmark: str, part: str, tr: Translate) -> Upload | None:
    uploaded = uploader.draw_uploader(
        tr("datasets.file"),
        types=["jsonl", "csv"],
        megabytes=MAX_FILE_BYTES >> 20,
        explanation=tr("datasets.file_help"),
        key="datasets.file",
    )
    st.caption(tr("datasets.limits", megabytes=MAX_FILE_BYTES >> 20, cases=MAX_CASES))
    if uploaded is None:
        return None
    named_part = guess_part(benchmark, uploaded.name)
    stem = uploaded.name.rpartition("/")[2].split(".")[0]
    if named_part == stem and named_part != part:
        st.caption(
            tr("datasets.named_part", part=datasets_form.case_part_title(benchmark, named_part)),
        )
        part = named_part
    return Upload(benchmark, uploaded.name, uploaded.getvalue(), part)


def _load_validation(upload: Upload, settings: Settings, tr: Translate) -> Validation | None:
    """What was found, from the memory of the session while file and choice are the same."""
    digest = sha256(upload.content).hexdigest()
    cache_key = (digest, upload.file, upload.benchmark, upload.part)
    cached = st.session_state.get(_VALIDATION)
    if cached is not None and cached[0] == cache_key:
        validation: Validation = cached[1]
        return validation
    try:
        with st.spinner(tr("datasets.looking")):
            validation = dataset_client.validate_upload(upload, visitor.current_visitor(), settings)
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 600), icon=":material/error:")
        return None
    st.session_state[_VALIDATION] = (cache_key, validation)
    return validation


def _draw_save_step(upload: Upload, settings: Settings, tr: Translate) -> None:
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
    _save_dataset(upload, card, settings, tr, replace=replace)


def _check_name_taken(benchmark: str, name: str, settings: Settings) -> bool | None:
    """Whether a set of that name would be replaced; None for a name that cannot be."""
    try:
        return dataset_client.is_name_taken(benchmark, name, settings)
    except EvalboardError as error:
        st.warning(escape_markdown(localize_note(str(error)), 400), icon=":material/edit:")
        return None


def _save_dataset(
    upload: Upload, card: OwnCard, settings: Settings, tr: Translate, *, replace: bool
) -> None:
    try:
        with st.spinner(tr("datasets.keeping")):
            validation, saved = dataset_client.save_upload(
                upload, card, visitor.current_visitor(), settings, replace=replace
            )
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 600), icon=":material/error:")
        return
    if saved is None:
        datasets_found.draw_validation(upload.benchmark, validation, tr)
        return
    st.session_state.pop(_VALIDATION, None)
    st.toast(tr("datasets.kept", name=escape_markdown(saved.name)), icon=":material/check:")
    chosen = {"set": f"own:{saved.benchmark}:{saved.name}"}
    state.set_query_params(dict.fromkeys(("view", "part", "benchmark")) | chosen)
    st.rerun()
