"""Run the official harness over predictions, as a process in a folder of its own.

It is not called in our process: its imports take seconds, it lowers our limit on open files, and it
writes to `logs/` of the working folder. Its cache goes by the name of the run and not by the patch,
so the name holds a hash of the predictions: asked again, it goes on where it was, and a changed
patch is a new run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench.execution.resolution import sha256_text
from evalcore.benchmarks.swe_bench.harness.results import REPORT, HarnessResult, read_harness_result
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.errors import EnvironmentFailure

#: done, of how many, and the last line that the harness printed
Progress = Callable[[int, int, str], None]

_MODEL = "evalboard"
_TICK, _DYING = 0.25, 20.0
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "SSL_CERT_FILE")
_PASSED_ON_PREFIXES = ("DOCKER_", "SWEBENCH_DOCKER_")
_TAIL = 4096


def run_harness(
    tasks: Sequence[Task],
    predictions: Mapping[str, str],
    folder: Path,
    progress: Progress = lambda done, total, line: None,
    *,
    run: str = "run",
    workers: int = 1,
    seconds: int = 1800,
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[str, HarnessResult]:
    """The result of every task, by instance id; a task without a patch is `empty_patch` unasked.

    `predictions` are patches by instance id. `seconds` are for the tests of one instance. A run
    that is cancelled is killed, and what it did not come to is an environment_error; its containers
    are removed. Raises EnvironmentFailure where the harness is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    submitted = [task for task in tasks if predictions.get(task.instance_id, "").strip()]
    lines = [_format_prediction(task, predictions[task.instance_id]) for task in submitted]
    text = "".join(f"{line}\n" for line in lines)
    run_id = f"{run}-{sha256_text(text)[:12]}"
    logs = folder / "logs" / "run_evaluation" / run_id / _MODEL
    last = ""
    if submitted:
        (folder / "preds.jsonl").write_text(text, "utf-8")
        (folder / "tasks.jsonl").write_text(
            "".join(f"{_format_task_row(task)}\n" for task in submitted), "utf-8"
        )
        command = _build_harness_command(run_id, workers, seconds)
        finished = [logs / task.instance_id / REPORT for task in submitted]
        last = _wait_for_harness(command, folder, finished, progress, cancelled)
        _remove_containers(run_id)
    results = {task.instance_id: _build_empty_result(task) for task in tasks}
    version = _find_swebench_version()
    for task in submitted:
        result = read_harness_result(task, logs / task.instance_id)
        reason = result.reason
        if last and result.outcome == "environment_error":
            reason = f"{reason}; the harness ended with: {last}"
        patch = sha256_text(predictions[task.instance_id])
        results[task.instance_id] = replace(
            result, reason=reason, run_id=run_id, patch_sha256=patch, version=version
        )
    return results


def _format_prediction(task: Task, patch: str) -> str:
    return json.dumps(
        {"instance_id": task.instance_id, "model_name_or_path": _MODEL, "model_patch": patch}
    )


def _format_task_row(task: Task) -> str:
    """A task in the columns of version 5."""
    return json.dumps(
        {
            "instance_id": task.instance_id,
            "repo": task.repo,
            "base_commit": task.base_commit,
            "version": task.version,
            "patch": task.patch,
            "test_patch": task.test_patch,
            "problem_statement": task.problem_statement,
            "FAIL_TO_PASS": json.dumps(task.fail_to_pass),
            "PASS_TO_PASS": json.dumps(task.pass_to_pass),
            "image": task.image,
            "eval_script": task.eval_script,
            "log_parser": task.log_parser,
            "eval_type": task.eval_type,
        }
    )


def _build_empty_result(task: Task) -> HarnessResult:
    return HarnessResult(task.instance_id, "empty_patch", "there is no patch", image=task.image)


def _build_harness_command(run_id: str, workers: int, seconds: int) -> list[str]:
    """The harness's command line; its program lies beside our interpreter or on the PATH."""
    bin_folder = Path(sys.executable).parent
    program = shutil.which("swebench", path=f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise EnvironmentFailure(
            'swebench is not installed; install it: pip install "swebench>=5.0.2,<6"'
        )
    options = ["--run-id", run_id, "-s", "test", "-j", str(workers), "-t", str(seconds)]
    return [program, "eval", "tasks.jsonl", "-p", "preds.jsonl", *options]


def _wait_for_harness(
    command: list[str],
    folder: Path,
    finished: Sequence[Path],
    progress: Progress,
    cancelled: Callable[[], bool],
) -> str:
    """Wait for the harness, telling how many reports there are; returns its last line where it
    failed, else "".

    Whatever happens, nothing of its process group is left.
    """
    output = folder / "harness.log"
    with output.open("wb") as log:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=_build_harness_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        running = True
        while running and not cancelled():
            running = child.poll() is None
            progress(sum(map(Path.exists, finished)), len(finished), _last_line(output))
            if running:
                time.sleep(_TICK)
    finally:
        _stop_harness(child)
    return _last_line(output) if child.returncode else ""


def _stop_harness(child: subprocess.Popen[bytes]) -> None:
    """Let the harness go; it stops its containers on the first signal, if it comes to it."""
    for number, seconds in ((signal.SIGTERM, _DYING / 4), (signal.SIGKILL, _DYING)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    child.wait(_DYING)


def _build_harness_environment() -> dict[str, str]:
    """What the harness needs to reach Docker, and no key of ours."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    } | {"PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1"}


def _remove_containers(run_id: str) -> None:
    """Containers carry the name of the run; those of a killed run are still there."""
    docker = shutil.which("docker")
    if docker is None:
        return
    try:
        command = [docker, "ps", "-aq", "--filter", f"name={run_id}"]
        listing = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        ids = listing.stdout.split() if listing.returncode == 0 else []
        if ids:
            remove = [docker, "rm", "-f", *ids]
            subprocess.run(remove, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return  # a daemon that does not answer keeps them; the next run of this name asks again


def _last_line(output: Path) -> str:
    """The last line of a log with anything in it; a bar of progress counts as lines."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - _TAIL))
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n")]
    return next((line for line in reversed(lines) if line), "")[-300:]


def _find_swebench_version() -> str:
    try:
        return metadata.version("swebench")
    except metadata.PackageNotFoundError:
        return ""
