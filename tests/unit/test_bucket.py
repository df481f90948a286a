"""Finished runs in a bucket, and back into another store."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange import bucket
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from tests.support.bundles import finished


def settings_at(path: Path) -> Settings:
    return Settings(data=str(path), shipped=str(path / "none"))


@pytest.mark.slow
def test_runs_reach_another_store_by_a_bucket(tmp_path: Path) -> None:
    url = f"memory://{uuid4().hex}/team"
    first, second = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    folder = finished(first, "baseline:sqlglot", "dialect_conversion", max_samples=4)
    assert bucket.push_runs(url, (), first, print).moved == (folder.run_id,)
    assert bucket.push_runs(url, (), first, print).present == (folder.run_id,)
    assert bucket.pull_runs(url, second, print).moved == (folder.run_id,)
    assert len(load_headers(second)) == 1
    assert bucket.pull_runs(url, second, print).moved == ()
    assert len(load_headers(second)) == 1


@pytest.mark.slow
def test_what_is_no_bundle_is_named_and_ends_nothing(tmp_path: Path) -> None:
    first, second = settings_at(tmp_path / "a"), settings_at(tmp_path / "b")
    folder = finished(first, "baseline:sqlglot", "dialect_conversion", max_samples=4)
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
    assert "more than 1 MiB" in done.problems["large"]


def test_an_address_that_cannot_be_used_shows_no_key(tmp_path: Path) -> None:
    url = "nowhere://user:hunter22222@host/path"
    with pytest.raises(UsageError) as caught:
        bucket.pull_runs(url, settings_at(tmp_path), print)
    assert "hunter22222" not in str(caught.value)
    assert "nowhere://host/path" in str(caught.value)


def test_an_unfinished_run_is_left_out_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    command = ["bucket", "push", str(tmp_path / "shelf"), "20260101-000000-aaaaaa"]
    assert main([*command, "--data", str(tmp_path / "data")]) == 3
    assert "20260101-000000-aaaaaa" in capsys.readouterr().err
