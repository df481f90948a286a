"""Run folders: their states, whole-file writes, and ids that are no ids."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

import evalcore
from evalcore.cli.main import main
from evalcore.errors import RunFolderError, UsageError
from evalcore.results import Progress
from evalcore.store.run_folder import (
    RunFolder,
    find_run,
    list_run_folders,
    new_run_id,
    write_atomic,
)
from tests.support import stored_runs

HOLD_LOCK = """
import sys, time
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def worker(tmp_path):
    """Starts a process that holds the lock of a run until it is killed."""
    started = []

    def start(folder: RunFolder) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD_LOCK, str(folder.lock_path)], stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_states_of_a_run_from_plan_to_end(tmp_path, worker):
    folder = stored_runs.plan(tmp_path, "run-1")
    assert folder.current_state() == "planned"
    process = worker(folder)
    folder.write_progress(Progress(run_id="run-1", state="running", total=3))
    assert folder.has_live_worker()
    assert folder.current_state() == "running"
    process.kill()
    process.wait()
    assert not folder.has_live_worker()
    assert folder.current_state() == "interrupted"
    folder.write_summary(stored_runs.summary_of(folder.read_spec()))
    assert folder.current_state() == "interrupted", "the summary is of an earlier attempt"
    folder.write_progress(Progress(run_id="run-1", state="done", total=3))
    assert folder.current_state() == "done"


def test_a_shipped_run_without_progress_has_the_state_of_its_summary(tmp_path):
    assert stored_runs.finish(tmp_path, "run-1").current_state() == "done"


@pytest.mark.parametrize("name", ["spec.json", "summary.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"run_id": "\xff"}'])
def test_a_file_that_cannot_be_read_makes_the_run_broken(tmp_path, name, content):
    folder = stored_runs.finish(tmp_path, "run-1")
    (folder.path / name).write_bytes(content)
    assert folder.current_state() == "broken"


def test_a_progress_that_cannot_be_read_breaks_nothing(tmp_path):
    """It is written anew twice a second, and the summary says more."""
    done, planned = stored_runs.finish(tmp_path, "run-1"), stored_runs.plan(tmp_path, "run-2")
    for folder in (done, planned):
        (folder.path / "progress.json").write_bytes(b"\xff{")
    assert (done.current_state(), planned.current_state()) == ("done", "interrupted")


def test_a_worker_that_was_killed_after_its_summary_has_ended_the_run(tmp_path):
    folder = stored_runs.finish(tmp_path, "run-1")
    begun = Progress(run_id="run-1", state="running", started_at="2026-11-01T10:00:01.000+00:00")
    folder.write_progress(begun)
    assert folder.read_summary().finished_at > begun.started_at
    assert folder.current_state() == "done"
    again = msgspec.structs.replace(begun, started_at="2026-11-02T10:00:01.000+00:00")
    folder.write_progress(again)  # a second attempt, which has written no summary
    assert folder.current_state() == "interrupted"


def test_a_broken_file_is_named_and_left_alone(tmp_path):
    folder = stored_runs.finish(tmp_path, "run-1")
    folder.summary_path.write_bytes(b"{")
    with pytest.raises(RunFolderError, match=r"summary\.json"):
        folder.read_summary()
    assert folder.summary_path.read_bytes() == b"{"


@pytest.mark.parametrize(
    "run_id",
    ["", ".", "..", "../other", "a/b", "/etc", "a\\b", "Upper", "-flag", "a\n", "a\0b", "x" * 81],
)
def test_a_hostile_run_id_finds_nothing(tmp_path, run_id):
    root = tmp_path / "runs"
    root.mkdir()
    stored_runs.plan(tmp_path, "other")
    with pytest.raises(UsageError, match="no run"):
        find_run(run_id, [root])


@pytest.mark.parametrize("scoring", ["", "..", "../../other", "a/b", ".hidden", "a\n"])
def test_a_hostile_scoring_reads_nothing(tmp_path, scoring):
    folder = stored_runs.finish(tmp_path, "run-1")
    with pytest.raises(UsageError, match="not a scoring"):
        list(folder.read_verdicts(scoring))


def test_the_first_root_wins_and_the_newest_comes_first(tmp_path):
    mine, shipped = tmp_path / "mine", tmp_path / "shipped"
    for root, run_id in ((mine, "run-2"), (shipped, "run-1"), (shipped, "run-2")):
        stored_runs.plan(root, run_id)
    assert find_run("run-2", [mine, shipped]).path == mine / "run-2"
    assert find_run("run-1", [mine, shipped]).path == shipped / "run-1"
    folders = list_run_folders([mine, shipped, tmp_path / "absent"])
    assert [folder.path for folder in folders] == [mine / "run-2", shipped / "run-1"]


def test_unfinished_and_unfindable_folders_are_not_listed(tmp_path):
    (tmp_path / "being-written").mkdir()
    stored_runs.plan(tmp_path, "run-1").path.rename(tmp_path / "Not An Id")
    assert list_run_folders([tmp_path]) == []


def test_new_ids_are_findable_distinct_and_in_order_of_time(tmp_path):
    ids = {new_run_id() for _ in range(200)}
    assert len(ids) == 200
    stored_runs.plan(tmp_path, min(ids))
    assert find_run(min(ids), [tmp_path]).run_id == min(ids)


def test_what_was_planned_is_read_back(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1", epochs=2)
    assert folder.read_spec() == stored_runs.spec_of("run-1", epochs=2)
    assert [stored.sample for stored in folder.read_samples()] == list(stored_runs.SAMPLES)
    assert folder.read_summary() is None
    assert folder.read_progress() is None
    with pytest.raises(FileExistsError):
        stored_runs.plan(tmp_path, "run-1")


def test_the_signature_follows_what_readers_show(tmp_path):
    folder = stored_runs.finish(tmp_path, "run-1")
    signatures = [folder.signature()]
    assert folder.signature() == signatures[0]
    stored_runs.judge(folder, stored_runs.SAMPLES[0], passed=True)
    signatures.append(folder.signature())
    stored_runs.answer(folder, stored_runs.SAMPLES[0])
    signatures.append(folder.signature())
    folder.write_progress(Progress(run_id="run-1", state="done"))
    signatures.append(folder.signature())
    assert len(set(signatures)) == 4


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomic(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_has_the_permissions_of_an_ordinary_one(tmp_path):
    write_atomic(tmp_path / "file", b"")
    (tmp_path / "plain").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("20261115-101010-abcdeg", "20261115-101010-abcdef"),
        ("20261115-10101-abcdef", "20261115-101010-abcdef"),
        ("abcdef", "20261115-101010-abcdef"),
        ("20261115-", "20261115-235959-012345"),
        ("shipped-sqlgot", "shipped-sqlglot"),
        ("20261224-101010-012345", ""),
        ("", ""),
    ],
)
def test_the_run_that_was_meant_is_named(tmp_path, typed, meant):
    for run_id in ("20261115-101010-abcdef", "20261115-235959-012345"):
        stored_runs.plan(tmp_path / "mine", run_id)
    stored_runs.plan(tmp_path / "shipped", "shipped-sqlglot")
    with pytest.raises(UsageError) as caught:
        find_run(typed, [tmp_path / "absent", tmp_path / "mine", tmp_path / "shipped"])
    expected = f" (did you mean {meant}?)" if meant else ""
    text = f"no run {typed!r}; `evalcore list runs` shows the known ones{expected}"
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{}"),
        ("resume", "{}"),
        ("rescore", "{}"),
        ("compare", "shipped-baseline-sqlite", "{}"),
        ("diff", "{}", "shipped-baseline-sqlite"),
        ("gate", "{}", "--against", "shipped-baseline-sqlite"),
        ("gate", "shipped-baseline-sqlite", "--against", "{}"),
        ("export", "{}", "--format", "html", "--out", "report.html"),
        ("export", "{}", "--format", "bundle", "--out", "run.zip"),
    ],
    ids=" ".join,
)
def test_every_verb_names_the_run_that_was_meant(tmp_path, capsys, monkeypatch, words):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    assert main([word.format("shipped-baseline-sqlit") for word in words]) == 2
    assert "(did you mean shipped-baseline-sqlite?)" in capsys.readouterr().err


def test_python_names_the_run_that_was_meant(tmp_path):
    with pytest.raises(UsageError, match=r"did you mean shipped-baseline-sqlite\?"):
        evalcore.load_run("shipped-baseline-sqlit", data=tmp_path)
    with pytest.raises(UsageError, match=r"did you mean shipped-baseline-sqlite\?"):
        evalcore.compare("shipped-baseline-sqlit", "shipped-baseline-duckdb", data=tmp_path)
