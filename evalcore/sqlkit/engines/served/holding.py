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
from evalcore.sqlkit.engines.served.place import place_of
from evalcore.sqlkit.engines.served.programs import PROGRAMS

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from evalcore.sqlkit.engines.served.keeper import main; main(*sys.argv[2:])"
)
_SOCKET = "keeper.sock"
_LOG = "keeper.log"
_PATIENCE = 90.0


class Hold:
    """While it is open the server of its place runs; the end of this process closes it too."""

    def __init__(self, place: Path, claim: socket.socket) -> None:
        self.place = place
        self._claim = claim

    def close(self) -> None:
        """Give the claim up; safe to call twice."""
        self._claim.close()


def hold(folder: Path, kind: str) -> Hold:
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
    keeper: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        place = place_of(folder, program.users)  # a keeper that is leaving may have removed it
        claim = _claim(place / _SOCKET, deadline)
        if claim is not None:
            return Hold(place, claim)
        if keeper is None or keeper.poll() is not None:
            if keeper is not None and keeper.returncode:
                raise EnvironmentFailure(
                    f"the keeper of {kind} ends (status {keeper.returncode}); see {place / _LOG}"
                )
            keeper = _start_keeper(place, kind, folder)
        time.sleep(0.02)
    raise EnvironmentFailure(f"no {kind} server answers after {_PATIENCE:g} s; see {place}")


def _claim(path: Path, deadline: float) -> socket.socket | None:
    """A claim that the keeper has confirmed, None where no keeper is, or where it is leaving."""
    claim = socket.socket(socket.AF_UNIX)
    claim.settimeout(max(deadline - time.monotonic(), 0.1))
    try:
        claim.connect(str(path))
        with claim.makefile("rb") as answers:
            answer = answers.readline()
    except OSError:
        answer = b""
    if not answer.endswith(b"\n"):
        claim.close()
        return None
    problem = json.loads(answer)["error"]
    if problem:
        claim.close()
        raise EnvironmentFailure(problem)
    return claim


def _start_keeper(place: Path, kind: str, folder: Path) -> subprocess.Popen[bytes]:
    """A keeper in a session of its own, which outlives whoever started it."""
    root = Path(evalcore.__file__).resolve().parent.parent
    words = (str(root), str(place), kind, str(folder.absolute()))
    try:
        with (place / _LOG).open("ab") as log:
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
