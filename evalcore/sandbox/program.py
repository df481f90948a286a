"""Run an untrusted program where it can reach nothing: the public door of the sandbox of programs.

What holds, and by what (`detect_sandbox` measures it on this machine):

| danger | held by |
|---|---|
| network, the host's loopback, abstract sockets | a network namespace with only its own `lo` |
| the host's files | a root of its own: system and interpreter read-only, `binds`, memory |
| our environment, open files, terminal | an environment, no files and a session of its own |
| the host's processes | a process namespace of its own |
| rights | a user without rights, no way to gain any, a filter on system calls |
| memory, processor, processes, files | the kernel's limits per process; totals by `watch` |
| output | read up to a limit, then the program is ended |
| what outlives the program, or us | it ends with the first process inside, and that with us |

Not held: what processes may keep in kernel buffers (sockets, pipes), the speed of the machine while
a program runs, and faults of the kernel itself. Of what it writes to a writable folder, files
that it deleted while open, and folders that it closed to our own user, are not counted; there the
floor of free disk space stands (`watch`). Linux only; elsewhere a run is refused.
"""

from __future__ import annotations

from evalcore.errors import EnvironmentFailure
from evalcore.sandbox.detect import detect_sandbox
from evalcore.sandbox.program_types import (
    MEANS,
    Bind,
    Ending,
    Limits,
    Means,
    Program,
    ProgramResult,
)

__all__ = ["MEANS", "Bind", "Ending", "Limits", "Means", "Program", "ProgramResult", "run_program"]

_DEFAULT_LIMITS = Limits()


def run_program(
    program: Program, limits: Limits = _DEFAULT_LIMITS, *, means: Means | None = None
) -> ProgramResult:
    """Run `program` to its end, by the best means of this machine or by `means`.

    Synchronous, and safe from several threads. Raises EnvironmentFailure where no sandbox can be
    had, or the program cannot be started at all.
    """
    if means is None:
        support = detect_sandbox()
        if not support.means:
            raise EnvironmentFailure(f"{support.problem} {support.fix}")
        means = support.means
    from evalcore.sandbox.supervise import supervise_program  # needs a POSIX system

    return supervise_program(means, program, limits)
