"""A sandbox ready to be started: its command line and the open files that it inherits.

What must get inside travels in anonymous sealed files instead of arguments, so that there is no
limit on its length and nothing to clean up.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import ExitStack
from typing import IO

from evalcore.records import Record
from evalcore.sandbox.identity import SandboxUser
from evalcore.sandbox.layout import build_program_environment
from evalcore.sandbox.program_types import Limits, Program

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_FILES_OPEN = 512
#: Processes of the sandbox itself that may count as the program's.
_OURS = 1


class LaunchPlan(Record, frozen=True, omit_defaults=False):
    """What `exec_stage` is told; `limits` maps names of RLIMIT_ to values."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    uid: int
    gid: int
    own_user: bool
    limits: dict[str, int]


def build_launch_plan(program: Program, limits: Limits, user: SandboxUser) -> LaunchPlan:
    """The last step of `program`."""
    return LaunchPlan(
        argv=program.argv,
        env=build_program_environment(program),
        cwd=program.cwd,
        uid=user.uid,
        gid=user.gid,
        own_user=user.own_user,
        limits=_build_resource_limits(limits, user),
    )


class InheritedFiles:
    """The open files that a child inherits; `close` them when it has started."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.descriptors: list[int] = []

    def add_data(self, content: bytes) -> int:
        """An anonymous file with `content`, at its beginning, that nobody can change."""
        number = os.memfd_create("handed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._register_descriptor(number)
        view = memoryview(content)
        while view:
            view = view[os.write(number, view) :]
        os.lseek(number, 0, os.SEEK_SET)
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, _SEALS)
        return number

    def add_pipe(self) -> tuple[IO[bytes], int]:
        """Our end to read from (ours to close) and the child's end to write to."""
        ours, theirs = os.pipe()
        self._register_descriptor(theirs)
        return os.fdopen(ours, "rb"), theirs

    def close(self) -> None:
        """Close the child's files on our side; safe to call twice."""
        self._open.close()

    def _register_descriptor(self, number: int) -> None:
        self.descriptors.append(number)
        self._open.callback(os.close, number)


def _build_resource_limits(limits: Limits, user: SandboxUser) -> dict[str, int]:
    values = {
        "AS": limits.memory_bytes,
        "CPU": limits.cpu_seconds,
        "FSIZE": limits.file_bytes,
        "NOFILE": _FILES_OPEN,
        "CORE": 0,
    }
    if user.own_user or _counts_per_namespace(os.uname().release):
        values["NPROC"] = limits.processes + _OURS
    return values


def _counts_per_namespace(release: str) -> bool:
    """Whether this kernel counts the processes of a user in each user namespace by itself (5.14).

    Before that it would count whatever else our user runs, and a program could start nothing.
    """
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return numbers is not None and tuple(map(int, numbers.groups())) >= (5, 14)
