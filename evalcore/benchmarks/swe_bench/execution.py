"""A task executed here: work tree, the official chain for the patch, then the script of its
tests in a sandbox, without containers.

What fails on our side is raised; what the patch does to its own run is in the log, and the grading
says what it is worth.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
import time
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task, blind_recorder, integrity, inverted
from evalcore.benchmarks.swe_bench.blind_answers import read_records
from evalcore.benchmarks.swe_bench.blind_tests import (
    RECORDER_PATH,
    RECORDS_NAME,
    BlindedTests,
    blind_tests,
)
from evalcore.benchmarks.swe_bench.checkout import (
    Interpreter,
    TreeChanges,
    check_interpreter,
    find_tree_changes,
    inspect_interpreter,
    restore_paths,
    run_git,
    temporary_checkout,
)
from evalcore.benchmarks.swe_bench.diff import FileDiff, parse_diff
from evalcore.benchmarks.swe_bench.grade import (
    END,
    EXIT_CODE,
    NOTHING,
    START,
    Execution,
    build_grading_spec,
    grade_log,
    read_log,
    sha256_text,
)
from evalcore.benchmarks.swe_bench.measures import is_test_infrastructure
from evalcore.benchmarks.swe_bench.patches.official import apply_official
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.filesystem import Unreadable, read_inside
from evalcore.sandbox.program import Bind, Limits, Program, run_program
from evalcore.settings import load_settings

# The script that runs a task's tests. Rows of version 5 bring their `eval_script`; for older ones,
# which bring only the patch of the tests, one of the same form is made. Either way it ends up as
# the official harness runs it, with the exit status of the tests printed behind the end marker, so
# that the same grading reads both logs.

_VARIABLE = "SWEBENCH_TEST_EXIT_CODE"
_HEAD = ("#!/bin/bash", "set -uxo pipefail")
_APPLIES_TESTS = re.compile(r"\s*git apply .*<<\s*'?(\w+)'?\s*$").match
_RESETS_TESTS = re.compile(r"\s*(?:git checkout|rm -f) ").match
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
        at = self._find_start()
        return replace(self, lines=(*self.lines[:at], command, *self.lines[at:]))

    def _find_start(self) -> int:
        return next((n for n, line in enumerate(self.lines) if START in line), len(self.lines))

    def without_tests(self) -> Script | None:
        """The script for a tree that has the tests already: it neither holds nor resets them. None
        where it does not bring them in the usual way."""
        at = self._find_start()
        head, found, end = [], False, ""
        for line in self.lines[:at]:
            if end:
                end = "" if line == end else end
            elif match := _APPLIES_TESTS(line):
                found, end = True, match[1]
            elif not (_RESETS_TESTS(line) and any(path in line for path in self.tests)):
                head.append(line)
        return replace(self, lines=(*head, *self.lines[at:])) if found and not end else None


def build_task_script(task: Task) -> Script:
    """The script of a task, recording the exit status of the tests."""
    tests = tuple(file.path for file in parse_diff(task.test_patch) if not file.is_deleted)
    own_lines = task.eval_script.strip().split("\n") if task.eval_script.strip() else []
    body_lines = [line for line in own_lines or _build_default_script(task) if line not in _HEAD]
    lines = (*_HEAD, *_record_exit_code(body_lines))
    return Script(lines=lines, origin="given" if own_lines else "made", tests=tests)


def _record_exit_code(lines: list[str]) -> list[str]:
    """Keep the status of the tests, which the lines behind them would hide."""
    at = next((n for n, line in enumerate(lines) if END in line), None)
    if at is None:
        return lines
    shown = f'echo "{EXIT_CODE}: ${_VARIABLE}"'
    return [*lines[:at], f"{_VARIABLE}=$?", lines[at], shown, *lines[at + 1 :]]


def _build_default_script(task: Task) -> list[str]:
    """The official steps, with pytest on the files that the patch of the tests touches."""
    files = parse_diff(task.test_patch)
    reset = _build_reset_lines(files, task.base_commit)
    run = [file.path for file in files if not file.is_deleted and not _DATA.search(file.path)]
    # A word that ends the patch in the script and stands on no line of it.
    end = next(word for n in count(114329324912) if (word := f"EOF_{n}") not in task.test_patch)
    return [
        *("source /opt/miniconda3/bin/activate", "conda activate testbed", "cd /testbed"),
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
    """Those of the changed paths that can decide how tests run and what they report. A new module
    that has the name of one of Python or pytest counts, since it is imported instead; a name that
    the base commit has already is the repository's own."""
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


# Only the tests run in the sandbox, with the tree at /testbed and an `activate` of our own where
# the official images have conda's.

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
_MAX_TEST_FILE, _MAX_RECORDS = 4 << 20, 16 << 20  # bytes
#: Tests run one to a processor: the clock that limits some would else measure the others.
_cpu_slots = threading.BoundedSemaphore(os.cpu_count() or 1)


class Variation(Record, frozen=True):
    """How an execution differs from the official one, to see what its result rests on. `without`
    are paths brought back to the base commit after the patch was applied. With a seed in `inverted`
    the tests of the task are made so that they must fail; with `blind` they do not know what they
    expect."""

    without: tuple[str, ...] = ()
    inverted: str = ""
    blind: bool = False


OFFICIAL = Variation()


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
    threads. Raises EnvironmentFailure where repository, interpreter or sandbox cannot be had."""
    started = time.monotonic()
    interpreter, script = inspect_interpreter(python), build_task_script(task)
    check_interpreter(interpreter, "pytest" if "pytest" in script.text else "")
    result = Execution(
        instance_id=task.instance_id,
        patch_sha256=sha256_text(patch),
        script=script.origin,
        python=interpreter.version,
    )
    with temporary_checkout(task) as tree:
        if not patch.strip():
            result = replace(result, applied=NOTHING)
        else:
            done = apply_official(tree, patch)
            result = replace(result, applied=done.how, apply_log=_replace_surrogates(done.log))
        if result.applied:
            tree_changes = find_tree_changes(tree, task.base_commit)
            result = replace(
                result,
                changed=tuple(map(_replace_surrogates, tree_changes.paths)),
                machinery=find_infrastructure_changes(tree_changes),
            )
            restore_paths(tree, task.base_commit, variation.without)
            blinded = _blind_tree(task, tree, script) if variation.blind else None
            if blinded is not None:
                script = script.without_tests() or script
            program = _build_test_program(tree, interpreter, script, variation.inverted)
            result = _run_task_tests(result, task, program, limits)
            if blinded is not None:
                answers = read_records(blinded, _read_records_file(tree))
                result = replace(result, answers=tuple(answers))
    return replace(result, seconds=round(time.monotonic() - started, 3))


def _blind_tree(task: Task, tree: Path, script: Script) -> BlindedTests | None:
    """Bring the tests of a task into its tree, blind; None where that cannot be done from outside.
    Nothing of the patch runs yet."""
    if script.without_tests() is None:
        return None
    try:
        bring_tests(task, tree)
        paths = [path for path in script.tests if path.endswith(".py")]
        sources = {path: read_inside(tree, path, _MAX_TEST_FILE).decode("utf-8") for path in paths}
    except (EnvironmentFailure, Unreadable, UnicodeDecodeError):
        return None
    blinded = blind_tests(sources)
    for path, source in blinded.sources.items():
        (tree / path).write_text(source, "utf-8")
    (tree / RECORDS_NAME).touch()
    (tree / RECORDS_NAME).chmod(0o666)
    return blinded


def bring_tests(task: Task, tree: Path) -> None:
    """Apply the patch of the tests to a work tree as the official script does. Raises
    EnvironmentFailure where it does not apply."""
    files = parse_diff(task.test_patch)
    restore_paths(tree, task.base_commit, sorted({p for file in files for p in file.header_paths}))
    patch_path = tree.parent / "tests.diff"
    patch_path.write_text(task.test_patch.removesuffix("\n") + "\n", "utf-8")
    try:
        run_git("apply", str(patch_path), folder=tree)
    finally:
        patch_path.unlink()


def _read_records_file(tree: Path) -> bytes:
    """What blind tests wrote down; nothing where the patched program put something else there."""
    try:
        return read_inside(tree, RECORDS_NAME, _MAX_RECORDS)
    except Unreadable:
        return b""


def _run_task_tests(result: Execution, task: Task, program: Program, limits: Limits) -> Execution:
    """The execution with what the tests of the tree as it is now printed and were graded."""
    with _cpu_slots:
        finished = run_program(program, limits)
    log = finished.output
    if finished.ended_by == "time":  # the line by which the official harness notes it
        log += f"\n\nTimeout error: {limits.seconds:.0f} seconds exceeded."
    spec = build_grading_spec(task)
    return replace(
        result,
        log=log,
        log_sha256=sha256_text(log),
        exit_code=finished.exit_code,
        ended_by=finished.ended_by,
        means=finished.means,
        report=grade_log(spec, log),
        tests=read_log(log, spec["log_parser"], spec).tests,
    )


def _build_test_program(tree: Path, python: Interpreter, script: Script, seed: str) -> Program:
    """The script as a program. Inverted or not, it is the same one: the seed comes by its standard
    input and is read away before the tests begin, so that a patch cannot tell which run it is in.
    """
    files = [f"{_TREE}/{path}" for path in script.tests if path.endswith(".py")]
    invert = shlex.join([sys.executable, "-I", inverted.SCRIPT_PATH])
    command = f'read -r seed; test -z "$seed" || {invert} "$seed" {shlex.join(files)}; unset seed'
    script_path = tree.parent / "eval.sh"
    script_path.write_text(script.before_tests(command).text, "utf-8")
    script_path.chmod(0o644)
    return Program(
        argv=("bash", _SCRIPT),
        binds=(
            *python.binds,
            python.write_activate_shim(tree.parent),
            Bind(source=str(script_path), target=_SCRIPT),
            Bind(source=inverted.__file__, target=inverted.SCRIPT_PATH),
            Bind(source=integrity.__file__, target=inverted.INTEGRITY_PATH),
            Bind(source=blind_recorder.__file__, target=RECORDER_PATH),
            Bind(source=str(tree), target=_TREE, writable=True),
            *_hide_tasks(),
        ),
        cwd=_TREE,
        env=_ENVIRONMENT | (_BARE if python.own else {}),
        stdin=f"{seed}\n",
    )


def _hide_tasks() -> tuple[Bind, ...]:
    """Nothing in place of the bundled tasks, with their tests and true patches, where those are
    installed beside the interpreter that a patch runs with."""
    folder = Path(load_settings().datasets, "swe_bench")
    seen = Path(sys.prefix).resolve() in folder.resolve().parents
    rows = sorted(folder.glob("*.jsonl")) if seen else []
    return tuple(Bind(source="/dev/null", target=str(path)) for path in rows)


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
