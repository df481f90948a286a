"""The process of a task: `python -m evalcore.runner.jobs TASK`.

It reads a `TaskInput` from standard input and writes a `TaskReply` to standard output. A job keeps
its status instead, holds its lock and ends in order when it is cancelled or its time is up.
"""

from __future__ import annotations

import os
import pkgutil
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import msgspec

from evalcore.access import policy
from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note, cut_note
from evalcore.records import from_json, from_json_with_notes, to_json_with_notes, utc_now
from evalcore.runner.jobs import (
    STATUS_FILE,
    TASKS,
    Job,
    JobStopped,
    Task,
    TaskContext,
    TaskInput,
    TaskReply,
    acquire_job_lock,
    write_job_status,
)
from evalcore.settings import explain_disk_error, override_data_folder

_BETWEEN_STEPS = 0.3  # seconds between two counts that a job writes
_PROGRESS_STEP = re.compile(r"(\d{1,9}) of (\d{1,9})\b")
#: What a signal has raised: SQLite's callbacks and destructors swallow it, and then whoever works
#: on goes by a call that broke off.
_stops: list[JobStopped] = []
_EXPECTED = (EvalboardError, msgspec.ValidationError, OSError, MemoryError)


class _JobCancelled(JobStopped):
    """Whoever started the job does not want it any more."""


class _JobTimeout(JobStopped):
    """The time of a job is up."""


def main() -> int:
    task = TASKS[sys.argv[1]]
    for limit, most in ((resource.RLIMIT_AS, task.memory), (resource.RLIMIT_CPU, task.cpu)):
        if most:
            resource.setrlimit(limit, (most, most))
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what a library prints must not stand in the reply
        task_input = from_json(TaskInput, sys.stdin.buffer.read())
        function = pkgutil.resolve_name(task.function)
        with override_data_folder(task_input.settings.data):
            if task_input.folder:
                return run_job(task, function, task_input)
            reply = _reply_to(function, task_input, answer.fileno())
        answer.write(to_json_with_notes(reply, ordered=False))
    return 0


def _reply_to(function: Callable[..., Any], task_input: TaskInput, answer: int) -> TaskReply:
    def reply_and_exit(reply: TaskReply) -> NoReturn:
        with os.fdopen(answer, "wb", closefd=False) as file:
            file.write(to_json_with_notes(reply, ordered=False))
        os._exit(0)

    secrets = Secrets(task_input.keys)
    context = TaskContext(task_input.settings, secrets, reply_and_exit=reply_and_exit)
    try:
        return TaskReply(ok=_call(function, task_input, context))
    except _EXPECTED as error:
        text = _explain_failure(error, task_input) or Note("job_memory")
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}"
    return TaskReply(error=scrub_secrets(text, task_input.keys.values()))


def _call(function: Callable[..., Any], task_input: TaskInput, context: TaskContext) -> Any:
    hints = get_type_hints(function)
    arguments = {
        name: msgspec.convert(value, hints[name]) for name, value in task_input.arguments.items()
    }
    return function(context, **arguments)


def run_job(task: Task, function: Callable[..., Any], task_input: TaskInput) -> int:
    """Do the work of a job; 0 when done, 1 when it failed, was cancelled or has another process."""
    _stops.clear()
    signal.signal(signal.SIGTERM, _raise_cancelled)
    try:
        inherited = task_input.lock >= 0
        lock = task_input.lock if inherited else acquire_job_lock(Path(task_input.folder))
    except UsageError:
        return 1
    os.set_inheritable(lock, False)  # what the job starts must not keep it alive
    try:
        return _work_on_job(task, function, task_input)
    finally:
        os.close(lock)


def _work_on_job(task: Task, function: Callable[..., Any], task_input: TaskInput) -> int:
    folder, keys = Path(task_input.folder), task_input.keys.values()
    job = from_json_with_notes(Job, (folder / STATUS_FILE).read_bytes())
    # It is written with the first report: whoever may cancel by it finds the work's own cleaning up
    # in force, which a signal before the first line of the function would pass by.
    job = msgspec.structs.replace(job, pid=os.getpid())
    counted_at = -_BETWEEN_STEPS

    def update_status(**changes: Any) -> None:
        nonlocal job
        job = msgspec.structs.replace(job, at=utc_now(), **changes)
        write_job_status(folder, job)

    def report_progress(line: str) -> None:
        nonlocal counted_at
        _raise_swallowed_stop()
        changes: dict[str, Any] = {"line": cut_note(scrub_secrets(line, keys), 300)}
        if step := _PROGRESS_STEP.match(line):
            done, total = int(step[1]), int(step[2])
            if done != total and time.monotonic() - counted_at < _BETWEEN_STEPS:
                return  # nobody looks oftener
            counted_at = time.monotonic()
            changes |= {"done": done, "total": total}
        update_status(**changes)

    context = TaskContext(task_input.settings, Secrets(task_input.keys), report_progress)
    try:
        if task.seconds and policy.is_restricted(task_input.settings):
            signal.signal(signal.SIGALRM, _raise_timeout)
            signal.setitimer(signal.ITIMER_REAL, task.seconds)
        try:
            result = _call(function, task_input, context)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        _raise_swallowed_stop()
        update_status(state="done", result=result)
    except _JobCancelled:
        update_status(state="cancelled")
    except _JobTimeout:
        update_status(state="failed", error=task.timeout)
    except _EXPECTED as error:
        text = _explain_failure(error, task_input) or type(error).__name__
        text = scrub_secrets(text, keys)
        update_status(state="failed", error=cut_note(text, 1000))
    except Exception as error:
        update_status(state="failed", error=Note("job_unexpected", kind=type(error).__name__))
        raise
    return 0 if job.state == "done" else 1


def _explain_failure(error: Exception, task_input: TaskInput) -> str:
    """An error that is expected, in words; "" where it has none."""
    if isinstance(error, OSError):
        return explain_disk_error(error, task_input.settings.data)
    return str(error)


def _raise_cancelled(number: int, frame: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    _stops.append(_JobCancelled())
    raise _stops[-1]


def _raise_timeout(number: int, frame: object) -> NoReturn:
    _stops.append(_JobTimeout())
    raise _stops[-1]


def _raise_swallowed_stop() -> None:
    if _stops:
        raise _stops[0]


if __name__ == "__main__":
    sys.exit(main())
