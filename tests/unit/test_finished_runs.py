"""What has nothing left to do stays as it is, byte for byte, whoever opens it; so does a seal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.access.signing import generate_key, load_signing_key
from evalcore.errors import UsageError
from evalcore.exchange import reports
from evalcore.exchange.bundle.exporter import export_bundle
from evalcore.exchange.sealing import seal_run
from evalcore.results import Progress, RunState
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.store import case_index, case_parts, case_tables
from evalcore.store.index import open_index
from evalcore.store.run_folder import RunFolder, StoredVerdict
from evalcore.store.seal import verify_run_folder
from evalcore.views.cases import EVERY_CASE, case_page, case_view
from evalcore.views.seals import check_seal
from tests.support.cases import syntax_cases

KEY = "sql_understanding"
LOCK = "worker.lock"


@pytest.fixture
def settings(tmp_path: Path) -> configuration.Settings:
    return configuration.Settings(data=str(tmp_path / "data"), retry_base=0.001, max_attempts=1)


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The run keeps no index in its folder, or has one and a table in parts."""
    if request.param == "large":
        monkeypatch.setattr(case_index, "LARGE", 4)
        monkeypatch.setattr(case_parts, "_ROWS", 4)
        monkeypatch.setattr(case_parts, "_SMALLEST", 2)
    return str(request.param)


def plan(tmp_path: Path, settings: configuration.Settings, **more: Any) -> RunFolder:
    cases = syntax_cases(tmp_path / "cases", 12)
    request = RunRequest(*("control:reference", (KEY,)), dataset=str(cases), **more)
    return create_folder(plan_run(request, settings), settings)


def work(folder: RunFolder, settings: configuration.Settings, **more: Any) -> Any:
    return work_on_run(folder, settings, Secrets(), **more)


def read_all(folder: RunFolder) -> dict[str, tuple[bytes, int]]:
    """Every file but the lock, with the time at which it was written."""
    return {
        path.relative_to(folder.path).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.path.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


def seal(folder: RunFolder, settings: configuration.Settings, tmp_path: Path) -> None:
    generate_key(tmp_path / "signing.pem")
    seal_run(folder, load_signing_key(tmp_path / "signing.pem"), settings)


@pytest.mark.parametrize("epochs", [1, 2])
def test_resuming_a_finished_run_writes_nothing(
    tmp_path: Path, settings: configuration.Settings, size: str, epochs: int
) -> None:
    folder = plan(tmp_path, settings, epochs=epochs)
    first = work(folder, settings)
    before = read_all(folder)
    assert first.state == "done"
    assert any(name.endswith(".index") for name in before) == (size == "large")
    for executor in ("", "ray", "process"):
        assert work(folder, settings, executor=executor) == first
        assert read_all(folder) == before


def test_a_sealed_run_stays_sealed_when_opened(
    tmp_path: Path, settings: configuration.Settings, size: str
) -> None:
    folder = plan(tmp_path, settings)
    work(folder, settings)
    seal(folder, settings, tmp_path)
    case_tables.ensure_samples_table(folder)  # the caches that a reader may make
    before = read_all(folder)
    roots = [settings.runs_dir]
    frame, _ = case_page(roots, folder.run_id, EVERY_CASE)
    case_view(roots, folder.run_id, str(frame["metric"].iloc[0]), str(frame["id"].iloc[0]))
    for form in ("json", "csv", "md", "html"):
        assert reports.render_report(folder, form)
    assert export_bundle(folder, tmp_path / "out.zip", settings).sealed
    for generate in (True, False):
        assert work(folder, settings, generate=generate).state == "done"
    assert open_index(settings).rebuild() >= 1
    assert (status := check_seal(folder)) is not None
    assert status.state == verify_run_folder(folder).state == "valid"
    assert read_all(folder) == before


def forget_last_case(folder: RunFolder, scoring: str) -> None:
    """As if the last case had never been asked."""
    for path in (folder.path / "generations", folder.verdicts_dir(scoring)):
        (journal,) = path.iterdir()
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_sealed_run_that_could_go_on_is_refused(
    tmp_path: Path, settings: configuration.Settings, size: str
) -> None:
    folder = plan(tmp_path, settings)
    forget_last_case(folder, work(folder, settings).scoring)
    assert work(folder, settings, generate=False).state == "incomplete"
    seal(folder, settings, tmp_path)
    before = read_all(folder)
    for generate in (True, False):
        with pytest.raises(UsageError, match=r"is sealed.*seal\.json"):
            work(folder, settings, generate=generate)
    changed = {name for name, state in read_all(folder).items() if before.get(name) != state}
    assert changed == {"progress.json"}  # which says why, and no seal covers
    assert folder.current_state() == "incomplete"
    assert "is sealed" in (folder.read_progress() or Progress("", "done")).message
    assert verify_run_folder(folder).state == "valid"
    (folder.path / "seal.json").unlink()
    assert work(folder, settings).state == "done"


@pytest.mark.parametrize("state", ["planned", "running", "interrupted"])
def test_a_finished_run_whose_worker_did_not_say_so_ends(
    tmp_path: Path, settings: configuration.Settings, size: str, state: RunState
) -> None:
    folder = plan(tmp_path, settings)
    first = work(folder, settings)
    progress = folder.read_progress()
    assert progress is not None
    later = msgspec.structs.replace(progress, state=state, started_at="2999-01-01T00:00:00+00:00")
    folder.write_progress(later)
    before = read_all(folder)
    assert work(folder, settings) == first
    assert folder.current_state() == "done"
    changed = {name for name, state in read_all(folder).items() if before.get(name) != state}
    assert changed == {"progress.json"}


def test_a_journal_that_gained_a_line_is_summed_up(
    tmp_path: Path, settings: configuration.Settings, size: str
) -> None:
    folder = plan(tmp_path, settings)
    before = work(folder, settings)
    line = next(iter(folder.read_verdicts(before.scoring)))
    failed = msgspec.structs.replace(line.verdict, outcome="failed", score=0.0)
    with folder.open_journal("verdicts", before.scoring, "main.jsonl") as journal:
        journal.append(StoredVerdict(KEY, failed))
    assert work(folder, settings).benchmarks[KEY].outcomes == {"passed": 11, "failed": 1}
