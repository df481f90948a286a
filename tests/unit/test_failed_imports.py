"""An import that fails late leaves nothing: no run, data set, card, index entry, temporary file."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore import catalog
from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.cli import main
from evalcore.errors import IndexFileError, UsageError
from evalcore.exchange import staging
from evalcore.exchange.bfcl.importer import BfclImportSource, import_bfcl_results
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.exchange.hub_store import pull
from evalcore.exchange.hub_store import pull as pulling
from evalcore.exchange.hub_store.push import push_results
from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.runner import jobs, predictions
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import OwnCard, Upload
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store import datasets, run_folder
from evalcore.store.index import load_headers
from tests.support.bfcl_results import NATIVE, data_folder, result_file
from tests.support.bundles import bundled, finished
from tests.support.hub_repository import REPO, TOKEN, Store, serving
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, model

SQL = "sql_understanding"
FULL = OSError(errno.ENOSPC, "No space left on device")
FAILURES = [FULL, IndexFileError("the index is locked"), KeyboardInterrupt(), RuntimeError("bug")]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"), hub_repo=REPO)


def state(settings: Settings) -> tuple[dict[str, bytes], list[str]]:
    """Every file but locks and the index, and the runs that the index knows."""
    files = {
        path.relative_to(settings.data_dir).as_posix(): path.read_bytes()
        for path in settings.data_dir.rglob("*")
        if path.is_file() and path.suffix != ".lock" and path != settings.index_path
    }
    return files, sorted(header.run_id for header in load_headers(settings))


def failing(error: BaseException, real: Callable[..., Any], after: int = 0) -> Callable[..., Any]:
    """The function, which raises from its call number `after` on, once; then it works again."""
    calls = iter(range(1_000_000))

    def fail(*values: Any, **named: Any) -> Any:
        if next(calls) == after:
            raise error
        return real(*values, **named)

    return fail


def hear_nothing(line: str) -> None:
    pass


def board(tree: TreeBuilder, score: float) -> None:
    parts = dict.fromkeys(("execution_accuracy", "explain_detection"), score)
    claims = {CAPABILITY: claim(score, parts)}
    tree.board("2026-05", model("a", claims), model("b", claims), model("c", claims))


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("again", [False, True], ids=["new", "replacing"])
def test_a_published_board_comes_as_a_whole_or_not_at_all(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    again: bool,
) -> None:
    tree = TreeBuilder(tmp_path / "public")
    if again:
        board(tree, 40.0)
        import_scale_tree(tree.root, settings, "", hear_nothing)
    board(tree, 50.0)
    before = state(settings)
    assert len(before[1]) == (3 if again else 0)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "record_run", failing(error, staging.record_run, 1))
        with pytest.raises(type(error)):
            import_scale_tree(tree.root, settings, "", hear_nothing)
    assert state(settings) == before
    import_scale_tree(tree.root, settings, "", hear_nothing)
    assert len(state(settings)[1]) == 3


def test_a_run_that_was_being_replaced_when_the_import_was_killed_comes_back(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = TreeBuilder(tmp_path / "public")
    board(tree, 40.0)
    import_scale_tree(tree.root, settings, "", hear_nothing)
    before = state(settings)
    board(tree, 50.0)
    with monkeypatch.context() as patch:  # as a kill: nothing is undone, nothing is removed
        patch.setattr(Path, "rename", failing(RuntimeError(), Path.rename, 1))
        patch.setattr(staging.ImportStage, "_move_back", lambda *values: None)
        patch.setattr(staging.shutil, "rmtree", lambda *values, **named: None)
        with pytest.raises(RuntimeError):
            import_scale_tree(tree.root, settings, "", hear_nothing)
    assert len(list(settings.runs_dir.glob("*/spec.json"))) == 2
    with staging.open_import_stage(settings):
        pass
    assert state(settings) == before


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_bundle_that_cannot_be_entered_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    elsewhere = configuration.load_settings(tmp_path / "elsewhere")
    folder = finished(elsewhere, "control:null", SQL, max_samples=2)
    bundle = bundled(folder, elsewhere, tmp_path / "run.zip")
    before = state(settings)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "record_run", failing(error, staging.record_run))
        with pytest.raises(type(error)):
            import_bundle(bundle, settings, progress=hear_nothing)
    assert state(settings) == before
    assert import_bundle(bundle, settings, progress=hear_nothing).became == "created"


def test_official_results_that_cannot_be_entered_leave_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("A", "B"):
        result_file(tmp_path / "2026-04-12" / "result" / name, "simple_python", NATIVE)
    data = data_folder(tmp_path / "entries", {"simple_python": 1})
    source = BfclImportSource(path=str(tmp_path / "2026-04-12"), dataset=str(data))
    before = state(settings)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "record_run", failing(FULL, staging.record_run, 1))
        with pytest.raises(OSError):
            import_bfcl_results(source, settings, hear_nothing)
    assert state(settings) == before
    result_file(tmp_path / "2026-04-12" / "result" / "C", "simple_python", *[NATIVE] * 9)
    with pytest.raises(UsageError):  # entries that the data set does not hold, in the last model
        import_bfcl_results(
            BfclImportSource(path=source.path, dataset=str(tmp_path / "none")),
            settings,
            hear_nothing,
        )
    assert state(settings) == before


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with serving(Store()) as store:
        monkeypatch.setenv("HF_ENDPOINT", store.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("EVALBOARD_HUB_KEY", raising=False)
        yield store


def test_a_run_from_the_hub_that_cannot_be_entered_leaves_nothing(
    hub: Store, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Settings(data=str(tmp_path / "there"), shipped=str(tmp_path / "none"), hub_repo=REPO)
    finished(there, "control:null", SQL, max_samples=2)
    push_results(there, progress=hear_nothing)
    error = IndexFileError("the index is locked")
    with monkeypatch.context() as patch:
        patch.setattr(pulling, "record_run", failing(error, pulling.record_run))
        done = pulling.pull_results(settings, progress=hear_nothing)
    assert list(done.refused.values()) == [str(error)]
    assert list(settings.runs_dir.glob("*")) == []
    assert list(settings.data_dir.glob(".hub-scratch-*")) == []
    assert len(pulling.pull_results(settings, progress=hear_nothing).taken) == 1
    assert len(state(settings)[1]) == 1


def test_files_from_the_hub_come_as_a_whole_or_not_at_all(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = tmp_path / "came"
    for name in ("datasets/own/bfcl/mine/a.jsonl", "datasets/own/bfcl/mine/card.json"):
        (came / name).parent.mkdir(parents=True, exist_ok=True)
        (came / name).write_text("{}\n")
    before = state(settings)
    with monkeypatch.context() as patch:
        patch.setattr(pull.os, "replace", failing(FULL, os.replace, 1))
        with pytest.raises(OSError):
            pull.merge_extras(came, settings)
    assert state(settings) == before


def test_one_broken_card_from_the_hub_costs_no_other(settings: Settings, tmp_path: Path) -> None:
    came = tmp_path / "came"
    came.mkdir()
    (came / pull.CARDS).write_text('{"cards": {"openai:x": {"parameters": -1}}}')
    before = state(settings)
    with pytest.raises(UsageError, match="cards of targets"):
        pull.merge_extras(came, settings)
    assert state(settings) == before


def test_a_run_whose_frozen_part_cannot_be_written_is_no_folder(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan_run(RunRequest(target="control:null", benchmarks=(SQL,), max_samples=1), settings)
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_atomic", failing(FULL, run_folder.write_atomic, 1))
        with pytest.raises(OSError):
            create_folder(made, settings)
    assert list(settings.runs_dir.glob("*")) == []


@pytest.mark.parametrize(
    "text",
    [
        "target: control:null\nbenchmarks: [sql_understanding]\nmax_samples: -1",
        "target: control:null\nbenchmarks: [sql_understanding]\nbenchmark_overrides: "
        "{sql_understanding: {mode: none}}",
        "target: control:none\nbenchmarks: [sql_understanding]",
        "a: " + "[" * 50_000,
    ],
)
def test_a_run_file_that_is_refused_leaves_nothing(
    settings: Settings, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    assert main.main(["run", "--data", settings.data, "--config", str(file)]) == 2
    assert state(settings) == ({}, [])


ROW = (
    '{"case_id": "%s", "difficulty_level": "2", "dialect": "sqlite", "sql": "SELECT 1 AS a", '
    '"expected": {"result_type": "select", "columns": ["a"], "rows": [[1]]}}\n'
)


def keep(settings: Settings, case: str, *, replace: bool = False) -> None:
    upload = Upload(SQL, "mine.jsonl", (ROW % case).encode(), "execution_accuracy")
    data_client.save_upload(upload, OwnCard(SQL, "mine"), OPERATOR, settings, replace=replace)


def test_a_data_set_that_cannot_be_put_in_its_place_leaves_the_former_one(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(settings, "a")
    before = state(settings)
    ready = settings.data_dir / "datasets" / "own" / ".upload.x"
    ready.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(datasets.os, "rename", failing(FULL, os.rename, 1))
        with pytest.raises(UsageError):
            datasets.install_own_dataset(
                settings, OPERATOR, ready, OwnCard(SQL, "mine"), replace=True
            )
    datasets.shutil.rmtree(ready)
    assert state(settings) == before


@pytest.mark.parametrize("code", [1, -9])
def test_an_upload_whose_process_ends_early_leaves_no_folder(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Its limits kill it, and no `finally` of its own runs then."""
    program = (
        "import json, os, pathlib, sys\n"
        "room = pathlib.Path(json.loads(sys.stdin.read())['arguments']['room'])\n"
        "room.mkdir(parents=True)\n"
        "(room / 'half.jsonl').write_text('{')\n"
        + ("os.kill(os.getpid(), 9)" if code == -9 else "sys.exit(1)")
    )
    run = subprocess.run
    monkeypatch.setattr(
        jobs.subprocess,
        "run",
        lambda command, **options: run([sys.executable, "-c", program], **options),
    )
    with pytest.raises(UsageError):
        keep(settings, "a")
    assert [path for path in settings.data_dir.rglob("*") if path.is_file()] == []
    assert list(settings.data_dir.rglob(".upload.*")) == []


def test_scored_predictions_are_written_as_a_whole_or_not_at_all(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = catalog.benchmark_card(SQL)
    file = next((Path(settings.datasets) / card.dataset).glob("execution_accuracy*.jsonl"))
    first = file.read_text(encoding="utf-8").splitlines()[0]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    case = first.partition('"case_id": "')[2].partition('"')[0]
    line = {"id": case, "metric": "execution_accuracy", "prediction": ""}
    source.write_text(json.dumps(line) + "\n")
    request = predictions.ScoreRequest(benchmark=SQL, predictions=str(source))
    out.write_text("former\n")
    with monkeypatch.context() as patch:
        patch.setattr(predictions, "write_atomic", failing(FULL, predictions.write_atomic))
        with pytest.raises(UsageError, match="No space left"):
            predictions.score_file(request, out, settings)
    source.write_text(source.read_text() + '{"id": "none", "prediction": ""}\n')
    with pytest.raises(UsageError, match="no case"):
        predictions.score_file(request, out, settings)
    assert sorted(path.name for path in tmp_path.glob("*.jsonl*")) == ["in.jsonl", "out.jsonl"]
    assert out.read_text() == "former\n"
