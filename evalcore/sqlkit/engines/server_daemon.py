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
from evalcore.i18n import Note
from evalcore.sqlkit.engines.local_server import DATA, PROGRAMS, ServerProgram, find_server_account

SOCKET = "keeper.sock"
LOG = "server.log"
_LOCK = "keeper.lock"
_PID = "server.pid"
_IDLE_SECONDS = 1.5
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1


class FolderAnchor:
    """A folder as it was when a keeper began: its path may come to name another one, or none.

    `owner` is the folder that the server belongs to; the server lives in `place`, which is the
    same one or a substitute of the temporary directory.
    """

    def __init__(self, server_folder: Path, owner: Path) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY
        self._opened = {path: os.open(path, flags) for path in {server_folder, owner}}
        self._server_folder, self._owner = server_folder, owner

    def is_intact(self) -> bool:
        """Whether both paths still name the same folders; their open files keep them unique."""
        try:
            return all(
                os.path.samestat(path.stat(), os.fstat(opened))
                for path, opened in self._opened.items()
            )
        except OSError:
            return False

    def remove_files(self, names: Sequence[str]) -> None:
        """Remove files of the place, wherever it is now, and a substitute that lost its owner."""
        for name in names:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._opened[self._server_folder])
        if self._server_folder != self._owner and not self.is_intact():
            shutil.rmtree(self._server_folder, ignore_errors=True)


def main(server_folder: str, kind: str, owner: str) -> None:
    """Keep the server of `kind` in `server_folder`, which belongs to the folder `owner`.

    Returns at once where another keeper does, and where the folders are gone.
    """
    folder, program = Path(server_folder), PROGRAMS[kind]
    try:
        anchor = FolderAnchor(folder, Path(owner))
        lock = (folder / _LOCK).open("w")
    except FileNotFoundError:
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not anchor.is_intact():
            return
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with _bind_listener(folder / SOCKET) as listener:
            _run_server(folder, program, listener, anchor)


def _bind_listener(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    return listener


def _run_server(
    server_folder: Path, program: ServerProgram, listener: socket.socket, anchor: FolderAnchor
) -> None:
    server: subprocess.Popen[bytes] | None = None
    problem = ""
    try:
        try:
            stop_stale_server(server_folder, program)
            server = _start_server(server_folder, program, anchor)
        except (EvalboardError, OSError, subprocess.SubprocessError) as error:
            problem = str(error) or type(error).__name__
        _serve_leases(
            listener,
            problem,
            lambda: anchor.is_intact() and (server is None or server.poll() is None),
        )
    finally:
        anchor.remove_files((SOCKET,))
        if server is not None:
            _stop_server(server, program, in_order=anchor.is_intact())
        anchor.remove_files((_PID, *program.stale))


def _serve_leases(listener: socket.socket, problem: str, alive: Callable[[], bool]) -> None:
    """Hold claims until there are none for a moment, or the server has died."""
    answer = json.dumps({"error": problem}).encode() + b"\n"
    watched = selectors.DefaultSelector()
    watched.register(listener, selectors.EVENT_READ)
    idle_since = time.monotonic()
    while alive() and time.monotonic() - idle_since < _IDLE_SECONDS:
        for key, _ in watched.select(timeout=0.2):
            if key.fileobj is listener:
                client, _ = listener.accept()
                if _send_answer(client, answer):
                    watched.register(client, selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket) and _is_disconnected(key.fileobj):
                watched.unregister(key.fileobj)
                key.fileobj.close()
        if len(watched.get_map()) > 1 and not problem:
            idle_since = time.monotonic()


def _send_answer(client: socket.socket, answer: bytes) -> bool:
    try:
        client.sendall(answer)
    except OSError:
        client.close()
        return False
    return True


def _is_disconnected(client: socket.socket) -> bool:
    try:
        return not client.recv(1)
    except OSError:
        return True


def _start_server(
    server_folder: Path, program: ServerProgram, anchor: FolderAnchor
) -> subprocess.Popen[bytes]:
    """The running server, in a data folder that is made anew if it is missing or unusable."""
    bin_folder = program.find()
    for attempt in (1, 2):
        fresh = not (server_folder / DATA / "complete").exists()
        if fresh:
            _set_up_data(server_folder, program, bin_folder)
        server = _spawn_server(server_folder, program, program.serve(bin_folder, server_folder))
        if _wait_until_ready(server_folder, program, server, anchor):
            return server
        _stop_server(server, program, in_order=anchor.is_intact())
        if fresh or attempt == 2 or not anchor.is_intact():
            break
        # an old folder is damaged: the next try has a new one
        (server_folder / DATA / "complete").unlink()
    raise EnvironmentFailure(Note("engine_log", path=server_folder / LOG))


def _set_up_data(server_folder: Path, program: ServerProgram, bin_folder: Path) -> None:
    user = find_server_account(program.users)
    shutil.rmtree(server_folder / DATA, ignore_errors=True)
    (server_folder / DATA).mkdir(mode=0o700)
    if user:
        os.chown(server_folder / DATA, user.uid, user.gid)
    for command in program.setup(bin_folder, server_folder):
        with (server_folder / LOG).open("ab") as log:
            subprocess.run(
                command.arguments,
                input=command.input.encode(),
                stdout=log,
                stderr=log,
                check=True,
                timeout=_START_SECONDS,
                cwd="/",
                env=_build_server_environment(),
                preexec_fn=_build_preexec(program),
            )
    (server_folder / DATA / "complete").touch()


def _spawn_server(
    server_folder: Path, program: ServerProgram, arguments: Sequence[str]
) -> subprocess.Popen[bytes]:
    with (server_folder / LOG).open("wb") as log:
        server = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=_build_server_environment(),
            start_new_session=True,
            preexec_fn=_build_preexec(program),
        )
    (server_folder / _PID).write_text(str(server.pid))
    return server


def _build_server_environment() -> dict[str, str]:
    path = os.pathsep.join(("/usr/sbin", "/usr/bin", "/sbin", "/bin", os.environ.get("PATH", "")))
    return {"PATH": path, "LC_ALL": "C", "TZ": "UTC"}


def _build_preexec(program: ServerProgram) -> Callable[[], None]:
    """What a child does before it becomes the program: it gives up rights and takes on limits.

    It asks to be ended with its parent last, since a change of user takes that back.
    """
    user = find_server_account(program.users)
    parent = os.getpid()
    limits = (
        (resource.RLIMIT_AS, program.memory),
        (resource.RLIMIT_FSIZE, program.file),
        (resource.RLIMIT_CORE, 0),
    )
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def prepare_child() -> None:
        if user:
            os.initgroups(user.name, user.gid)
            os.setgid(user.gid)
            os.setuid(user.uid)
        for kind, limit in limits:
            _, hard = resource.getrlimit(kind)
            value = limit if hard < 0 else min(limit, hard)
            try:
                resource.setrlimit(kind, (value, value))
            except (OSError, ValueError):  # macOS has no limit of address space
                continue
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, program.death)
            if os.getppid() != parent:
                os._exit(1)

    return prepare_child


def _wait_until_ready(
    server_folder: Path,
    program: ServerProgram,
    server: subprocess.Popen[bytes],
    anchor: FolderAnchor,
) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline and anchor.is_intact():
        if program.ready(server_folder):
            return True
        time.sleep(0.01)
    return False


def _stop_server(
    server: subprocess.Popen[bytes], program: ServerProgram, *, in_order: bool
) -> None:
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


def stop_stale_server(server_folder: Path, program: ServerProgram) -> None:
    """End the server that a killed keeper has left in `server_folder`, and remove its marks."""
    try:
        pid = int((server_folder / _PID).read_text())
    except (FileNotFoundError, ValueError):
        pid = 0
    deadline = time.monotonic() + _STOP_SECONDS
    while pid and _is_server_process(pid, server_folder):
        late = time.monotonic() > deadline
        os.kill(pid, signal.SIGKILL if late else program.death)
        time.sleep(0.1)
    for name in (_PID, *program.stale):
        (server_folder / name).unlink(missing_ok=True)


def _is_server_process(pid: int, server_folder: Path) -> bool:
    """Whether a process is the server of this place, and not one that got its number since."""
    if Path("/proc/self").exists():
        try:
            return os.fsencode(server_folder) in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False
    )
    return os.fsencode(server_folder) in listed.stdout
