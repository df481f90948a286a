"""The index under several writers, under kills aimed at its write, and under deletion."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import orjson
import pytest

from evalcore.settings import Settings
from evalcore.store.headers import scan_run_folders, sort_newest_first
from evalcore.store.index import Index, open_index
from evalcore.store.tinydb_storage import AtomicStorage, file_signature
from tests.support import index_writers, stored_runs

WRITERS, INSERTS, KILLS = 4, 250, 100
#: Large enough that a write takes a few milliseconds, so that kills land inside it.
HEADERS_BEFORE = 2000


@pytest.mark.full
def test_four_writers_lose_none_of_a_thousand_inserts(tmp_path):
    path = tmp_path / "evalboard.json"
    writers = [index_writers.start("insert", path, name, INSERTS) for name in "abcd"]
    assert [writer.wait(timeout=180) for writer in writers] == [0] * WRITERS
    expected = {f"{name}-{number}" for name in "abcd" for number in range(INSERTS)}
    assert {header.run_id for header in Index(path).headers()} == expected
    assert not list(tmp_path.glob("*.corrupt-*"))


@pytest.fixture
def large_index(tmp_path):
    path = tmp_path / "evalboard.json"
    document = msgspec.to_builtins(index_writers.header_for("before-0"))
    ids = (f"before-{number}" for number in range(HEADERS_BEFORE))
    AtomicStorage(path).write({"runs": {i: document | {"run_id": i} for i in ids}, "targets": {}})
    return path


@pytest.mark.full
def test_a_hundred_kills_aimed_at_the_write_leave_nothing_unreadable(large_index, tmp_path):
    acknowledged = tmp_path / "acknowledged"
    acknowledged.touch()
    nursery = index_writers.start(
        "nursery",
        large_index,
        acknowledged,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    chance, unreadable, hit = random.Random(7), 0, 0
    try:
        for _ in range(KILLS):
            nursery.stdin.write("next\n")
            child = int(nursery.stdout.readline())
            _await_write(large_index)
            time.sleep(chance.uniform(0, 0.004))
            os.kill(child, signal.SIGKILL)
            unreadable += not _readable(large_index)
            hit += bool(_temporary_files(large_index))
    finally:
        nursery.stdin.close()
        nursery.wait(timeout=180)
        nursery.stdout.close()
    assert unreadable == 0
    assert hit, "the kills were aimed at the write but never struck one"
    run_ids = {header.run_id for header in Index(large_index).headers()}
    promised = set(acknowledged.read_text().split())
    assert promised <= run_ids
    assert len(run_ids) >= HEADERS_BEFORE + len(promised)
    Index(large_index).remove("before-0")
    assert _temporary_files(large_index) == [], "leftovers of the killed are swept away"


def _await_write(path: Path) -> None:
    """Until a temporary file shows up or the index is replaced."""
    before, deadline = file_signature(path), time.monotonic() + 180
    while not _temporary_files(path) and file_signature(path) == before:
        assert time.monotonic() < deadline, "the writer writes nothing"


def _temporary_files(path: Path) -> list[str]:
    return [p.name for p in path.parent.glob(f".{path.name}.*")]


def _readable(path: Path) -> bool:
    try:
        return len(orjson.loads(path.read_bytes())["runs"]) >= HEADERS_BEFORE
    except (OSError, orjson.JSONDecodeError):
        return False


def test_an_index_deleted_again_and_again_ends_equal_to_the_run_folders(tmp_path):
    settings = Settings(data=str(tmp_path), shipped=str(tmp_path / "none"))
    for number in range(80):
        stored_runs.finish(settings.runs_dir, f"run-{number}", created_at=f"2026-11-{number:03}")
    bounds = [(start, start + 20) for start in range(0, 80, 20)]
    writers = [index_writers.start("record", tmp_path, *bound) for bound in bounds]
    deleted = 0
    while any(writer.poll() is None for writer in writers):
        deleted += settings.index_path.exists()
        settings.index_path.unlink(missing_ok=True)
        time.sleep(0.002)
    assert [writer.returncode for writer in writers] == [0] * len(writers)
    assert deleted > 5
    from_folders = sort_newest_first(scan_run_folders([settings.runs_dir], pytest.fail).values())
    assert open_index(settings).headers() == from_folders
    settings.index_path.unlink(missing_ok=True)
    assert open_index(settings).headers() == from_folders
    assert len(from_folders) == 80
