"""The inside of a job's process: its lock, its status, its orderly end when it is cancelled."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from filelock import FileLock, Timeout

from evalcore.errors import EvalboardError
from evalcore.records import from_json
from evalcore.runner.jobs import LOCK_FILE, STATUS_FILE, Job, utc_timestamp, write_job_status
from evalcore.secrets import scrub_secrets
from evalcore.settings import Settings, override_data_folder

ProgressCallback = Callable[[str], None]
#: What a job does with what it was given, its settings and its keys; returns its result.
JobFunction = Callable[
    [Mapping[str, Any], Settings, Mapping[str, str], ProgressCallback], dict[str, Any]
]
#: Seconds to wait for the lock: who looks whether a job lives holds it for a moment.
_LOCK_TIMEOUT = 5.0
_PROGRESS_STEP = re.compile(r"(\d{1,9}) of (\d{1,9})\b")


class JobStopped(SystemExit):
    """Passes every handler of errors on its way out, so that temporary files are removed. Of all
    that is no `Exception` an event loop lets only a SystemExit and a KeyboardInterrupt pass."""


class _JobCancelled(JobStopped):
    """Whoever started the job does not want it any more."""


def run_job(work: JobFunction) -> int:
    """Do the work that standard input describes; 0 when done, 1 when it failed, was cancelled or is
    being done by another process."""
    payload = json.loads(sys.stdin.read())
    folder, keys = Path(payload["folder"]), payload["keys"]
    settings = msgspec.convert(payload["settings"], Settings)
    signal.signal(signal.SIGTERM, _handle_sigterm)
    try:
        with (
            FileLock(folder / LOCK_FILE, timeout=_LOCK_TIMEOUT),
            override_data_folder(settings.data),
        ):
            return _run_work(work, payload["given"], settings, keys, folder)
    except Timeout:
        return 1


def _run_work(
    work: JobFunction,
    job_args: Mapping[str, Any],
    settings: Settings,
    keys: Mapping[str, str],
    folder: Path,
) -> int:
    job = from_json(Job, (folder / STATUS_FILE).read_bytes())
    job = msgspec.structs.replace(job, pid=os.getpid())

    def update_status(**changes: Any) -> None:
        nonlocal job
        job = msgspec.structs.replace(job, at=utc_timestamp(), **changes)
        write_job_status(folder, job)

    def report_progress(line: str) -> None:
        step = _PROGRESS_STEP.match(line)
        steps = {"done": int(step[1]), "total": int(step[2])} if step else {}
        update_status(line=scrub_secrets(line, keys.values())[:300], **steps)

    try:
        update_status()
        update_status(state="done", result=work(job_args, settings, keys, report_progress))
    except _JobCancelled:
        update_status(state="cancelled")
    except (EvalboardError, OSError, MemoryError) as error:
        update_status(
            state="failed",
            error=scrub_secrets(str(error) or type(error).__name__, keys.values())[:1000],
        )
    except Exception as error:
        update_status(state="failed", error=f"the work ended unexpectedly: {type(error).__name__}")
        raise
    return 0 if job.state == "done" else 1


def _handle_sigterm(number: int, frame: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _JobCancelled
