"""Run an untrusted program where it can reach nothing: the public door of the sandbox of programs.

What holds, and by what (`detect_sandbox` measures it on this machine):

- network, the host's loopback, abstract sockets: a network namespace with only its own `lo`;
- the host's files: a root of its own: system and interpreter read-only, `binds`, memory;
- our environment, open files, terminal: an environment, no files and a session of its own;
- the host's processes: a process namespace of its own;
- rights: a user without rights, no way to gain any, a filter on system calls;
- memory, processor, processes, files: the kernel's limits per process; totals by `supervise`;
- output: read up to a limit, then the program is ended;
- what outlives the program, or us: it ends with the first process inside, and that with us.

Not held: what processes may keep in kernel buffers (sockets, pipes), the speed of the machine while
a program runs, and faults of the kernel itself. Of what it writes to a writable folder, files that
it deleted while open, and folders that it closed to our own user, are not counted; there the floor
of free disk space stands. Linux only; elsewhere a run is refused.

Sizes are bytes, times are seconds of wall clock unless a name says otherwise. Paths named `target`
and `cwd` are paths inside the sandbox; `source` is a path of the host.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record

#: The ways to build a sandbox, the preferred one first.
Means = Literal["bubblewrap", "namespaces"]
MEANS: tuple[Means, ...] = ("bubblewrap", "namespaces")

#: Which of our limits ended a program; "" where it ended by itself or by the kernel.
Ending = Literal["", "time", "output", "memory", "processes", "disk"]


class Bind(Record, frozen=True):
    """A folder or file of the host, shown inside at an absolute path. A writable one belongs to one
    run at a time: while it lasts the program owns what is in it."""

    source: str
    target: str
    writable: bool = False


class Program(Record, frozen=True):
    """A command to run. `binds` come on top of the system and of this interpreter. `env` is added
    to the environment of `layout.build_program_environment`, and nothing is taken from ours."""

    argv: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    cwd: str = "/tmp"  # noqa: S108 - a path inside
    env: dict[str, str] = {}
    stdin: str = ""


class Limits(Record, frozen=True):
    """What a program may use. `cpu_seconds` and `file_bytes` (size of a file) apply per process;
    `memory_bytes` limits the address space of each process and the resident total of all, files in
    memory included; `processes` counts threads too; `output_bytes` of output are stored, and more
    ends the program; `disk_bytes` limits the growth of all writable folders together."""

    seconds: float = 60.0
    cpu_seconds: int = 60
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    processes: int = 64
    output_bytes: int = 4 << 20
    disk_bytes: int = 1 << 30


class ProgramResult(Record, frozen=True):
    """How a program ended. `exit_code` is None where we killed it, and 128 + n where signal n ended
    it, as a shell has it (so 152 is the limit of processor time). `output` is standard output and
    error, merged in order, UTF-8 with replacement. `ended_by` names the limit of ours that ended
    it."""

    exit_code: int | None
    output: str
    seconds: float
    means: str
    ended_by: Ending = ""


# Why a sandbox cannot be built here. A builder's complaint ("Operation not permitted") names no
# cause; the kernel's settings do. The first row that fits is the reason.

_KERNEL_SETTINGS = Path("/proc/sys")


class Diagnosis(NamedTuple):
    """A sentence on what is wrong and one on what helps."""

    problem: str
    fix: str


class _DiagnosisRow(NamedTuple):
    """Fits where the complaint holds one of `phrases` and the kernel's setting, if named, is so."""

    phrases: tuple[str, ...]
    setting: str
    value: str
    problem: str
    fix: str


_DENIED = ("not permitted", "Permission denied", "EPERM", "No permissions", "ENOSPC", "No space")
_DIAGNOSES = (
    _DiagnosisRow(
        *(("mount proc",), "", ""), Note("sandbox_proc_problem"), Note("sandbox_proc_fix")
    ),
    _DiagnosisRow(
        *(_DENIED, "user/max_user_namespaces", "0"),
        Note("sandbox_max_user_problem"),
        Note("sandbox_max_user_fix"),
    ),
    _DiagnosisRow(
        *(_DENIED, "kernel/unprivileged_userns_clone", "0"),
        Note("sandbox_clone_problem"),
        Note("sandbox_clone_fix"),
    ),
    _DiagnosisRow(
        *(_DENIED, "kernel/apparmor_restrict_unprivileged_userns", "1"),
        Note("sandbox_apparmor_problem"),
        Note("sandbox_apparmor_fix"),
    ),
    _DiagnosisRow(
        *(("ENOSPC", "No space"), "", ""),
        Note("sandbox_nested_problem"),
        Note("sandbox_nested_fix"),
    ),
    _DiagnosisRow(
        *(("mount_setattr", "pivot_root", "not implemented"), "", ""),
        Note("sandbox_kernel_problem"),
        Note("sandbox_kernel_fix"),
    ),
    _DiagnosisRow(
        *(_DENIED, "", ""), Note("sandbox_forbidden_problem"), Note("sandbox_forbidden_fix")
    ),
)


def diagnose_failure(complaint: str) -> Diagnosis:
    """The reason for a builder's `complaint`, which is quoted where no row fits."""
    for row in _DIAGNOSES:
        setting = _KERNEL_SETTINGS / row.setting
        is_set = not row.setting or (setting.is_file() and setting.read_text().strip() == row.value)
        if is_set and any(words in complaint for words in row.phrases):
            return Diagnosis(row.problem, row.fix)
    quoted = complaint.strip() or "no reason was given"
    return Diagnosis(Note("sandbox_other_problem", message=quoted), Note("sandbox_other_fix"))


_PROBE_LIMITS = Limits(seconds=60.0, output_bytes=1 << 16)
#: What may be missing: the filter knows two kinds of processor, and where the kernel does not count
#: processes the parent does.
_SECOND_LINES = frozenset(("system_calls", "process_count"))
_READABLE = Note("sandbox_read_fix", command=f"chmod -R o+rX {sys.prefix} {sys.base_prefix}")


class SandboxSupport(Record, frozen=True):
    """`means` is "" where programs cannot be run; then `problem` and `fix` are a sentence each.
    `enforced` names what was seen to hold from inside (the names are those of
    `probe.probe_protections`)."""

    means: Means | Literal[""] = ""
    problem: str = ""
    fix: str = ""
    enforced: tuple[str, ...] = ()

    @property
    def explanation(self) -> Note:
        """The problem and its remedy, as two sentences."""
        return Note("sandbox_absent", problem=self.problem, fix=self.fix)


@cache
def detect_sandbox() -> SandboxSupport:
    """What this machine can do; found out once per process, by running a probe inside."""
    if sys.platform != "linux":
        return SandboxSupport(problem=Note("sandbox_linux_problem"), fix=Note("sandbox_linux_fix"))
    support = SandboxSupport()
    for means in MEANS:  # the last word is our own builder's, which is always there
        support = detect_means(means)
        if support.means:
            break
    return support


def detect_means(means: Means) -> SandboxSupport:
    """What this machine can do by `means`. Not remembered; takes about half a second."""
    from evalcore.sandbox.supervise import SandboxBroken  # needs a POSIX system

    try:
        finished = _run_probe(means)
    except SandboxBroken as broken:
        problem, fix = diagnose_failure(broken.output)
        return SandboxSupport(problem=problem, fix=fix)
    except EnvironmentFailure as failure:
        problem = Note("sandbox_failure_problem", message=failure)
        return SandboxSupport(problem=problem, fix=_READABLE)
    if finished.exit_code != 0:
        return _not_ready(finished)
    seen = finished.output.strip().splitlines()[-1]
    return _evaluate_probe(means, msgspec.json.decode(seen, type=dict[str, bool]))


def _run_probe(means: Means) -> ProgramResult:
    from evalcore.sandbox import probe
    from evalcore.sandbox.supervise import supervise_program

    source = Path(probe.__file__).read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile() as hidden, socket.create_server(("127.0.0.1", 0)) as host:
        words = ("python", "-c", source, hidden.name, str(host.getsockname()[1]))
        return supervise_program(means, Program(argv=words), _PROBE_LIMITS)


def _evaluate_probe(means: Means, seen: dict[str, bool]) -> SandboxSupport:
    failures = [name for name, holds in seen.items() if not holds and name not in _SECOND_LINES]
    if failures:
        problem = Note("sandbox_open_problem", means=means, names=", ".join(failures))
        return SandboxSupport(problem=problem, fix=Note("sandbox_open_fix"))
    return SandboxSupport(means, enforced=tuple(name for name, holds in seen.items() if holds))


def _not_ready(finished: ProgramResult) -> SandboxSupport:
    last = (finished.output.strip().splitlines() or [finished.ended_by or "no output"])[-1]
    return SandboxSupport(
        problem=Note("sandbox_python_problem", message=last[:300]),
        fix=Note("sandbox_python_fix", place=sys.prefix, fix=_READABLE),
    )


_DEFAULT_LIMITS = Limits()


def run_program(
    program: Program, limits: Limits = _DEFAULT_LIMITS, *, means: Means | None = None
) -> ProgramResult:
    """Run `program` to its end, by the best means of this machine or by `means`. Synchronous, and
    safe from several threads. Raises EnvironmentFailure where no sandbox can be had, or the program
    cannot be started at all."""
    if means is None:
        support = detect_sandbox()
        if not support.means:
            raise EnvironmentFailure(support.explanation)
        means = support.means
    from evalcore.sandbox.supervise import supervise_program  # needs a POSIX system

    return supervise_program(means, program, limits)
