"""A job that is told to stop does stop, wherever it is: also inside an event loop's callback."""

import asyncio
import fcntl
import json
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from evalcore.access.policy import OPERATOR
from evalcore.errors import UsageError
from evalcore.records import to_json, utc_now
from evalcore.runner import jobs
from evalcore.runner.jobs import TASKS, TaskContext, TaskInput
from evalcore.runner.jobs import __main__ as process
from evalcore.settings import ROOT, Settings
from tests.support.job_waits import wait_for_job

SECONDS = 120.0


@pytest.fixture
def settings(tmp_path):
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"), access="read-only")


@pytest.fixture(autouse=True)
def signals():
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    yield
    for number, handler in handlers.items():
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


def prepared(settings):
    """What a job that is about to begin reads, and its folder as `jobs.start_job` leaves it."""
    folder = jobs.resolve_job_folder(settings, "confirm", "x")
    folder.mkdir(parents=True)
    jobs.write_job_status(folder, jobs.Job("confirm", "x", started=utc_now(), at=utc_now()))
    return TaskInput(settings, folder=str(folder))


def test_a_cancelled_job_leaves_its_event_loop(settings):
    def work(context: TaskContext):
        stopped_in_a_callback(signal.SIGTERM)

    assert process.run_job(TASKS["confirm"], work, prepared(settings)) == 1
    assert jobs.find_job(settings, "confirm", "x").state == "cancelled"


@pytest.mark.parametrize("reports", [True, False])
def test_a_job_is_cancelled_though_a_callback_swallows_the_signal(settings, reports):
    """SQLite turns what its callbacks raise into an answer of its own, which is no finding."""

    def work(context: TaskContext):
        connection = sqlite3.connect(":memory:")

        def authorize(*action):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)  # here the handler raises
            return sqlite3.SQLITE_OK

        connection.set_authorizer(authorize)
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            connection.execute("SELECT 1")
        if reports:
            context.report_progress("1 of 2")
            pytest.fail("a report did not end the job")
        return {"found": "not authorized"}

    assert process.run_job(TASKS["confirm"], work, prepared(settings)) == 1
    job = jobs.find_job(settings, "confirm", "x")
    assert (job.state, job.result) == ("cancelled", {})


def test_a_job_can_be_cancelled_from_its_first_report_on(settings):
    """Before that the function cleans up nothing: what it was handed would be left."""
    pids = []

    def work(context: TaskContext):
        pids.append(jobs.find_job(settings, "confirm", "x").pid)
        context.report_progress("at work")
        pids.append(jobs.find_job(settings, "confirm", "x").pid)
        return {}

    assert process.run_job(TASKS["confirm"], work, prepared(settings)) == 0
    assert pids == [0, os.getpid()]


def test_a_job_that_is_looked_at_while_it_begins_is_done(settings):
    """Whoever looks whether a job lives holds its lock for a moment."""
    task_input = prepared(settings)
    look = os.open(f"{task_input.folder}/{jobs.LOCK_FILE}", os.O_RDWR | os.O_CREAT)
    fcntl.flock(look, fcntl.LOCK_SH)
    threading.Timer(0.5, os.close, [look]).start()
    assert process.run_job(TASKS["confirm"], lambda context: {"found": 1}, task_input) == 0
    job = jobs.find_job(settings, "confirm", "x")
    assert (job.state, job.result) == ("done", {"found": 1})


def test_the_time_of_a_bundle_ends_inside_an_event_loop(settings):
    def work(context: TaskContext):
        stopped_in_a_callback(signal.SIGALRM)

    assert process.run_job(TASKS["import"], work, prepared(settings)) == 1
    job = jobs.find_job(settings, "confirm", "x")
    assert (job.state, job.error) == ("failed", TASKS["import"].timeout)


def test_a_bundle_has_all_the_time_where_everything_is_open(settings):
    timers = []
    task_input = prepared(msgspec.structs.replace(settings, access="open"))
    task = TASKS["import"]
    process.run_job(
        task, lambda _: timers.append(signal.getitimer(signal.ITIMER_REAL)[0]), task_input
    )
    assert timers == [0.0]


def test_only_some_counts_of_a_job_are_written_and_always_the_last(settings, monkeypatch):
    written = []
    monkeypatch.setattr(process, "write_job_status", lambda folder, job: written.append(job.done))

    def work(context: TaskContext):
        for count in range(1, 1001):
            context.report_progress(f"{count} of 1000 steps done")
        return {}

    assert process.run_job(TASKS["confirm"], work, prepared(settings)) == 0
    assert len(written) < 1000
    assert written[-1] == 1000


def test_what_a_library_prints_stands_in_no_reply(settings, monkeypatch, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "noisy.py").write_text(
        "import os\n"
        "def work(context, text: str):\n"
        "    print('noise')\n"
        "    os.write(1, b'more')\n"
        "    raise KeyError(text)\n"
    )
    code = (
        "import sys\n"
        "from evalcore.runner import jobs\n"
        "from evalcore.runner.jobs import __main__ as process\n"
        "process.TASKS = {'noisy': jobs.Task('noisy:work')}\n"
        "sys.argv = ['', 'noisy']\n"
        "sys.exit(process.main())\n"
    )
    key = "hf_" + "x" * 30
    asked = to_json(TaskInput(settings, {"text": f"with {key}"}, {"K": key}))
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=asked,
        capture_output=True,
        env=jobs.build_import_environment() | {"PYTHONPATH": f"{site}:{ROOT}"},
        check=True,
    )
    assert json.loads(done.stdout) == {"error": "KeyError: 'with [key removed]'"}


@pytest.mark.parametrize(
    ("end", "error"), [("os.kill(os.getpid(), 9)", "ended"), ("1 / 0", "Zero")]
)
def test_a_task_whose_process_ends_has_its_reason(settings, monkeypatch, end, error):
    run = subprocess.run
    program = ["-c", f"import os, sys; sys.stdin.read(); {end}"]
    monkeypatch.setattr(
        jobs.subprocess, "run", lambda command, **more: run([command[0], *program], **more)
    )
    with pytest.raises(UsageError, match=error):
        jobs.call_task("probe_sandbox", {}, settings, dict)
    with pytest.raises(UsageError, match="within the limits of time and memory"):
        jobs.call_task("index_datasets", {"locations": []}, settings, int)


def test_every_task_names_a_function_that_is_there():
    for task in TASKS.values():
        assert callable(pkgutil.resolve_name(task.function))


def test_the_last_word_of_a_job_that_ends_while_it_is_looked_at_is_told(settings, monkeypatch):
    folder = jobs.resolve_job_folder(settings, "confirm", "x")
    folder.mkdir(parents=True)
    job = jobs.Job("confirm", "x", started=utc_now(), at=utc_now(), pid=1)
    jobs.write_job_status(folder, job)

    def ends(folder):
        jobs.write_job_status(folder, msgspec.structs.replace(job, state="done"))
        return False

    monkeypatch.setattr(jobs, "is_job_alive", ends)
    assert jobs.find_job(settings, "confirm", "x").state == "done"


def test_a_process_that_is_slow_to_start_is_not_taken_for_dead(settings, monkeypatch):
    """On a machine with much to do, a minute may pass between the start of a process and its first
    line: nobody may say meanwhile that the job ended, and then see it end."""
    settings = msgspec.structs.replace(settings, access="open")
    past = (datetime.now(UTC) - timedelta(minutes=5)).isoformat(timespec="milliseconds")
    monkeypatch.setattr(jobs, "utc_now", lambda: past)
    job = jobs.start_job(settings, "import", "slow", {"upload": "none.zip"}, OPERATOR)
    seen = [job.state]
    until = time.monotonic() + 3 * SECONDS
    while seen[-1] == "running" and time.monotonic() < until:
        seen.append(jobs.find_job(settings, "import", "slow").state)
    assert set(seen) == {"running", "failed"}


def test_a_process_that_ends_before_its_first_line_is_known_at_once(settings, monkeypatch):
    settings = msgspec.structs.replace(settings, access="open")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    jobs.start_job(settings, "import", "gone", {}, OPERATOR)
    assert wait_for_job(settings, "import", "gone", SECONDS).state == "interrupted"


def test_a_job_is_started_by_one_alone(settings, monkeypatch):
    """Two who start it at the same moment both see none at work."""
    settings = msgspec.structs.replace(settings, access="open")
    monkeypatch.setattr(jobs, "find_job", lambda *_: None)
    monkeypatch.setattr(jobs, "_LOCK_TIMEOUT", 0.1)
    folder = jobs.resolve_job_folder(settings, "import", "twice")
    folder.mkdir(parents=True)
    lock = jobs.acquire_job_lock(folder)
    with pytest.raises(UsageError, match="already being processed"):
        jobs.start_job(settings, "import", "twice", {}, OPERATOR)
    assert not (folder / jobs.STATUS_FILE).exists()
    os.close(lock)
