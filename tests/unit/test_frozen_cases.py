"""A run is not resumed on cases other than those it began with; the reason and the remedy are
named, and nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import EvalboardError, RunFolderError, UsageError
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases

CASES = 6


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return syntax_cases(tmp_path / "cases", CASES)


def start_run(cases: Path, settings: Settings, **more) -> RunFolder:
    """A run that was interrupted: the answers of half of its cases are missing."""
    request = RunRequest(
        target="control:reference", benchmarks=("sql_understanding",), dataset=str(cases), **more
    )
    folder = create_folder(plan_run(request, settings), settings)
    work_on_run(folder, settings, Secrets())
    for name in ("generations", "calls", "verdicts"):
        for path in (folder.path / name).rglob("*.jsonl"):
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines[: len(lines) // 2]))
    folder.summary_path.unlink()
    return folder


def edit_case_file(cases: Path, edit: Callable[[list[dict]], object]) -> None:
    rows = [json.loads(line) for line in cases.read_text().splitlines()]
    edit(rows)
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))


def change_last(rows: list[dict]) -> None:
    rows[-1]["sql"] += " -- changed"


def add_case(rows: list[dict]) -> None:
    rows.append(rows[-1] | {"case_id": "added"})


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (change_last, "1 cases changed, 0 removed, 0 added"),
        (lambda rows: rows.pop(), "0 cases changed, 1 removed, 0 added"),
        (add_case, "0 cases changed, 0 removed, 1 added, first syntax_error_detection/added"),
    ],
)
def test_a_dataset_that_changed_is_refused_with_reason_and_remedy(
    cases: Path, settings: Settings, edit, problem
) -> None:
    folder = start_run(cases, settings)
    journals = {path: path.read_bytes() for path in folder.path.rglob("*.jsonl")}
    edit_case_file(cases, edit)
    with pytest.raises(UsageError) as refused:
        work_on_run(folder, settings, Secrets())
    message = str(refused.value)
    assert problem in message
    assert str(cases) in message
    assert "Restore it and resume the run, or start a new run" in message
    assert {path: path.read_bytes() for path in folder.path.rglob("*.jsonl")} == journals
    progress = folder.read_progress()
    assert progress is not None
    assert progress.message == message, "the page of runs shows why"


def test_a_changed_dataset_does_not_concern_a_run_that_has_all_answers(
    cases: Path, settings: Settings
) -> None:
    folder = start_run(cases, settings)
    before = work_on_run(folder, settings, Secrets())
    summary = msgspec.json.decode((folder.path / "summary.json").read_bytes())
    del summary["totals"]["wall"]  # as another version of this package summed it up
    (folder.path / "summary.json").write_bytes(msgspec.json.encode(summary))
    edit_case_file(cases, change_last)
    again = work_on_run(folder, settings, Secrets())
    assert again.is_complete
    assert again.benchmarks == before.benchmarks


def test_the_restored_dataset_is_taken(cases: Path, settings: Settings) -> None:
    folder = start_run(cases, settings)
    before = cases.read_bytes()
    edit_case_file(cases, change_last)
    with pytest.raises(UsageError):
        work_on_run(folder, settings, Secrets())
    cases.write_bytes(before)
    assert work_on_run(folder, settings, Secrets()).is_complete


def test_what_was_answered_can_be_scored_on_the_frozen_cases(
    cases: Path, settings: Settings
) -> None:
    folder = start_run(cases, settings)
    edit_case_file(cases, change_last)
    summary = work_on_run(folder, settings, Secrets(), generate=False)
    assert 0 < summary.benchmarks["sql_understanding"].coverage < 1


def test_added_cases_do_not_concern_a_run_over_some(cases: Path, settings: Settings) -> None:
    folder = start_run(cases, settings, max_samples=4)
    edit_case_file(cases, add_case)
    assert work_on_run(folder, settings, Secrets()).is_complete


def test_a_dataset_that_is_gone_leaves_the_frozen_cases(cases: Path, settings: Settings) -> None:
    folder = start_run(cases, settings)
    cases.rename(cases.with_name("elsewhere"))
    assert work_on_run(folder, settings, Secrets()).is_complete


def test_a_dataset_that_is_broken_by_now_is_named(cases: Path, settings: Settings) -> None:
    folder = start_run(cases, settings)
    cases.write_text("{broken\n")
    with pytest.raises(UsageError, match=r"has changed since the run began.*line 1"):
        work_on_run(folder, settings, Secrets())


def test_frozen_cases_that_were_edited_are_refused(cases: Path, settings: Settings) -> None:
    folder = start_run(cases, settings)
    path = folder.path / "samples.jsonl"
    content = path.read_bytes().replace(b'"difficulty":2', b'"difficulty":3', 1)
    assert content != path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"samples\.jsonl.*restore the file"):
        work_on_run(folder, settings, Secrets())
    assert path.read_bytes() == content


def test_a_new_run_is_not_checked_twice(cases: Path, settings: Settings, monkeypatch) -> None:
    request = RunRequest(
        target="control:null", benchmarks=("sql_understanding",), dataset=str(cases)
    )
    folder = create_folder(plan_run(request, settings), settings)
    edit_case_file(cases, change_last)
    try:
        summary = work_on_run(folder, settings, Secrets())
    except EvalboardError as error:
        pytest.fail(f"its cases are frozen: {error}")
    assert summary.is_complete
