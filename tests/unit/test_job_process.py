"""A job that is told to stop does stop, wherever it is: also inside an event loop's callback."""

import asyncio
import io
import json
import os
import signal
import threading
import time

import msgspec
import pytest
from filelock import FileLock

from evalcore.exchange import import_job
from evalcore.runner import jobs
from evalcore.settings import Settings

SECONDS = 20.0


@pytest.fixture
def settings(tmp_path):
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"), access="read-only")


@pytest.fixture(autouse=True)
def signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def stopped_in_a_callback(number):
    """A loop whose own callback is what the signal interrupts; it fails after `SECONDS`."""

    def interrupted():
        os.kill(os.getpid(), number)
        time.sleep(0.01)  # here the handler raises

    async def work():
        asyncio.get_running_loop().call_soon(interrupted)
        await asyncio.sleep(SECONDS)
        pytest.fail("the signal did not end the loop")

    asyncio.run(work())


def prepared(settings, monkeypatch):
    """The folder of a job that is about to begin, as `jobs.start` leaves it."""
    folder = jobs.resolve_job_folder(settings, "confirm", "x")
    folder.mkdir(parents=True)
    jobs.write_job_status(
        folder, jobs.Job("confirm", "x", started=jobs.utc_timestamp(), at=jobs.utc_timestamp())
    )
    asked = {"folder": str(folder), "settings": msgspec.to_builtins(settings)}
    given = json.dumps(asked | {"given": {}, "keys": {}})
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    return folder


def test_a_cancelled_job_leaves_its_event_loop(settings, monkeypatch):
    prepared(settings, monkeypatch)
    assert jobs.run_job(lambda *_: stopped_in_a_callback(signal.SIGTERM) or {}) == 1
    assert jobs.find_job(settings, "confirm", "x").state == "cancelled"


def test_a_job_that_is_looked_at_while_it_begins_is_done(settings, monkeypatch):
    """Whoever looks whether a job lives holds its lock for a moment."""
    folder = prepared(settings, monkeypatch)
    look = FileLock(folder / jobs.LOCK_FILE, thread_local=False)  # let go by another thread
    look.acquire()
    threading.Timer(0.5, look.release).start()
    assert jobs.run_job(lambda *_: {"found": 1}) == 0
    job = jobs.find_job(settings, "confirm", "x")
    assert (job.state, job.result) == ("done", {"found": 1})


def test_the_time_of_a_bundle_ends_inside_an_event_loop(settings):
    with pytest.raises(import_job._TookTooLong), import_job._limit_duration(settings):
        stopped_in_a_callback(signal.SIGALRM)


def test_the_last_word_of_a_job_that_ends_while_it_is_looked_at_is_told(settings, monkeypatch):
    folder = jobs.resolve_job_folder(settings, "confirm", "x")
    folder.mkdir(parents=True)
    job = jobs.Job("confirm", "x", started=jobs.utc_timestamp(), at=jobs.utc_timestamp(), pid=1)
    jobs.write_job_status(folder, job)

    def ends(folder):
        jobs.write_job_status(folder, msgspec.structs.replace(job, state="done"))
        return False

    monkeypatch.setattr(jobs, "is_job_alive", ends)
    assert jobs.find_job(settings, "confirm", "x").state == "done"
