"""A persistent child process that serves requests under limits, and is killed when it overruns.

What is guaranteed, and by what:

- *It ends in time*: by this module. A timer kills the whole process group; the next request starts
  a new child. A parent that dies closes the pipe, which ends an idle child; a busy one ends by its
  limit on processor time.
- *It opens no file and no socket, writes nothing, starts no process, and takes no more memory than
  it may*: by the kernel's resource limits (`limits`), on platforms that have them; `enforced` lists
  which hold. Through Python the same is refused on every platform by an audit hook (`lockdown`).
- *It knows nothing of us*: empty environment (no more than a time zone, UTC, and a home, the
  working directory), its own session, an empty temporary
  directory as working directory, `python -I`, no descriptor but the two pipes, standard error to
  nowhere. No user or mount namespace is used: files are out of reach because nothing can be opened,
  not because they are hidden.
- *Its answers cannot exhaust us*: one that is longer than `max_reply` is not read and the child is
  killed.

What the service refuses by its own means (an engine's locks) comes before all of this.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import evalcore
from evalcore.errors import EnvironmentFailure
from evalcore.records import from_json
from evalcore.sandbox.child import Start
from evalcore.sandbox.frames import Hello, Reply, read_frame, write_frame

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from evalcore.sandbox.child import main; main()"
)
_START_SECONDS = 30.0
_DYING_SECONDS = 0.5
#: What a process of Windows does not start without; nothing is needed elsewhere.
_PASSED_VARIABLES = ("SYSTEMROOT",)


class WorkerLost(Exception):
    """The child is gone and its request unanswered; `timed_out` where we killed it for time."""

    def __init__(self, message: str, *, timed_out: bool) -> None:
        self.timed_out = timed_out
        super().__init__(message)


class WorkerProcess:
    """One child at a time, started when first needed; usable from several threads.

    `service` is "module:factory" as `evalcore.sandbox.child` loads it. `seconds` is the wall-clock
    limit of a request, `memory_bytes` what the child may take beyond its size after loading.
    """

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
            self._hello = from_json(
                Hello, self._exchange_message(child, self._start, _START_SECONDS)
            )
        except (OSError, WorkerLost) as problem:
            raise EnvironmentFailure(
                f"worker process for {self._start.service} does not start: {problem}"
            ) from problem
        return child

    def _exchange_message(
        self, child: subprocess.Popen[bytes], message: Any, seconds: float
    ) -> bytes:
        expired = threading.Event()

        def kill_on_timeout() -> None:
            expired.set()
            _kill_worker(child)

        timer = threading.Timer(seconds, kill_on_timeout)
        timer.daemon = True
        timer.start()
        problem = ""
        try:
            write_frame(_require_pipe(child.stdin), message)
            answer = read_frame(_require_pipe(child.stdout), self._max_reply)
        except (OSError, ValueError) as error:
            answer, problem = None, str(error)
        finally:
            timer.cancel()
        if answer is not None and not expired.is_set():
            return answer
        cause = problem or _describe_exit(child)
        self._end_child()
        if expired.is_set():
            raise WorkerLost(f"killed after {seconds:g} s", timed_out=True)
        raise WorkerLost(f"the process was lost: {cause}", timed_out=False)

    def _end_child(self) -> None:
        """Kill and reap the child."""
        child, self._child = self._child, None
        if child is None:
            return
        _kill_worker(child)
        for pipe in (child.stdin, child.stdout):
            _close_quietly(_require_pipe(pipe))
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
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _describe_exit(child: subprocess.Popen[bytes]) -> str:
    """How a child ended whose pipe has closed."""
    try:
        status = child.wait(_DYING_SECONDS)
    except subprocess.TimeoutExpired:
        return "it closed its pipe"
    if status < 0:
        return signal.strsignal(-status) or f"signal {-status}"
    return f"exit status {status}"


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EnvironmentFailure("a worker process has no pipe")
    return pipe


def _close_quietly(pipe: IO[bytes]) -> None:
    """Close; a child that is gone takes what was still buffered with it."""
    try:
        pipe.close()
    except OSError:
        return
