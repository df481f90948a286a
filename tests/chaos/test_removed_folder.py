"""A worker whose folder is taken away, or that can write nothing more, stops asking."""

from __future__ import annotations

import resource
import shutil
import time
from pathlib import Path

import pytest

from evalcore.store.run_folder import RunFolder
from tests.support.loopback_server import Options, Server, serve
from tests.support.worker_runs import new_run, size, start, wait_for_work

SAMPLES = 200


def work_and(folder: RunFolder, server: Server, take_away: Path) -> str:
    """Start a worker, take a folder away while it asks; returns what it printed at its end."""
    process = start(folder)
    wait_for_work(folder, 0, process)
    shutil.rmtree(take_away)
    assert process.wait(180) == 2
    asked = server.stats()["requests"]
    time.sleep(1)
    assert server.stats()["requests"] == asked < SAMPLES
    assert process.stderr is not None
    return process.stderr.read().decode()


@pytest.mark.parametrize("level", ["run", "runs", "data"])
@pytest.mark.full
def test_a_worker_stops_when_its_folder_goes_and_makes_nothing_anew(
    tmp_path: Path, level: str
) -> None:
    with serve(Options(latency=0.1)) as server:
        folder = new_run(tmp_path, server, SAMPLES)
        gone = {"run": folder.path, "runs": folder.path.parent, "data": tmp_path / "data"}[level]
        assert "Traceback" not in work_and(folder, server, gone)
        assert not gone.exists()


def test_a_folder_of_the_same_name_is_another_one(tmp_path: Path) -> None:
    with serve(Options(latency=0.1)) as server:
        folder = new_run(tmp_path, server, SAMPLES)
        copy = tmp_path / "copy"
        shutil.copytree(folder.path, copy)
        process = start(folder)
        wait_for_work(folder, 0, process)
        folder.path.rename(tmp_path / "old")
        copy.rename(folder.path)
        assert process.wait(180) == 2
    assert not (folder.path / "calls").exists()
    assert not (folder.path / "progress.json").exists()


@pytest.mark.full
def test_a_disk_that_is_full_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the kernel refuses the write as well."""
    limit = 30_000
    with serve(Options(latency=0.02)) as server:
        folder = new_run(tmp_path, server, SAMPLES)

        def fill_the_disk() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        process = start(folder, fill_the_disk)
        assert process.wait(60) == 2
        assert process.stderr is not None
        output = process.stderr.read().decode()
        assert "resume the run" in output
        assert "Traceback" not in output
        assert folder.current_state() in ("incomplete", "interrupted")
        assert 0 < size(folder) <= limit
        asked, journaled = server.stats()["requests"], len(list(folder.read_calls()))
        assert journaled >= asked - 3, "the answers under way alone are lost"
        assert not [
            s
            for s in folder.verdicts_dir("x").parent.glob("*/*")
            if b'"outcome":"environment_error"' in s.read_bytes()
        ]
        assert start(folder).wait(120) == 0
        assert server.stats()["requests"] <= SAMPLES + 3
    assert folder.current_state() == "done"
