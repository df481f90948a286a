"""SWE-bench: a patch for a real issue, applied and tested. Here is its task, as all parts see
it.
"""

from __future__ import annotations

from typing import Literal

from evalcore.records import Record

EvalType = Literal["pass_and_fail", "fail_only"]


class Task(Record, frozen=True):
    """A row of the data set in either form; fields of the 5.x form are "" where a row is older.
    `repository` is a git bundle or a checkout that holds `base_commit`, or "" where none is at
    hand. `text` is the whole prompt of the data sets that come with one."""

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    version: str = ""
    difficulty: str = ""
    eval_script: str = ""
    log_parser: str = ""
    eval_type: EvalType = "pass_and_fail"
    image: str = ""
    text: str = ""
    repository: str = ""
