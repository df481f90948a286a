"""Runs in and out: submit a bundle, export reports, and the state of the copy on the Hub."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import streamlit as st

from evalcore.access import policy
from evalcore.runner.jobs import Job, data_client
from evalcore.runner.jobs.data_client import (
    BUNDLE_FORM,
    EXPORT_FORMS,
    MAX_BUNDLE_BYTES,
    RECORDS_FORM,
    SUBMISSION_ENDINGS,
)
from evalcore.settings import Settings
from evalcore.views import runs
from evalcore.views.boards import is_control
from evalcore.views.runs import HubSyncStatus, RunRow
from pages.parts.runs import overview
from pages.shared import page_links, visitor, widgets, wording
from pages.shared.wording import current_language, escape_markdown, localize_note, to_plain_line, tr

_EVERY = timedelta(seconds=1)
_SEEN, _NUMBER = "submit.seen", "submit.number"
_LEVELS = range(4)


def draw_submit_button(settings: Settings) -> None:
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
            _draw_submit_form(number, settings)


def draw_newest_submission(settings: Settings) -> None:
    """The newest submission on the page itself, live while it is under way, until it is put away.
    It is there after the tab was closed, too: the work goes on in a process of its own."""
    if not visitor.is_action_allowed("upload"):
        return
    submissions = data_client.list_submissions(visitor.current_visitor(), settings, limit=1)
    newest = submissions[0] if submissions else None
    if newest is None or st.session_state.get(_SEEN) == newest.name:
        return
    running = newest.state == "running"
    st.fragment(_draw_live_submission, run_every=_EVERY if running else None)(newest, settings)


def _draw_live_submission(initial_job: Job, settings: Settings) -> None:
    """Drawn anew each second; the whole page once it has ended, since a run has come."""
    job = initial_job
    if initial_job.state == "running":
        jobs = data_client.list_submissions(visitor.current_visitor(), settings, limit=1)
        job = jobs[0] if jobs else initial_job
        if job.state != "running":
            st.rerun()
    with st.container(border=True):
        _draw_submission(job)
        if job.state == "running":
            if st.button(tr("submit.cancel"), key="submit.cancel", icon=":material/stop:"):
                with widgets.show_errors():
                    data_client.cancel_submission(job.name, visitor.current_visitor(), settings)
        elif st.button(tr("submit.dismiss"), key="submit.dismiss", type="tertiary"):
            st.session_state[_SEEN] = job.name
            st.rerun()


def _draw_submit_form(number: int, settings: Settings) -> None:
    st.markdown(tr("submit.about"))
    st.markdown(tr("submit.about_logs"))
    uploaded = visitor.draw_uploader(
        tr("submit.file"),
        types=list(SUBMISSION_ENDINGS),
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
        name, content = uploaded.name, uploaded.getvalue()
        with widgets.show_errors():
            data_client.submit_bundle(name, content, visitor.current_visitor(), settings)
            st.session_state[_NUMBER] += 1
            st.rerun()
    with st.expander(tr("submit.levels"), icon=":material/verified:"):
        for level in _LEVELS:
            st.markdown(f"**{tr(f'submit.level.{level}')}** – {tr(f'submit.means.{level}')}")
    _draw_past_submissions(settings)


def _draw_past_submissions(settings: Settings) -> None:
    jobs = data_client.list_submissions(visitor.current_visitor(), settings)
    if not jobs:
        return
    st.markdown(f"**{tr('submit.last')}**")
    for job in jobs:
        with st.container(border=True):
            _draw_submission(job)


def _draw_submission(job: Job) -> None:
    started = wording.format_timestamp(job.started)
    st.caption(f"{escape_markdown(job.title or job.name)} · {started}")
    if job.state == "running":
        counted = tr("submit.scoring", done=job.done, total=job.total)
        widgets.draw_job_bar(job, counted if job.total else tr("submit.checking"))
    elif job.state == "failed":
        reason = escape_markdown(localize_note(job.error), 600)
        st.error(tr("submit.refused", reason=reason), icon=":material/gpp_bad:")
    elif job.state == "done":
        _draw_import_result(job)
    else:
        st.warning(tr(f"submit.{job.state}"), icon=":material/stop_circle:")


def _draw_import_result(job: Job) -> None:
    result = job.result
    new = "known" if result["became"] == "unchanged" else "taken_in"
    text = tr(f"submit.{new}", target=escape_markdown(result["target"]))
    if (count := result.get("runs", 1)) > 1:
        text = tr(f"submit.{new}_runs", count=count)
    st.success(text, icon=":material/verified:")
    for line in result.get("skipped", ()):
        st.caption(escape_markdown(line, 300))
    for score in result["scores"]:
        if score.get("unconfirmed"):  # absent from what was taken in before it was counted
            widgets.draw_unconfirmed(score["unconfirmed"], score["reason"])
    with st.container(horizontal=True, vertical_alignment="center"):
        overview.draw_level_badges(score["level"] for score in result["scores"])
        board = {name: result[name] for name in ("suite", "board") if name in result}
        query = {"key": result["identity"], **board}
        widgets.draw_link(page_links.TARGET, tr("submit.see"), "arrow_forward", **query)
        widgets.draw_link(page_links.RANKING, tr("submit.see_board"), "leaderboard", **board)


# What of a finished run can be taken away: reports and the bundle, made when asked for.

_ICONS = {
    "md": ":material/markdown:",
    "json": ":material/data_object:",
    "csv": ":material/csv:",
    BUNDLE_FORM: ":material/folder_zip:",
    RECORDS_FORM: ":material/dataset:",
}


def list_export_formats(row: RunRow) -> tuple[str, ...]:
    """Reports of whatever has scores; the bundle of what was run here to its end, and records for
    others where that is no control."""
    if row.is_active or not row.scores:
        return ()
    whole = row.origin == "executed" and row.state == "done"
    allowed = {BUNDLE_FORM: whole, RECORDS_FORM: whole and not is_control(row.target.key)}
    return tuple(form for form in EXPORT_FORMS if allowed.get(form, True))


def draw_export_menu(row: RunRow, settings: Settings) -> None:
    """The menu; nothing where there is nothing to take away."""
    forms = list_export_formats(row)
    if not forms:
        return
    asked = (visitor.current_visitor(), settings, current_language())
    with st.popover(tr("submit.export"), icon=":material/download:"):
        for form in forms:
            widgets.draw_download(
                tr(f"submit.form.{form}"),
                partial(data_client.export_run_file, row.run_id, form, *asked),
                f"{to_plain_line(row.run_id)}.{EXPORT_FORMS[form].ending}",
                EXPORT_FORMS[form].mime,
                icon=_ICONS[form],
                key=f"runs.file.{form}.{row.run_id}",
                type="tertiary",
            )
        st.caption(tr("submit.export_about"))
        if BUNDLE_FORM in forms:
            st.caption(tr("submit.bundle_about"))


# One line of the Runs page: whether results are kept on the Hub, and what keeps them from it.


def draw_hub_status(settings: Settings) -> None:
    """Nothing where the settings keep nothing; names and reasons only for who may steer runs."""
    status = runs.load_hub_status(settings)
    if status is None:
        return
    can_see_details = not policy.explain_denial(settings, visitor.current_visitor(), "steer")
    repo = escape_markdown(status.repo, 200) if can_see_details else tr("hub.repository")
    if not status.token:
        st.warning(tr("hub.no_token", repo=repo), icon=":material/cloud_off:")
    elif status.problem:
        reason = f"  \n:small[{escape_markdown(status.problem, 300)}]" if can_see_details else ""
        st.warning(tr("hub.problem", repo=repo) + reason, icon=":material/cloud_off:")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if status.token and not status.problem:
            name, icon = ("sent", "cloud_done") if status.sent_at else ("waiting", "cloud")
            text = tr(f"hub.{name}", repo=repo, when=wording.format_timestamp(status.sent_at))
            st.caption(f":material/{icon}: {text}", width="content")
        if status.held:
            _draw_withheld_runs(status, can_see_details)


def _draw_withheld_runs(status: HubSyncStatus, can_see_details: bool) -> None:
    line = tr("hub.held", count=len(status.held))
    if not can_see_details:
        st.caption(f":material/lock: {line}", width="content")
        return
    with st.popover(line, icon=":material/lock:", type="tertiary"):
        st.text("\n".join(f"{run}: {reason}" for run, reason in status.held.items()))
