"""A task executed here: work tree, the official chain for the patch, then the script of its
tests in a sandbox, without containers.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import threading
import time
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task, integrity, inverted
from evalcore.benchmarks.swe_bench.checkout import (
    Interpreter,
    TreeChanges,
    check_interpreter,
    checkout_task,
    find_tree_changes,
    inspect_interpreter,
    restore_paths,
)
from evalcore.benchmarks.swe_bench.diff import FileDiff, parse_diff
from evalcore.benchmarks.swe_bench.grade import (
    NOTHING,
    Execution,
    build_grading_spec,
    grade_log,
    parse_status_map,
    sha256_text,
)
from evalcore.benchmarks.swe_bench.measures import is_test_infrastructure
from evalcore.benchmarks.swe_bench.patches.official import apply_official
from evalcore.records import Record
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, ProgramResult, run_program

# The script that runs a task's tests: the data set's own, or one of the same form made for it.
# Rows of version 5 bring their `eval_script`; older ones bring only the patch of the tests.
# Either way the script ends up as the official harness runs it, with the exit status of the tests
# printed behind the end marker, so that the same grading reads both logs.

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
_EXIT_CODE = ">>>>> Test Exit Code"
_VARIABLE = "SWEBENCH_TEST_EXIT_CODE"
_HEAD = ("#!/bin/bash", "set -uxo pipefail")
#: Endings of files in a patch of tests that are data for tests and no tests.
_DATA = re.compile(r"\.(json|png|csv|txt|md|jpg|jpeg|pkl|yml|yaml|toml)$")


class Script(Record, frozen=True):
    """Lines for bash; `origin` says whose they are, `tests` are the files that the patch of the
    tests brings (paths in the repository)."""

    lines: tuple[str, ...]
    origin: Literal["given", "made"]
    tests: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def before_tests(self, command: str) -> Script:
        """The script with a command put in front of the start marker."""
        at = next((n for n, line in enumerate(self.lines) if START in line), len(self.lines))
        lines = (*self.lines[:at], command, *self.lines[at:])
        return Script(lines=lines, origin=self.origin, tests=self.tests)


def build_task_script(task: Task) -> Script:
    """The script of a task, recording the exit status of the tests."""
    tests = tuple(file.path for file in parse_diff(task.test_patch) if not file.is_deleted)
    has_own_script = bool(task.eval_script.strip())
    lines = task.eval_script.strip().split("\n") if has_own_script else _build_default_script(task)
    body_lines = [line for line in lines if line not in _HEAD]
    origin: Literal["given", "made"] = "given" if has_own_script else "made"
    return Script(lines=(*_HEAD, *_record_exit_code(body_lines)), origin=origin, tests=tests)


def _record_exit_code(lines: list[str]) -> list[str]:
    """Keep the status of the tests, which the lines behind them would hide."""
    at = next((n for n, line in enumerate(lines) if END in line), None)
    if at is None:
        return lines
    shown = f'echo "{_EXIT_CODE}: ${_VARIABLE}"'
    return [*lines[:at], f"{_VARIABLE}=$?", lines[at], shown, *lines[at + 1 :]]


def _build_default_script(task: Task) -> list[str]:
    """The official steps, with pytest on the files that the patch of the tests touches."""
    files = parse_diff(task.test_patch)
    activate = ["source /opt/miniconda3/bin/activate", "conda activate testbed", "cd /testbed"]
    reset = _build_reset_lines(files, task.base_commit)
    run = [file.path for file in files if not file.is_deleted and not _DATA.search(file.path)]
    end = _choose_delimiter(task.test_patch)
    return [
        *activate,
        "git config --global --add safe.directory /testbed",
        *reset,
        f"git apply -v - <<'{end}'",
        *task.test_patch.removesuffix("\n").split("\n"),
        end,
        f": '{START}'",
        f"python -m pytest -rA -p no:cacheprovider {shlex.join(run)}".rstrip(),
        f": '{END}'",
        *reset,
    ]


def _build_reset_lines(files: tuple[FileDiff, ...], base: str) -> list[str]:
    """Put test files back to the base commit; those that it does not have go."""
    old = [file.old_path for file in files if not file.is_new]
    new = [file.path for file in files if file.is_new or file.is_renamed]
    lines = [f"git checkout {base} {shlex.join(old)}"] if old else []
    return [*lines, f"rm -f {shlex.join(new)}"] if new else lines


def _choose_delimiter(text: str) -> str:
    """A word that ends the patch in the script and stands on no line of it."""
    number = 114329324912
    while f"EOF_{number}" in text:
        number += 1
    return f"EOF_{number}"


# Which of the files that a patch changed belong to the machinery of tests, not to the program.

#: Folders that are usual places of packages, whose content is imported by its own name.
_ROOTS = ("src", "lib")
#: Modules that run before or around tests; a module of the same name in the repository comes first.
_NAMES = frozenset(
    {*sys.stdlib_module_names, "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}
    | {"py", "xdist", "execnet", "sitecustomize", "usercustomize", "coverage", "hypothesis"}
)
#: Files that tell git or Python how other files are to be read.
_READING = frozenset({".gitattributes", ".gitmodules", "pyvenv.cfg"})


def find_infrastructure_changes(changes: TreeChanges) -> tuple[str, ...]:
    """Those of the changed paths that can decide how tests run and what they report.

    A new module that has the name of one of Python or pytest counts, since it is imported instead;
    a name that the base commit has already is the repository's own.
    """
    base_modules = {_find_import_name(path) for path in changes.base}
    shadows = {_find_import_name(path) for path in changes.created} & (_NAMES - base_modules)
    return tuple(
        path
        for path in changes.paths
        if is_test_infrastructure(path)
        or PurePosixPath(path).name in _READING
        or (path in changes.created and _find_import_name(path) in shadows)
    )


def _find_import_name(path: str) -> str:
    """The name by which the module or package of a path is imported; "" for other files."""
    parts = PurePosixPath(path).parts
    if len(parts) > 1 and parts[0] in _ROOTS:
        parts = parts[1:]
    if len(parts) > 1:
        return parts[0]
    name, _, ending = parts[0].partition(".")
    return name if ending.rpartition(".")[2] in ("py", "pyc", "so") else ""


# A task executed here: work tree, the official chain for the patch, then its tests in a sandbox.
# Only the tests run in the sandbox, with the tree at /testbed and an `activate` of our own where
# the official images have conda's. What fails on our side is raised; what the patch does to its
# own run is in the log, and the grading says what it is worth.

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
