"""A client's claim on a kept server: connects to its keeper, starting one where there is none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import evalcore
from evalcore.errors import EnvironmentFailure
from evalcore.sqlkit.engines.served.server_account import prepare_server_folder
from evalcore.sqlkit.engines.served.server_binaries import PROGRAMS

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from evalcore.sqlkit.engines.served.server_daemon import main; main(*sys.argv[2:])"
)
_SOCKET = "keeper.sock"
_LOG = "keeper.log"
_TIMEOUT_SECONDS = 90.0


class ServerLease:
    """While it is open the server of its place runs; the end of this process closes it too."""

    def __init__(self, server_folder: Path, connection: socket.socket) -> None:
        self.server_folder = server_folder
        self._connection = connection

    def close(self) -> None:
        """Give the claim up; safe to call twice."""
        self._connection.close()


def acquire_server_lease(folder: Path, kind: str) -> ServerLease:
    """Claim the server of `kind` that belongs to `folder`, and wait until it answers.

    Raises MissingDependency where its programs are not installed and EnvironmentFailure where it
    does not start.
    """
    if os.name != "posix":
        raise EnvironmentFailure(
            f"a {kind} server is kept on Linux and macOS only; name one of your own by "
            f"EVALBOARD_{kind.upper()}_DSN"
        )
    program = PROGRAMS[kind]
    program.find()
    daemon: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        # a keeper that is leaving may have removed it
        server_folder = prepare_server_folder(folder, program.users)
        connection = _request_lease(server_folder / _SOCKET, deadline)
        if connection is not None:
            return ServerLease(server_folder, connection)
        if daemon is None or daemon.poll() is not None:
            if daemon is not None and daemon.returncode:
                raise EnvironmentFailure(
                    f"the keeper of {kind} ends (status {daemon.returncode}); see "
                    f"{server_folder / _LOG}"
                )
            daemon = _start_daemon(server_folder, kind, folder)
        time.sleep(0.02)
    raise EnvironmentFailure(
        f"no {kind} server answers after {_TIMEOUT_SECONDS:g} s; see {server_folder}"
    )


def _request_lease(path: Path, deadline: float) -> socket.socket | None:
    """A claim that the keeper has confirmed, None where no keeper is, or where it is leaving."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(max(deadline - time.monotonic(), 0.1))
    try:
        connection.connect(str(path))
        with connection.makefile("rb") as answers:
            answer = answers.readline()
    except OSError:
        answer = b""
    if not answer.endswith(b"\n"):
        connection.close()
        return None
    problem = json.loads(answer)["error"]
    if problem:
        connection.close()
        raise EnvironmentFailure(problem)
    return connection


def _start_daemon(server_folder: Path, kind: str, folder: Path) -> subprocess.Popen[bytes]:
    """A keeper in a session of its own, which outlives whoever started it."""
    root = Path(evalcore.__file__).resolve().parent.parent
    words = (str(root), str(server_folder), kind, str(folder.absolute()))
    try:
        with (server_folder / _LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
    except OSError as error:
        raise EnvironmentFailure(f"the {kind} server does not start: {error.strerror}") from None
