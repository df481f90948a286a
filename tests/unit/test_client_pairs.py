"""Two runs from one request: the same cases, tied by a note, at once or in turn."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client, jobs, worker
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder
from evalcore.views import comparison, runs
from tests.support.cases import syntax_cases
from tests.support.model_folders import model_folder, settled_machine
from tests.unit.test_client import wait_for

pytestmark = pytest.mark.slow

REFERENCE, NULL = TargetSpec("control:reference"), TargetSpec("control:null")


@pytest.fixture
def settings(tmp_path):
    return configuration.load_settings(tmp_path / "data")


@pytest.fixture
def request_(tmp_path):
    cases = syntax_cases(tmp_path / "cases", 8)
    return RunRequest(
        target=REFERENCE.key,
        benchmarks=("sql_understanding",),
        dataset=str(cases),
        max_samples=5,
        seed=3,
    )


def folders_of(ids, settings) -> list[RunFolder]:
    return [RunFolder(settings.runs_dir / run) for run in ids]


def test_both_run_the_same_cases_and_are_compared(settings, request_):
    first, second = folders_of(
        client.launch_pair(request_, NULL, {}, settings, visitor=OPERATOR), settings
    )
    assert {wait_for(first, "done"), wait_for(second, "done")} == {"done"}
    assert list(first.read_samples()) == list(second.read_samples())
    assert first.read_spec().seed == second.read_spec().seed == 3
    assert [folder.read_spec().target for folder in (first, second)] == [REFERENCE, NULL]
    pair = comparison.find_run_pair(runs.all_rows(settings.run_roots), second.run_id)
    assert (pair.first.run_id, pair.second.run_id) == (first.run_id, second.run_id)
    table = comparison.load_common_cases(settings.run_roots, first.run_id, second.run_id)
    [compared] = comparison.compare_benchmarks(table)
    assert compared.result.wins == 0
    assert compared.result.losses == len(comparison.find_differing_cases(table)) > 0


def test_neither_is_started_where_the_second_cannot_be(settings, request_):
    with pytest.raises(UsageError, match="unheard"):
        client.launch_pair(request_, TargetSpec("control:unheard"), {}, settings, visitor=OPERATOR)
    assert list(settings.runs_dir.glob("*")) == []


def test_two_local_models_run_in_turn(settings, request_, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(jobs, "start_detached", lambda *args: started.append(args))
    settled_machine(monkeypatch, tmp_path / "cache")
    left, right = (f"hf:{model_folder(tmp_path / name)}" for name in ("a", "b"))
    local = RunRequest(
        target=left, benchmarks=request_.benchmarks, dataset=request_.dataset, max_samples=2
    )
    pair = client.launch_pair(local, TargetSpec(right), {"K": "v"}, settings, visitor=OPERATOR)
    [((module, *folders), _, keys, _)] = started
    assert module == "evalcore.runner.worker"
    assert tuple(RunFolder(Path(folder)).run_id for folder in folders) == pair
    assert json.loads(keys) == {"K": "v"}


@pytest.fixture
def planned(settings, request_, monkeypatch):
    """A pair whose workers are not started, and a standard input that holds no keys."""
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "start_detached", lambda *args: None)
        pair = client.launch_pair(request_, NULL, {}, settings, visitor=OPERATOR)
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps({}).encode()))
    monkeypatch.setattr(worker.sys, "stdin", stdin)
    return folders_of(pair, settings)


def test_a_succession_runs_one_after_another(planned):
    assert [folder.current_state() for folder in planned] == ["planned", "planned"]
    assert worker.main([str(folder.path) for folder in planned]) == 0
    assert [folder.current_state() for folder in planned] == ["done", "done"]
    ended, began = planned[0].read_progress().at, planned[1].read_progress().started_at
    assert ended <= began


def test_a_cancelled_run_ends_the_succession(planned, monkeypatch):
    asked = []
    monkeypatch.setattr(worker.subprocess, "run", lambda *args, **more: asked.append(args))
    monkeypatch.setattr(RunFolder, "current_state", lambda self: "cancelled")
    worker.main([str(folder.path) for folder in planned])
    assert len(asked) == 1


def test_a_run_that_was_deleted_while_it_waited_is_passed_over(planned, settings):
    client.delete_run(planned[0].run_id, settings, visitor=OPERATOR)
    worker.main([str(folder.path) for folder in planned])
    assert planned[1].current_state() == "done"
    assert not planned[0].path.exists()


def test_the_connection_of_a_local_model_is_tested_without_loading(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    good = client.test_connection(
        f"hf:{model_folder(tmp_path / 'm')}", {}, {}, settings, visitor=OPERATOR
    )
    assert good.latency is None
    assert "GB free on" in good.message or "evalboard[local]" in good.message
    bad = client.test_connection(
        f"hf:{tmp_path / 'm'}",
        {"device": "cuda:77", "dtype": "float32"},
        {},
        settings,
        visitor=OPERATOR,
    )
    assert not bad.ok
    assert "cuda:77" in bad.message
