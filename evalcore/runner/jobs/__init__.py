"""Work that pages hand to other processes: services that answer, jobs, run workers.

Requests and keys go over standard input. A job has a folder `<data>/jobs/<kind>-<name>/`: it writes
`status.json` and holds a lock while it lives.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

import msgspec
from filelock import FileLock, Timeout

from evalcore.access import login, policy
from evalcore.access.policy import Visitor
from evalcore.access.secrets import scrub_secrets
from evalcore.errors import EvalboardError, UsageError
from evalcore.records import Record, from_json, to_json
from evalcore.runner.run_request import RunRequest
from evalcore.settings import ROOT, Settings, override_data_folder
from evalcore.store.hub_state import TOKEN, is_hub_sync_enabled
from evalcore.store.run_folder import RunFolder, is_locked

# The processes that do the work of pages: short services that answer, workers that outlive all.
# Requests and keys go over standard input, never into arguments or files. No process gets what
# only the server needs to know, and each is told the access of the visitor whom it works for.

_SERVICE_TIMEOUT = 120.0  # seconds
#: What belongs to the server alone and never enters the environment of a worker.
_SERVER_ONLY_VARIABLES = frozenset({login.VARIABLE, login.SECRET, login.COOKIE})


def call_service(
    verb: str,
    request: RunRequest,
    keys: Mapping[str, str],
    settings: Settings,
    visitor: Visitor,
) -> Any:
    """What `jobs.run_service` answers to a verb; raises UsageError with its problem."""
    restricted = policy.restrict_settings(settings, visitor)
    payload = msgspec.json.encode({"request": request, "keys": dict(keys), "settings": restricted})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.runner.jobs.run_service", verb],
            input=payload,
            capture_output=True,
            timeout=_SERVICE_TIMEOUT,
            env=build_environment(settings, visitor),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"no answer within {_SERVICE_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(scrub_secrets(lines[-1] if lines else "the service ended", keys.values()))
    result = json.loads(done.stdout)
    if "error" in result:
        raise UsageError(result["error"])
    return result["ok"]


def start_run_process(
    module: str,
    folders: Sequence[RunFolder],
    keys: Mapping[str, str],
    environment: Mapping[str, str],
    *flags: str,
) -> None:
    """Start the process of some runs, which logs into the first of their folders."""
    paths = [str(folder.path) for folder in folders]
    with folders[0].log_path.open("ab") as log:
        command = [f"evalcore.runner.{module}", *paths, *flags]
        start_detached(command, log, json.dumps(dict(keys)).encode(), environment)


def start_detached(
    command: Sequence[str],
    log: IO[bytes],
    stdin_data: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a module with its arguments in a session of its own: it outlives the page, the tab and
    the server. It reads what is `stdin_data`; without an `environment` it gets
    `build_import_environment()`."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=environment or build_import_environment(),
    )
    assert process.stdin is not None  # noqa: S101 - asked for by PIPE
    process.stdin.write(stdin_data)
    process.stdin.close()
    return process


def build_environment(settings: Settings, visitor: Visitor) -> dict[str, str]:
    """`build_import_environment()` with the visitor's mode, so that what works for him is bound
    as he is."""
    return build_import_environment() | {
        "EVALBOARD_ACCESS": policy.resolve_access_mode(settings, visitor)
    }


def build_import_environment() -> dict[str, str]:
    """This environment, with the project importable and without what only the server may know."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    inherited = {
        name: value for name, value in os.environ.items() if name not in _SERVER_ONLY_VARIABLES
    }
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


# Long work that is no run (fetching a data set, confirming its answers, taking in a bundle), seen
# from outside.
# A job is a detached process with a folder `<data>/jobs/<kind>-<name>/`: it writes `status.json`
# and holds a lock while it lives, so that pages only read and the death of a process is known at
# once. A job that ended can be started again; what it had made is in the data set's own place.

JobKind = Literal["fetch", "confirm", "import"]
JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
STATUS_FILE, LOCK_FILE, LOG_FILE = "status.json", "lock", "log.txt"
#: The modules that do the work; those above the runner are named, not imported.
_JOB_MODULES: dict[JobKind, str] = {
    "fetch": "evalcore.exchange.fetch_job",
    "confirm": "evalcore.runner.dataset_check",
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
        start_detached([_JOB_MODULES[kind]], log, to_json(payload))
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


# The inside of a job's process: its lock, its status, its orderly end when it is cancelled.

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
        _logger.warning("fetching from %s goes on in the background", settings.hub_repo)
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
