"""What an execution was, and the one place that says whether it resolved its task."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from evalcore.benchmarks.swe_bench.grade import DEFAULT_PARSER
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record

#: How the official chain got a patch into the tree; each of them is a patch that was applied.
_APPLIED = frozenset({"apply", "3way", "reject", "fuzz", "already"})
#: No patch was given: the tests ran on the base commit.
NOTHING = "nothing"


class Execution(Record, frozen=True):
    """A patch, applied and tested. `seconds` are all of it; those of the tests are fewer.

    `applied` is the step of the official chain that took the patch, NOTHING for an empty patch and
    "" where none took it: then nothing ran, and `apply_log` says why. `changed` are the paths that
    the patch changed, `machinery` those of them that decide how tests run. `script` says whose
    script ran. `exit_code` is None and `ended_by` names the limit where we ended it. `report`
    is that of the official grading and `tests` the status of each test that the log shows.
    """

    instance_id: str
    patch_sha256: str
    applied: str = ""
    apply_log: str = ""
    changed: tuple[str, ...] = ()
    machinery: tuple[str, ...] = ()
    script: Literal["given", "made"] = "given"
    log: str = ""
    log_sha256: str = ""
    exit_code: int | None = None
    ended_by: str = ""
    means: str = ""
    python: str = ""
    seconds: float = 0.0
    report: dict[str, Any] = {}
    tests: dict[str, str] = {}


def build_grading_spec(task: Task) -> dict[str, Any]:
    """What the grading has to know of a task."""
    return {
        "instance_id": task.instance_id,
        "FAIL_TO_PASS": list(task.fail_to_pass),
        "PASS_TO_PASS": list(task.pass_to_pass),
        "log_parser": task.log_parser or DEFAULT_PARSER,
        "eval_type": task.eval_type,
        "version": task.version,
    }


def passes_all_tests(execution: Execution) -> bool:
    """Whether all tests came out as they should in a run that happened, patched or not."""
    ran = bool(execution.means) and execution.log_sha256 == sha256_text(execution.log)
    return ran and execution.report.get("resolved") is True


def is_resolved(execution: Execution) -> bool:
    """Whether a patch resolved its task. Without an execution nothing does."""
    return execution.applied in _APPLIED and passes_all_tests(execution)


def sha256_text(text: str) -> str:
    """Hex digits of a text, lone surrogates included."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
