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
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown, to_plain_line

_EVERY = timedelta(seconds=1)


def draw_confirm_button(entry: DatasetEntry, settings: Settings, tr: Translate) -> None:
    """The way to confirm a set, unless that is under way."""
    job = dataset_client.find_confirm_job(entry.key, settings)
    denial = access.explain_denial(settings, visitor.current_visitor(), "upload")
    if (job is None or job.state != "running") and st.button(
        tr("datasets.confirm"),
        key="datasets.confirm",
        icon=":material/fact_check:",
        disabled=bool(denial),
        help=localize_note(denial) if denial else tr("datasets.confirm_help"),
    ):
        location = dataset_client.DatasetLocation(entry.benchmark, entry.path, entry.options)
        try:
            dataset_client.start_confirm(entry.key, location, visitor.current_visitor(), settings)
        except EvalboardError as error:
            st.error(escape_markdown(error, 400), icon=":material/error:")
            return
        st.rerun()


def draw_confirmation(
    entry: DatasetEntry, summary: DatasetSummary, settings: Settings, tr: Translate
) -> None:
    """What the last confirmation found, or its progress while it is under way."""
    job = dataset_client.find_confirm_job(entry.key, settings)
    if job is not None and job.state == "running":
        st.fragment(_draw_confirm_progress, run_every=_EVERY)(entry, settings, tr)
    else:
        _draw_confirm_result(job, summary, tr)


def _draw_confirm_progress(entry: DatasetEntry, settings: Settings, tr: Translate) -> None:
    """Drawn anew each second; the whole page once it has ended."""
    job = dataset_client.find_confirm_job(entry.key, settings)
    if job is None or job.state != "running":
        st.rerun()
    with st.container(border=True):
        draw_job_bar(job, tr("datasets.confirming", done=job.done, total=job.total or "…"))
        if st.button(tr("datasets.cancel"), key="datasets.confirm.cancel", icon=":material/stop:"):
            try:
                dataset_client.cancel_confirm(entry.key, visitor.current_visitor(), settings)
            except EvalboardError as error:
                st.error(escape_markdown(error, 400), icon=":material/error:")


def draw_job_bar(job: Job, text: str) -> None:
    """The progress of a job; without a known total it stands at its beginning."""
    st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, text=text)


def _draw_confirm_result(job: Job | None, summary: DatasetSummary, tr: Translate) -> None:
    if job is None:
        return
    if job.state == "failed":
        reason = escape_markdown(localize_note(job.error), 400)
        st.error(tr("datasets.confirm_failed", reason=reason), icon=":material/error:")
        return
    if job.state != "done":
        st.warning(tr(f"datasets.confirm_{job.state}"), icon=":material/stop_circle:")
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
    st.warning(
        tr("datasets.confirm_problems", count=result["problems"], **values),
        icon=":material/rule:",
    )
    rows = [
        (to_plain_line(issue["sample"], 80), to_plain_line(localize_note(issue["problem"]), 300))
        for issue in result["findings"]
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
