"""A server of pages under test: started in a process of its own, measured from outside (Linux)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
START_UP = 300.0  # seconds, on a busy machine
_QUIET = 0.05  # seconds without work after which a rerun has come to its end, garbage included
_SCHED = 2  # CPUCLOCK_SCHED of the kernel's clocks


class Server(NamedTuple):
    """A running server; `started` is the seconds until it answered."""

    port: int
    pid: int
    started: float

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def cpu(self) -> float:
        """Seconds of processor that all its threads took since it was started."""
        return time.clock_gettime_ns((~self.pid) << 3 | _SCHED) / 1e9

    def settled_cpu(self) -> float:
        """The same once it has nothing left to do."""
        before = self.cpu()
        while True:
            time.sleep(_QUIET)
            now = self.cpu()
            if now - before < _QUIET / 50:
                return now
            before = now

    def memory(self) -> dict[str, float]:
        """Resident memory now and at its highest, in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return {name: int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}


@contextmanager
def serve(script: Path, settings: dict[str, str]) -> Iterator[Server]:
    """`streamlit run SCRIPT` with the project's own configuration."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(settings), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait(process, port, begun + START_UP)
            yield Server(port, process.pid, time.monotonic() - begun)
        finally:
            process.terminate()
            process.wait(30)


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """That of this process with the two settings of memory that the image of the app has."""
    return {
        "MALLOC_ARENA_MAX": "2",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        **os.environ,
        **settings,
    }


def _wait(process: subprocess.Popen[bytes], port: int, until: float) -> None:
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server did not come up")
