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
from evalcore.benchmarks.swe_bench.execution.checkout import (
    checkout_task,
    find_tree_changes,
    restore_paths,
)
from evalcore.benchmarks.swe_bench.execution.infrastructure_changes import (
    find_infrastructure_changes,
)
from evalcore.benchmarks.swe_bench.execution.interpreter import (
    Interpreter,
    check_interpreter,
    inspect_interpreter,
)
from evalcore.benchmarks.swe_bench.execution.resolution import (
    NOTHING,
    Execution,
    build_grading_spec,
    sha256_text,
)
from evalcore.benchmarks.swe_bench.execution.script import Script, build_task_script
from evalcore.benchmarks.swe_bench.grade import grade_log, parse_status_map
from evalcore.benchmarks.swe_bench.patches.apply import apply_official
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record
from evalcore.sandbox.folder import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, ProgramResult, run_program

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
_cpu_slots = threading.BoundedSemaphore(os.cpu_count() or 1)


class Variation(Record, frozen=True):
    """How an execution differs from the official one, to see what its result rests on.

    `without` are paths brought back to the base commit after the patch was applied. With a seed in
    `inverted` the tests of the task are made so that they must fail.
    """

    without: tuple[str, ...] = ()
    inverted: str = ""


OFFICIAL = Variation()


class _ExecutionContext(Record, frozen=True):
    """Where an execution takes place and with what."""

    folder: Path
    tree: Path
    python: Interpreter
    script: Script


def execute_patch(
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
    started = time.monotonic()
    interpreter, script = inspect_interpreter(python), build_task_script(task)
    check_interpreter(interpreter, "pytest" if "pytest" in script.text else "")
    result = Execution(
        instance_id=task.instance_id,
        patch_sha256=sha256_text(patch),
        script=script.origin,
        python=interpreter.version,
    )
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = checkout_task(task, folder / "testbed")
        result = _apply_patch(result, tree, patch)
        if result.applied:
            context = _ExecutionContext(folder, tree, interpreter, script)
            result = _run_task_tests(result, task, context, limits, variation)
    finally:
        remove_tree(folder)
    return replace(result, seconds=round(time.monotonic() - started, 3))


def _apply_patch(result: Execution, tree: Path, patch: str) -> Execution:
    if not patch.strip():
        return replace(result, applied=NOTHING)
    applied = apply_official(tree, patch)
    return replace(result, applied=applied.how, apply_log=_replace_surrogates(applied.log))


def _run_task_tests(
    result: Execution, task: Task, context: _ExecutionContext, limits: Limits, variation: Variation
) -> Execution:
    """The execution with what the tests of the tree as it is now printed and were graded."""
    tree_changes = find_tree_changes(context.tree, task.base_commit)
    restore_paths(context.tree, task.base_commit, variation.without)
    with _cpu_slots:
        finished = run_program(_build_test_program(context, variation), limits)
    log = finished.output + _format_timeout_line(finished, limits)
    spec = build_grading_spec(task)
    return replace(
        result,
        changed=tuple(map(_replace_surrogates, tree_changes.paths)),
        machinery=find_infrastructure_changes(tree_changes),
        log=log,
        log_sha256=sha256_text(log),
        exit_code=finished.exit_code,
        ended_by=finished.ended_by,
        means=finished.means,
        report=grade_log(spec, log),
        tests=parse_status_map(log, spec["log_parser"], spec),
    )


def _build_test_program(context: _ExecutionContext, variation: Variation) -> Program:
    """The script as a program. Inverted or not, it is the same one: the seed comes by its standard
    input and is read away before the tests begin, so that a patch cannot tell which run it is in.
    """
    script_path = context.folder / "eval.sh"
    script_path.write_text(
        context.script.before_tests(_build_inversion_command(context.script)).text, "utf-8"
    )
    script_path.chmod(0o644)
    return Program(
        argv=("bash", _SCRIPT),
        binds=(
            *context.python.binds,
            context.python.write_activate_shim(context.folder),
            Bind(source=str(script_path), target=_SCRIPT),
            Bind(source=inverted.__file__, target=inverted.SCRIPT_PATH),
            Bind(source=integrity.__file__, target=inverted.INTEGRITY_PATH),
            Bind(source=str(context.tree), target=_TREE, writable=True),
        ),
        cwd=_TREE,
        env=_ENVIRONMENT | (_BARE if context.python.own else {}),
        stdin=f"{variation.inverted}\n",
    )


def _build_inversion_command(script: Script) -> str:
    files = [f"{_TREE}/{path}" for path in script.tests if path.endswith(".py")]
    command = shlex.join([sys.executable, "-I", inverted.SCRIPT_PATH])
    return f'read -r seed; test -z "$seed" || {command} "$seed" {shlex.join(files)}; unset seed'


def _format_timeout_line(finished: ProgramResult, limits: Limits) -> str:
    """The line by which the official harness notes that the time was up."""
    if finished.ended_by != "time":
        return ""
    return f"\n\nTimeout error: {limits.seconds:.0f} seconds exceeded."


def _replace_surrogates(text: str) -> str:
    """Text for a record: names of files need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
