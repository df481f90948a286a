"""What is asked of the sandbox of programs, and what it answers.

Sizes are bytes, times are seconds of wall clock unless a name says otherwise. Paths named `target`
and `cwd` are paths inside the sandbox; `source` is a path of the host.
"""

from __future__ import annotations

from typing import Literal

from evalcore.records import Record

#: The ways to build a sandbox, the preferred one first.
Means = Literal["bubblewrap", "namespaces"]
MEANS: tuple[Means, ...] = ("bubblewrap", "namespaces")

#: Which of our limits ended a program; "" where it ended by itself or by the kernel.
Ending = Literal["", "time", "output", "memory", "processes", "disk"]


class Bind(Record, frozen=True):
    """A folder or file of the host, shown inside at an absolute path.

    A writable one belongs to one run at a time: while it lasts the program owns what is in it.
    """

    source: str
    target: str
    writable: bool = False


class Program(Record, frozen=True):
    """A command to run. `binds` come on top of the system and of this interpreter.

    `env` is added to the environment of `layout.build_program_environment`, and nothing is taken
    from ours.
    """

    argv: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    cwd: str = "/tmp"  # noqa: S108 - a path inside
    env: dict[str, str] = {}
    stdin: str = ""


class Limits(Record, frozen=True):
    """What a program may use.

    `cpu_seconds` and `file_bytes` (size of a file) hold for each process; `memory_bytes` is the
    address space of each process and also the resident total of all, files in memory included;
    `processes` counts threads too; `output_bytes` are kept and the program is ended beyond;
    `disk_bytes` is the growth of all writable folders together.
    """

    seconds: float = 60.0
    cpu_seconds: int = 60
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    processes: int = 64
    output_bytes: int = 4 << 20
    disk_bytes: int = 1 << 30


class ProgramResult(Record, frozen=True):
    """How a program ended.

    `exit_code` is None where we killed it, and 128 + n where signal n ended it, as a shell has it
    (so 152 is the limit of processor time). `output` is standard output and error, merged in order,
    UTF-8 with replacement. `ended_by` names the limit of ours that ended it.
    """

    exit_code: int | None
    output: str
    seconds: float
    means: str
    ended_by: Ending = ""
