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
from pages.components.language import Translate, current, note
from pages.components.text import escape

PAGE = "datasets"
_FOUND = "datasets.found"
_UNSAFE = re.compile(r"[^a-z0-9_-]+")


def draw(settings: Settings, tr: Translate) -> None:
    """The steps on the left, what a case looks like on the right."""
    refused = access.explain_denial(settings, visitor.current(), "upload")
    if refused:
        st.info(tr("datasets.refused", reason=escape(note(refused), 300)), icon=":material/lock:")
    steps, side = st.columns([6, 5], gap="large")
    with steps:
        with st.container(border=True):
            st.subheader(tr("datasets.step.what"), anchor=False)
            benchmark, part = _what(tr)
        with side, st.container(border=True):
            datasets_form.draw(benchmark, part, settings, tr)
        if refused:
            return
        with st.container(border=True):
            st.subheader(tr("datasets.step.file"), anchor=False)
            upload = _file(benchmark, part, tr)
    if upload is not None and (found := _looked_at(upload, settings, tr)) is not None:
        _result(upload, found, settings, tr)


def _result(upload: Upload, found: Validation, settings: Settings, tr: Translate) -> None:
    """What was found, and where nothing is wrong the way to keep it."""
    with st.container(border=True):
        st.subheader(tr("datasets.step.found"), anchor=False)
        datasets_found.draw(upload.benchmark, found, tr)
    if found.ok:
        with st.container(border=True):
            st.subheader(tr("datasets.step.keep"), anchor=False)
            _keep(upload, settings, tr)


def _what(tr: Translate) -> tuple[str, str]:
    """The benchmark, and what of it cases without a field `metric` belong to."""
    cards = benchmark_cards()
    benchmark = url_state.select(
        tr("common.benchmark"),
        list(cards),
        page=f"{PAGE}.add",
        name="benchmark",
        title=words.benchmark_title,
    )
    st.caption(localize_text(cards[benchmark].about, current()))
    parts = find_upload_form(benchmark).parts
    if len(parts) < 2:
        return benchmark, parts[0]
    part = url_state.select(
        tr("datasets.part"),
        list(parts),
        page=f"{PAGE}.add",
        name="part",
        title=lambda code: datasets_form.part_title(benchmark, code),
        help=tr("datasets.part_help"),
    )
    return benchmark, part


def _file(benchmark: str, part: str, tr: Translate) -> Upload | None:
    handed = uploader.draw(
        tr("datasets.file"),
        types=["jsonl", "csv"],
        megabytes=MAX_FILE_BYTES >> 20,
        explanation=tr("datasets.file_help"),
        key="datasets.file",
    )
    st.caption(tr("datasets.limits", megabytes=MAX_FILE_BYTES >> 20, cases=MAX_CASES))
    if handed is None:
        return None
    named = guess_part(benchmark, handed.name)
    stem = handed.name.rpartition("/")[2].split(".")[0]
    if named == stem and named != part:
        st.caption(
            tr("datasets.named_part", part=datasets_form.part_title(benchmark, named)),
        )
        part = named
    return Upload(benchmark, handed.name, handed.getvalue(), part)


def _looked_at(upload: Upload, settings: Settings, tr: Translate) -> Validation | None:
    """What was found, from the memory of the session while file and choice are the same."""
    digest = sha256(upload.content).hexdigest()
    which = (digest, upload.file, upload.benchmark, upload.part)
    kept = st.session_state.get(_FOUND)
    if kept is not None and kept[0] == which:
        found: Validation = kept[1]
        return found
    try:
        with st.spinner(tr("datasets.looking")):
            found = dataset_client.validate_upload(upload, visitor.current(), settings)
    except EvalboardError as error:
        st.error(escape(note(str(error)), 600), icon=":material/error:")
        return None
    st.session_state[_FOUND] = (which, found)
    return found


def _keep(upload: Upload, settings: Settings, tr: Translate) -> None:
    """The card, and the button that keeps the set."""
    suggested = _UNSAFE.sub("-", upload.file.rpartition(".")[0].lower()).strip("-_")[:40]
    name = st.text_input(
        tr("datasets.name"),
        value=suggested or "my-cases",
        max_chars=40,
        help=tr("datasets.name_help"),
        key=f"datasets.name.{upload.file}",
    ).strip()
    taken = _taken(upload.benchmark, name, settings)
    if taken is None:
        return
    replace = taken and st.checkbox(tr("datasets.replace", name=escape(name)))
    with st.form("datasets.card", border=False):
        left, right = st.columns(2)
        default = visitor.current().name
        who = left.text_input(tr("datasets.who"), value=default, max_chars=80)
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
            disabled=taken and not replace,
            help=tr("datasets.taken") if taken and not replace else None,
        ):
            return
    card = OwnCard(upload.benchmark, name, who.strip(), licence.strip(), text.strip())
    _save(upload, card, settings, tr, replace=replace)


def _taken(benchmark: str, name: str, settings: Settings) -> bool | None:
    """Whether a set of that name would be replaced; None for a name that cannot be."""
    try:
        return dataset_client.is_name_taken(benchmark, name, settings)
    except EvalboardError as error:
        st.warning(escape(note(str(error)), 400), icon=":material/edit:")
        return None


def _save(
    upload: Upload, card: OwnCard, settings: Settings, tr: Translate, *, replace: bool
) -> None:
    try:
        with st.spinner(tr("datasets.keeping")):
            found, kept = dataset_client.save_upload(
                upload, card, visitor.current(), settings, replace=replace
            )
    except EvalboardError as error:
        st.error(escape(note(str(error)), 600), icon=":material/error:")
        return
    if kept is None:
        datasets_found.draw(upload.benchmark, found, tr)
        return
    st.session_state.pop(_FOUND, None)
    st.toast(tr("datasets.kept", name=escape(kept.name)), icon=":material/check:")
    chosen = {"set": f"own:{kept.benchmark}:{kept.name}"}
    state.change(dict.fromkeys(("view", "part", "benchmark")) | chosen)
    st.rerun()
