"""Fetch official sets: what there is, on what terms, how far it is, and why it failed."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta

import streamlit as st

from evalcore import access
from evalcore.errors import EvalboardError
from evalcore.queries import datasets
from evalcore.queries.datasets import DatasetEntry
from evalcore.runner import dataset_client
from evalcore.runner.jobs import Job
from evalcore.runner.official import OFFICIAL, VARIABLE, Official
from evalcore.settings import Settings
from pages.components import datasets_confirm, keys, state, visitor
from pages.components import datasets_words as words
from pages.components.language import Translate, note
from pages.components.text import escape

_EVERY = timedelta(seconds=1)


def draw(settings: Settings, tr: Translate) -> None:
    """A row per official set; while one is being fetched the rows are drawn anew each second."""
    st.markdown(tr("datasets.fetch_about"))
    refused = access.explain_denial(settings, visitor.current(), "fetch")
    if refused:
        st.info(tr("datasets.refused", reason=escape(note(refused), 300)), icon=":material/lock:")
    elif not os.environ.get(VARIABLE):
        with st.container(border=True):
            st.caption(tr("datasets.token_about"))
            keys.ask([VARIABLE], tr)
    running = [name for name in OFFICIAL if _is_running(name, settings)]
    every = _EVERY if running else None
    st.fragment(_rows, run_every=every)(tuple(running), bool(refused), settings, tr)


def _is_running(name: str, settings: Settings) -> bool:
    job = dataset_client.find_fetch_job(name, settings)
    return job is not None and job.state == "running"


def _rows(running: tuple[str, ...], refused: bool, settings: Settings, tr: Translate) -> None:
    if running != tuple(name for name in OFFICIAL if _is_running(name, settings)):
        st.rerun()  # one began or ended: the page decides anew how often this is drawn
    here = {
        one.name: one for one in datasets.list_dataset_entries(settings) if one.origin == "fetched"
    }
    for known in OFFICIAL.values():
        with st.container(border=True):
            job = dataset_client.find_fetch_job(known.name, settings)
            _row(known, here.get(known.folder), job, settings, tr, refused=refused)


def _row(
    known: Official,
    one: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    tr: Translate,
    *,
    refused: bool,
) -> None:
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**{known.title}**", width="content")
            st.badge(words.benchmark_title(known.benchmark), color="green")
            if known.gated:
                st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
            if one is not None:
                st.badge(tr("datasets.is_here"), color="blue", icon=":material/check:")
        about = tr(f"datasets.official.{known.benchmark}", page=known.page)
        count = tr("datasets.official_cases", count=known.cases) if known.cases else ""
        st.caption(" ".join(filter(None, [count, about])))
        if one is not None:
            st.caption(escape(f"{one.source} · {one.licence}", 260))
    with right:
        _buttons(known, one, job, settings, tr, refused=refused)
    _told(job, one, tr)


def _buttons(
    known: Official,
    one: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    tr: Translate,
    *,
    refused: bool,
) -> None:
    if job is not None and job.state == "running":
        if st.button(
            tr("datasets.cancel"),
            key=f"datasets.cancel.{known.name}",
            icon=":material/stop:",
            width="stretch",
            disabled=refused,
        ):
            _do(lambda: dataset_client.cancel_fetch(known.name, visitor.current(), settings))
        return
    if one is not None:
        if st.button(
            tr("datasets.open"),
            key=f"datasets.show.{known.name}",
            icon=":material/table_rows:",
            width="stretch",
        ):
            _show(one)
        return
    again = job is not None and job.state != "done"
    if st.button(
        tr("datasets.fetch_again" if again else "datasets.fetch"),
        key=f"datasets.fetch.{known.name}",
        icon=":material/refresh:" if again else ":material/cloud_download:",
        width="stretch",
        disabled=refused,
    ):
        _do(
            lambda: dataset_client.start_fetch(
                known.name, keys.typed(), visitor.current(), settings
            )
        )
        st.rerun()


def _show(one: DatasetEntry) -> None:
    """Leave this view for a set that is here."""
    state.change(dict.fromkeys(("view", "case", "q", "p")) | {"set": one.key})
    st.rerun()


def _do(act: Callable[[], None]) -> None:
    try:
        act()
    except EvalboardError as error:
        st.error(escape(note(str(error)), 400), icon=":material/error:")
        st.stop()


def _told(job: Job | None, one: DatasetEntry | None, tr: Translate) -> None:
    """How far it is, or how it ended, unless the set is here."""
    if job is None or (one is not None and job.state != "running"):
        return
    if job.state == "running":
        steps = tr("datasets.files", done=job.done, total=job.total) if job.total else ""
        line = escape(job.line, 120)
        datasets_confirm.bar(
            job, " · ".join(filter(None, [steps, line])) or tr("datasets.starting")
        )
    elif job.state == "failed":
        reason = escape(note(job.error), 600)
        st.error(tr("datasets.fetch_failed", reason=reason), icon=":material/error:")
    elif job.state != "done":
        st.warning(tr(f"datasets.fetch_{job.state}"), icon=":material/stop_circle:")
