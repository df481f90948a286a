"""Hand in a run: the form for a bundle, and what became of those that were handed in."""

from __future__ import annotations

from datetime import timedelta

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.runner import submit_client
from evalcore.runner.jobs import Job
from evalcore.runner.submit_client import MAX_BUNDLE_BYTES
from evalcore.settings import Settings
from pages.components import numbers, run_levels, state, uploader, visitor
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

_EVERY = timedelta(seconds=1)
_SEEN, _NUMBER = "submit.seen", "submit.number"
_LEVELS = range(4)


def draw_submit_button(settings: Settings, tr: Translate) -> None:
    """The way to hand in a bundle; not there on a board that nobody can write to."""
    if not visitor.is_launcher_listed():
        return
    denial = visitor.explain_refusal("upload")
    number = st.session_state.setdefault(_NUMBER, 0)
    with st.popover(
        tr("submit.hand_in"),
        key=f"submit.open.{number}",  # another one, closed and empty, once a bundle is handed in
        icon=":material/upload_file:",
        type="tertiary",
        disabled=bool(denial),
        help=denial or None,
    ):
        if not denial:
            _draw_submit_form(number, settings, tr)


def draw_newest_submission(settings: Settings, tr: Translate) -> None:
    """The newest submission on the page itself, live while it is under way, until it is put away.

    It is there after the tab was closed, too: the work goes on in a process of its own.
    """
    if not visitor.is_action_allowed("upload"):
        return
    newest = next(
        iter(submit_client.list_submissions(visitor.current_visitor(), settings, limit=1)), None
    )
    if newest is None or st.session_state.get(_SEEN) == newest.name:
        return
    running = newest.state == "running"
    st.fragment(_draw_live_submission, run_every=_EVERY if running else None)(newest, settings, tr)


def _draw_live_submission(initial_job: Job, settings: Settings, tr: Translate) -> None:
    """Drawn anew each second; the whole page once it has ended, since a run has come."""
    job = initial_job
    if initial_job.state == "running":
        jobs = submit_client.list_submissions(visitor.current_visitor(), settings, limit=1)
        job = jobs[0] if jobs else initial_job
        if job.state != "running":
            st.rerun()
    with st.container(border=True):
        _draw_submission(job, tr)
        if job.state == "running":
            if st.button(tr("submit.cancel"), key="submit.cancel", icon=":material/stop:"):
                _request_cancel(job, settings)
        elif st.button(tr("submit.dismiss"), key="submit.dismiss", type="tertiary"):
            st.session_state[_SEEN] = job.name
            st.rerun()


def _request_cancel(job: Job, settings: Settings) -> None:
    try:
        submit_client.cancel_submission(job.name, visitor.current_visitor(), settings)
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 400), icon=":material/error:")


def _draw_submit_form(number: int, settings: Settings, tr: Translate) -> None:
    st.markdown(tr("submit.about"))
    uploaded = uploader.draw_uploader(
        tr("submit.file"),
        types=["zip"],
        megabytes=MAX_BUNDLE_BYTES >> 20,
        key=f"submit.file.{number}",
        explanation=tr("submit.file_help"),
    )
    if st.button(
        tr("submit.send"),
        key="submit.send",
        icon=":material/fact_check:",
        type="primary",
        disabled=uploaded is None,
    ):
        _submit_upload(uploaded, settings)
    with st.expander(tr("submit.levels"), icon=":material/verified:"):
        for level in _LEVELS:
            st.markdown(f"**{tr(f'submit.level.{level}')}** – {tr(f'submit.means.{level}')}")
    _draw_past_submissions(settings, tr)


def _submit_upload(uploaded: object, settings: Settings) -> None:
    name, content = uploaded.name, uploaded.getvalue()  # type: ignore[attr-defined]
    try:
        submit_client.submit_bundle(name, content, visitor.current_visitor(), settings)
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 400), icon=":material/error:")
        return
    st.session_state[_NUMBER] += 1
    st.rerun()


def _draw_past_submissions(settings: Settings, tr: Translate) -> None:
    """The last submissions, how each ended."""
    jobs = submit_client.list_submissions(visitor.current_visitor(), settings)
    if not jobs:
        return
    st.markdown(f"**{tr('submit.last')}**")
    for job in jobs:
        with st.container(border=True):
            _draw_submission(job, tr)


def _draw_submission(job: Job, tr: Translate) -> None:
    """A submission: its file, when, and how far it is or how it ended."""
    st.caption(
        f"{escape_markdown(job.title or job.name)} · {numbers.format_timestamp(job.started)}"
    )
    if job.state == "running":
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        counted = tr("submit.scoring", done=job.done, total=job.total)
        st.progress(share, text=counted if job.total else tr("submit.checking"))
    elif job.state == "failed":
        reason = escape_markdown(localize_note(job.error), 600)
        st.error(tr("submit.refused", reason=reason), icon=":material/gpp_bad:")
    elif job.state == "done":
        _draw_import_result(job, tr)
    else:
        st.warning(tr(f"submit.{job.state}"), icon=":material/stop_circle:")


def _draw_import_result(job: Job, tr: Translate) -> None:
    """What came of it, at which level, and where it is shown."""
    result = job.result
    new = "known" if result["became"] == "unchanged" else "taken_in"
    st.success(
        tr(f"submit.{new}", target=escape_markdown(result["target"])), icon=":material/verified:"
    )
    for score in result["scores"]:
        if score.get("unconfirmed"):  # absent from what was taken in before it was counted
            reason = escape_markdown(localize_note(score["reason"]), 300)
            text = tr("datasets.unconfirmed", count=score["unconfirmed"], reason=reason)
            st.warning(text, icon=":material/rule:")
    with st.container(horizontal=True, vertical_alignment="center"):
        run_levels.draw_level_badges((score["level"] for score in result["scores"]), tr)
        query = {"key": result["identity"], "board": result["board"]}
        st.page_link(
            state.TARGET,
            label=tr("submit.see"),
            icon=":material/arrow_forward:",
            query_params=query,
        )
        st.page_link(
            state.RANKING,
            label=tr("submit.see_board"),
            icon=":material/leaderboard:",
            query_params={"board": result["board"]},
        )
