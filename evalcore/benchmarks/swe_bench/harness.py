"""Run the official harness (swebench 5, with Docker) as a process of its own, and read its
results.
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
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.grade import build_grading_spec, grade_log, sha256_text
from evalcore.benchmarks.swe_bench.harness_preflight import find_swebench_version
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record

# The harness counts an instance without a report among its errors and its leaderboard counts errors
# as failures. Here an instance whose image could not be had says nothing about the model: only a
# graded log, a patch that does not apply or a time that was up does.

HarnessOutcome = Literal[
    "resolved", "unresolved", "apply_failed", "empty_patch", "environment_error"
]
REPORT, TEST_LOG, INSTANCE_LOG = "report.json", "test_output.txt", "run_instance.log"
#: Bytes of a file that are read at most.
_MAX_FILE_BYTES = 64 << 20
_APPLY_FAILED = ">>>>> Patch Apply Failed"
_TIMED_OUT = "Test timed out after"
#: Words in the harness's log of an instance by which the line that explains a failure is found.
_SIGNS = ("Error creating container", " not found for ", "Error")


class HarnessResult(Record, frozen=True):
    """The outcome of one instance. `reason` explains every outcome but `is_resolved_by_harness`.
    `report` is the harness's own; `agrees` says whether our grading of the same log comes to the
    same (None where there was nothing to compare). `log` is what the tests printed."""

    instance_id: str
    outcome: HarnessOutcome
    reason: str = ""
    report: dict[str, Any] = {}
    agrees: bool | None = None
    log: str = ""
    log_sha256: str = ""
    patch_sha256: str = ""
    run_id: str = ""
    image: str = ""
    version: str = ""


def is_resolved_by_harness(result: HarnessResult) -> bool:
    """Whether the harness called the task resolved, by a log that our grading reads as it does."""
    graded = result.agrees is not False and result.log_sha256 == sha256_text(result.log)
    return result.outcome == "resolved" and bool(result.log) and graded


def read_harness_result(task: Task, folder: Path) -> HarnessResult:
    """The result of a task from the harness's folder of it, which may be missing."""
    log = _read_text_tail(folder / TEST_LOG)
    report = _read_harness_report(folder / REPORT, task.instance_id)
    result = HarnessResult(
        task.instance_id,
        "environment_error",
        report=report,
        log=log,
        log_sha256=sha256_text(log) if log else "",
        image=task.image,
    )
    if not report:
        outcome, reason = _explain_missing_report(_read_text_tail(folder / INSTANCE_LOG))
    elif report.get("infra_failure"):
        outcome, reason = "environment_error", str(report.get("infra_failure_reason", ""))
    elif not log:
        outcome, reason = "environment_error", Note("swe_harness_no_log")
    else:
        ours = grade_log(build_grading_spec(task), log).get("resolved") is True
        result = replace(result, agrees=ours == report["resolved"])
        outcome, reason = ("resolved", "") if report["resolved"] else ("unresolved", "tests fail")
    return replace(result, outcome=outcome, reason=reason)


def _explain_missing_report(log: str) -> tuple[HarnessOutcome, str]:
    """Why there is no report, by the harness's log of the instance. That log quotes the patch,
    which can put words of the first two kinds into it: they make its own failure of what would else
    be ours, and never the other way round."""
    if _APPLY_FAILED in log:
        return "apply_failed", "the patch does not apply"
    if _TIMED_OUT in log:
        return "unresolved", "the time for its tests was up"
    lines = [line.strip() for line in log.splitlines()]
    explanations = (line[-300:] for sign in _SIGNS for line in lines if sign in line)
    return "environment_error", next(explanations, Note("swe_harness_no_report"))


def _read_harness_report(path: Path, instance_id: str) -> dict[str, Any]:
    """The report of an instance; empty where it is missing or cannot be read."""
    try:
        report = json.loads(_read_text_tail(path))[instance_id]
        return report if isinstance(report["resolved"], bool) else {}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def _read_text_tail(path: Path) -> str:
    """The text of a plain file, its end where it is too long; "" where there is none."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MAX_FILE_BYTES))
        return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")


# The harness is not called in our process: its imports take seconds, it lowers our limit on open
# files, and it writes to `logs/` of the working folder. Its cache goes by the name of the run and
# not by the patch, so the name holds a hash of the predictions: asked again, it goes on where it
# was, and a changed patch is a new run.

#: done, of how many, and the last line that the harness printed
Progress = Callable[[int, int, str], None]

_MODEL = "evalboard"
_TICK, _DYING = 0.25, 20.0
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "SSL_CERT_FILE")
_PASSED_ON_PREFIXES = ("DOCKER_", "SWEBENCH_DOCKER_")
_TAIL = 4096
#: Columns of version 5 that are called like the field of a task.
_COLUMNS = (
    *("instance_id", "repo", "base_commit", "version", "patch", "test_patch", "problem_statement"),
    *("image", "eval_script", "log_parser", "eval_type"),
)


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
    are removed. Raises EnvironmentFailure where the harness is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    submitted = [task for task in tasks if predictions.get(task.instance_id, "").strip()]
    text = "".join(_format_prediction(task, predictions[task.instance_id]) for task in submitted)
    run_id = f"{run}-{sha256_text(text)[:12]}"
    logs = folder / "logs" / "run_evaluation" / run_id / _MODEL
    last = ""
    if submitted:
        (folder / "preds.jsonl").write_text(text, "utf-8")
        (folder / "tasks.jsonl").write_text("".join(map(_format_task_row, submitted)), "utf-8")
        command = _build_harness_command(run_id, workers, seconds)
        finished = [logs / task.instance_id / REPORT for task in submitted]
        last = _wait_for_harness(command, folder, finished, progress, cancelled)
        _remove_containers(run_id)
    results = {
        task.instance_id: HarnessResult(
            task.instance_id, "empty_patch", "there is no patch", image=task.image
        )
        for task in tasks
    }
    version = find_swebench_version()
    for task in submitted:
        result = read_harness_result(task, logs / task.instance_id)
        reason = result.reason
        if last and result.outcome == "environment_error":
            reason = Note("swe_harness_ended", problem=reason, line=last)
        patch = sha256_text(predictions[task.instance_id])
        results[task.instance_id] = replace(
            result, reason=reason, run_id=run_id, patch_sha256=patch, version=version
        )
    return results


def _format_prediction(task: Task, patch: str) -> str:
    row = {"instance_id": task.instance_id, "model_name_or_path": _MODEL, "model_patch": patch}
    return f"{json.dumps(row)}\n"


def _format_task_row(task: Task) -> str:
    row = {name: getattr(task, name) for name in _COLUMNS}
    row["FAIL_TO_PASS"] = json.dumps(task.fail_to_pass)
    row["PASS_TO_PASS"] = json.dumps(task.pass_to_pass)
    return f"{json.dumps(row)}\n"


def _build_harness_command(run_id: str, workers: int, seconds: int) -> list[str]:
    """The harness's command line; its program lies beside our interpreter or on the PATH."""
    bin_folder = Path(sys.executable).parent
    program = shutil.which("swebench", path=f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise EnvironmentFailure(Note("swe_no_harness", command='pip install "swebench>=5.0.2,<6"'))
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
    failed, else "". Whatever happens, nothing of its process group is left."""
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
