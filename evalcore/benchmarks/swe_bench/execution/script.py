"""The script that runs a task's tests: the data set's own, or one of the same form made for it.

Rows of version 5 bring their `eval_script`; older ones bring only the patch of the tests. Either
way the script ends up as the official harness runs it, with the exit status of the tests printed
behind the end marker, so that the same grading reads both logs.
"""

from __future__ import annotations

import re
import shlex
from typing import Literal

from evalcore.benchmarks.swe_bench.diff import FileDiff, parse_diff
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record

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
