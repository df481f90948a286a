"""A persistent child process that serves requests under limits, and is killed when it overruns.

What is guaranteed, and by what:

- *It ends in time*: by this module. A watchdog kills the whole process group; the next request
  starts a new child. A parent that dies closes the pipe, which ends an idle child; a busy one ends
  by its limit on processor time.
- *It opens no file and no socket, writes nothing, starts no process, and takes no more memory than
  it may*: by the kernel's resource limits, on platforms that have them; `enforced` lists which
  hold. Through Python the same is refused on every platform by an audit hook (`lock_down`).
- *It knows nothing of us*: empty environment (no more than a time zone, UTC, and a home, the
  working directory), its own session, an empty temporary directory as working directory,
  `python -I`, no descriptor but the two pipes, standard error to nowhere. No user or mount
  namespace is used: files are out of reach because nothing can be opened, not because they are
  hidden.
- *Its answers cannot exhaust us*: one that is longer than `max_reply` is not read and the child is
  killed.

What the service refuses by its own means (an engine's locks) comes before all of this.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

import evalcore
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record, from_json, to_json

# Messages on a pipe: four bytes of length, most significant first, then that much JSON.

_LENGTH = 4


class Hello(Record, frozen=True):
    """A child's first message: what it serves (`about`) and which limits hold."""

    about: dict[str, Any] = {}
    enforced: tuple[str, ...] = ()


class Reply(Record, frozen=True):
    """A child's answer: `result` as JSON, or what went wrong in `fault` ("memory", "error")."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    fault: str = ""
    message: str = ""


def write_frame(pipe: IO[bytes], value: Any) -> None:
    body = to_json(value)
    pipe.write(len(body).to_bytes(_LENGTH, "big") + body)
    pipe.flush()


def read_frame(pipe: IO[bytes], limit: int | None = None) -> bytes | None:
    """Read the JSON of the next message; None at the end of the pipe or if it breaks off. Raises
    ValueError for a message longer than `limit` bytes, without reading it."""
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    if limit is not None and length > limit:
        raise ValueError(f"a message of {length} bytes is over the limit of {limit}")
    body = pipe.read(length)
    return body if len(body) == length else None


# Limits that the kernel holds a process to, set by the process itself and never lifted again:
# - NOFILE: no file, socket or pipe can be opened any more; those that are open stay so;
# - FSIZE 0: no file can grow, whoever opened it;
# - NPROC 0: no process or thread can be started (does not bind root, and is then not named);
# - AS: address space: what is used now plus `memory_bytes`;
# - CORE 0: a crash leaves no memory image;
# - CPU: seconds of processor time, renewed per request by `renew_cpu`.
# A platform that lacks a limit (all of them on Windows, AS on macOS) is not an error: its name is
# then missing from what `apply_limits` returns, and only the parent's clock stands.

if sys.platform != "win32":
    import resource

_STATM = Path("/proc/self/statm")


def apply_limits(memory_bytes: int) -> tuple[str, ...]:
    """Limit this process for good; call it when all files and modules it needs are loaded. Returns
    the names of the limits that now hold, from the table of this module."""
    if sys.platform == "win32":
        return ()
    pages = int(_STATM.read_text().split()[0]) if _STATM.exists() else 0  # unknown on macOS
    limits = {
        "AS": (pages * os.sysconf("SC_PAGE_SIZE") if pages else 0) + memory_bytes,
        "FSIZE": 0,
        "CORE": 0,
        "NPROC": 0,
        # New descriptors get the lowest free number, so a limit of that number refuses all.
        "NOFILE": os.dup(0),
    }
    os.close(limits["NOFILE"])
    set_here = [name for name, value in limits.items() if _set_limit(name, value)]
    return tuple(name for name in set_here if name != "NPROC" or os.geteuid() != 0)


def renew_cpu(seconds: float) -> None:
    """Give this process `seconds` of processor time from now; then the kernel ends it. It is what
    stops a native loop whose parent has died, so that nobody is left to kill it."""
    if sys.platform == "win32":
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard < 0 else min(soft, hard), hard))


if sys.platform != "win32":

    def _set_limit(name: str, value: int) -> bool:
        """Set one limit, soft and hard; False where the platform has or takes it not."""
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            return False
        _, hard = resource.getrlimit(number)
        value = value if hard < 0 else min(value, hard)
        try:
            resource.setrlimit(number, (value, value))
        except (OSError, ValueError):
            return False
        return True


# After `lock_down` Python code opens and starts nothing. The audit hook sees what goes through
# Python, not what a C library does by itself; against that stand the kernel's limits. It cannot be
# removed again.

#: Audit events that are refused, by their name up to the first dot.
_MODULES = (
    "open mmap socket subprocess os shutil tempfile ctypes pty fcntl ftplib urllib http imaplib "
    "poplib smtplib telnetlib nntplib webbrowser winreg syslog pdb pathlib glob"
)
_REFUSED = frozenset(_MODULES.split())
_REFUSED_FULL = frozenset(("sqlite3.enable_load_extension", "sqlite3.load_extension"))


def _refuse_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event.partition(".")[0] in _REFUSED or event in _REFUSED_FULL:
        raise PermissionError(f"{event} is refused in this process")


def lock_down() -> None:
    """Refuse files, sockets, processes and foreign code in this process from now on."""
    sys.addaudithook(_refuse_event)


# The inside: load a service, give up every right, then answer requests. Started with two pipes as
# standard input and output. The service is named "module:factory"; `factory(options)` loads all it
# will ever need and returns a `Service`.


class Start(Record, frozen=True):
    """The parent's first message. `seconds` of processor time are granted to each request."""

    service: str
    options: dict[str, Any]
    memory_bytes: int
    seconds: float


class Service(Protocol):
    """What a worker process serves: `about` is told to the parent once."""

    about: dict[str, Any]

    def __call__(self, request: Mapping[str, Any]) -> Any:
        """The JSON-encodable result of one request."""


def main() -> None:
    requests, replies = _take_pipes()
    first = read_frame(requests)
    if first is None:
        return
    start = from_json(Start, first)
    module, _, factory = start.service.partition(":")
    service: Service = getattr(import_module(module), factory)(start.options)
    _answer_request(service, b"{}")  # imports whatever the way of an answer imports lazily
    enforced = apply_limits(start.memory_bytes)
    renew_cpu(start.seconds)
    lock_down()
    write_frame(replies, Hello(about=service.about, enforced=enforced))
    while (request := read_frame(requests)) is not None:
        renew_cpu(start.seconds)
        write_frame(replies, _answer_request(service, request))


def _answer_request(service: Service, request: bytes) -> Reply:
    try:
        return Reply(result=msgspec.Raw(to_json(service(msgspec.json.decode(request)))))
    except MemoryError:
        return Reply(fault="memory", message="the process ran out of memory")
    except Exception as error:  # the parent decides what an unforeseen error means
        return Reply(fault="error", message=f"{type(error).__name__}: {error}"[:2000])


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes for ourselves; what prints to standard output now prints to nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return requests, replies


# A clock over calls of one owner, made one after another: what overruns is stopped by steps.
# One thread serves all calls. Calls that end in time never wake it: it sleeps past them and looks
# again, because to start or to wake a thread for each call takes longer than many a call.

#: Yields, after each step, the seconds until the next.
Steps = Callable[[], Iterator[float]]
_IDLE_SECONDS = 60.0  # without a call, after which the thread ends


class Watch:
    """One call under the clock; `fired` tells that it overran."""

    def __init__(self, deadline: float, steps: Iterator[float]) -> None:
        self.fired = False
        self.deadline, self.steps = deadline, steps

    def take_step(self) -> None:
        """Do the next step, and set the time of that after it."""
        self.fired = True
        pause = next(self.steps, math.inf)
        self.deadline = time.monotonic() + pause


class Watchdog:
    """See above. With `start` its thread starts at once and stays, for a process that may
    start none later."""

    def __init__(self, *, start: bool = False) -> None:
        self._condition = threading.Condition()
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self._wakes = 0.0  # when the thread looks next, by itself
        self._stays = start
        if start:
            self._ensure_thread()

    @contextmanager
    def watch_call(self, seconds: float, steps: Steps) -> Iterator[Watch]:
        """Take `steps` once the call has lasted `seconds`; none is taken after its end."""
        watch = Watch(time.monotonic() + seconds, steps())
        with self._condition:
            self._watch = watch
            self._ensure_thread()
            if watch.deadline < self._wakes:
                self._condition.notify()
        try:
            yield watch
        finally:
            with self._condition:  # waits for a step that is being taken
                self._watch = None

    def _ensure_thread(self) -> None:
        """Start the thread, also in a process that was forked from that of the last one."""
        if self._thread is None or not self._thread.is_alive():
            self._wakes = 0.0
            self._thread = threading.Thread(target=self._look_after_calls, daemon=True)
            self._thread.start()

    def _look_after_calls(self) -> None:
        with self._condition:
            while True:
                watch = self._watch
                if watch is not None and watch.deadline <= time.monotonic():
                    watch.take_step()
                now = time.monotonic()
                pause = min(_IDLE_SECONDS, watch.deadline - now) if watch else _IDLE_SECONDS
                self._wakes = now + pause
                woken = self._condition.wait(max(pause, 0.0))
                if not (woken or watch or self._watch or self._stays):
                    self._thread = None
                    return


_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from evalcore.sandbox.worker_process import main; main()"
)
#: A service that loads large libraries takes many times as long on a busy machine.
_START_SECONDS = 300.0
_DYING_SECONDS = 0.5
#: What a process of Windows does not start without; nothing is needed elsewhere.
_PASSED_VARIABLES = ("SYSTEMROOT",)


class WorkerLost(Exception):
    """The child is gone and its request unanswered; `timed_out` where we killed it for time."""

    def __init__(self, message: str, *, timed_out: bool) -> None:
        self.timed_out = timed_out
        super().__init__(message)


class WorkerProcess:
    """One child at a time, started when first needed; usable from several threads. `service` is
    "module:factory" as `main` loads it. `seconds` is the wall-clock limit of a request,
    `memory_bytes` what the child may take beyond its size after loading."""

    def __init__(
        self,
        service: str,
        options: Mapping[str, Any],
        *,
        seconds: float,
        memory_bytes: int,
        max_reply: int,
    ) -> None:
        self._start = Start(
            service=service, options=dict(options), memory_bytes=memory_bytes, seconds=seconds
        )
        self._max_reply = max_reply
        self._child: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._hello = Hello()
        self._lock = threading.Lock()
        self._watchdog = Watchdog()

    def hello(self) -> Hello:
        """What the child said of itself; starts it. Raises EnvironmentFailure if it cannot."""
        with self._lock:
            self._ensure_running()
            return self._hello

    def request(self, request: Mapping[str, Any]) -> Reply:
        """One answer. Raises WorkerLost, and EnvironmentFailure where no child can be started."""
        with self._lock:
            child = self._ensure_running()
            return from_json(Reply, self._exchange_message(child, request, self._start.seconds))

    def restart(self) -> None:
        """End the child; the next request gets a fresh one."""
        with self._lock:
            self._end_child()

    def close(self) -> None:
        """End the child and remove its directory; safe to call twice."""
        with self._lock:
            self._end_child()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _ensure_running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._end_child()
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="evalcore-")
        try:
            child = self._child = _spawn_worker(self._folder.name)
            answer = self._exchange_message(child, self._start, _START_SECONDS)
            self._hello = from_json(Hello, answer)
        except (OSError, WorkerLost) as problem:
            raise EnvironmentFailure(
                Note("worker_process", service=self._start.service, message=problem)
            ) from problem
        return child

    def _exchange_message(
        self, child: subprocess.Popen[bytes], message: Any, seconds: float
    ) -> bytes:
        def kill_worker() -> Iterator[float]:
            _kill_worker(child)
            yield from ()

        problem = ""
        with self._watchdog.watch_call(seconds, kill_worker) as watch:
            try:
                write_frame(_require_pipe(child.stdin), message)
                answer = read_frame(_require_pipe(child.stdout), self._max_reply)
            except (OSError, ValueError) as error:
                answer, problem = None, str(error)
        if answer is not None and not watch.fired:
            return answer
        cause = problem or _describe_exit(child)
        self._end_child()
        if watch.fired:
            raise WorkerLost(f"killed after {seconds:g} s", timed_out=True)
        raise WorkerLost(f"the process was lost: {cause}", timed_out=False)

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        _kill_worker(child)
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):  # a child that is gone takes what was still buffered with it
                _require_pipe(pipe).close()
        child.wait()


def _spawn_worker(folder: str) -> subprocess.Popen[bytes]:
    root = Path(evalcore.__file__).resolve().parent.parent
    environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**environment, "HOME": folder, "TZ": "UTC"},
        start_new_session=True,
    )


def _kill_worker(child: subprocess.Popen[bytes]) -> None:
    """End the child and all it may have started; nothing happens if it is gone."""
    if child.returncode is not None:
        return
    if sys.platform == "win32":
        child.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _describe_exit(child: subprocess.Popen[bytes]) -> str:
    """How a child ended whose pipe has closed."""
    try:
        status = child.wait(_DYING_SECONDS)
    except subprocess.TimeoutExpired:
        return Note("end_pipe")
    if status < 0:
        return signal.strsignal(-status) or f"signal {-status}"
    return Note("end_status", status=status)


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EnvironmentFailure(Note("worker_no_pipe"))
    return pipe
