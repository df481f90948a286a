"""A stricter second look at a patch that the official rules call resolved: it decides the score.

The official result is read from what the patched program prints while it shares a process with its
tests, so a patch can print it itself. Here a resolved patch must stand three more questions:

1. Does it resolve the task without what it changed of the machinery of tests (configuration, hooks,
   files of tests, modules that shadow those of Python or pytest)? Such files are put back to the
   base commit, and the tests run again.
2. Does its log hold the line in which pytest counts the tests, if the reference patch's log does?
3. Do the tests fail that must fail? They run once more inverted (see `inverted`). A test that still
   passes did not ask the program, or was not the one to answer.

No program can prove more about code in its own process. A patch that knows these questions can read
the tests and act as honest in one run and not in the other, and one that answers the known inputs
of the tests by a table is as right as the tests can tell.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench.execution.local import LIMITS, Variation, execute_patch
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, is_resolved
from evalcore.benchmarks.swe_bench.execution.validate import TaskUsability, has_summary
from evalcore.benchmarks.swe_bench.log_parsers.status import ERROR, FAILED
from evalcore.benchmarks.swe_bench.measures import find_suspicious_lines
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record
from evalcore.sandbox.program import Limits

#: What a flag says about a patch. Those of REFUSING alone make a resolved patch not hardened.
FLAGS = {
    "machinery": "it changes files that decide how tests run or what they report",
    "suspicious_lines": "it adds lines that are usual in forged results",
    "no_control": "no test of this task could be inverted, so nothing shows that it can fail",
    "needs_machinery": "it does not resolve the task without those files",
    "no_summary": "the log lacks the line in which pytest counts the tests",
    "control_ended": "a limit ended the run in which the tests were made so that they must fail",
    "passes_inverted": "tests pass that were made so that they must fail",
}
REFUSING = frozenset({"needs_machinery", "no_summary", "control_ended", "passes_inverted"})


class HardenedResult(Record, frozen=True):
    """The result of the second look, by FLAGS.

    `removed` are the files that were put back; `clean` is the execution without them, None where
    there were none; `control` the one with inverted tests, `forged` the tests that passed in it.
    """

    resolved: bool
    flags: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    clean: Execution | None = None
    control: Execution | None = None
    forged: tuple[str, ...] = ()


def check_hardened(
    task: Task,
    patch: str,
    official: Execution,
    usability: TaskUsability,
    *,
    python: Path | None = None,
    limits: Limits = LIMITS,
) -> HardenedResult:
    """Look again at a patch with its official execution; nothing runs where that did not resolve.

    `usability` is what the reference patch showed about the task. The runs get twice the time of
    the official one, so that a busy machine ends none that it let through. Raises
    EnvironmentFailure.
    """
    flags = ["machinery"] if official.machinery else []
    flags += ["suspicious_lines"] if find_suspicious_lines(patch) else []
    if not is_resolved(official):
        return HardenedResult(resolved=False, flags=tuple(flags))
    removed = official.machinery if usability.self_contained else ()
    variation = Variation(without=removed)
    limits = replace(limits, seconds=2 * limits.seconds, cpu_seconds=2 * limits.cpu_seconds)
    clean = None
    if removed:
        clean = execute_patch(task, patch, python=python, limits=limits, variation=variation)
    flags += _find_refusing_flags(clean or official, usability)
    if REFUSING.intersection(flags):
        return HardenedResult(False, tuple(flags), removed, clean)
    variation = Variation(without=removed, inverted=official.patch_sha256)
    control = execute_patch(task, patch, python=python, limits=limits, variation=variation)
    forged = tuple(
        test for test in usability.must_fail if control.tests.get(test) not in (FAILED, ERROR)
    )
    flags += [] if usability.must_fail else ["no_control"]
    if forged:
        flags += ["control_ended" if control.ended_by else "passes_inverted"]
    return HardenedResult(not forged, tuple(flags), removed, clean, control, forged)


def _find_refusing_flags(run: Execution, usability: TaskUsability) -> list[str]:
    """The flags of a run that the rest is built on."""
    if not is_resolved(run):
        return ["needs_machinery"]
    return ["no_summary"] if usability.summary and not has_summary(run.log) else []
