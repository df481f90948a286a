"""The second step: every expected answer of a data set confirmed, on real engines where it can."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import streamlit as st

from evalcore import access
from evalcore.errors import EvalboardError
from evalcore.queries.datasets import DatasetEntry, DatasetSummary
from evalcore.runner import dataset_client
from evalcore.runner.jobs import Job
from evalcore.settings import Settings
from pages.components import visitor
from pages.components.language import Translate, note
from pages.components.text import escape, plain

_EVERY = timedelta(seconds=1)


def button(one: DatasetEntry, settings: Settings, tr: Translate) -> None:
    """The way to confirm a set, unless that is under way."""
    job = dataset_client.find_confirm_job(one.key, settings)
    refused = access.explain_denial(settings, visitor.current(), "upload")
    if (job is None or job.state != "running") and st.button(
        tr("datasets.confirm"),
        key="datasets.confirm",
        icon=":material/fact_check:",
        disabled=bool(refused),
        help=note(refused) if refused else tr("datasets.confirm_help"),
    ):
        place = dataset_client.DatasetLocation(one.benchmark, one.path, one.options)
        try:
            dataset_client.start_confirm(one.key, place, visitor.current(), settings)
        except EvalboardError as error:
            st.error(escape(error, 400), icon=":material/error:")
            return
        st.rerun()


def draw(one: DatasetEntry, numbers: DatasetSummary, settings: Settings, tr: Translate) -> None:
    """What the last confirmation found, or its progress while it is under way."""
    job = dataset_client.find_confirm_job(one.key, settings)
    if job is not None and job.state == "running":
        st.fragment(_progress, run_every=_EVERY)(one, settings, tr)
    else:
        _ended(job, numbers, tr)


def _progress(one: DatasetEntry, settings: Settings, tr: Translate) -> None:
    """Drawn anew each second; the whole page once it has ended."""
    job = dataset_client.find_confirm_job(one.key, settings)
    if job is None or job.state != "running":
        st.rerun()
    with st.container(border=True):
        bar(job, tr("datasets.confirming", done=job.done, total=job.total or "…"))
        if st.button(tr("datasets.cancel"), key="datasets.confirm.cancel", icon=":material/stop:"):
            try:
                dataset_client.cancel_confirm(one.key, visitor.current(), settings)
            except EvalboardError as error:
                st.error(escape(error, 400), icon=":material/error:")


def bar(job: Job, text: str) -> None:
    """The progress of a job; without a known total it stands at its beginning."""
    st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, text=text)


def _ended(job: Job | None, numbers: DatasetSummary, tr: Translate) -> None:
    if job is None:
        return
    if job.state == "failed":
        reason = escape(note(job.error), 400)
        st.error(tr("datasets.confirm_failed", reason=reason), icon=":material/error:")
        return
    if job.state != "done":
        st.warning(tr(f"datasets.confirm_{job.state}"), icon=":material/stop_circle:")
        return
    told = job.result
    if told.get("hash") != numbers.hash:
        st.caption(tr("datasets.confirm_stale", date=job.at[:10]))
        return
    engines = ", ".join(f"{name} {version}".strip() for name, version in told["engines"].items())
    values = {
        "samples": told["samples"],
        "date": job.at[:10],
        "engines": escape(engines or tr("datasets.own_rules"), 300),
    }
    if not told["problems"]:
        st.success(tr("datasets.confirmed", **values), icon=":material/verified:")
        return
    st.warning(
        tr("datasets.confirm_problems", count=told["problems"], **values),
        icon=":material/rule:",
    )
    rows = [
        (plain(one["sample"], 80), plain(note(one["problem"]), 300)) for one in told["findings"]
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["case", "problem"]),
        hide_index=True,
        height=38 + 35 * min(len(rows), 8),
        column_config={
            "case": st.column_config.TextColumn(tr("common.case"), width=220),
            "problem": st.column_config.TextColumn(tr("datasets.problem"), width="large"),
        },
        alt=tr("datasets.problems_alt"),
    )
