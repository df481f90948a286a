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
MOST_BYTES = 64 << 20
_UPLOAD = "upload.zip"
_ZIP = b"PK\x03\x04"
_KEPT = 20  # ended jobs that are kept, beside those of the last day
_DAY = timedelta(days=1)
_LONGEST_NAME = 100


def hand_in(file: str, content: bytes, visitor: Visitor, settings: Settings) -> str:
    """Start to check a bundle and to take it in; returns the name of the job. `file` is what people
    call it.

    Raises AccessDenied, also for a visitor who has had his share of the day, and UsageError for
    what cannot be a bundle and while another one is being taken in.
    """
    access.require_access(settings, visitor, "upload")
    if len(content) > MOST_BYTES:
        raise UsageError(f"the file has more than {MOST_BYTES >> 20} MB")
    if not content.startswith(_ZIP):
        raise UsageError("the file is no zip archive; hand in a bundle that was exported")
    known = _swept(settings)
    if any(job.state == "running" for job in known):
        raise UsageError("another bundle is being taken in; try again when it has ended")
    _check_share(known, visitor, settings)
    name = f"{access.compute_visitor_id(settings, visitor)}-{secrets.token_hex(6)}"
    folder = jobs.folder_of(settings, "import", name)
    folder.mkdir(parents=True)
    try:
        (folder / _UPLOAD).write_bytes(content)
        given = {"file": str(folder / _UPLOAD)}
        seen = access.restrict_settings(settings, visitor)
        jobs.start(seen, "import", name, given, {}, title=file[:_LONGEST_NAME])
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return name


def handed_in(visitor: Visitor, settings: Settings, most: int = 5) -> list[Job]:
    """The last submissions of a visitor, the newest first; of all for whom all is open."""
    return [job for job in _swept(settings) if _is_his(job, visitor, settings)][:most]


def cancel(name: str, visitor: Visitor, settings: Settings) -> None:
    """End a submission; nothing half taken in stays. Raises AccessDenied for somebody else's."""
    access.require_access(settings, visitor, "upload")
    job = jobs.find(settings, "import", name)
    if job is not None and not _is_his(job, visitor, settings):
        raise AccessDenied("this was handed in by somebody else")
    jobs.cancel(settings, "import", name)


def _is_his(job: Job, visitor: Visitor, settings: Settings) -> bool:
    if access.resolve_access_mode(settings, visitor) == "open":
        return True
    return job.name.startswith(f"{access.compute_visitor_id(settings, visitor)}-")


def _check_share(known: Iterable[Job], visitor: Visitor, settings: Settings) -> None:
    """Scoring takes our time: a visitor may hand in as many runs a day as he may start."""
    if access.resolve_access_mode(settings, visitor) == "open":
        return
    used = sum(_age(job) < _DAY and _is_his(job, visitor, settings) for job in known)
    if used >= settings.runs_per_day:
        raise AccessDenied(
            f"this board takes {settings.runs_per_day} bundles a day from each visitor; "
            f"{used} were handed in within the last 24 hours"
        )


def _swept(settings: Settings) -> list[Job]:
    """All submissions, newest first, once what ended ones left behind is gone."""
    known = jobs.every(settings, "import")
    for number, job in enumerate(known):
        folder = jobs.folder_of(settings, "import", job.name)
        if job.state == "running":
            continue
        _without_upload(folder)  # of a process that was killed
        if number >= _KEPT and _age(job) > _DAY:
            shutil.rmtree(folder, ignore_errors=True)
    return known


def _without_upload(folder: Path) -> None:
    (folder / _UPLOAD).unlink(missing_ok=True)


def _age(job: Job) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(job.started)
