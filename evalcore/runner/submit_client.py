"""The door of pages to submissions: a bundle is handed in, checked and scored apart from the page.

A submission is a job named by a mark of who handed it in, so that everybody sees and ends his own.
What was uploaded lies in the folder of its job until that has ended, and is never kept.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evalcore import access
from evalcore.access import AccessDenied, Visitor
from evalcore.errors import UsageError
from evalcore.runner import jobs
from evalcore.runner.jobs import Job
from evalcore.settings import Settings

#: Bytes of a zip; its files may have four times as many together.
MAX_BUNDLE_BYTES = 64 << 20
_UPLOAD_FILE = "upload.zip"
_ZIP_MAGIC = b"PK\x03\x04"
_MAX_ENDED_JOBS = 20  # ended jobs that are kept, beside those of the last day
_DAY = timedelta(days=1)
_MAX_TITLE_LENGTH = 100


def submit_bundle(file: str, content: bytes, visitor: Visitor, settings: Settings) -> str:
    """Start to check a bundle and to take it in; returns the name of the job. `file` is what people
    call it.

    Raises AccessDenied, also for a visitor who has had his share of the day, and UsageError for
    what cannot be a bundle and while another one is being taken in.
    """
    access.require_access(settings, visitor, "upload")
    if len(content) > MAX_BUNDLE_BYTES:
        raise UsageError(f"the file has more than {MAX_BUNDLE_BYTES >> 20} MB")
    if not content.startswith(_ZIP_MAGIC):
        raise UsageError("the file is no zip archive; hand in a bundle that was exported")
    submissions = _sweep_submissions(settings)
    if any(job.state == "running" for job in submissions):
        raise UsageError("another bundle is being taken in; try again when it has ended")
    _check_daily_quota(submissions, visitor, settings)
    name = f"{access.compute_visitor_id(settings, visitor)}-{secrets.token_hex(6)}"
    folder = jobs.resolve_job_folder(settings, "import", name)
    folder.mkdir(parents=True)
    try:
        (folder / _UPLOAD_FILE).write_bytes(content)
        job_args = {"file": str(folder / _UPLOAD_FILE)}
        restricted = access.restrict_settings(settings, visitor)
        jobs.start_job(restricted, "import", name, job_args, {}, title=file[:_MAX_TITLE_LENGTH])
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return name


def list_submissions(visitor: Visitor, settings: Settings, limit: int = 5) -> list[Job]:
    """The last submissions of a visitor, the newest first; of all for whom all is open."""
    return [
        job for job in _sweep_submissions(settings) if _is_own_submission(job, visitor, settings)
    ][:limit]


def cancel_submission(name: str, visitor: Visitor, settings: Settings) -> None:
    """End a submission; nothing half taken in stays. Raises AccessDenied for somebody else's."""
    access.require_access(settings, visitor, "upload")
    job = jobs.find_job(settings, "import", name)
    if job is not None and not _is_own_submission(job, visitor, settings):
        raise AccessDenied("this was handed in by somebody else")
    jobs.cancel_job(settings, "import", name)


def _is_own_submission(job: Job, visitor: Visitor, settings: Settings) -> bool:
    if access.resolve_access_mode(settings, visitor) == "open":
        return True
    return job.name.startswith(f"{access.compute_visitor_id(settings, visitor)}-")


def _check_daily_quota(submissions: Iterable[Job], visitor: Visitor, settings: Settings) -> None:
    """Scoring takes our time: a visitor may hand in as many runs a day as he may start."""
    if access.resolve_access_mode(settings, visitor) == "open":
        return
    used = sum(
        _compute_job_age(job) < _DAY and _is_own_submission(job, visitor, settings)
        for job in submissions
    )
    if used >= settings.runs_per_day:
        raise AccessDenied(
            f"this board takes {settings.runs_per_day} bundles a day from each visitor; "
            f"{used} were handed in within the last 24 hours"
        )


def _sweep_submissions(settings: Settings) -> list[Job]:
    """All submissions, newest first, once what ended ones left behind is gone."""
    submissions = jobs.list_jobs(settings, "import")
    for number, job in enumerate(submissions):
        folder = jobs.resolve_job_folder(settings, "import", job.name)
        if job.state == "running":
            continue
        _remove_upload(folder)  # of a process that was killed
        if number >= _MAX_ENDED_JOBS and _compute_job_age(job) > _DAY:
            shutil.rmtree(folder, ignore_errors=True)
    return submissions


def _remove_upload(folder: Path) -> None:
    (folder / _UPLOAD_FILE).unlink(missing_ok=True)


def _compute_job_age(job: Job) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(job.started)
