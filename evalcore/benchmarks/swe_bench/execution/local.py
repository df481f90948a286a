"""A task executed here: work tree, the official chain for the patch, then its tests in a sandbox.

Only the tests run in the sandbox, with the tree at /testbed and an `activate` of our own where the
official images have conda's. What fails on our side is raised; what the patch does to its own run
is in the log, and the grading says what it is worth.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import threading
import time
from pathlib import Path

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench.execution import integrity, inverted
from evalcore.benchmarks.swe_bench.execution.checkout import changes, checkout, restore
from evalcore.benchmarks.swe_bench.execution.interpreter import Interpreter, check, interpreter
from evalcore.benchmarks.swe_bench.execution.machinery import machinery
from evalcore.benchmarks.swe_bench.execution.resolution import NOTHING, Execution, sha256, spec_of
from evalcore.benchmarks.swe_bench.execution.script import Script, script_of
from evalcore.benchmarks.swe_bench.grade import grade, status_map
from evalcore.benchmarks.swe_bench.patches.apply import apply_official
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record
from evalcore.sandbox.folder import remove
from evalcore.sandbox.program import Bind, Finished, Limits, Program, run

LIMITS = Limits(
    seconds=120.0, cpu_seconds=120, memory_bytes=2 << 30, processes=128, output_bytes=16 << 20
)
_TREE, _SCRIPT = "/testbed", "/eval.sh"
#: The repository belongs to another user inside than the one that made it.
_ENVIRONMENT = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "PYTHONDONTWRITEBYTECODE": "1",
}
#: Plugins of pytest that happen to be installed beside us are no part of a task.
_BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
#: Tests run one to a processor: the clock that limits some would else measure the others.
_places = threading.BoundedSemaphore(os.cpu_count() or 1)


class Variation(Record, frozen=True):
    """How an execution differs from the official one, to see what its result rests on.

    `without` are paths brought back to the base commit after the patch was applied. With a seed in
    `inverted` the tests of the task are made so that they must fail.
    """

    without: tuple[str, ...] = ()
    inverted: str = ""


OFFICIAL = Variation()


class _Room(Record, frozen=True):
    """Where an execution takes place and with what."""

    folder: Path
    tree: Path
    python: Interpreter
    script: Script


def execute(
    task: Task,
    patch: str,
    *,
    python: Path | None = None,
    limits: Limits = LIMITS,
    variation: Variation = OFFICIAL,
) -> Execution:
    """Apply a patch to a task's repository and run its tests; "" runs them on the base commit.

    `python` is an interpreter with what the task needs, None the running one. Safe from several
    threads. Raises EnvironmentFailure where repository, interpreter or sandbox cannot be had.
    """
    begun = time.monotonic()
    found, script = interpreter(python), script_of(task)
    check(found, "pytest" if "pytest" in script.text else "")
    result = Execution(
        instance_id=task.instance_id,
        patch_sha256=sha256(patch),
        script=script.origin,
        python=found.version,
    )
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = checkout(task, folder / "testbed")
        result = _apply(result, tree, patch)
        if result.applied:
            room = _Room(folder, tree, found, script)
            result = _test(result, task, room, limits, variation)
    finally:
        remove(folder)
    return replace(result, seconds=round(time.monotonic() - begun, 3))


def _apply(result: Execution, tree: Path, patch: str) -> Execution:
    if not patch.strip():
        return replace(result, applied=NOTHING)
    applied = apply_official(tree, patch)
    return replace(result, applied=applied.how, apply_log=_clean(applied.log))


def _test(
    result: Execution, task: Task, room: _Room, limits: Limits, variation: Variation
) -> Execution:
    """The execution with what the tests of the tree as it is now printed and were graded."""
    found = changes(room.tree, task.base_commit)
    restore(room.tree, task.base_commit, variation.without)
    with _places:
        done = run(_program(room, variation), limits)
    log = done.output + _ended(done, limits)
    spec = spec_of(task)
    return replace(
        result,
        changed=tuple(map(_clean, found.paths)),
        machinery=machinery(found),
        log=log,
        log_sha256=sha256(log),
        exit_code=done.exit_code,
        ended_by=done.ended_by,
        means=done.means,
        report=grade(spec, log),
        tests=status_map(log, spec["log_parser"], spec),
    )


def _program(room: _Room, variation: Variation) -> Program:
    """The script as a program. Inverted or not, it is the same one: the seed comes by its standard
    input and is read away before the tests begin, so that a patch cannot tell which run it is in.
    """
    place = room.folder / "eval.sh"
    place.write_text(room.script.before_tests(_inversion(room.script)).text, "utf-8")
    place.chmod(0o644)
    return Program(
        argv=("bash", _SCRIPT),
        binds=(
            *room.python.binds,
            room.python.shim(room.folder),
            Bind(source=str(place), target=_SCRIPT),
            Bind(source=inverted.__file__, target=inverted.PLACE),
            Bind(source=integrity.__file__, target=inverted.INTEGRITY),
            Bind(source=str(room.tree), target=_TREE, writable=True),
        ),
        cwd=_TREE,
        env=_ENVIRONMENT | (_BARE if room.python.own else {}),
        stdin=f"{variation.inverted}\n",
    )


def _inversion(script: Script) -> str:
    files = [f"{_TREE}/{path}" for path in script.tests if path.endswith(".py")]
    command = shlex.join([sys.executable, "-I", inverted.PLACE])
    return f'read -r seed; test -z "$seed" || {command} "$seed" {shlex.join(files)}; unset seed'


def _ended(done: Finished, limits: Limits) -> str:
    """The line by which the official harness notes that the time was up."""
    if done.ended_by != "time":
        return ""
    return f"\n\nTimeout error: {limits.seconds:.0f} seconds exceeded."


def _clean(text: str) -> str:
    """Text for a record: names of files need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
