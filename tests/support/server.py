"""The app as people start it: `streamlit run app.py` in a process of its own, on a free port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
#: As uvicorn, but the files of a session end a second after its connection.
_IMPATIENT = """
import sys, uvicorn
from evalcore.access import policy
from evalcore.web import middleware
policy.GRACE = middleware.GRACE = 1.0
uvicorn.run("app:app", host="localhost", port=int(sys.argv[1]))
"""
#: The ways of starting the app, up to the number of the port.
PROGRAMS = {
    "streamlit": ("-m", "streamlit", "run", "app.py", "--server.port"),
    "uvicorn": ("-m", "uvicorn", "app:app", "--host", "localhost", "--port"),
    "impatient": ("-c", _IMPATIENT),
}
START_UP = 120.0  # seconds


class Served(NamedTuple):
    """A running server and its data folder."""

    url: str
    data: Path


@contextmanager
def serve(
    folder: Path, port: int = 0, program: str = "streamlit", shipped: Path | None = None
) -> Iterator[Served]:
    """A server that has had no visitor yet, over `folder/data` and the runs of `shipped`, by
    default none; on a port of its own choice, unless it is told one of `free_port`."""
    data = folder / "data"
    (data / "runs").mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    environment = os.environ | {
        "EVALBOARD_DATA": str(data),
        "EVALBOARD_SHIPPED": str(shipped or folder / "none"),
    }
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *PROGRAMS[program], str(port)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://localhost:{port}"
            _wait(url, process, log)
            yield Served(url, data)
        finally:
            process.terminate()
            process.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(url: str, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + START_UP
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/api/v1/health", timeout=START_UP):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the server did not come up: {log.read_text()}")
