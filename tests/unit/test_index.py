"""The index: upserts by run id, many processes, and that it can be lost at any time."""

from __future__ import annotations

import builtins
import io
import json
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import orjson
import pytest
from filelock import FileLock

from evalcore.errors import IndexFileError, RunFolderError
from evalcore.settings import Settings
from evalcore.store import headers as scan_module
from evalcore.store.headers import build_run_header
from evalcore.store.index import (
    Index,
    headers_signature,
    load_headers,
    open_index,
    record_run,
)
from evalcore.store.index_stores import PostgresStore
from tests.support import stored_runs
from tests.support.databases import database_server, database_url  # noqa: F401

replace = msgspec.structs.replace


def header(run_id: str, created_at: str = "", note: str = ""):
    spec = stored_runs.spec_of(run_id, created_at=created_at, note=note)
    return build_run_header(spec, stored_runs.summary_of(spec))


@pytest.fixture
def reports():
    return []


@pytest.fixture
def index(tmp_path, reports):
    return Index(tmp_path / "evalboard.json", [tmp_path / "runs"], reports.append)


@pytest.fixture(params=["file", "postgres"])
def any_index(request, tmp_path, reports):
    """The index in a file, and in a database."""
    path, roots = tmp_path / "evalboard.json", [tmp_path / "runs"]
    if request.param == "file":
        return Index(path, roots, reports.append)
    url = request.getfixturevalue("database_url")
    return Index(path, roots, reports.append, PostgresStore(url, roots[0]))


def reopen(index, *, with_roots=False, report=print):
    """The same rows as another process has them."""
    roots = index.roots if with_roots else ()
    store = index._store
    other = PostgresStore(store._url, store._runs) if isinstance(store, PostgresStore) else None
    return Index(index.path, roots, report, other)


@pytest.fixture
def settings(tmp_path):
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "shipped"))


def test_looking_at_an_empty_store_writes_nothing(index, tmp_path):
    assert index.headers() == []
    assert index.get("run-1") is None
    assert index.signature() == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_put_is_found_again_newest_first(any_index):
    index = any_index
    for run_id, day in (("b", "02"), ("c", "03"), ("a", "01")):
        index.put(header(run_id, f"2026-11-{day}T00:00:00+00:00"))
    assert [row.run_id for row in index.headers()] == ["c", "b", "a"]
    assert index.get("b") == header("b", "2026-11-02T00:00:00+00:00")


def test_putting_a_run_again_replaces_all_of_its_header(any_index):
    index = any_index
    index.put(header("a", note="first"))
    index.put(header("a"))
    assert index.get("a").note == ""
    assert len(index.headers()) == 1


def test_a_removed_run_is_gone_and_an_unknown_one_is_no_error(any_index):
    index = any_index
    index.put(header("a"))
    index.remove("a")
    index.remove("a")
    assert index.headers() == []


def test_a_change_keeps_what_is_known_of_the_other_runs(any_index):
    index = any_index
    for run_id in ("a", "b"):
        index.put(header(run_id))
    expected = index.get("a")
    reopen(index).put(header("b", note="changed"))
    assert index.get("b").note == "changed"
    assert index.get("a") is expected, "only the changed header is decoded"


def test_two_readers_of_one_file_see_each_other(any_index, tmp_path):
    index = any_index
    other = reopen(index)
    index.put(header("a"))
    assert other.headers() == index.headers()
    other.put(header("b"))
    index.put(header("c"))
    assert {row.run_id for row in index.headers()} == {"a", "b", "c"}
    assert index.headers() == other.headers()


def test_threads_lose_nothing(any_index):
    index = any_index

    def put(name: str) -> None:
        for number in range(20):
            index.put(header(f"{name}-{number}"))

    threads = [threading.Thread(target=put, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reopen(index).headers()) == 80


def test_the_signature_changes_with_every_write(any_index):
    index = any_index
    seen = {index.signature()}
    for note in ("one", "two"):
        index.put(header("a", note=note))
        seen.add(index.signature())
    assert len(seen) == 3
    assert index.signature() == reopen(index).signature()


def test_a_table_that_an_older_version_wrote_is_no_obstacle(index):
    index.put(header("a"))
    tables = json.loads(index.path.read_bytes())
    index.path.write_text(json.dumps(tables | {"targets": {"openai:small": {"tools": True}}}))
    assert [row.run_id for row in Index(index.path).headers()] == ["a"]
    index.put(header("b"))
    assert {row.run_id for row in index.headers()} == {"a", "b"}


def test_a_header_above_the_limit_is_refused_and_the_index_unharmed(any_index):
    index = any_index
    index.put(header("a"))
    with pytest.raises(IndexFileError, match="limit is 4096"):
        index.put(replace(header("b"), errors={f"kind-{n}": n for n in range(500)}))
    assert [row.run_id for row in index.headers()] == ["a"]


def test_a_deleted_index_comes_back_equal(index, tmp_path, reports):
    for number in range(5):
        folder = stored_runs.finish(tmp_path / "runs", f"run-{number}")
        index.put(build_run_header(folder.read_spec(), folder.read_summary()))
    before = index.headers()
    index.path.unlink()
    assert index.headers() == before
    assert orjson.loads(index.path.read_bytes())["runs"].keys() == {h.run_id for h in before}
    assert "missing" in reports[0]
    assert "5 finished runs" in reports[0]


def test_a_write_into_a_deleted_index_keeps_the_other_runs(index, tmp_path):
    for run_id in ("run-1", "run-2"):
        stored_runs.finish(tmp_path / "runs", run_id)
    index.put(header("run-2"))
    assert {row.run_id for row in index.headers()} == {"run-1", "run-2"}


BAD = [
    b"",
    b'{"runs": {"a"',
    b"[1]",
    b'{"runs":{"a":5}}',
    b'{"runs":{"a":{"run_id":1}}}',
    b'{"runs":{"a":{"run_id":tru}}}',
    b'{"runs":{"a":{"run_id":"\xff"}}}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("content", BAD)
def test_a_corrupt_index_is_moved_aside_and_rebuilt(index, tmp_path, reports, content):
    stored_runs.finish(tmp_path / "runs", "run-1")
    index.path.write_bytes(content)
    assert [row.run_id for row in index.headers()] == ["run-1"]
    assert (tmp_path / "evalboard.json.corrupt-1").read_bytes() == content
    assert "evalboard.json.corrupt-1" in reports[0]
    index.path.write_bytes(content)
    assert [row.run_id for row in Index(index.path, index.roots).headers()] == ["run-1"]
    assert (tmp_path / "evalboard.json.corrupt-2").exists()


def test_a_write_into_a_corrupt_index_rebuilds_it_first(index, tmp_path, reports):
    for run_id in ("run-1", "run-2"):
        stored_runs.finish(tmp_path / "runs", run_id)
    index.path.write_bytes(b'{"runs": {"a"')
    index.put(header("run-2"))
    assert {row.run_id for row in index.headers()} == {"run-1", "run-2"}
    assert len(reports) == 1


def test_a_rebuild_forgets_what_has_no_folder(any_index, tmp_path):
    index = any_index
    index.put(header("gone"))
    stored_runs.finish(tmp_path / "runs", "run-1")
    assert index.rebuild() == 1
    assert [row.run_id for row in index.headers()] == ["run-1"]


def test_broken_folders_are_reported_and_never_fatal(any_index, tmp_path, reports):
    index = any_index
    runs = tmp_path / "runs"
    stored_runs.finish(runs, "good")
    stored_runs.plan(runs, "planned")
    (stored_runs.finish(runs, "no-spec").path / "spec.json").write_bytes(b"{")
    stored_runs.finish(runs, "no-summary").summary_path.write_bytes(b"\xff")
    stored_runs.finish(runs, "renamed").path.rename(runs / "other-name")
    assert index.rebuild([runs]) == 1
    assert [row.run_id for row in index.headers()] == ["good"]
    assert len(reports) == 3
    for name in ("no-spec", "no-summary", "other-name"):
        assert any(name in line for line in reports)


def test_a_data_folder_that_cannot_be_written_names_the_setting(tmp_path):
    (tmp_path / "file").touch()
    index = Index(tmp_path / "file" / "evalboard.json")
    with pytest.raises(IndexFileError, match="EVALBOARD_DATA"):
        index.put(header("a"))


def ids(index):
    return [row.run_id for row in index.headers()]


def test_a_run_that_nobody_entered_is_in_the_index_of_whoever_looks(index, tmp_path):
    """A worker that is killed between its summary and the index leaves such a run."""
    index.put(header_of_run(stored_runs.finish(tmp_path / "runs", "run-1")))
    stored_runs.finish(tmp_path / "runs", "run-2")
    assert ids(Index(index.path, index.roots)) == ["run-2", "run-1"]
    assert orjson.loads(index.path.read_bytes())["runs"].keys() == {"run-1", "run-2"}


def header_of_run(folder):
    return build_run_header(folder.read_spec(), folder.read_summary())


def test_a_run_that_ends_while_the_index_is_open_enters_it_within_seconds(index, tmp_path):
    folder = stored_runs.plan(tmp_path / "runs", "run-1")
    assert ids(index) == []
    folder.write_summary(stored_runs.summary_of(folder.read_spec()))
    until = time.monotonic() + 180
    while ids(index) != ["run-1"]:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_summary_that_was_written_anew_replaces_the_header(any_index, tmp_path):
    index = any_index
    folder = stored_runs.finish(tmp_path / "runs", "run-1")
    assert ids(index) == ["run-1"]
    folder.write_summary(replace(folder.read_summary(), state="cancelled"))
    assert reopen(index, with_roots=True).get("run-1").state == "cancelled"


def test_a_deleted_folder_leaves_the_index_and_a_folder_of_runs_that_is_away_does_not(
    index, tmp_path
):
    for run_id in ("run-1", "run-2"):
        stored_runs.finish(tmp_path / "runs", run_id)
    assert len(ids(index)) == 2
    shutil.rmtree(tmp_path / "runs" / "run-1")
    assert ids(index) == ["run-2"]
    (tmp_path / "runs").rename(tmp_path / "away")
    assert ids(index) == ["run-2"], "a volume that is not mounted has lost no run"


def test_a_damaged_run_leaves_the_index_and_comes_back_when_it_is_mended(
    any_index, tmp_path, reports
):
    index = any_index
    folder = stored_runs.finish(tmp_path / "runs", "run-1")
    whole = folder.summary_path.read_bytes()
    assert ids(index) == ["run-1"]
    for content in (b"{", b"\xff\xfe", whole.replace(b'"requests":3', b'"requests":"many"')):
        folder.summary_path.write_bytes(content)
        assert ids(reopen(index, with_roots=True, report=reports.append)) == []
        assert "run-1" in reports[-1]
    folder.summary_path.write_bytes(whole)
    assert ids(reopen(index, with_roots=True)) == ["run-1"]


def test_nothing_is_read_or_written_while_nothing_changes(index, tmp_path, monkeypatch):
    for number in range(5):
        stored_runs.finish(tmp_path / "runs", f"run-{number}")
    assert len(ids(index)) == 5
    before = index.signature()
    monkeypatch.setattr(scan_module, "read_header", pytest.fail)
    other = Index(index.path, index.roots)
    assert len(ids(other)) == 5
    assert other.signature() == before == index.signature()


def test_two_who_mend_at_once_agree_and_lose_nothing(tmp_path):
    for number in range(40):
        stored_runs.finish(tmp_path / "runs", f"run-{number}")
    indexes = [Index(tmp_path / "evalboard.json", [tmp_path / "runs"]) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(ids, indexes))
    assert results == [results[0]] * 4
    assert len(results[0]) == 40
    assert not list(tmp_path.glob("*.corrupt-*"))


def test_an_index_that_another_process_locks_is_mended_in_memory(index, tmp_path, reports):
    stored_runs.finish(tmp_path / "runs", "run-1")
    with FileLock(f"{index.path}.lock"):
        assert ids(index) == ["run-1"]
        first = index.signature()
        stored_runs.finish(tmp_path / "runs", "run-2")
        assert ids(index) == ["run-2", "run-1"]
        assert index.signature() != first != ""
    assert "lock" in reports[0]
    assert not index.path.exists()
    assert ids(Index(index.path, index.roots)) == ["run-2", "run-1"]
    assert index.path.exists()


def test_an_index_of_an_older_version_is_understood(index, tmp_path):
    """Its headers do not say what they were made from."""
    folder = stored_runs.finish(tmp_path / "runs", "run-1")
    older = msgspec.to_builtins(header_of_run(folder))
    index.path.write_bytes(orjson.dumps({"runs": {"run-1": older}, "targets": {}}))
    assert ids(index) == ["run-1"]
    assert not list(tmp_path.glob("*.corrupt-*"))


@pytest.mark.parametrize("damage", ["file", "dangling", "loop", "empty"])
def test_no_entry_of_the_shipped_root_hides_the_others(settings, damage):
    root = settings.run_roots[1]
    stored_runs.finish(root, "good")
    entry = root / "bad"
    if damage == "file":
        entry.write_text("")
    elif damage == "empty":
        entry.mkdir()
    else:
        entry.symlink_to(entry if damage == "loop" else root / "nothing")
    assert [row.run_id for row in load_headers(settings)] == ["good"]


def test_load_headers_joins_the_writable_and_the_shipped_runs(settings):
    shipped = settings.run_roots[1]
    stored_runs.finish(shipped, "old", created_at="2026-01-01")
    stored_runs.finish(shipped, "both", created_at="2026-02-01")
    stored_runs.finish(settings.runs_dir, "both", created_at="2026-02-01")
    record_run(settings, stored_runs.finish(settings.runs_dir, "new", created_at="2026-03-01"))
    shipped_flags = {row.run_id: row.shipped for row in load_headers(settings)}
    assert shipped_flags == {"new": False, "both": False, "old": True}
    assert list(shipped_flags) == ["new", "both", "old"]


def test_a_shipped_run_in_the_index_is_still_shipped(settings):
    stored_runs.finish(settings.run_roots[1], "old")
    open_index(settings).rebuild(settings.run_roots)
    assert [(row.run_id, row.shipped) for row in load_headers(settings)] == [("old", True)]


def test_shipped_runs_are_shown_without_writing_anything(settings, tmp_path):
    stored_runs.finish(settings.run_roots[1], "old")
    assert [row.run_id for row in load_headers(settings)] == ["old"]
    assert not settings.data_dir.exists()


def test_a_change_of_either_root_is_seen(settings):
    seen = [headers_signature(settings)]
    assert load_headers(settings) == []
    record_run(settings, stored_runs.finish(settings.runs_dir, "new"))
    seen.append(headers_signature(settings))
    assert len(load_headers(settings)) == 1
    stored_runs.finish(settings.run_roots[1], "old")
    seen.append(headers_signature(settings))
    assert len(load_headers(settings)) == 2
    assert len(set(seen)) == 3
    assert headers_signature(settings) == seen[-1]


def test_a_run_without_a_summary_cannot_be_recorded(settings):
    folder = stored_runs.plan(settings.runs_dir, "run-1")
    with pytest.raises(RunFolderError, match=r"no summary\.json"):
        record_run(settings, folder)


def test_a_hundred_unchanged_runs_are_listed_without_reading_a_file(settings, monkeypatch):
    for number in range(50):
        stored_runs.finish(settings.run_roots[1], f"shipped-{number}")
        stored_runs.finish(settings.runs_dir, f"mine-{number}")
    headers = load_headers(settings)
    assert len(headers) == 100

    def refuse(path, *_, **__):
        raise AssertionError(f"{path} was opened")

    for module in (builtins, io, os):
        monkeypatch.setattr(module, "open", refuse)
    listed = load_headers(settings)
    monkeypatch.undo()
    assert listed is headers
