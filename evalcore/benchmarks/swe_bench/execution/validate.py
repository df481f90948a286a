"""Whether a task can be used here: its reference patch must resolve it, and no patch must not.

The same runs show what the hardened check may ask of other patches: what holds for the reference.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

import msgspec
from filelock import FileLock

from evalcore.benchmarks.swe_bench.execution.interpreter import inspect_interpreter
from evalcore.benchmarks.swe_bench.execution.local import LIMITS, OFFICIAL, Variation, execute_patch
from evalcore.benchmarks.swe_bench.execution.resolution import (
    Execution,
    is_resolved,
    passes_all_tests,
)
from evalcore.benchmarks.swe_bench.log_parsers.status import ERROR, FAILED
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record, content_hash, from_json, to_json
from evalcore.sandbox.program import Limits

#: Changes whenever what is asked of a task does.
RULE = 1
#: Fields of a task that do not bear on what its tests do.
_UNRELATED = ("repository", "problem_statement", "text", "difficulty", "image")
_COUNTS = (" passed", " failed", " error", " skipped", " xfailed", " xpassed", "no tests ran")
#: What a log says where the interpreter lacks what a task needs.
_LACKING = re.compile(
    r"ModuleNotFoundError|ImportError|command not found|fixture '\w+' not found"
).search
_usability_by_key: dict[str, TaskUsability] = {}
_locks: dict[str, threading.Lock] = {}


class TaskUsability(Record, frozen=True):
    """What the reference patch shows about a task. `contradicted` says that a `problem` is that of
    the task itself: another machine would see the same.

    `must_fail` are the tests that fail with it when they are inverted; `summary` says whether its
    log holds the line in which pytest counts the tests, `self_contained` whether it resolves the
    task without what it changes of the tests' machinery.
    """

    ok: bool
    problem: str = ""
    must_fail: tuple[str, ...] = ()
    summary: bool = False
    self_contained: bool = True
    contradicted: bool = False


def check_usability(
    task: Task, cache: Path | None = None, *, python: Path | None = None, limits: Limits = LIMITS
) -> TaskUsability:
    """Run the reference patch and no patch, or know the result from before.

    Results are kept in memory and, if they are good, in the folder `cache`, by the content of the
    task and of the interpreter; a bad one may be this machine's fault and is asked again by the
    next process. Safe from several threads and processes. Raises EnvironmentFailure.
    """
    key = content_hash(
        [RULE, _select_content_fields(task), inspect_interpreter(python).contents], 32
    )
    with _locks.setdefault(key, threading.Lock()):
        if key not in _usability_by_key:
            _usability_by_key[key] = _load_or_measure_usability(task, key, cache, python, limits)
        return _usability_by_key[key]


def has_summary(log: str) -> bool:
    """Whether a log holds the last line of pytest, such as `==== 3 passed in 0.12s ====`."""
    return any(
        " in " in line and any(count in line for count in _COUNTS)
        for line in log.splitlines()
        if len(line) < 500
    )


def _select_content_fields(task: Task) -> dict[str, object]:
    fields = msgspec.to_builtins(task)
    return {name: value for name, value in fields.items() if name not in _UNRELATED}


def _load_or_measure_usability(
    task: Task, key: str, cache: Path | None, python: Path | None, limits: Limits
) -> TaskUsability:
    """The result from the cache, or a new one that goes there."""
    if cache is None:
        return _measure_usability(task, python, limits)
    cache.mkdir(parents=True, exist_ok=True)
    cache_path = cache / f"{key}.json"
    with FileLock(cache / f"{key}.lock"):
        if cache_path.exists():
            try:
                return from_json(TaskUsability, cache_path.read_bytes())
            except msgspec.DecodeError:
                cache_path.unlink()  # torn by a full disk or an older form: it is measured again
        usability = _measure_usability(task, python, limits)
        if usability.ok:
            fresh = cache_path.with_suffix(".new")
            fresh.write_bytes(to_json(usability))
            fresh.replace(cache_path)
        return usability


def _measure_usability(task: Task, python: Path | None, limits: Limits) -> TaskUsability:
    def run_patch(patch: str, variation: Variation = OFFICIAL) -> Execution:
        return execute_patch(task, patch, python=python, limits=limits, variation=variation)

    gold = run_patch(task.patch)
    if not is_resolved(gold):
        problem = f"the reference patch does not resolve it here: {_explain_gold_failure(gold)}"
        return TaskUsability(False, problem, contradicted=_is_task_defect(gold))
    if passes_all_tests(run_patch("")):
        return TaskUsability(False, "its tests pass without a patch", contradicted=True)
    expected = {*task.fail_to_pass, *task.pass_to_pass}
    control = run_patch(task.patch, Variation(inverted=task.base_commit)).tests
    alone = not gold.machinery or is_resolved(
        run_patch(task.patch, Variation(without=gold.machinery))
    )
    return TaskUsability(
        ok=True,
        must_fail=tuple(sorted(t for t in expected if control.get(t) in (FAILED, ERROR))),
        summary=has_summary(gold.log),
        self_contained=alone,
    )


def _is_task_defect(gold: Execution) -> bool:
    """Whether a reference patch fails by itself, and not for want of time or of a module."""
    if not gold.applied:
        return True
    return bool(gold.report.get("tests_status")) and not gold.ended_by and not _LACKING(gold.log)


def _explain_gold_failure(gold: Execution) -> str:
    if not gold.applied:
        return "it does not apply"
    if gold.ended_by:
        return f"the limit of {gold.ended_by} ended its tests"
    status = gold.report.get("tests_status")
    if not status:
        return "its log cannot be graded"
    failed = [test for group in status.values() for test in group["failure"]]
    return f"{len(failed)} of its tests fail, first {failed[0]}" if failed else "tests are missing"
