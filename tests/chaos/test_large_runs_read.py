"""Large runs under readers and kills: no page is torn, no row is lost, nothing is asked twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from evalcore.runner import run_index
from evalcore.store import case_index, case_parts
from evalcore.store.run_folder import RunFolder
from evalcore.views.cases import EVERY_CASE, case_page
from tests.support import large_runs
from tests.support.loopback_server import Options, serve
from tests.support.worker_runs import count_verdicts, new_run, size, wait_for_work

KILLS = int(os.environ.get("EVALBOARD_KILLS", "4"))
CASES, SESSIONS, WORKERS = 150, 8, 4


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process the same runs count as large as in that of their worker."""
    for module, name in (
        (case_index, "LARGE"),
        (case_parts, "_ROWS"),
        (case_parts, "_SMALLEST"),
        (run_index, "_FLUSH"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    large_runs.shrink_large_runs()


def read_outcomes(folder: RunFolder) -> dict[str, str]:
    frame, _ = case_page([folder.path.parent], folder.run_id, EVERY_CASE, limit=10_000)
    return dict(zip(frame["id"], frame["outcome"], strict=True))


def read_without_caches(folder: RunFolder, copy: Path) -> dict[str, str]:
    """What the journals alone say."""
    caches = shutil.ignore_patterns("cases.*", "*.parquet", "*.lock")
    shutil.copytree(folder.path, copy / folder.run_id, ignore=caches)
    return read_outcomes(RunFolder(copy / folder.run_id))


def test_readers_see_every_case_while_workers_write(tmp_path: Path) -> None:
    with serve(Options(latency=0.02)) as server:
        folders = [new_run(tmp_path / str(number), server, CASES) for number in range(WORKERS)]
        with large_runs.Watch(folders, CASES, SESSIONS) as watch:
            workers = [large_runs.start(folder) for folder in folders]
            statuses = large_runs.wait_for_all(workers, 300)
        assert statuses == [0] * WORKERS
    assert watch.problems == []
    assert len(watch.seconds) >= SESSIONS
    for folder in folders:
        assert list(read_outcomes(folder)) == [f"c{number}" for number in range(CASES)]
        assert "missing" not in read_outcomes(folder).values()
        assert folder.parquet_path.exists()
        assert not any(folder.path.glob("cases.*/"))


def test_kills_leave_an_index_that_says_what_the_journals_say(tmp_path: Path) -> None:
    dice = random.Random(7)
    with serve(Options(latency=0.02)) as server:
        folder = new_run(tmp_path, server, CASES)
        for number in range(KILLS):
            process = large_runs.start(folder)
            wait_for_work(folder, size(folder), process)
            time.sleep(dice.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert read_outcomes(folder) == read_without_caches(folder, tmp_path / str(number))
        assert large_runs.start(folder).wait(300) == 0
        requests = server.stats()["requests"]
    assert CASES <= requests <= CASES + 2 * KILLS, "more than what was in flight was lost"
    assert count_verdicts(folder) == CASES
    assert read_outcomes(folder) == read_without_caches(folder, tmp_path / "end")
    episodes = [line.episode.key for line in folder.read_episodes()]
    assert len(episodes) == len(set(episodes)) == CASES
