"""Long work that is no run (fetching a data set, confirming its answers, taking in a bundle), seen
from outside.

A job is a detached process with a folder `<data>/jobs/<kind>-<name>/`: it writes `status.json` and
holds a lock while it lives, so that pages only read and the death of a process is known at once. A
job that ended can be started again; what it had made is in the data set's own place.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Record, from_json, to_json
from evalcore.runner import processes
from evalcore.settings import Settings
from evalcore.store.locks import is_locked

JobKind = Literal["fetch", "confirm", "import"]
JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
STATUS_FILE, LOCK_FILE, LOG_FILE = "status.json", "lock", "log.txt"
#: The modules that do the work; those above the runner are named, not imported.
_JOB_MODULES: dict[JobKind, str] = {
    "fetch": "evalcore.exchange.fetch_job",
    "confirm": "evalcore.runner.confirm_job",
    "import": "evalcore.exchange.import_job",
}
_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_START_UP = 20.0  # seconds that a process may take before it holds its lock


class Job(Record, frozen=True):
    """How far a job is. `done` of `total` steps (0: unknown), `line` what it said last, `error` why
    it failed, `result` what it found, `title` what people call it where its name is none of theirs;
    `started` and `at` are ISO 8601 in UTC, `pid` its process."""

    kind: JobKind
    name: str
    state: JobState = "running"
    done: int = 0
    total: int = 0
    line: str = ""
    error: str = ""
    started: str = ""
    at: str = ""
    pid: int = 0
    result: dict[str, Any] = {}
    title: str = ""


def utc_timestamp() -> str:
    """This moment in ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def resolve_job_folder(settings: Settings, kind: JobKind, name: str) -> Path:
    """The folder of a job; raises UsageError for a name that is no file name."""
    if not _JOB_NAME.fullmatch(name):
        raise UsageError(f"{name[:60]!r} is no name of a job")
    return settings.data_dir / "jobs" / f"{kind}-{name}"


def find_job(settings: Settings, kind: JobKind, name: str) -> Job | None:
    """The job as it stands, None where there never was one. One whose process is gone without a
    word is `interrupted`."""
    folder = resolve_job_folder(settings, kind, name)
    job = _read_job_status(folder)
    if job is None or job.state != "running" or is_job_alive(folder):
        return job
    # its last word may have come between the first look and the lock's
    job = _read_job_status(folder)
    if job and job.state == "running" and _seconds_since_update(job) > (_START_UP * (not job.pid)):
        return msgspec.structs.replace(job, state="interrupted")
    return job


def is_job_alive(folder: Path) -> bool:
    """Whether a process holds the lock of a job."""
    return is_locked(folder / LOCK_FILE)


def list_jobs(settings: Settings, kind: JobKind) -> list[Job]:
    """All jobs of a kind that are still known, the newest first."""
    folders = (settings.data_dir / "jobs").glob(f"{kind}-*")
    names = [folder.name.removeprefix(f"{kind}-") for folder in folders]
    jobs = [find_job(settings, kind, name) for name in names if _JOB_NAME.fullmatch(name)]
    return sorted(filter(None, jobs), key=lambda job: job.started, reverse=True)


def start_job(
    settings: Settings,
    kind: JobKind,
    name: str,
    job_args: Mapping[str, Any],
    keys: Mapping[str, str],
    title: str = "",
) -> Job:
    """Start a job in a session of its own; raises UsageError where it is under way already."""
    folder = resolve_job_folder(settings, kind, name)
    folder.mkdir(parents=True, exist_ok=True)
    present = find_job(settings, kind, name)
    if present is not None and present.state == "running":
        raise UsageError(f"{name} is being worked on already; wait, or cancel that first")
    job = Job(kind=kind, name=name, started=utc_timestamp(), at=utc_timestamp(), title=title)
    write_job_status(folder, job)
    payload = {"folder": str(folder), "settings": settings, "given": job_args, "keys": dict(keys)}
    with (folder / LOG_FILE).open("wb") as log:
        processes.start_detached([_JOB_MODULES[kind]], log, to_json(payload))
    return job


def cancel_job(settings: Settings, kind: JobKind, name: str) -> None:
    """End a job and what it started; raises UsageError where none is under way."""
    folder = resolve_job_folder(settings, kind, name)
    job = find_job(settings, kind, name)
    if job is None or job.state != "running" or not job.pid or not is_job_alive(folder):
        raise UsageError(f"{name} is not being worked on")
    os.killpg(job.pid, signal.SIGTERM)  # its lock is held: the number still means that process


def wait_for_job(settings: Settings, kind: JobKind, name: str, seconds: float) -> Job | None:
    """The job once it has ended, or as it stands when the time is up."""
    deadline = time.monotonic() + seconds
    while (job := find_job(settings, kind, name)) and job.state == "running":
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return job


def write_job_status(folder: Path, job: Job) -> None:
    """Replace the status as a whole."""
    fresh = folder / f".{STATUS_FILE}.{os.getpid()}"
    fresh.write_bytes(to_json(job))
    fresh.replace(folder / STATUS_FILE)


def _read_job_status(folder: Path) -> Job | None:
    try:
        return from_json(Job, (folder / STATUS_FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def _seconds_since_update(job: Job) -> float:
    """Seconds since the job said anything."""
    return (datetime.now(UTC) - datetime.fromisoformat(job.at)).total_seconds()
