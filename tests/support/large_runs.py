"""Runs that count as large with few cases, and readers that watch them grow.

`python -m tests.support.large_runs FOLDER` is their worker: it writes its index and the parts of
its table many times a second.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from evalcore.records import MEASURED
from evalcore.runner import run_index, worker
from evalcore.store import case_index, case_parts
from evalcore.store.run_folder import RunFolder
from evalcore.views.cases import EVERY_CASE, case_page

ROOT = Path(__file__).resolve().parents[2]


def shrink_large_runs() -> None:
    """Let runs of this process count as large from 16 cases on, in parts of 32."""
    case_index.LARGE = 16
    case_parts._ROWS = 32
    case_parts._SMALLEST = 8
    run_index._FLUSH = 0.05


def start(folder: RunFolder) -> subprocess.Popen[bytes]:
    """The worker of a run, as a process of its own."""
    command = [sys.executable, "-m", "tests.support.large_runs", str(folder.path)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Watch:
    """Sessions that read pages of runs until they are stopped. `problems` names what a reader must
    never see: an error, a row too few or twice, a verdict that is gone again. `seconds` holds how
    long each page took."""

    def __init__(self, folders: Sequence[RunFolder], cases: int, sessions: int) -> None:
        self.problems: list[str] = []
        self.seconds: list[float] = []
        self._folders, self._cases = folders, cases
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._read_pages, args=(number,)) for number in range(sessions)
        ]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read_pages(self, number: int) -> None:
        folder = self._folders[number % len(self._folders)]
        measured: set[str] = set()
        while not self._stop.is_set():
            try:
                measured = self._read_page(folder, measured)
            except Exception as error:
                self.problems.append(f"{type(error).__name__}: {error}")

    def _read_page(self, folder: RunFolder, before: set[str]) -> set[str]:
        start = time.perf_counter()
        frame, total = case_page([folder.path.parent], folder.run_id, EVERY_CASE, limit=10_000)
        self.seconds.append(time.perf_counter() - start)
        ids = list(frame["id"])
        if total != self._cases or len(ids) != self._cases or len(set(ids)) != self._cases:
            self.problems.append(f"{total} rows, {len(set(ids))} of {self._cases} cases")
        measured = set(frame["id"][frame["outcome"].isin(list(MEASURED))])
        if before - measured:
            self.problems.append(f"verdicts on {sorted(before - measured)[:3]} are gone")
        return measured


def wait_for_all(workers: Sequence[subprocess.Popen[bytes]], timeout: float) -> list[int]:
    return [process.wait(timeout) for process in workers]


if __name__ == "__main__":
    shrink_large_runs()
    sys.exit(worker.main(sys.argv[1:]))
