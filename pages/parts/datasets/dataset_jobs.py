"""Work on data sets in the background: fetch official ones, verify every reference answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import streamlit as st

from evalcore.access import policy
from evalcore.catalog import OfficialDataset, find_benchmark_text, list_official_datasets
from evalcore.runner import jobs
from evalcore.runner.jobs import Job, data_client
from evalcore.runner.jobs.data_client import HUB_TOKEN_VARIABLE
from evalcore.settings import Settings
from evalcore.views import datasets
from evalcore.views.datasets import DatasetEntry, DatasetSummary
from pages.shared import page_links, tables, visitor, widgets
from pages.shared.board_view import benchmark_title
from pages.shared.wording import current_language, escape_markdown, localize_note, to_plain_line, tr

_EVERY = timedelta(seconds=1)


def draw_confirm_button(entry: DatasetEntry, settings: Settings) -> None:
    """The way to confirm a set, unless that is under way."""
    job = jobs.find_job(settings, "confirm", entry.key)
    denial = policy.explain_denial(settings, visitor.current_visitor(), "upload")
    if (job is None or job.state != "running") and st.button(
        tr("datasets.confirm"),
        key="datasets.confirm",
        icon=":material/fact_check:",
        disabled=bool(denial),
        help=localize_note(denial) if denial else tr("datasets.confirm_help"),
    ):
        location = data_client.DatasetLocation(entry.benchmark, entry.path, entry.options)
        with widgets.show_errors():
            data_client.start_confirm(entry.key, location, visitor.current_visitor(), settings)
            st.rerun()


def draw_confirmation(entry: DatasetEntry, summary: DatasetSummary, settings: Settings) -> None:
    """What the last confirmation found, or its progress while it is under way."""
    job = jobs.find_job(settings, "confirm", entry.key)
    if job is not None and job.state == "running":
        st.fragment(_draw_confirm_progress, run_every=_EVERY)(entry, settings)
    else:
        _draw_confirm_result(job, summary)


def _draw_confirm_progress(entry: DatasetEntry, settings: Settings) -> None:
    """Drawn anew each second; the whole page once it has ended."""
    job = jobs.find_job(settings, "confirm", entry.key)
    if job is None or job.state != "running":
        st.rerun()
    with st.container(border=True):
        widgets.draw_job_bar(job, tr("datasets.confirming", done=job.done, total=job.total or "…"))
        if st.button(tr("datasets.cancel"), key="datasets.confirm.cancel", icon=":material/stop:"):
            with widgets.show_errors():
                jobs.cancel_job(settings, "confirm", entry.key, visitor.current_visitor())


def _draw_confirm_result(job: Job | None, summary: DatasetSummary) -> None:
    if job is None:
        return
    if job.state != "done":
        _draw_job_end(job, "datasets.confirm", 400)
        return
    result = job.result
    if result.get("hash") != summary.hash:
        st.caption(tr("datasets.confirm_stale", date=job.at[:10]))
        return
    engines = ", ".join(f"{name} {version}".strip() for name, version in result["engines"].items())
    values = {
        "samples": result["samples"],
        "date": job.at[:10],
        "engines": escape_markdown(engines or tr("datasets.own_rules"), 300),
    }
    if not result["problems"]:
        st.success(tr("datasets.confirmed", **values), icon=":material/verified:")
        return
    problems = tr("datasets.confirm_problems", count=result["problems"], **values)
    st.warning(problems, icon=":material/rule:")
    findings = result["findings"]
    columns = {
        "case": [to_plain_line(issue["sample"], 80) for issue in findings],
        "problem": [to_plain_line(localize_note(issue["problem"]), 300) for issue in findings],
    }
    config = {
        "case": tables.text_column("common.case", 220),
        "problem": tables.text_column("datasets.problem", "large"),
    }
    tables.draw_grid(columns, config, tr("datasets.problems_alt"), tallest=8)


def _draw_job_end(job: Job, key: str, limit: int) -> None:
    """Why a job did not end well, by the texts `key`_failed, `key`_cancelled ..."""
    if job.state == "failed":
        reason = escape_markdown(localize_note(job.error), limit)
        st.error(tr(f"{key}_failed", reason=reason), icon=":material/error:")
    else:
        st.warning(tr(f"{key}_{job.state}"), icon=":material/stop_circle:")


# Fetch official sets: what there is, on what terms, how far it is, and why it failed.


def draw_official_sets(settings: Settings) -> None:
    """A row per official set; while one is being fetched the rows are drawn anew each second."""
    st.markdown(tr("datasets.fetch_about"))
    denial = policy.explain_denial(settings, visitor.current_visitor(), "fetch")
    if denial:
        widgets.draw_refusal(localize_note(denial))
    elif not os.environ.get(HUB_TOKEN_VARIABLE):
        with st.container(border=True):
            st.caption(tr("datasets.token_about"))
            visitor.ask_for_keys([HUB_TOKEN_VARIABLE])
    running = [name for name in list_official_datasets() if _is_fetch_running(name, settings)]
    every = _EVERY if running else None
    st.fragment(_draw_official_rows, run_every=every)(tuple(running), bool(denial), settings)


def _is_fetch_running(name: str, settings: Settings) -> bool:
    job = jobs.find_job(settings, "fetch", name)
    return job is not None and job.state == "running"


def _draw_official_rows(running: tuple[str, ...], refused: bool, settings: Settings) -> None:
    names = list_official_datasets()
    if running != tuple(name for name in names if _is_fetch_running(name, settings)):
        st.rerun()  # one began or ended: the page decides anew how often this is drawn
    installed = {
        entry.name: entry
        for entry in datasets.list_dataset_entries(settings)
        if entry.origin == "fetched"
    }
    for official in names.values():
        with st.container(border=True):
            entry = installed.get(official.folder)
            job = jobs.find_job(settings, "fetch", official.name)
            _draw_official_row(official, entry, job, settings, refused=refused)


def _draw_official_row(
    official: OfficialDataset,
    entry: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    *,
    refused: bool,
) -> None:
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**{official.title}**", width="content")
            st.badge(benchmark_title(official.benchmark), color="green")
            if official.gated:
                st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
            if entry is not None:
                st.badge(tr("datasets.is_here"), color="blue", icon=":material/check:")
        text = find_benchmark_text(official.benchmark, "official", current_language()) or ""
        about = text.replace("{page}", official.page)
        count = tr("datasets.official_cases", count=official.cases) if official.cases else ""
        st.caption(" ".join(filter(None, [count, about])))
        if entry is not None:
            st.caption(escape_markdown(f"{entry.source} · {entry.licence}", 260))
    with right:
        _draw_official_button(official, entry, job, settings, refused=refused)
    _draw_fetch_status(job, entry)


def _draw_official_button(
    official: OfficialDataset,
    entry: DatasetEntry | None,
    job: Job | None,
    settings: Settings,
    *,
    refused: bool,
) -> None:
    """The one thing that can be done now: cancel, open, or fetch."""
    name, acting_visitor = official.name, visitor.current_visitor()

    def draw_button(key: str, text: str, icon: str, **look: Any) -> bool:
        look |= {"icon": f":material/{icon}:", "width": "stretch"}
        return st.button(tr(f"datasets.{text}"), key=f"datasets.{key}.{name}", **look)

    if job is not None and job.state == "running":
        if draw_button("cancel", "cancel", "stop", disabled=refused):
            _run_or_stop(lambda: jobs.cancel_job(settings, "fetch", name, acting_visitor))
    elif entry is not None:
        if draw_button("show", "open", "table_rows"):  # leave this view for a set that is here
            leaving = dict.fromkeys(("view", "case", "q", "p"))
            page_links.set_query_params(leaving | {"set": entry.key})
            st.rerun()
    else:
        again = job is not None and job.state != "done"
        text, icon = ("fetch_again", "refresh") if again else ("fetch", "cloud_download")
        if draw_button("fetch", text, icon, disabled=refused):
            keys = visitor.collect_typed_keys()
            _run_or_stop(lambda: data_client.start_fetch(name, keys, acting_visitor, settings))
            st.rerun()


def _run_or_stop(action: Callable[[], None]) -> None:
    with widgets.show_errors():
        action()
        return
    st.stop()


def _draw_fetch_status(job: Job | None, entry: DatasetEntry | None) -> None:
    """How far it is, or how it ended, unless the set is here."""
    if job is None or (entry is not None and job.state != "running"):
        return
    if job.state == "running":
        steps = tr("datasets.files", done=job.done, total=job.total) if job.total else ""
        line = " · ".join(filter(None, [steps, escape_markdown(job.line, 120)]))
        widgets.draw_job_bar(job, line or tr("datasets.starting"))
    elif job.state != "done":
        _draw_job_end(job, "datasets.fetch", 600)
