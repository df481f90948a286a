"""From the log of a test run to the official report: which tests pass, is the issue resolved,
and whether the environment broke.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.blind_answers import CheckAnswer
from evalcore.benchmarks.swe_bench.log_parsers import select_log_parser
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    XFAIL,
    StatusMap,
    UnreadableLog,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

# Signs in a log that the environment broke, by which a run that cannot be graded is explained. A
# sign of the kind "environment" cannot well come from a patch of the repository; the others can.
# Neither changes a verdict. Rules: swebench 5.0.2, `harness/infra_failure.py`.


#: (reason, whether the environment is certainly at fault, pattern); the first that matches counts.
_SIGNS = (
    ("browser_launch_failed", True, r"Failed to launch|Failed to connect to the bus"),
    (
        *("display_unavailable", True),
        r"cannot open display|Missing X server|unable to open X display",
    ),
    ("out_of_memory", True, r"Cannot allocate memory|OutOfMemoryError|^Killed$"),
    (
        *("container_unavailable", True),
        r"Error response from daemon|Cannot connect to the Docker daemon",
    ),
    (
        *("network_unreachable", True),
        r"Could not resolve host|Temporary failure in name resolution",
    ),
    ("missing_module", False, r"Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError"),
    ("no_tests_collected", False, r"no tests ran|collected 0 items"),
    ("tests_timed_out", False, r"Timeout error: \d+ seconds exceeded"),
)


# The official report. Rules: swebench 5.0.2, `harness/grading.py`. `patch_successfully_applied` is
# upstream's name for "a log that can be graded was found"; whether a patch applied is known by who
# applied it. The report grades what the log says. A patch can write to that log, so a report alone
# proves no resolution.

START = ">>>>> Start Test Output"
END = ">>>>> End Test Output"
EXIT_CODE = ">>>>> Test Exit Code"
#: A log that holds one of these is of a run that did not come to its end.
BROKEN = (
    ">>>>> Patch Apply Failed",
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    ">>>>> Tests Timed Out",
)
DEFAULT_PARSER = "parse_log_pytest"

_EXIT_CODE = re.compile(rf"{re.escape(EXIT_CODE)}:\s*(-?\d{{1,18}})")
#: What a runner prints after it ran some test: a count that is not zero. The counts at the start
#: of a phrase are taken from the first digit of a number, so that digits are read once.
_COUNTED = r"(?<!\d)[^\D1-9]*[1-9]\d*"
_RAN = re.compile(
    r"Executed [1-9]\d* of \d+|TOTAL: [1-9]\d* (?:SUCCESS|FAILED)"
    rf"|{_COUNTED} (?:passing|specs?, \d+ failures?)"
    r"|Tests:\s+[1-9]|Test Suites:\s+(?:\d+ \w+, )*[1-9]\d* total|^# tests [1-9]|': ok$",
    re.MULTILINE,
)
_GOOD = frozenset({PASSED, XFAIL})
_BAD = frozenset({FAILED, ERROR})

_NO_SPEC: Mapping[str, Any] = MappingProxyType({})

#: True: a success, False: a failure, None: a test that counts as neither.
Rule = Callable[[str, StatusMap], bool | None]


class ParsedLog(Record, frozen=True):
    """What a log says: the state of each test, and whether the log can be graded at all."""

    tests: dict[str, str]
    is_gradable: bool


def grade_log(
    spec: Mapping[str, Any], log: str, prediction: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The official report of one instance, with the states of its tests.

    `spec` is a row of the data set: FAIL_TO_PASS and PASS_TO_PASS (lists, or JSON text of lists),
    `log_parser` (pytest where there is none) and `eval_type` (pass_and_fail where there is none);
    some log parsers ask for `version` as well. `prediction` is only asked whether its `model_patch`
    is None. Raises UsageError for a spec that cannot be used; a log is never at fault.
    """
    empty = prediction is not None and prediction.get("model_patch") is None
    report: dict[str, Any] = {
        "patch_is_None": empty,
        "patch_exists": not empty,
        "patch_successfully_applied": False,
        "resolved": False,
        "infra_failure": False,
    }
    if empty:
        return report
    expected = {name: parse_test_ids(spec, name) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    kind = spec.get("eval_type") or "pass_and_fail"
    rules = _RULES.get(kind) if isinstance(kind, str) else None
    if rules is None:
        instance, names = _describe_instance(spec), ", ".join(_RULES)
        raise UsageError(Note("swe_eval_type", instance=instance, kind=repr(kind), names=names))
    log = _plain_newlines(log)
    parsed = read_log(log, str(spec.get("log_parser") or DEFAULT_PARSER), spec)
    if not parsed.is_gradable:
        for reason, is_environment, pattern in _SIGNS:
            if re.search(pattern, log, re.MULTILINE):
                return report | {"infra_failure": is_environment, "infra_failure_reason": reason}
        return report
    status = {
        name: _split_by_success(expected[name], parsed.tests, rule)
        for name, rule in zip(expected, rules, strict=True)
    }
    status |= {name: {"success": [], "failure": []} for name in ("FAIL_TO_FAIL", "PASS_TO_FAIL")}
    return report | {
        "patch_successfully_applied": True,
        "resolved": classify_resolution(status) == "RESOLVED_FULL",
        "tests_status": status,
    }


def read_log(log: str, log_parser: str, spec: Mapping[str, Any] = _NO_SPEC) -> ParsedLog:
    """The states in a log with markers. `spec` is asked for `instance_id` and `version` by the
    parsers of projects with several forms of logs."""
    log, parse = _plain_newlines(log), select_log_parser(log_parser, spec)
    unreadable = ParsedLog({}, is_gradable=False)
    if any(mark in log for mark in BROKEN) or START not in log or END not in log:
        return unreadable
    # Only the first section counts, so that a second one cannot take its place.
    try:
        # Where output is not in order, results can stand beside the section.
        states = parse(log.split(START, 2)[1].split(END, 1)[0]) or parse(log)
    except UnreadableLog:
        return unreadable
    if not states and not _RAN.search(log):
        return unreadable
    if states and exit_code(log) not in (None, 0) and _BAD.isdisjoint(states.values()):
        return unreadable  # the command failed and the log names no failure: it is not its log
    return ParsedLog(states, is_gradable=True)


def exit_code(log: str) -> int | None:
    """The exit status of the test command that the evaluation script wrote down, if it did."""
    match = _EXIT_CODE.search(log)
    return int(match[1]) if match else None


def classify_resolution(status: Mapping[str, Mapping[str, list[str]]]) -> str:
    """RESOLVED_FULL, RESOLVED_PARTIAL or RESOLVED_NO of a report's `tests_status`."""
    fix_rate, regression_rate = map(success_rate, (status["FAIL_TO_PASS"], status["PASS_TO_PASS"]))
    if regression_rate < 1 or fix_rate == 0:
        return "RESOLVED_NO"
    return "RESOLVED_FULL" if fix_rate == 1 else "RESOLVED_PARTIAL"


def success_rate(tests: Mapping[str, list[str]]) -> float:
    """The share of successes, 0 to 1; 1 where there are no tests."""
    total = len(tests["success"]) + len(tests["failure"])
    return len(tests["success"]) / total if total else 1.0


def parse_test_ids(spec: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The ids in one of the two columns, which holds a list or the JSON text of one."""
    value = spec.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            value = None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise UsageError(Note("swe_test_ids", instance=_describe_instance(spec), name=name))
    return tuple(value)


def _describe_instance(spec: Mapping[str, Any]) -> str:
    return f"SWE-bench instance {spec.get('instance_id', 'without an id')!s}"


def _plain_newlines(log: str) -> str:
    """Newlines as a text file is read; what a terminal returned to the start of is a line too."""
    return log.replace("\r\n", "\n").replace("\r", "\n") if "\r" in log else log


def _judge_fix(test: str, states: StatusMap) -> bool | None:
    """A test that has to pass now: skipped or absent is a failure."""
    state = _find_test_state(test, states)
    if state is None or state == SKIPPED or state in _BAD:
        return False
    return True if state in _GOOD else None


def _judge_regression(test: str, states: StatusMap) -> bool | None:
    """A test that has to pass as before: to skip it is no regression."""
    return True if _find_test_state(test, states) == SKIPPED else _judge_fix(test, states)


def _not_failed(test: str, states: StatusMap) -> bool:
    """A test of a runner that names only failures."""
    return states.get(test) != FAILED


_RULES: dict[str, tuple[Rule, Rule]] = {
    "pass_and_fail": (_judge_fix, _judge_regression),
    "fail_only": (_not_failed, _not_failed),
}


def _find_test_state(test: str, states: StatusMap) -> str | None:
    """The state of a test; None where the log has none for it. Ids in the published data can be cut
    within their bracket. Such an id stands for the tests that begin with it, as long as these agree
    on passing."""
    if test in states or test.count("[") <= test.count("]"):
        return states.get(test)
    matching = [state for name, state in states.items() if name.startswith(test)]
    return matching[0] if len({state in _GOOD for state in matching}) == 1 else None


def _split_by_success(
    expected: Iterable[str], states: StatusMap, rule: Rule
) -> dict[str, list[str]]:
    """The tests by success and failure, in their order; what is neither is in none of them."""
    groups: dict[str, list[str]] = {"success": [], "failure": []}
    for test in expected:
        success = rule(test, states)
        if success is not None:
            groups["success" if success else "failure"].append(test)
    return groups


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
    `answers` are those to the questions of blind tests, None where the tests were not blind.
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
    answers: tuple[CheckAnswer, ...] | None = None


def build_grading_spec(task: Task) -> dict[str, Any]:
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
