"""Runs whose worker is a process of its own, against a server that answers in this one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from evalcore import settings as configuration
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Server

PATIENCE = 120.0  # seconds


def settings_of(folder: RunFolder) -> Settings:
    """The settings of the store that holds the run, without the shipped runs."""
    return Settings(data=str(folder.path.parents[1]), shipped=str(folder.path.parents[1] / "none"))


def new_run(tmp_path: Path, server: Server, samples: int) -> RunFolder:
    """A planned run of as many cases, of which two are asked at once."""
    settings = configuration.load_settings(tmp_path / "data")
    cases = syntax_cases(tmp_path / "cases", samples)
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": server.base_url},
        benchmarks=("sql_understanding",),
        dataset=str(cases),
        concurrency=2,
        use_cache=False,
    )
    return create_folder(plan_run(request, settings), settings)


def start(folder: RunFolder, prepare: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    """Its worker; `prepare` is called in the new process before it is one."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,
    )


def wait_for_work(folder: RunFolder, before: int, process: subprocess.Popen[bytes]) -> None:
    """Until this worker has journaled something: a kill during start-up would test nothing."""
    wait_until(lambda: size(folder) > before or process.poll() is not None)


def wait_until(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.002)


def size(folder: RunFolder) -> int:
    """Bytes in the journal of calls."""
    path = folder.path / "calls" / "main.jsonl"
    return path.stat().st_size if path.exists() else 0


def count_verdicts(folder: RunFolder) -> int:
    """Whole lines in the journals of verdicts."""
    return sum(path.read_bytes().count(b"\n") for path in folder.path.glob("verdicts/*/main.jsonl"))
