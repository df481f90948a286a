"""Start a sandbox, read what it prints, hold it to its limits by the kernel's process table,
and see that nothing is left of it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.sandbox import launch
from evalcore.sandbox.exec_stage import STARTED
from evalcore.sandbox.filesystem import (
    IN_MEMORY,
    SandboxUser,
    acquire_sandbox_user,
    build_layout,
    chowned_binds,
    measure_usage,
)
from evalcore.sandbox.launch import InheritedFiles, build_launch_plan
from evalcore.sandbox.program import Bind, Ending, Limits, Means, Program, ProgramResult

# What a running sandbox uses, seen from outside by the kernel's process table. The kernel's own
# limits hold for one process; totals (memory of all, files in memory, writable folders) are held by
# looking here several times a second. Everything inside descends from the first process inside,
# whatever it did to detach itself, so following children finds all of it.

_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Processes of the sandbox itself that may be counted as the program's.
_OURS = 1
#: What an empty file in memory costs the kernel, about.
_INODE = 1024
_DISK_SECONDS = 0.5
#: Looking at a folder takes at most this part of the time.
_DISK_SHARE = 0.05
_NEW_ENTRIES = 100_000
#: Where a file system has less than this left and is losing more, a program that writes is ended.
_FLOOR = 256 << 20


class UsageMonitor:
    """Compares what is used with `limits`; made before the program starts."""

    def __init__(self, binds: Iterable[Bind], limits: Limits) -> None:
        self._limits = limits
        self._folders = [Path(bind.source) for bind in binds if bind.writable]
        self._before = self._measure_disk(_NEW_ENTRIES * 10)
        self._free_before = self._measure_free_disk()
        self._next_disk = time.monotonic() + _DISK_SECONDS

    def find_exceeded_limit(self, first: int) -> Ending:
        """Return the limit that is exceeded now, or ""; `first` is the first process inside."""
        inside = list_descendants(first)
        if sum(map(_count_threads, inside)) > self._limits.processes + _OURS:
            return "processes"
        if self._measure_memory(first, inside) > self._limits.memory_bytes:
            return "memory"
        return "disk" if self._folders and self._exceeds_disk_limit() else ""

    def _measure_memory(self, first: int, inside: list[int]) -> int:
        """Resident bytes of all. Shared pages are told apart where it matters: that is slow."""
        files = _measure_memory_files(first, self._limits.memory_bytes // 2)
        total = files + sum(map(_read_resident_bytes, inside))
        if total <= self._limits.memory_bytes:
            return total
        return files + sum(map(_read_proportional_bytes, inside))

    def _exceeds_disk_limit(self) -> bool:
        started = time.monotonic()
        if started < self._next_disk:
            return False
        size, count = self._measure_disk(self._before[1] + _NEW_ENTRIES)
        free = self._measure_free_disk()
        now = time.monotonic()
        self._next_disk = now + max(_DISK_SECONDS, (now - started) / _DISK_SHARE)
        return (
            size - self._before[0] > self._limits.disk_bytes
            or count - self._before[1] > _NEW_ENTRIES
            or free < min(_FLOOR, self._free_before)
        )

    def _measure_disk(self, max_entries: int) -> tuple[int, int]:
        usages = [measure_usage(folder, max_entries) for folder in self._folders]
        return sum(size for size, _ in usages), sum(count for _, count in usages)

    def _measure_free_disk(self) -> int:
        stats = [os.statvfs(folder) for folder in self._folders]
        return min((facts.f_bavail * facts.f_frsize for facts in stats), default=0)


def list_descendants(first: int) -> list[int]:
    """Every process below `first`, without itself."""
    processes: list[int] = []
    waiting = [first]
    while waiting:
        children = _list_children(waiting.pop())
        processes += children
        waiting += children
    return processes


def _list_children(process: int) -> list[int]:
    """Children of all threads of a process, none where it is gone."""
    try:
        threads = os.listdir(f"/proc/{process}/task")  # noqa: PTH208 - names alone, and often
    except OSError:
        return []
    texts = (_read_proc_file(f"/proc/{process}/task/{thread}/children") for thread in threads)
    return [int(number) for text in texts for number in text.split()]


def _count_threads(process: int) -> int:
    """The 20th field of `stat`; the second may hold spaces and brackets, so count from its end."""
    fields = _read_proc_file(f"/proc/{process}/stat").rpartition(")")[2].split()
    return int(fields[17]) if len(fields) > 17 else 0


def _read_resident_bytes(process: int) -> int:
    fields = _read_proc_file(f"/proc/{process}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _read_proportional_bytes(process: int) -> int:
    """Resident bytes with a shared page divided among those who share it."""
    for line in _read_proc_file(f"/proc/{process}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return _read_resident_bytes(process)


def _measure_memory_files(first: int, size: int) -> int:
    """Bytes of the folders in memory, seen through the first process: none can alter its mounts.
    While the sandbox is put together these paths lead elsewhere; the folders are known by
    `size`."""
    total = 0
    for path in IN_MEMORY:
        try:
            facts = os.statvfs(f"/proc/{first}/root{path}")
        except OSError:
            continue
        if abs(facts.f_blocks * facts.f_frsize - size) <= _PAGE:
            total += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            total += (facts.f_files - facts.f_ffree) * _INODE
    return total


def _read_proc_file(path: str) -> str:
    """The text of a file of /proc, "" where its process is gone."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# The first process inside (number 1 of its own process namespace) is the handle to all: when it
# ends, the kernel ends every other process inside, however it detached itself. It ends when the
# program does, when we kill it, and when we die.

_TICK = 0.05
_START_SECONDS = 20.0
_DYING_SECONDS = 10.0
_CHUNK = 1 << 16
_REASON = 2000  # characters of a builder's complaint that are kept
_COMMANDS = {
    "bubblewrap": launch.build_bwrap_command,
    "namespaces": launch.build_namespaces_command,
}


class SandboxBroken(EnvironmentFailure):
    """The sandbox could not be built; `output` is what its builder said."""

    def __init__(self, means: str, output: str) -> None:
        self.output = output
        super().__init__(Note("sandbox_broken", means=means, message=output or "no reason given"))


def supervise_program(means: Means, program: Program, limits: Limits) -> ProgramResult:
    """Run `program` to its end. Raises SandboxBroken, and EnvironmentFailure where the program
    itself cannot be started."""
    try:
        "".join(program.argv).encode()  # the plan, written as JSON, would mend what is no text
        with acquire_sandbox_user() as user, chowned_binds(program.binds, user) as binds:
            return _run_in_sandbox(
                means, msgspec.structs.replace(program, binds=binds), limits, user
            )
    except OSError as problem:
        raise SandboxBroken(means, str(problem)) from problem
    except UnicodeError as problem:  # half a surrogate pair, which no command can hold
        raise EnvironmentFailure(Note("sandbox_text", message=problem)) from problem


def _run_in_sandbox(
    means: Means, program: Program, limits: Limits, user: SandboxUser
) -> ProgramResult:
    watch = UsageMonitor(program.binds, limits)
    started = time.monotonic()
    with closing(InheritedFiles()) as inherited:
        info, info_fd = inherited.add_pipe()
        report, report_fd = inherited.add_pipe()
        with info, report:
            tree = build_layout(program, user.uid, user.gid)
            steps = build_launch_plan(program, limits, user)
            words = _COMMANDS[means](
                tree, steps, limits.memory_bytes, inherited, info_fd, report_fd
            )
            child = subprocess.Popen(
                words,
                stdin=inherited.add_data(program.stdin.encode("utf-8", "replace")),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={},
                pass_fds=inherited.descriptors,
                start_new_session=True,
            )
            inherited.close()
            output, ending = _supervise_child(child, info, watch, limits)
            report_text = report.read().decode("utf-8", "replace")
    seconds = time.monotonic() - started
    text = output.decode("utf-8", "replace")
    if not ending:
        _check_end(means, report_text, text, child.returncode)
    code = None if ending else child.returncode
    return ProgramResult(exit_code=code, output=text, seconds=seconds, means=means, ended_by=ending)


def _check_end(means: Means, report: str, output: str, status: int) -> None:
    """Tell a sandbox that was not built, a program that did not start, and one that was ended by
    neither itself nor us, from one that ran."""
    if not report.startswith(STARTED):
        raise SandboxBroken(means, f"{report} {output}".strip()[-_REASON:])
    if report != STARTED:
        raise EnvironmentFailure(Note("sandbox_program", message=report[len(STARTED) :]))
    if status < 0:
        raise EnvironmentFailure(Note("sandbox_signal", number=-status))


def _supervise_child(
    child: subprocess.Popen[bytes], info: IO[bytes], watch: UsageMonitor, limits: Limits
) -> tuple[bytes, Ending]:
    """All the time between start and end of a sandbox; whatever happens, nothing of it is left."""
    deadline = time.monotonic() + limits.seconds
    first = handle = -1
    try:
        first = _read_first_pid(info)
        with suppress(ProcessLookupError):  # it has ended already
            handle = os.pidfd_open(first) if first else -1
        return _read_output(
            child, lambda: watch.find_exceeded_limit(first), deadline, limits.output_bytes
        )
    finally:
        _kill_sandbox(child, handle)


def _read_output(
    child: subprocess.Popen[bytes], find_exceeded: Callable[[], Ending], deadline: float, limit: int
) -> tuple[bytes, Ending]:
    """Read until the end of the output and of the sandbox, or until a limit is broken."""
    buffer = bytearray()
    output: IO[bytes] | None = child.stdout
    next_look = 0.0
    while output is not None or child.poll() is None:
        now = time.monotonic()
        if now >= deadline:
            return bytes(buffer), "time"
        if now >= next_look:
            if ending := find_exceeded():
                return bytes(buffer), ending
            next_look = time.monotonic() + _TICK
        wait = max(0.0, min(deadline, next_look) - time.monotonic())
        if output is None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(wait)
        elif _wait_readable(output.fileno(), wait):
            piece = os.read(output.fileno(), _CHUNK)
            buffer += piece
            output = output if piece else None
            if len(buffer) > limit:
                return bytes(buffer[:limit]), "output"
    return bytes(buffer), ""


def _read_first_pid(info: IO[bytes]) -> int:
    """The number of the first process inside, as we see it; 0 where the builder gave up."""
    buffer = b""
    deadline = time.monotonic() + _START_SECONDS
    while not buffer.rstrip().endswith(b"}"):
        if not _wait_readable(info.fileno(), deadline - time.monotonic()):
            raise EnvironmentFailure(Note("sandbox_not_up", seconds=f"{_START_SECONDS:g}"))
        piece = os.read(info.fileno(), _CHUNK)
        if not piece:
            return 0
        buffer += piece
    return int(json.loads(buffer)["child-pid"])


def _kill_sandbox(child: subprocess.Popen[bytes], handle: int) -> None:
    """Kill what still runs and wait until nothing does; `handle` is of the first process inside.
    Killed from the inside out, so that each is reaped by who started it."""
    if handle >= 0:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not _wait_readable(handle, _DYING_SECONDS):
            raise EnvironmentFailure(Note("sandbox_not_down", seconds=f"{_DYING_SECONDS:g}"))
    else:
        child.kill()
    try:
        child.wait(_DYING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if handle >= 0:
        with suppress(ChildProcessError):  # ours to reap only where we are a container's init
            os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOHANG)
        os.close(handle)
    if child.stdout is not None:
        child.stdout.close()


def _wait_readable(number: int, seconds: float) -> bool:
    """Whether there is something to read, or an end to see, within `seconds`."""
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))
