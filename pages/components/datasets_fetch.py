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
from evalcore.runner.official import HUB_TOKEN_VARIABLE, OFFICIAL_DATASETS, OfficialDataset
from evalcore.settings import Settings
from pages.components import datasets_confirm, keys, state, visitor
from pages.components import datasets_words as words
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

_EVERY = timedelta(seconds=1)


def draw_official_sets(settings: Settings, tr: Translate) -> None:
    """A row per official set; while one is being fetched the rows are drawn anew each second."""
    st.markdown(tr("datasets.fetch_about"))
    denial = access.explain_denial(settings, visitor.current_visitor(), "fetch")
    if denial:
        st.info(
            tr("datasets.refused", reason=escape_markdown(localize_note(denial), 300)),
            icon=":material/lock:",
        )
    elif not os.environ.get(HUB_TOKEN_VARIABLE):
        with st.container(border=True):
            st.caption(tr("datasets.token_about"))
            keys.ask_for_keys([HUB_TOKEN_VARIABLE], tr)
    running = [name for name in OFFICIAL_DATASETS if _is_fetch_running(name, settings)]
    every = _EVERY if running else None
    st.fragment(_draw_official_rows, run_every=every)(tuple(running), bool(denial), settings, tr)


def _is_fetch_running(name: str, settings: Settings) -> bool:
    job = dataset_client.find_fetch_job(name, settings)
    return job is not None and job.state == "running"


def _draw_official_rows(
    running: tuple[str, ...], refused: bool, settings: Settings, tr: Translate
) -> None:
    if running != tuple(name for name in OFFICIAL_DATASETS if _is_fetch_running(name, settings)):
        st.rerun()  # one began or ended: the page decides anew how often this is drawn
    installed = {
        entry.name: entry
        for entry in datasets.list_dataset_entries(settings)
        if entry.origin == "fetched"
    }
    for official in OFFICIAL_DATASETS.values():
        with st.container(border=True):
            job = dataset_client.find_fetch_job(official.name, settings)
            _draw_official_row(
                official, installed.get(official.folder), job, settings, tr, refused=refused
            )


def _draw_official_row(
    official: OfficialDataset,
    entry: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    tr: Translate,
    *,
    refused: bool,
) -> None:
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**{official.title}**", width="content")
            st.badge(words.benchmark_title(official.benchmark), color="green")
            if official.gated:
                st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
            if entry is not None:
                st.badge(tr("datasets.is_here"), color="blue", icon=":material/check:")
        about = tr(f"datasets.official.{official.benchmark}", page=official.page)
        count = tr("datasets.official_cases", count=official.cases) if official.cases else ""
        st.caption(" ".join(filter(None, [count, about])))
        if entry is not None:
            st.caption(escape_markdown(f"{entry.source} · {entry.licence}", 260))
    with right:
        _draw_official_buttons(official, entry, job, settings, tr, refused=refused)
    _draw_fetch_status(job, entry, tr)


def _draw_official_buttons(
    official: OfficialDataset,
    entry: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    tr: Translate,
    *,
    refused: bool,
) -> None:
    if job is not None and job.state == "running":
        if st.button(
            tr("datasets.cancel"),
            key=f"datasets.cancel.{official.name}",
            icon=":material/stop:",
            width="stretch",
            disabled=refused,
        ):
            _run_or_stop(
                lambda: dataset_client.cancel_fetch(
                    official.name, visitor.current_visitor(), settings
                )
            )
        return
    if entry is not None:
        if st.button(
            tr("datasets.open"),
            key=f"datasets.show.{official.name}",
            icon=":material/table_rows:",
            width="stretch",
        ):
            _open_dataset(entry)
        return
    again = job is not None and job.state != "done"
    if st.button(
        tr("datasets.fetch_again" if again else "datasets.fetch"),
        key=f"datasets.fetch.{official.name}",
        icon=":material/refresh:" if again else ":material/cloud_download:",
        width="stretch",
        disabled=refused,
    ):
        _run_or_stop(
            lambda: dataset_client.start_fetch(
                official.name, keys.collect_typed_keys(), visitor.current_visitor(), settings
            )
        )
        st.rerun()


def _open_dataset(entry: DatasetEntry) -> None:
    """Leave this view for a set that is here."""
    state.set_query_params(dict.fromkeys(("view", "case", "q", "p")) | {"set": entry.key})
    st.rerun()


def _run_or_stop(action: Callable[[], None]) -> None:
    try:
        action()
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 400), icon=":material/error:")
        st.stop()


def _draw_fetch_status(job: Job | None, entry: DatasetEntry | None, tr: Translate) -> None:
    """How far it is, or how it ended, unless the set is here."""
    if job is None or (entry is not None and job.state != "running"):
        return
    if job.state == "running":
        steps = tr("datasets.files", done=job.done, total=job.total) if job.total else ""
        line = escape_markdown(job.line, 120)
        datasets_confirm.draw_job_bar(
            job, " · ".join(filter(None, [steps, line])) or tr("datasets.starting")
        )
    elif job.state == "failed":
        reason = escape_markdown(localize_note(job.error), 600)
        st.error(tr("datasets.fetch_failed", reason=reason), icon=":material/error:")
    elif job.state != "done":
        st.warning(tr(f"datasets.fetch_{job.state}"), icon=":material/stop_circle:")
