"""Whether a task can be used here: its reference patch must resolve it, and no patch must not.

The same runs show what the hardened check may ask of other patches: what holds for the reference.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

import msgspec
from filelock import FileLock

from evalcore.benchmarks.swe_bench.execution.interpreter import interpreter
from evalcore.benchmarks.swe_bench.execution.local import LIMITS, OFFICIAL, Variation, execute
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, passes, resolved
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
_known: dict[str, Usable] = {}
_locks: dict[str, threading.Lock] = {}


class Usable(Record, frozen=True):
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


def usable(
    task: Task, cache: Path | None = None, *, python: Path | None = None, limits: Limits = LIMITS
) -> Usable:
    """Run the reference patch and no patch, or know the result from before.

    Results are kept in memory and, if they are good, in the folder `cache`, by the content of the
    task and of the interpreter; a bad one may be this machine's fault and is asked again by the
    next process. Safe from several threads and processes. Raises EnvironmentFailure.
    """
    key = content_hash([RULE, _content(task), interpreter(python).contents], 32)
    with _locks.setdefault(key, threading.Lock()):
        if key not in _known:
            _known[key] = _stored(task, key, cache, python, limits)
        return _known[key]


def has_summary(log: str) -> bool:
    """Whether a log holds the last line of pytest, such as `==== 3 passed in 0.12s ====`."""
    return any(
        " in " in line and any(count in line for count in _COUNTS)
        for line in log.splitlines()
        if len(line) < 500
    )


def _content(task: Task) -> dict[str, object]:
    fields = msgspec.to_builtins(task)
    return {name: value for name, value in fields.items() if name not in _UNRELATED}


def _stored(
    task: Task, key: str, cache: Path | None, python: Path | None, limits: Limits
) -> Usable:
    """The result from the cache, or a new one that goes there."""
    if cache is None:
        return _measured(task, python, limits)
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"{key}.json"
    with FileLock(cache / f"{key}.lock"):
        if place.exists():
            try:
                return from_json(Usable, place.read_bytes())
            except msgspec.DecodeError:
                place.unlink()  # torn by a full disk or an older form: it is measured again
        found = _measured(task, python, limits)
        if found.ok:
            fresh = place.with_suffix(".new")
            fresh.write_bytes(to_json(found))
            fresh.replace(place)
        return found


def _measured(task: Task, python: Path | None, limits: Limits) -> Usable:
    def run(patch: str, variation: Variation = OFFICIAL) -> Execution:
        return execute(task, patch, python=python, limits=limits, variation=variation)

    gold = run(task.patch)
    if not resolved(gold):
        problem = f"the reference patch does not resolve it here: {_reason(gold)}"
        return Usable(False, problem, contradicted=_is_of_task(gold))
    if passes(run("")):
        return Usable(False, "its tests pass without a patch", contradicted=True)
    expected = {*task.fail_to_pass, *task.pass_to_pass}
    control = run(task.patch, Variation(inverted=task.base_commit)).tests
    alone = not gold.machinery or resolved(run(task.patch, Variation(without=gold.machinery)))
    return Usable(
        ok=True,
        must_fail=tuple(sorted(t for t in expected if control.get(t) in (FAILED, ERROR))),
        summary=has_summary(gold.log),
        self_contained=alone,
    )


def _is_of_task(gold: Execution) -> bool:
    """Whether a reference patch fails by itself, and not for want of time or of a module."""
    if not gold.applied:
        return True
    return bool(gold.report.get("tests_status")) and not gold.ended_by and not _LACKING(gold.log)


def _reason(gold: Execution) -> str:
    if not gold.applied:
        return "it does not apply"
    if gold.ended_by:
        return f"the limit of {gold.ended_by} ended its tests"
    status = gold.report.get("tests_status")
    if not status:
        return "its log cannot be graded"
    failed = [test for group in status.values() for test in group["failure"]]
    return f"{len(failed)} of its tests fail, first {failed[0]}" if failed else "tests are missing"
