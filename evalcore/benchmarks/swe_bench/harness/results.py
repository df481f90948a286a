"""What the official harness left behind for an instance, and what that is worth.

The harness counts an instance without a report among its errors and its leaderboard counts errors
as failures. Here an instance whose image could not be had says nothing about the model: only a
graded log, a patch that does not apply or a time that was up does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench.execution.resolution import build_grading_spec, sha256_text
from evalcore.benchmarks.swe_bench.grade import grade_log
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record

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
    same (None where there was nothing to compare). `log` is what the tests printed.
    """

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
    log, report = (
        _read_text_tail(folder / TEST_LOG),
        _read_harness_report(folder / REPORT, task.instance_id),
    )
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
        outcome, reason = "environment_error", "there is a report without the log it was read from"
    else:
        ours = grade_log(build_grading_spec(task), log).get("resolved") is True
        result = replace(result, agrees=ours == report["resolved"])
        outcome, reason = ("resolved", "") if report["resolved"] else ("unresolved", "tests fail")
    return replace(result, outcome=outcome, reason=reason)


def _explain_missing_report(log: str) -> tuple[HarnessOutcome, str]:
    """Why there is no report, by the harness's log of the instance.

    That log quotes the patch, which can put words of the first two kinds into it: they make its own
    failure of what would else be ours, and never the other way round.
    """
    if _APPLY_FAILED in log:
        return "apply_failed", "the patch does not apply"
    if _TIMED_OUT in log:
        return "unresolved", "the time for its tests was up"
    lines = [line.strip() for line in log.splitlines()]
    for sign in _SIGNS:
        for line in lines:
            if sign in line:
                return "environment_error", line[-300:]
    return "environment_error", "the harness left no report"


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
