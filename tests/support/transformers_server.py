"""A server of chat completions that is not ours: `transformers serve`, on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_COMMAND = "from transformers.cli.transformers import main; main()"
_START = 180.0  # seconds; 5 on an idle machine


def server_libraries() -> None:
    """Skip the test, saying what to install, where the server cannot run."""
    for name in ("torch", "transformers", "fastapi", "uvicorn"):
        pytest.importorskip(
            name, reason=f"needs {name}: pip install -e '.[dev,local]'", exc_type=ImportError
        )


@contextmanager
def serving(model: Path, folder: Path) -> Iterator[str]:
    """The base_url of a server of one checkpoint in float32; `folder` takes its cache and log."""
    cache, log = folder / "hub", folder / "server.log"
    cache.mkdir(parents=True, exist_ok=True)  # without it, listing the models is an error
    port = _free_port()
    address = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, "serve", str(model), *address],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(process, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        return int(result.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + _START
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=_START):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"transformers serve did not start: {log.read_text()[-2000:]}")
