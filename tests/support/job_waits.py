"""Waiting for a job of a page to end."""

from __future__ import annotations

import time

from evalcore.runner import jobs
from evalcore.runner.jobs import Job, JobKind
from evalcore.settings import Settings


def wait_for_job(settings: Settings, kind: JobKind, name: str, seconds: float) -> Job | None:
    """The job once it has ended, or as it stands when the time is up."""
    deadline = time.monotonic() + seconds
    while (job := jobs.find_job(settings, kind, name)) and job.state == "running":
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return job
