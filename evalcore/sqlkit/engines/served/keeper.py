"""The process that keeps one server running while anybody uses it, and no longer.

Clients connect to its socket and are told one line of JSON once the server answers: {"error": ""},
or why there is none. A client's connection is its claim, and the kernel closes it however the
client ends. A moment after the last has gone, the server is stopped. A lock makes the keeper of a
place the only one; what one that was killed has left behind is cleared by the next, and on Linux
the kernel ends the server with its keeper. A server whose folder is removed or moved is ended at
once, with its clients or without.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from evalcore.errors import EnvironmentFailure, EvalboardError
from evalcore.sqlkit.engines.served.place import account
from evalcore.sqlkit.engines.served.programs import DATA, PROGRAMS, Program

SOCKET = "keeper.sock"
LOG = "server.log"
_LOCK = "keeper.lock"
_PID = "server.pid"
_LINGER = 1.5
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1


class Anchor:
    """A folder as it was when a keeper began: its path may come to name another one, or none.

    `owner` is the folder that the server belongs to; the server lives in `place`, which is the
    same one or a substitute of the temporary directory.
    """

    def __init__(self, place: Path, owner: Path) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY
        self._opened = {path: os.open(path, flags) for path in {place, owner}}
        self._place, self._owner = place, owner

    def holds(self) -> bool:
        """Whether both paths still name the same folders; their open files keep them unique."""
        try:
            return all(
                os.path.samestat(path.stat(), os.fstat(opened))
                for path, opened in self._opened.items()
            )
        except OSError:
            return False

    def clear(self, names: Sequence[str]) -> None:
        """Remove files of the place, wherever it is now, and a substitute that lost its owner."""
        for name in names:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._opened[self._place])
        if self._place != self._owner and not self.holds():
            shutil.rmtree(self._place, ignore_errors=True)


def main(place: str, kind: str, owner: str) -> None:
    """Keep the server of `kind` in `place`, which belongs to the folder `owner`.

    Returns at once where another keeper does, and where the folders are gone.
    """
    folder, program = Path(place), PROGRAMS[kind]
    try:
        anchor = Anchor(folder, Path(owner))
        lock = (folder / _LOCK).open("w")
    except FileNotFoundError:
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not anchor.holds():
            return
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with _listen(folder / SOCKET) as listener:
            _keep(folder, program, listener, anchor)


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    return listener


def _keep(place: Path, program: Program, listener: socket.socket, anchor: Anchor) -> None:
    server: subprocess.Popen[bytes] | None = None
    problem = ""
    try:
        try:
            stop_stale(place, program)
            server = _start(place, program, anchor)
        except (EvalboardError, OSError, subprocess.SubprocessError) as error:
            problem = str(error) or type(error).__name__
        _serve(
            listener,
            problem,
            lambda: anchor.holds() and (server is None or server.poll() is None),
        )
    finally:
        anchor.clear((SOCKET,))
        if server is not None:
            _stop(server, program, in_order=anchor.holds())
        anchor.clear((_PID, *program.stale))


def _serve(listener: socket.socket, problem: str, alive: Callable[[], bool]) -> None:
    """Hold claims until there are none for a moment, or the server has died."""
    answer = json.dumps({"error": problem}).encode() + b"\n"
    watched = selectors.DefaultSelector()
    watched.register(listener, selectors.EVENT_READ)
    idle_since = time.monotonic()
    while alive() and time.monotonic() - idle_since < _LINGER:
        for key, _ in watched.select(timeout=0.2):
            if key.fileobj is listener:
                client, _ = listener.accept()
                if _told(client, answer):
                    watched.register(client, selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket) and _gone(key.fileobj):
                watched.unregister(key.fileobj)
                key.fileobj.close()
        if len(watched.get_map()) > 1 and not problem:
            idle_since = time.monotonic()


def _told(client: socket.socket, answer: bytes) -> bool:
    try:
        client.sendall(answer)
    except OSError:
        client.close()
        return False
    return True


def _gone(client: socket.socket) -> bool:
    try:
        return not client.recv(1)
    except OSError:
        return True


def _start(place: Path, program: Program, anchor: Anchor) -> subprocess.Popen[bytes]:
    """The running server, in a data folder that is made anew if it is missing or unusable."""
    found = program.find()
    for attempt in (1, 2):
        fresh = not (place / DATA / "complete").exists()
        if fresh:
            _set_up(place, program, found)
        server = _spawn(place, program, program.serve(found, place))
        if _answers(place, program, server, anchor):
            return server
        _stop(server, program, in_order=anchor.holds())
        if fresh or attempt == 2 or not anchor.holds():
            break
        (place / DATA / "complete").unlink()  # an old folder is damaged: the next try has a new one
    raise EnvironmentFailure(f"the server does not start; its own words are in {place / LOG}")


def _set_up(place: Path, program: Program, found: Path) -> None:
    user = account(program.users)
    shutil.rmtree(place / DATA, ignore_errors=True)
    (place / DATA).mkdir(mode=0o700)
    if user:
        os.chown(place / DATA, user.uid, user.gid)
    for command in program.setup(found, place):
        with (place / LOG).open("ab") as log:
            subprocess.run(
                command.arguments,
                input=command.input.encode(),
                stdout=log,
                stderr=log,
                check=True,
                timeout=_START_SECONDS,
                cwd="/",
                env=_environment(),
                preexec_fn=_child(program),
            )
    (place / DATA / "complete").touch()


def _spawn(place: Path, program: Program, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    with (place / LOG).open("wb") as log:
        server = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            preexec_fn=_child(program),
        )
    (place / _PID).write_text(str(server.pid))
    return server


def _environment() -> dict[str, str]:
    path = os.pathsep.join(("/usr/sbin", "/usr/bin", "/sbin", "/bin", os.environ.get("PATH", "")))
    return {"PATH": path, "LC_ALL": "C", "TZ": "UTC"}


def _child(program: Program) -> Callable[[], None]:
    """What a child does before it becomes the program: it gives up rights and takes on limits.

    It asks to be ended with its parent last, since a change of user takes that back.
    """
    user = account(program.users)
    parent = os.getpid()
    limits = (
        (resource.RLIMIT_AS, program.memory),
        (resource.RLIMIT_FSIZE, program.file),
        (resource.RLIMIT_CORE, 0),
    )
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def become() -> None:
        if user:
            os.initgroups(user.name, user.gid)
            os.setgid(user.gid)
            os.setuid(user.uid)
        for kind, wanted in limits:
            _, hard = resource.getrlimit(kind)
            value = wanted if hard < 0 else min(wanted, hard)
            try:
                resource.setrlimit(kind, (value, value))
            except (OSError, ValueError):  # macOS has no limit of address space
                continue
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, program.death)
            if os.getppid() != parent:
                os._exit(1)

    return become


def _answers(
    place: Path, program: Program, server: subprocess.Popen[bytes], anchor: Anchor
) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline and anchor.holds():
        if program.ready(place):
            return True
        time.sleep(0.01)
    return False


def _stop(server: subprocess.Popen[bytes], program: Program, *, in_order: bool) -> None:
    """End a server: `in_order`, or at once where its files are gone."""
    signals = (
        (program.stop, _STOP_SECONDS),
        (program.death, _STOP_SECONDS),
        (signal.SIGKILL, None),
    )
    for signal_number, patience in signals if in_order else signals[1:]:
        if server.poll() is None:
            server.send_signal(signal_number)
        try:
            server.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return


def stop_stale(place: Path, program: Program) -> None:
    """End the server that a killed keeper has left in `place`, and remove its marks."""
    try:
        left = int((place / _PID).read_text())
    except (FileNotFoundError, ValueError):
        left = 0
    deadline = time.monotonic() + _STOP_SECONDS
    while left and _serves(left, place):
        late = time.monotonic() > deadline
        os.kill(left, signal.SIGKILL if late else program.death)
        time.sleep(0.1)
    for name in (_PID, *program.stale):
        (place / name).unlink(missing_ok=True)


def _serves(process: int, place: Path) -> bool:
    """Whether a process is the server of this place, and not one that got its number since."""
    if Path("/proc/self").exists():
        try:
            return os.fsencode(place) in Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            return False
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(process)], capture_output=True, check=False
    )
    return os.fsencode(place) in listed.stdout
