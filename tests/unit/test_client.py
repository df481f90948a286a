"""The pages' door to the runner: real subprocesses, a real loopback server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.errors import UsageError
from evalcore.results import Progress, RunState
from evalcore.runner import client
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, serve

pytestmark = pytest.mark.slow

BENCHMARK = "sql_understanding"
KEY = "sk-loopback-secret-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return configuration.load_settings(tmp_path / "data")


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., RunRequest]:
    def build(target: str = "control:reference", count: int = 6, **more: object) -> RunRequest:
        cases = syntax_cases(tmp_path / "cases", count)
        return RunRequest(target=target, benchmarks=(BENCHMARK,), dataset=str(cases), **more)  # type: ignore[arg-type]

    return build


def wait_for(folder: RunFolder, *states: RunState, seconds: float = 180) -> RunState:
    until = time.monotonic() + seconds
    while (state := folder.current_state()) not in states:
        if time.monotonic() > until:
            log = folder.log_path.read_text() if folder.log_path.exists() else "no log"
            raise AssertionError(
                f"{state} after {seconds} s; {folder.read_progress()}; worker: {log}"
            )
        time.sleep(0.05)
    return state


def test_a_run_from_launch_to_restore(settings: Settings, request_of: Callable) -> None:
    run_id = client.launch_run(request_of(), {}, settings, visitor=OPERATOR)
    folder = RunFolder(settings.runs_dir / run_id)
    assert wait_for(folder, "done") == "done"
    summary = folder.read_summary()
    client.rescore_run(run_id, settings, visitor=OPERATOR)
    assert wait_for(folder, "done") == "done"
    assert folder.read_summary().benchmarks == summary.benchmarks
    client.delete_run(run_id, settings, visitor=OPERATOR)
    assert not folder.path.exists()
    assert run_id not in {header.run_id for header in load_headers(settings)}
    client.restore_run(run_id, settings, visitor=OPERATOR)
    assert folder.read_summary().benchmarks == summary.benchmarks
    assert run_id in {header.run_id for header in load_headers(settings)}


def test_cancel_and_resume(settings: Settings, request_of: Callable) -> None:
    with serve(Options(latency=0.2)) as server:
        request = request_of(
            "openai:test",
            40,
            target_options={"base_url": server.base_url},
            concurrency=2,
            use_cache=False,
        )
        run_id = client.launch_run(request, {"OPENAI_API_KEY": KEY}, settings, visitor=OPERATOR)
        folder = RunFolder(settings.runs_dir / run_id)
        assert wait_for(folder, "running") == "running"
        for steer in (client.delete_run, client.rescore_run):
            with pytest.raises(UsageError, match="is running"):
                steer(run_id, settings, visitor=OPERATOR)
        client.cancel_run(run_id, settings, visitor=OPERATOR)
        assert wait_for(folder, "cancelled") == "cancelled"
        with pytest.raises(UsageError, match="is not running"):
            client.cancel_run(run_id, settings, visitor=OPERATOR)
        client.resume_run(run_id, {"OPENAI_API_KEY": KEY}, settings, visitor=OPERATOR)
        assert wait_for(folder, "done") == "done"
    assert folder.read_summary().benchmarks[BENCHMARK].coverage == 1
    written = b"".join(p.read_bytes() for p in Path(settings.data).rglob("*") if p.is_file())
    assert KEY.encode() not in written


@pytest.mark.full
def test_a_worker_outlives_its_launcher_and_a_lost_one_is_taken_up_again(
    settings: Settings, request_of: Callable
) -> None:
    with serve(Options(latency=0.2)) as server:
        request = request_of(
            "openai:test", 20, target_options={"base_url": server.base_url}, concurrency=1
        )
        run_id = client.launch_run(request, {}, settings, visitor=OPERATOR)
        folder = RunFolder(settings.runs_dir / run_id)
        assert wait_for(folder, "running") == "running"
        worker = _worker_of(run_id)
        assert os.getsid(worker) == worker  # a session of its own
        os.kill(worker, signal.SIGKILL)
        assert wait_for(folder, "interrupted") == "interrupted"
        assert client.reconcile_runs(settings) == [run_id]
        assert wait_for(folder, "done") == "done"
        assert client.reconcile_runs(settings) == []


def _worker_of(run_id: str) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = path.read_bytes().split(b"\0")
        if b"evalcore.runner.worker" in words and any(run_id.encode() in word for word in words):
            return int(path.parent.name)
    raise AssertionError("no worker found")


def test_an_interrupted_run_says_which_key_it_needs(
    settings: Settings, request_of: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalcore.runner.plan import create_folder, plan_run

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = create_folder(plan_run(request_of("openai:test"), settings), settings)
    folder.write_progress(Progress(run_id=folder.run_id, state="running", in_flight=3))
    assert folder.current_state() == "interrupted"
    assert client.reconcile_runs(settings) == []
    progress = folder.read_progress()
    assert (progress.state, progress.in_flight) == ("interrupted", 0)
    assert "OPENAI_API_KEY" in progress.message


def test_missing_keys(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "MINE"):
        monkeypatch.delenv(name, raising=False)
    assert client.missing_keys("baseline:sqlglot", {}, settings) == ()
    assert client.missing_keys("openai:gpt", {}, settings) == ("OPENAI_API_KEY",)
    assert client.missing_keys("openai:deepseek/chat", {}, settings) == ("DEEPSEEK_API_KEY",)
    assert client.missing_keys("openai:ollama/tiny", {}, settings) == ()
    assert client.missing_keys("openai:gpt", {"api_key_env": "MINE"}, settings) == ("MINE",)
    monkeypatch.setenv("MINE", "x")
    assert client.missing_keys("openai:gpt", {"api_key_env": "MINE"}, settings) == ()


def test_the_connection_test_asks_little(settings: Settings) -> None:
    with serve() as server:
        options = {"base_url": server.base_url}
        report = client.test_connection("openai:test", options, {}, settings, visitor=OPERATOR)
        assert report.ok
        assert report.latency is not None
        assert server.stats()["requests"] == report.requests <= 5
    report = client.test_connection(
        "openai:test", options, {"OPENAI_API_KEY": KEY}, settings, visitor=OPERATOR
    )
    assert not report.ok
    assert KEY not in report.message
    assert client.test_connection("baseline:sqlglot", {}, {}, settings, visitor=OPERATOR).ok
    with pytest.raises(UsageError, match="baseline:sqlglot"):
        client.test_connection("baseline:none", {}, {}, settings, visitor=OPERATOR)


def test_an_estimate_knows_what_it_knows(settings: Settings, request_of: Callable) -> None:
    free = client.estimate_run(request_of("baseline:sqlglot", epochs=2), settings, visitor=OPERATOR)
    assert (free.samples, free.requests, free.input_tokens, free.cost) == (6, 12, 0, 0.0)
    paid = client.estimate_run(request_of("openai:gpt-5"), settings, visitor=OPERATOR)
    assert paid.input_tokens > 6 * 20
    assert (paid.output_tokens, paid.seconds, paid.cost) == (None, None, None)
    assert any("unknown" in note for note in paid.notes)


def test_an_estimate_scales_what_was_measured(settings: Settings, request_of: Callable) -> None:
    with serve() as server:
        target = {"target_options": {"base_url": server.base_url}}
        run_id = client.launch_run(
            request_of("openai:test", 10, **target), {}, settings, visitor=OPERATOR
        )
        folder = RunFolder(settings.runs_dir / run_id)
        assert wait_for(folder, "done") == "done"
        before = folder.read_summary().totals.output_tokens
        estimate = client.estimate_run(
            request_of("openai:test", 20, **target), settings, visitor=OPERATOR
        )
    assert before
    assert (estimate.requests, estimate.output_tokens) == (20, 2 * before)
    assert estimate.seconds is not None
    assert run_id in estimate.notes[0]


def test_a_bad_request_starts_nothing(settings: Settings, request_of: Callable) -> None:
    with pytest.raises(UsageError, match="unknown benchmark"):
        client.launch_run(
            RunRequest(target="control:null", benchmarks=("chess",)), {}, settings, visitor=OPERATOR
        )
    with pytest.raises(UsageError, match="unknown kind of target"):
        client.launch_run(request_of("ghost:x"), {}, settings, visitor=OPERATOR)
    assert not settings.runs_dir.exists()
