"""Runs of academic tasks with lm-eval installed: controls, profiles, refusals, programs in the
sandbox, and a run that is killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore.access.secrets import Secrets
from evalcore.benchmarks.academic.code_runs import run_tests
from evalcore.benchmarks.academic.harness import HarnessProcess
from evalcore.benchmarks.academic.harness_records import TaskRequest
from evalcore.benchmarks.academic.profiles import load_profiles
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.runner import plan
from evalcore.runner.in_process import plan_checked_run, work_on_run_here
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings, override_data_folder
from evalcore.store.run_folder import RunFolder
from tests.support.lm_eval import TASKS, harnesses, python, serve_completions, settings
from tests.support.worker_runs import wait_until

__all__ = ["harnesses", "python", "settings"]

pytestmark = pytest.mark.usefixtures("harnesses")

KEY = "academic"


def create_run(settings: Settings, request: RunRequest) -> RunFolder:
    with override_data_folder(settings.data):
        quiet = {"warn": print, "progress": lambda line: None}
        run_plan = plan_checked_run(request, settings, Secrets(), **quiet)
        return plan.create_folder(run_plan, settings)


def finish(settings: Settings, folder: RunFolder) -> dict[str, float | None]:
    """The score of every task of the run."""
    with override_data_folder(settings.data):
        summary = work_on_run_here(folder.run_id, settings, Secrets())
    assert summary.is_complete, summary
    return {name: part.score for name, part in summary.benchmarks[KEY].metrics.items()}


@pytest.mark.parametrize("profile", ["bundled", "bundled_likelihoods"])
@pytest.mark.parametrize(("control", "score"), [("reference", 100.0), ("null", 0.0)])
def test_the_reference_gets_everything_and_nothing_gets_nothing(
    settings: Settings, profile: str, control: str, score: float
) -> None:
    request = RunRequest(f"control:{control}", (KEY,), options={KEY: {"profile": profile}})
    folder = create_run(settings, request)
    tasks = load_profiles().profiles[profile].tasks
    assert finish(settings, folder) == dict.fromkeys(tasks, score)


def test_the_column_holds_task_version_examples_metric_and_the_version_of_lm_eval(
    settings: Settings,
) -> None:
    options = {"tasks": "evalboard_choices", "limit": "3"}
    spec = create_run(
        settings, RunRequest("control:null", (KEY,), options={KEY: options})
    ).read_spec()
    (column,) = spec.benchmarks
    described = str(column.options["harness"])
    assert described.startswith("lm-eval 0.4.")
    assert described.endswith(": evalboard_choices 1.0 (0-shot, acc)")
    assert column.weights == {"evalboard_choices": 1.0}
    assert column.samples == 3
    options |= {"fewshot": "2"}
    other = create_run(settings, RunRequest("control:null", (KEY,), options={KEY: options}))
    assert other.read_spec().benchmarks[0].column != column.column


def test_an_unknown_task_is_refused_with_close_names(settings: Settings) -> None:
    options = {KEY: {"tasks": "evalboard_choice"}}
    with pytest.raises(UsageError, match=r"no task 'evalboard_choice'; close names: evalboard_"):
        create_run(settings, RunRequest("control:null", (KEY,), options=options))


def test_a_chat_endpoint_is_refused_before_anything_is_asked(settings: Settings) -> None:
    with serve_completions() as server:
        request = RunRequest(
            "openai:chat",
            (KEY,),
            {"base_url": server.address},
            options={KEY: {"profile": "bundled_likelihoods"}},
        )
        with pytest.raises(UsageError, match="written answer: evalboard_choices_text"):
            create_run(settings, request)
        assert not server.answered
        assert not list(settings.runs_dir.glob("*"))


def test_a_server_without_likelihoods_leaves_the_run_incomplete_and_scores_nothing(
    settings: Settings,
) -> None:
    with serve_completions() as server:
        server.says_likelihoods = False
        request = RunRequest(
            "openai:mute",
            (KEY,),
            {"base_url": server.address, "api": "completions"},
            options={KEY: {"tasks": "evalboard_choices", "limit": 2}},
        )
        folder = create_run(settings, request)
        with override_data_folder(settings.data):
            summary = work_on_run_here(folder.run_id, settings, Secrets())
    assert not summary.is_complete
    assert summary.benchmarks[KEY].outcomes.get("target_error") == 2


def test_a_killed_run_asks_nothing_twice_that_was_answered(settings: Settings) -> None:
    with serve_completions() as server:
        request = RunRequest(
            "openai:by-rule",
            (KEY,),
            {"base_url": server.address, "api": "completions"},
            options={KEY: {"profile": "bundled_likelihoods"}},
            concurrency=2,
            use_cache=False,
        )
        folder = create_run(settings, request)
        server.answers_left = 15
        command = [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)]
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: len(list(folder.read_calls())) == 15 or worker.poll() is not None)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        answered = dict(server.answered)
        assert len(answered) == 15
        server.answers_left = None
        scores = finish(settings, folder)
        assert set(server.answered.values()) == {1}
        assert len(server.answered) == 40
        assert answered.keys() < server.answered.keys()
    assert scores["evalboard_arithmetic"] == scores["evalboard_code"] == 50.0


def test_the_tasks_of_every_profile_exist(harnesses: Callable[..., HarnessProcess]) -> None:
    file = load_profiles()
    tasks = {task for profile in file.profiles.values() for task in profile.tasks}
    known = set(harnesses([TASKS], defaults=True).list_tasks([]))
    assert tasks | set(file.variants) | set(file.variants.values()) <= known


def test_a_task_of_ones_own_is_asked_and_its_template_cannot_reach_python(tmp_path: Path) -> None:
    task = (TASKS / "evalboard_choices.yaml").read_text(encoding="utf-8")
    task = task.replace("task: evalboard_choices", "task: own")
    task = task.replace("choices.jsonl", str(TASKS / "choices.jsonl"))
    (tmp_path / "own.yaml").write_text(task, encoding="utf-8")
    hostile = task.replace("task: own", "task: hostile").replace(
        "Question: {{question}}", "{{ question.__class__.__mro__[1].__subclasses__() }}"
    )
    (tmp_path / "hostile.yaml").write_text(hostile, encoding="utf-8")
    harness = HarnessProcess([TASKS, tmp_path], defaults=False)
    try:
        built = harness.build_task(TaskRequest("own", limit=2), chat=False)
        assert [sample.gold for sample in built.samples] == [(0,), (1,)]
        with pytest.raises(UsageError, match="unsafe"):
            harness.build_task(TaskRequest("hostile"), chat=False)
    finally:
        harness.close()


@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("assert 1 + 1 == 2", True),
        ("assert 1 + 1 == 3", False),
        ("import os\nos._exit(0)\nassert False", False),
        ("import sys\nsys.exit(0)\nassert False", False),
        ("raise SystemExit\nassert False", False),
        ("while True: pass", False),
        ("x = 'a' * (1 << 33)", False),
        ("def f(:", False),
        ("print('\\ud800')", False),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9), 1)", False),
        ("open('/etc/passwd', 'a').write('x')", False),
        ("", True),
    ],
)
def test_a_program_passes_only_if_it_runs_to_its_end(program: str, passed: bool) -> None:
    assert run_tests(program).passed is passed


def test_the_verb_searches_the_tasks_of_lm_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([KEY, "list", "--search", "ARC challenge", "--data", str(tmp_path)]) == 0
    assert "arc_challenge" in capsys.readouterr().out.splitlines()
