"""The official harness as a process, with commands that stand for Docker and for swebench.

There is no Docker here: what is shown is how its answers are read, not that images run.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench import harness as module
from evalcore.benchmarks.swe_bench.execution import execute_patch
from evalcore.benchmarks.swe_bench.grade import sha256_text
from evalcore.benchmarks.swe_bench.harness import HarnessResult, read_harness_result, run_harness
from evalcore.benchmarks.swe_bench.harness_preflight import PreflightCheck, run_preflight
from evalcore.errors import EnvironmentFailure
from tests.support.swe_tasks import make_task

pytestmark = pytest.mark.slow

INFO = {
    "Architecture": "x86_64",
    "DockerRootDir": "/",
    "MemTotal": 64 << 30,
    "ServerErrors": None,
}
#: Stands for docker: answers from the files of a folder, and notes what it was asked.
DOCKER = """#!/bin/sh
echo "$@" >> {folder}/asked
case "$1" in
  info) cat {folder}/info; exit $(cat {folder}/status) ;;
  images) cat {folder}/images ;;
  manifest) grep -qxF "$3" {folder}/registry ;;
  ps) cat {folder}/containers ;;
esac
"""
#: Stands for `swebench eval`: does for each prediction what the file of its instance says.
SWEBENCH = """#!{python}
import json, os, pathlib, sys, time
home = pathlib.Path({folder!r})
arguments = sys.argv[1:]
(home / "command").write_text(json.dumps([arguments, os.getcwd(), dict(os.environ)]))
run_id = arguments[arguments.index("--run-id") + 1]
rows = [json.loads(line) for line in open("tasks.jsonl")]
for line in open("preds.jsonl"):
    one = json.loads(line)
    model, name = one["model_name_or_path"], one["instance_id"]
    place = pathlib.Path("logs/run_evaluation", run_id, model, name)
    if (place / "report.json").exists():
        print("already there", flush=True)
        continue
    place.mkdir(parents=True, exist_ok=True)
    plan = json.loads((home / "plan" / name).read_text())
    for file, text in plan.items():
        if file != "sleep":
            (place / file).write_text(text)
    print("ran", name, flush=True)
    time.sleep(plan.get("sleep", 0))
print("Report written to x.json")
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return replace(make_task(tmp_path / "repository"), image="swebench/sweb.eval.x86_64.w:latest")


class Stand:
    """The commands in front of the PATH, and what they answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        (folder / "plan").mkdir()
        self.say(info=json.dumps(INFO), images="", registry="", containers="", status="0")
        self.command("docker", DOCKER.format(folder=folder))

    def say(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def command(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def swebench(self) -> None:
        self.command("swebench", SWEBENCH.format(python=sys.executable, folder=str(self.folder)))

    def plan(self, instance_id: str, **files: object) -> None:
        named = {name.replace("__", "."): value for name, value in files.items()}
        (self.folder / "plan" / instance_id).write_text(json.dumps(named))


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    made = Stand(tmp_path / "stand")
    monkeypatch.setenv("PATH", f"{made.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(metadata, "version", lambda name: "5.0.2")
    return made


def failing(checks: tuple[PreflightCheck, ...]) -> set[str]:
    return {check.name for check in checks if not check.ok}


class TestPreflight:
    def test_all_is_well(self, stand: Stand, task: Task, tmp_path: Path) -> None:
        stand.say(images=f"other:latest\n{task.image}\n")
        checks = run_preflight([task], tmp_path / "run")
        assert failing(checks) == set()
        assert len(checks) >= 8
        assert len({check.name for check in checks}) == len(checks)
        assert not any(check.problem or check.fix for check in checks)
        assert "manifest" not in (stand.folder / "asked").read_text()

    @pytest.mark.parametrize(
        ("files", "names"),
        [
            ({"status": "1"}, {"daemon", "images"}),
            ({"info": '{"ServerErrors": ["Cannot connect"]}'}, {"daemon", "images"}),
            ({"info": "nonsense"}, {"daemon", "images"}),
            ({"info": json.dumps(INFO | {"Architecture": "aarch64"})}, {"architecture"}),
            ({"info": json.dumps(INFO | {"MemTotal": 1 << 28})}, {"memory"}),
            ({"images": ""}, {"images"}),
        ],
        ids=["status", "server", "nonsense", "arm", "memory", "image"],
    )
    def test_what_docker_lacks(
        self, stand: Stand, task: Task, tmp_path: Path, files: dict[str, str], names: set[str]
    ) -> None:
        stand.say(**{"images": task.image, **files})
        checks = run_preflight([task], tmp_path)
        assert failing(checks) == names
        assert all(check.problem and check.fix for check in checks if not check.ok)

    def test_an_image_that_can_be_pulled(self, stand: Stand, task: Task, tmp_path: Path) -> None:
        stand.say(registry=task.image)
        assert failing(run_preflight([task], tmp_path)) == set()

    def test_more_images_than_may_be_pulled(self, stand: Stand, task: Task, tmp_path: Path) -> None:
        tasks = [replace(task, image=f"i{number:03}:latest") for number in range(101)]
        stand.say(registry="i000:latest")
        (result,) = [
            check for check in run_preflight(tasks, tmp_path) if check.name == "pull_limit"
        ]
        assert not result.ok
        assert not result.needed
        assert "101 images" in result.problem

    def test_no_docker_at_all(
        self, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert {"docker", "daemon", "images", "swebench"} <= failing(
            run_preflight([task], tmp_path)
        )

    def test_a_daemon_that_hangs_is_not_waited_for(
        self, stand: Stand, task: Task, tmp_path: Path
    ) -> None:
        ended = stand.folder / "ended"
        stand.command("docker", f"#!/bin/sh\n(sleep 60; touch {ended}) &\nsleep 60\n")
        checks = run_preflight([task], tmp_path)
        assert not ended.exists()
        (daemon,) = [item for item in checks if item.name == "daemon"]
        assert "no answer" in daemon.problem

    @pytest.mark.parametrize("version", ["4.1.0", "6.0.0", ""])
    def test_the_version_of_swebench(
        self,
        stand: Stand,
        task: Task,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        version: str,
    ) -> None:
        def installed(name: str) -> str:
            if not version:
                raise metadata.PackageNotFoundError(name)
            return version

        stand.say(images=task.image)
        monkeypatch.setattr(metadata, "version", installed)
        (result,) = [check for check in run_preflight([task], tmp_path) if not check.ok]
        assert result.name == "swebench"
        assert version in result.problem

    def test_a_data_set_of_the_older_form(self, stand: Stand, task: Task, tmp_path: Path) -> None:
        old = replace(task, image="", eval_script="", log_parser="")
        (result,) = [
            check for check in run_preflight([old, task], tmp_path) if check.name == "columns"
        ]
        assert not result.ok
        assert result.problem.startswith("1 tasks lack")

    def test_a_folder_that_is_none_and_too_many_workers(
        self, stand: Stand, task: Task, tmp_path: Path
    ) -> None:
        stand.say(images=task.image)
        (tmp_path / "file").write_text("")
        assert failing(run_preflight([task], tmp_path / "file", 5000)) == {"folder", "workers"}


def report(task: Task, resolved: bool, **more: object) -> str:
    return json.dumps({task.instance_id: {"resolved": resolved, **more}})


class TestResults:
    def test_resolved_and_regraded(self, task: Task, tmp_path: Path) -> None:
        log = execute_patch(task, task.patch).log
        (tmp_path / "report.json").write_text(report(task, True))
        (tmp_path / "test_output.txt").write_text(log)
        harness_result = read_harness_result(task, tmp_path)
        assert (harness_result.outcome, harness_result.agrees, harness_result.reason) == (
            "resolved",
            True,
            "",
        )
        assert harness_result.log_sha256 == sha256_text(log)

    def test_a_grading_that_differs_is_said(self, task: Task, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text(report(task, True))
        (tmp_path / "test_output.txt").write_text("no tests here")
        assert read_harness_result(task, tmp_path).agrees is False

    @pytest.mark.parametrize(
        ("files", "outcome", "words"),
        [
            ({}, "environment_error", "no report"),
            ({"run_instance.log": "Image x not found for y"}, "environment_error", "not found"),
            (
                {"run_instance.log": "ok\n>>>>> Patch Apply Failed:\nerror: corrupt patch"},
                "apply_failed",
                "does not apply",
            ),
            (
                {"run_instance.log": "Test timed out after 1800 seconds."},
                "unresolved",
                "time",
            ),
            ({"report.json": "{"}, "environment_error", "no report"),
            ({"report.json": '{"x": 1}'}, "environment_error", "no report"),
            ({"report.json": "[" * 100_000}, "environment_error", "no report"),
            ({"report.json": "RESOLVED"}, "environment_error", "without its log"),
            ({"report.json": "INFRA", "test_output.txt": "x"}, "environment_error", "memory"),
            ({"report.json": "FAILED", "test_output.txt": "x"}, "unresolved", "tests fail"),
        ],
    )
    def test_what_is_no_resolution(
        self, task: Task, tmp_path: Path, files: dict[str, str], outcome: str, words: str
    ) -> None:
        reports = {
            "RESOLVED": report(task, True),
            "FAILED": report(task, False),
            "INFRA": report(task, False, infra_failure=True, infra_failure_reason="out_of_memory"),
        }
        for name, text in files.items():
            (tmp_path / name).write_text(reports.get(text, text))
        harness_result = read_harness_result(task, tmp_path)
        assert harness_result.outcome == outcome
        assert words in harness_result.reason

    def test_links_are_not_followed(self, task: Task, tmp_path: Path) -> None:
        (tmp_path / "real.json").write_text(report(task, True))
        (tmp_path / "report.json").symlink_to(tmp_path / "real.json")
        assert read_harness_result(task, tmp_path).report == {}


class TestEvaluate:
    def run(
        self, stand: Stand, tasks: list[Task], folder: Path, **more: object
    ) -> dict[str, HarnessResult]:
        stand.swebench()
        patches = {item.instance_id: item.patch for item in tasks}
        return run_harness(tasks, patches, folder, **more)  # type: ignore[arg-type]

    def tasks(self, task: Task, count: int) -> list[Task]:
        return [replace(task, instance_id=f"evalboard__wordbox-{n}") for n in range(count)]

    def test_each_outcome_with_its_evidence(self, stand: Stand, task: Task, tmp_path: Path) -> None:
        good, missing, wrong, unpatched = tasks = self.tasks(task, 4)
        log = execute_patch(task, task.patch).log
        stand.plan(good.instance_id, report__json=report(good, True), test_output__txt=log)
        stand.plan(missing.instance_id, run_instance__log="Image x not found for y")
        bad = log.replace("PASSED tests", "FAILED tests")
        stand.plan(wrong.instance_id, report__json=report(wrong, False), test_output__txt=bad)
        tasks[3] = unpatched = replace(unpatched, patch="  ")
        seen: list[tuple[int, int, str]] = []
        result = self.run(
            stand, tasks, tmp_path / "run", progress=lambda *message: seen.append(message)
        )
        outcomes = [result[item.instance_id].outcome for item in tasks]
        assert outcomes == ["resolved", "environment_error", "unresolved", "empty_patch"]
        assert result[good.instance_id].agrees
        assert result[wrong.instance_id].agrees
        assert result[good.instance_id].patch_sha256 == sha256_text(task.patch)
        assert result[good.instance_id].version == "5.0.2"
        assert result[unpatched.instance_id].run_id == ""
        assert seen[-1] == (2, 3, "Report written to x.json")

    def test_how_it_is_called(
        self, stand: Stand, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        monkeypatch.setenv("DOCKER_HOST", "unix:///x")
        stand.plan(task.instance_id)
        result = self.run(stand, [task], tmp_path / "run", run="mine", workers=3, seconds=60)
        arguments, folder, environment = json.loads((stand.folder / "command").read_text())
        text = (tmp_path / "run" / "preds.jsonl").read_text()
        run_id = f"mine-{sha256_text(text)[:12]}"
        assert result[task.instance_id].run_id == run_id
        assert arguments == [
            *("eval", "tasks.jsonl", "-p", "preds.jsonl", "--run-id", run_id),
            *("-s", "test", "-j", "3", "-t", "60"),
        ]
        assert folder == str(tmp_path / "run")
        assert "OPENAI_API_KEY" not in environment
        assert environment["DOCKER_HOST"] == "unix:///x"
        row = json.loads((tmp_path / "run" / "tasks.jsonl").read_text())
        assert json.loads(row["FAIL_TO_PASS"]) == list(task.fail_to_pass)
        assert row["image"] == task.image

    def test_it_goes_on_where_it_was_and_another_patch_is_another_run(
        self, stand: Stand, task: Task, tmp_path: Path
    ) -> None:
        stand.plan(task.instance_id, report__json=report(task, False), test_output__txt="x")
        folder = tmp_path / "run"
        first = self.run(stand, [task], folder)[task.instance_id]
        again = self.run(stand, [task], folder)[task.instance_id]
        assert "already there" in (folder / "harness.log").read_text()
        assert again == first
        other = self.run(stand, [replace(task, patch=task.patch + "\n")], folder)
        assert other[task.instance_id].run_id != first.run_id
        assert "already there" not in (folder / "harness.log").read_text()

    def test_without_a_patch_nothing_runs(self, task: Task, tmp_path: Path) -> None:
        results = run_harness([task], {}, tmp_path)
        assert results[task.instance_id].outcome == "empty_patch"

    def test_cancelled_it_leaves_no_process_and_no_container(
        self, stand: Stand, task: Task, tmp_path: Path
    ) -> None:
        first, second = tasks = self.tasks(task, 2)
        stand.plan(
            first.instance_id, report__json=report(first, False), test_output__txt="x", sleep=60
        )
        stand.plan(second.instance_id)
        stand.say(containers="abc123")
        folder = tmp_path / "run"
        result = self.run(
            stand,
            tasks,
            folder,
            cancelled=lambda: "ran" in (folder / "harness.log").read_text(),
        )
        log = (folder / "harness.log").read_text()
        assert f"ran {second.instance_id}" not in log
        assert "Report written" not in log
        assert result[first.instance_id].outcome == "unresolved"
        assert result[second.instance_id].outcome == "environment_error"
        assert "rm -f abc123" in (stand.folder / "asked").read_text()
        running = [
            path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
        ]
        assert not any(str(stand.folder).encode() in item for item in running)

    def test_a_harness_that_breaks_is_no_fault_of_the_model(
        self, stand: Stand, task: Task, tmp_path: Path
    ) -> None:
        stand.command("swebench", "#!/bin/sh\necho 'Cannot connect to the Docker daemon'\nexit 1\n")
        result = run_harness([task], {task.instance_id: task.patch}, tmp_path)[task.instance_id]
        assert result.outcome == "environment_error"
        assert result.reason.endswith("ended with: Cannot connect to the Docker daemon")

    def test_it_is_not_installed(
        self, stand: Stand, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module.shutil, "which", lambda *_, **__: None)
        with pytest.raises(EnvironmentFailure, match="pip install"):
            run_harness([task], {task.instance_id: task.patch}, tmp_path)
