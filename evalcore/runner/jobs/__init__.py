"""Work that pages hand to other processes, by one protocol: tasks that reply, jobs, run workers.

`python -m evalcore.runner.jobs TASK` does one of `TASKS` (see `__main__`). Its arguments, settings
and keys go over standard input, never into arguments or files. `call_task` waits for the reply. A
job outlives who started it: it has a folder `<data>/jobs/<kind>-<name>/`, writes `status.json` and
holds a lock while it lives, so that pages only read and the death of a process is known at once. It
inherits the lock from who starts it: however long the process takes to come up, it is never taken
for dead.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal, NoReturn, TypeVar

import msgspec

from evalcore.access import login, policy
from evalcore.access.policy import AccessAction, Visitor
from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import (
    ProgressCallback,
    Record,
    from_json_with_notes,
    to_json,
    to_json_with_notes,
    utc_now,
)
from evalcore.settings import ROOT, Settings
from evalcore.store.hub_state import TOKEN, is_hub_sync_enabled
from evalcore.store.journal import is_locked

# What can be asked of a process. The functions import what pages must not; they are named here.


class Task(Record, frozen=True):
    """`function` is "module:name"; it gets a `TaskContext` and the arguments by their names.

    `seconds` is how long a caller waits, and how long a job may take for a visitor where not
    everything is open (0: for ever); `timeout` what is said then. `memory` (bytes) and `cpu`
    (seconds) are limits of the kernel, which what the process starts inherits; `death` is what is
    said of a process that ends without a reply, instead of its last line. `right` is what a visitor
    needs to start or to cancel a job.
    """

    function: str
    seconds: float = 0.0
    timeout: str = ""
    memory: int = 0
    cpu: int = 0
    death: str = ""
    right: AccessAction | None = None


_GIB = 1 << 30
#: The verbs of `dataset_service`; what they read may be hostile.
_DATASET_TASKS = (
    *("index_datasets", "describe_templates", "validate_upload", "map_upload_lines"),
    "save_upload",
)
TASKS: Mapping[str, Task] = MappingProxyType(
    {
        name: Task(f"evalcore.runner.jobs.run_service:{name}", seconds=120.0)
        for name in ("make_plan", "estimate_run", "test_connection", "list_models", "probe_sandbox")
    }
    | {
        name: Task(
            f"evalcore.runner.jobs.dataset_service:{name}",
            seconds=170.0,
            timeout=Note("upload_slow"),
            memory=6 * _GIB,
            cpu=150,
            death=Note("upload_killed"),
        )
        for name in _DATASET_TASKS
    }
    | {
        "export": Task(
            "evalcore.exchange.page_jobs:build_export_file",
            seconds=120.0,
            timeout=Note("export_slow"),
            memory=6 * _GIB,
            cpu=110,
            death=Note("export_killed"),
        ),
        # no limits of the kernel, which the database servers that it starts would inherit
        "gold": Task("evalcore.runner.dataset_check:confirm_samples", timeout=Note("gold_slow")),
        "draft_cases": Task(
            "evalcore.runner.jobs.draft_service:draft_cases",
            seconds=150.0,
            timeout=Note("draft_slow"),
            death=Note("upload_killed"),
        ),
        "fetch": Task("evalcore.exchange.page_jobs:fetch_official_dataset", right="fetch"),
        "confirm": Task("evalcore.runner.dataset_check:confirm_dataset", right="upload"),
        "equivalent": Task(
            "evalcore.runner.jobs.pair_checks:decide_statement_pairs",
            seconds=600.0,
            timeout=Note("pair_slow"),
            right="launch",
        ),
        "import": Task(
            "evalcore.exchange.page_jobs:import_uploaded_file",
            seconds=3600.0,
            timeout=Note("bundle_slow"),
            right="upload",
        ),
    }
)


class TaskInput(Record, frozen=True):
    """What the process of a task reads; a job has a `folder`, and a file descriptor that holds its
    `lock` (negative where it is to take that itself)."""

    settings: Settings
    arguments: dict[str, Any] = {}
    keys: dict[str, str] = {}
    folder: str = ""
    lock: int = -1


class TaskReply(Record, frozen=True):
    """What the process of a task writes: what its function returned, or an error for people."""

    ok: Any = None
    error: str = ""


def ignore_progress(line: str) -> None:
    pass


def _refuse_exit(reply: TaskReply) -> NoReturn:
    raise UsageError(reply.error)


@dataclass(frozen=True)
class TaskContext:
    """What the function of a task works with. `reply_and_exit` ends the process from any thread."""

    settings: Settings
    secrets: Secrets = field(default_factory=Secrets)
    report_progress: ProgressCallback = ignore_progress
    reply_and_exit: Callable[[TaskReply], NoReturn] = _refuse_exit


class JobStopped(SystemExit):
    """Passes every handler of errors on its way out, so that temporary files are removed. Of all
    that is no `Exception` an event loop lets only a SystemExit and a KeyboardInterrupt pass."""


T = TypeVar("T")
#: What belongs to the server alone and never enters the environment of a worker.
_SERVER_ONLY_VARIABLES = frozenset({login.VARIABLE, login.SECRET, login.COOKIE})


def call_task(
    name: str,
    arguments: Mapping[str, Any],
    settings: Settings,
    kind: type[T],
    *,
    visitor: Visitor | None = None,
    keys: Mapping[str, str] = MappingProxyType({}),
    seconds: float = 0.0,
) -> T:
    """What the process of a task replies, as a `kind`. One with a `visitor` is bound as they are.
    Raises UsageError with its problem, also where it ends without a reply or not in time."""
    task, environment = TASKS[name], build_import_environment()
    if visitor is not None:
        environment = build_environment(settings, visitor)
        settings = policy.restrict_settings(settings, visitor)
    limit = seconds or task.seconds
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, name],
            input=to_json(TaskInput(settings, dict(arguments), dict(keys)), ordered=False),
            capture_output=True,
            timeout=limit,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(task.timeout or Note("job_no_answer", seconds=f"{limit:.0f}")) from None
    if done.returncode != 0 or not done.stdout:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["the process ended"]
        raise UsageError(scrub_secrets(task.death or lines[-1], keys.values()))
    reply = from_json_with_notes(TaskReply, done.stdout)
    if reply.error:
        raise UsageError(reply.error)
    return msgspec.convert(reply.ok, kind)


def start_detached(
    command: Sequence[str],
    log: IO[bytes],
    stdin_data: bytes = b"",
    environment: Mapping[str, str] | None = None,
    inherited: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a module with its arguments in a session of its own: it outlives the page, the tab and
    the server. Without an `environment` it gets `build_import_environment()`; the `inherited` file
    descriptors stay open in it."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=environment or build_import_environment(),
        pass_fds=inherited,
    )
    assert process.stdin is not None  # noqa: S101 - asked for by PIPE
    with suppress(BrokenPipeError), process.stdin:  # it ended already, which its lock shows
        process.stdin.write(stdin_data)
    return process


def build_environment(settings: Settings, visitor: Visitor) -> dict[str, str]:
    """`build_import_environment()` with the visitor's mode, so that what works for them is bound as
    they are."""
    mode = policy.resolve_access_mode(settings, visitor)
    return build_import_environment() | {"EVALBOARD_ACCESS": mode}


def build_import_environment() -> dict[str, str]:
    """This environment, with the project importable and without what only the server may know."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    inherited = {
        name: value for name, value in os.environ.items() if name not in _SERVER_ONLY_VARIABLES
    }
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


# Jobs, seen from outside. One that ended can be started again; what it made is in its own place.

JobKind = Literal["fetch", "confirm", "import", "equivalent"]
JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
STATUS_FILE, LOCK_FILE, LOG_FILE = "status.json", "lock", "log.txt"
_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
#: Seconds to wait for a lock: who looks whether a job lives holds it for a moment.
_LOCK_TIMEOUT = 5.0


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

    @property
    def age(self) -> timedelta:
        """The time since it was started."""
        return datetime.now(UTC) - datetime.fromisoformat(self.started)


def resolve_job_folder(settings: Settings, kind: JobKind, name: str) -> Path:
    """The folder of a job, with dots for the colons of a key; raises UsageError for a name that is
    no file name."""
    name = name.replace(":", ".")
    if not _JOB_NAME.fullmatch(name):
        raise UsageError(Note("job_name", name=repr(name[:60])))
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
    if job and job.state == "running":
        return msgspec.structs.replace(job, state="interrupted")
    return job


def is_job_alive(folder: Path) -> bool:
    """Whether a process holds the lock of a job."""
    return is_locked(folder / LOCK_FILE)


def acquire_job_lock(folder: Path) -> int:
    """A file descriptor that holds the lock of a job until it is closed here and in every process
    that inherited it. Raises UsageError where another holds it."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    until = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(handle)
                raise UsageError(Note("job_busy", name=folder.name)) from None
        except BaseException:
            os.close(handle)
            raise
        time.sleep(0.02)


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
    arguments: Mapping[str, Any],
    visitor: Visitor,
    keys: Mapping[str, str] = MappingProxyType({}),
    title: str = "",
) -> Job:
    """Start a job in a session of its own. Raises AccessDenied, and UsageError where it is under
    way already."""
    _require_right(settings, kind, visitor)
    folder = resolve_job_folder(settings, kind, name)
    folder.mkdir(parents=True, exist_ok=True)
    present = find_job(settings, kind, name)
    if present is not None and present.state == "running":
        raise UsageError(Note("job_busy", name=present.name))
    now, file_name = utc_now(), folder.name.removeprefix(f"{kind}-")
    job = Job(kind=kind, name=file_name, started=now, at=now, title=title)
    lock = acquire_job_lock(folder)
    try:
        write_job_status(folder, job)
        task_input = TaskInput(settings, dict(arguments), dict(keys), str(folder), lock)
        with (folder / LOG_FILE).open("wb") as log:
            start_detached([__name__, kind], log, to_json(task_input), inherited=[lock])
    finally:
        os.close(lock)  # the process has it
    return job


def cancel_job(settings: Settings, kind: JobKind, name: str, visitor: Visitor) -> None:
    """End a job and what it started; nothing half made stays. Raises AccessDenied, and UsageError
    where none is under way."""
    _require_right(settings, kind, visitor)
    folder = resolve_job_folder(settings, kind, name)
    job = find_job(settings, kind, name)
    if job is None or job.state != "running" or not job.pid or not is_job_alive(folder):
        raise UsageError(Note("job_idle", name=job.name if job else name))
    os.killpg(job.pid, signal.SIGTERM)  # its lock is held: the number still means that process


def _require_right(settings: Settings, kind: JobKind, visitor: Visitor) -> None:
    if right := TASKS[kind].right:
        policy.require_access(settings, visitor, right)


def write_job_status(folder: Path, job: Job) -> None:
    """Replace the status as a whole."""
    fresh = folder / f".{STATUS_FILE}.{os.getpid()}"
    fresh.write_bytes(to_json_with_notes(job))
    fresh.replace(folder / STATUS_FILE)


def _read_job_status(folder: Path) -> Job | None:
    try:
        return from_json_with_notes(Job, (folder / STATUS_FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


# Keeping results on the Hub without anybody asking: a process of its own, never the server.
# Where the setting `hub_repo` names a repository and the environment holds HF_TOKEN, what was
# kept is fetched when the server starts, and what is new is sent when a run ends. Either writes
# how it went to `hub.json` and its lines to `hub.log` of the data folder.

_logger = logging.getLogger(__name__)
#: Seconds that a start waits for what is fetched; it goes on in the background after that.
PULL_TIMEOUT = 60.0
_HUB_LOG = "hub.log"
_MAX_HUB_LOG_BYTES = 1 << 20


def pull_from_hub(settings: Settings, timeout: float = PULL_TIMEOUT) -> None:
    """Take back what earlier containers left, and wait for it a while; never raises for the Hub."""
    if not settings.hub_repo:
        return
    if not is_hub_sync_enabled(settings):
        _logger.error(
            "hub_repo is %s, but %s is not set: nothing is kept", settings.hub_repo, TOKEN
        )
        return
    process = _start_hub_sync(settings, "pull")
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        _logger.warning("fetching from %s continues in the background", settings.hub_repo)
        return
    if status:
        _logger.error("fetching from %s failed; see %s", settings.hub_repo, _HUB_LOG)


def schedule_push(settings: Settings) -> None:
    """Send what is new by a process that outlives this one; returns at once."""
    if is_hub_sync_enabled(settings):
        _start_hub_sync(settings, "push")


def _start_hub_sync(settings: Settings, action: str) -> subprocess.Popen[bytes]:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    path = settings.data_dir / _HUB_LOG
    mode = "ab" if path.exists() and path.stat().st_size < _MAX_HUB_LOG_BYTES else "wb"
    sync_args = ["--repo", settings.hub_repo, "--data", settings.data]
    with path.open(mode) as log:
        return start_detached(["evalcore", "hub", action, *sync_args], log)
