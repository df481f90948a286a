"""A store as another user sees it: what they may not read is named, what they may not write is
worked out in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalcore.errors import RunFolderError
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.index import load_headers
from evalcore.store.run_folder import find_run, list_run_folders
from evalcore.views import runs
from tests.support import stored_runs

NOBODY = 65534


@pytest.fixture
def settings() -> Iterator[Settings]:
    """A store with two whole runs, a locked one and no index, in a folder that anybody may enter.

    Root may read everything; where the tests run as root, a child process is somebody else.
    """
    root = Path(tempfile.mkdtemp(prefix="evalboard-test-"))
    root.chmod(0o755)
    result = Settings(data=str(root / "data"), shipped=str(root / "none"))
    for run_id in ("run-1", "run-2"):
        case_tables.ensure_samples_table(stored_runs.finish(result.runs_dir, run_id))
    stored_runs.finish(result.runs_dir, "locked").path.chmod(0)
    result.data_dir.chmod(0o555)
    yield result
    result.data_dir.chmod(0o755)
    (result.runs_dir / "locked").chmod(0o755)
    shutil.rmtree(root)


def as_somebody_else(check: Callable[[], None]) -> None:
    """Run the check as an ordinary user; raises AssertionError with what it raised."""
    if os.geteuid() != 0:
        check()
        return
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            check()
            status = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-8000:])
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as problem:
        output = problem.read().decode()
    assert os.waitpid(child, 0)[1] == 0, output


def test_a_folder_without_permissions_is_named_and_the_index_needs_no_write(
    settings: Settings,
) -> None:
    def check() -> None:
        for _ in range(2):
            assert {header.run_id for header in load_headers(settings)} == {"run-1", "run-2"}
        rows = {row.run_id: row for row in runs.all_rows(settings.run_roots)}
        assert {name: row.state for name, row in rows.items()} == {
            "run-1": "done",
            "run-2": "done",
            "locked": "broken",
        }
        assert "Permission denied" in rows["locked"].problem
        assert len(list_run_folders(settings.run_roots)) == 2
        with pytest.raises(RunFolderError, match="Permission denied"):
            find_run("locked", settings.run_roots)
        assert not settings.index_path.exists()

    as_somebody_else(check)


def test_a_folder_of_runs_that_may_not_be_read_is_named(settings: Settings) -> None:
    settings.runs_dir.chmod(0)

    def check() -> None:
        assert list(load_headers(settings)) == []
        [row] = runs.all_rows(settings.run_roots)
        assert row.state == "broken"
        assert "Permission denied" in row.problem

    try:
        as_somebody_else(check)
    finally:
        settings.runs_dir.chmod(0o755)
