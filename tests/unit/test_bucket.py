"""Finished runs in a bucket, and back into another store."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4

import pytest
from fsspec.implementations.local import LocalFileSystem

from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange import bucket
from evalcore.i18n import translate_note
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from tests.support.bundles import finished


def settings_at(path: Path) -> Settings:
    return Settings(data=str(path), shipped=str(path / "none"))


@pytest.mark.slow
def test_runs_reach_another_store_by_a_bucket(tmp_path: Path) -> None:
    url = f"memory://{uuid4().hex}/team"
    first, second = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    folder = finished(first, "baseline:sqlglot", "sql_understanding", max_samples=4)
    assert bucket.push_runs(url, (), first, print).moved == (folder.run_id,)
    assert bucket.push_runs(url, (), first, print).present == (folder.run_id,)
    assert bucket.pull_runs(url, second, print).moved == (folder.run_id,)
    assert len(load_headers(second)) == 1
    assert bucket.pull_runs(url, second, print).moved == ()
    assert len(load_headers(second)) == 1


@pytest.mark.slow
def test_what_is_no_bundle_is_named_and_ends_nothing(tmp_path: Path) -> None:
    first, second = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    folder = finished(first, "baseline:sqlglot", "sql_understanding", max_samples=4)
    shelf = tmp_path / "shelf"
    bucket.push_runs(str(shelf), (), first, print)
    (shelf / "hostile.zip").write_bytes(b"PK\x03\x04 and no more")
    (shelf / "..zip").write_bytes(b"")
    (shelf / "note.txt").write_text("not a run")
    done = bucket.pull_runs(str(shelf), second, print)
    assert done.moved == (folder.run_id,)
    assert list(done.problems) == ["hostile"]


def test_a_bundle_above_the_limit_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "LARGEST", 1 << 20)
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "large.zip").write_bytes(bytes(3 << 20))
    done = bucket.pull_runs(str(tmp_path / "shelf"), settings_at(tmp_path / "b"), print)
    assert "larger than 1 MiB" in done.problems["large"]


def test_an_address_that_cannot_be_used_shows_no_key(tmp_path: Path) -> None:
    url = "nowhere://user:hunter22222@host/path"
    with pytest.raises(UsageError) as caught:
        bucket.pull_runs(url, settings_at(tmp_path), print)
    assert "hunter22222" not in str(caught.value)
    assert "nowhere://host/path" in str(caught.value)
    assert "nowhere://host/path：不是" in translate_note(caught.value.args[0], "zh")


@pytest.mark.parametrize("written", ["pass%2Fword%21", "hunter22222"])
def test_a_message_shows_no_password_of_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    def refuse(url: str) -> None:
        raise OSError(f"{url}: login with {unquote(written)} or {written} failed")

    monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    with pytest.raises(UsageError) as caught:
        bucket.pull_runs(f"s3://user:{written}@host/path?key=1", settings_at(tmp_path), print)
    assert "s3://host/path" in str(caught.value)
    assert written not in str(caught.value)
    assert unquote(written) not in str(caught.value)


@pytest.mark.slow
def test_imported_runs_are_not_offered_again(tmp_path: Path) -> None:
    url = f"memory://{uuid4().hex}/team"
    first, second = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    finished(first, "baseline:sqlglot", "sql_understanding", max_samples=4)
    bucket.push_runs(url, (), first, print)
    bucket.pull_runs(url, second, print)
    again = bucket.push_runs(f"{url}2", (), second, print)
    assert (again.moved, again.problems) == ((), {})


def test_a_transfer_that_breaks_off_leaves_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, shelf = tmp_path / "run-1.zip", tmp_path / "shelf"
    bundle.write_bytes(b"whole")
    shelf.mkdir()
    files = LocalFileSystem()

    def break_off(_: str, name: str) -> None:
        Path(name).write_bytes(b"wh")
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(files, "put_file", break_off)
        with pytest.raises(OSError, match="full"):
            bucket._upload(files, bundle, f"{shelf}/run-1.zip")
    assert bucket._list_bundles(files, str(shelf)) == []
    bucket._upload(files, bundle, f"{shelf}/run-1.zip")
    assert bucket._list_bundles(files, str(shelf)) == ["run-1"]
    assert (shelf / "run-1.zip").read_bytes() == b"whole"


def test_an_unfinished_run_is_left_out_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    command = ["bucket", "push", str(tmp_path / "shelf"), "20260101-000000-aaaaaa"]
    assert main([*command, "--data", str(tmp_path / "data")]) == 3
    assert "20260101-000000-aaaaaa" in capsys.readouterr().err
