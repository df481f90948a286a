"""Every run folder is a row, whatever its condition, without a look into a journal."""

from __future__ import annotations

import os
import shutil

import msgspec
import pytest
from filelock import FileLock

from evalcore.results import Progress
from evalcore.store.run_folder import RunFolder
from evalcore.views import runs
from tests.support.page_stores import CORRUPT, corrupt_run, evidence_run
from tests.support.stored_runs import finish, plan


@pytest.fixture
def roots(tmp_path):
    return (tmp_path / "own", tmp_path / "shipped")


def progress(**more) -> Progress:
    return msgspec.structs.replace(
        Progress(
            run_id="r",
            state="running",
            total=3,
            scored=1,
            generated=2,
            rate=2.0,
            eta=1.0,
            outcomes={"passed": 1},
            errors={"timeout": 4},
        ),
        **more,
    )


def test_no_root_and_no_run_make_no_row(roots):
    assert runs.all_rows(roots) == []


def test_a_finished_run_says_what_it_scored_and_took(roots):
    finish(roots[0], "20260101-100000-aaaaaa")
    [row] = runs.all_rows(roots)
    assert (row.state, row.own, row.complete, row.is_active) == ("done", True, True, False)
    assert row.scores == {"sql_understanding": pytest.approx(200 / 3)}
    assert row.measured_score == pytest.approx(200 / 3)
    assert (row.input_tokens, row.output_tokens, row.cost, row.wall) == (30, 6, None, None)
    assert row.fraction == 1.0


def test_the_worker_is_believed_while_it_lives(roots):
    folder = plan(roots[0], "20260101-100000-aaaaaa")
    folder.write_progress(progress())
    with FileLock(folder.lock_path):
        [row] = runs.all_rows(roots)
    assert (row.state, row.is_active) == ("running", True)
    assert (row.total, row.scored, row.rate, row.eta) == (3, 1, 2.0, 1.0)
    assert row.errors == {"timeout": 4}
    assert row.fraction == pytest.approx(1 / 3)


def test_a_run_without_its_worker_is_interrupted(roots):
    folder = plan(roots[0], "20260101-100000-aaaaaa")
    folder.write_progress(progress(message="needs KEY"))
    [row] = runs.all_rows(roots)
    assert (row.state, row.is_active, row.message) == ("interrupted", False, "needs KEY")


def test_a_run_that_is_scored_again_shows_the_new_counts(roots):
    folder = finish(roots[0], "20260101-100000-aaaaaa")
    folder.write_progress(progress())
    with FileLock(folder.lock_path):
        [row] = runs.all_rows(roots)
    assert (row.state, row.scored) == ("running", 1)


def test_a_new_run_is_planned(roots):
    plan(roots[0], "20260101-100000-aaaaaa")
    [row] = runs.all_rows(roots)
    assert (row.state, row.is_active, row.total, row.fraction) == ("planned", True, 3, 0.0)


@pytest.mark.parametrize("name", ["spec.json", "summary.json"])
def test_a_torn_file_makes_a_broken_row_that_names_it(roots, name):
    folder = finish(roots[0], "20260101-100000-aaaaaa")
    (folder.path / name).write_text("{torn", encoding="utf-8")
    [row] = runs.all_rows(roots)
    assert row.state == "broken"
    assert name in row.problem


def test_own_runs_come_before_shipped_ones_and_newer_before_older(roots):
    finish(roots[0], "a-named-run", created_at="2026-01-03T10:00:00.000+00:00")
    finish(roots[0], "20260102-100000-aaaaaa", created_at="2026-01-02T10:00:00.000+00:00")
    corrupt_run(roots[0])
    finish(roots[1], "shipped-one", created_at="2026-05-01T10:00:00.000+00:00")
    rows = runs.all_rows(roots)
    assert [row.run_id for row in rows] == [
        "a-named-run",
        "20260102-100000-aaaaaa",
        CORRUPT,
        "shipped-one",
    ]
    assert [row.own for row in rows] == [True, True, True, False]


def test_journals_are_not_read(roots):
    folder: RunFolder = evidence_run(roots[0])
    for path in folder.path.rglob("*.jsonl"):
        path.write_text("{torn\n", encoding="utf-8")
    assert runs.all_rows(roots)[0].state == "done"


def aged(folder: RunFolder) -> None:
    """As if nothing had happened in the folder for an hour."""
    status = folder.path.stat()
    os.utime(folder.path, ns=(status.st_atime_ns, status.st_mtime_ns - 3_600 * 10**9))


def opened(monkeypatch) -> list[str]:
    """The runs whose files are read from here on."""
    read: list[str] = []
    spec = RunFolder.read_spec
    monkeypatch.setattr(
        RunFolder, "read_spec", lambda folder: read.append(folder.run_id) or spec(folder)
    )
    return read


def test_a_run_at_rest_is_read_once(roots, monkeypatch):
    aged(finish(roots[0], "20260101-100000-aaaaaa"))
    aged(plan(roots[0], "20260101-110000-bbbbbb"))
    first = runs.all_rows(roots)
    read = opened(monkeypatch)
    assert runs.all_rows(roots) == first
    assert set(read) == {"20260101-110000-bbbbbb"}  # planned: its worker may begin at any moment


def test_a_run_that_changed_a_moment_ago_is_read_again(roots, monkeypatch):
    finish(roots[0], "20260101-100000-aaaaaa")
    runs.all_rows(roots)
    read = opened(monkeypatch)
    runs.all_rows(roots)
    assert read


def test_a_run_at_rest_that_is_taken_up_again_shows_it(roots):
    folder = finish(roots[0], "20260101-100000-aaaaaa")
    aged(folder)
    assert runs.all_rows(roots)[0].state == "done"
    folder.write_progress(progress())
    with FileLock(folder.lock_path):
        assert runs.all_rows(roots)[0].state == "running"


def test_a_deleted_run_is_gone_and_a_run_of_that_name_elsewhere_is_seen(roots):
    folder = finish(roots[0], "20260101-100000-aaaaaa")
    finish(roots[1], "20260101-100000-aaaaaa")
    aged(folder)
    assert [row.own for row in runs.all_rows(roots)] == [True]
    shutil.rmtree(folder.path)
    assert [row.own for row in runs.all_rows(roots)] == [False]


def test_runs_are_searched_by_id_target_and_note(roots):
    finish(roots[0], "20260101-100000-aaaaaa")
    rows = runs.all_rows(roots)
    assert [len(runs.filter_run_rows(rows, text)) for text in ("", "0101", "OPENAI:SM", "zz")] == [
        *(1, 1, 1, 0)
    ]


def test_runs_at_rest_are_not_looked_at_twice_in_a_moment(tmp_path, monkeypatch):
    roots = (tmp_path / "runs",)
    roots[0].mkdir()
    os.utime(roots[0], ns=(0, 10**9))
    looked = []
    monkeypatch.setattr(runs, "list_entries", lambda root: looked.append(root) or [])
    runs.all_rows(roots)
    runs.all_rows(roots)
    assert len(looked) == 1
    runs.clear_run_cache()
    runs.all_rows(roots)
    os.utime(roots[0], ns=(0, 2 * 10**9))  # a run was added or removed
    runs.all_rows(roots)
    assert len(looked) == 3


def test_an_incomplete_run_has_no_score_to_list(roots):
    finish(roots[0], "20260101-100000-aaaaaa")
    [row] = runs.all_rows(roots)
    assert msgspec.structs.replace(row, complete=False).measured_score is None
