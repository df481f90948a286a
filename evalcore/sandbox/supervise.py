"""Start a sandbox, read what it prints, hold it to its limits, and see that nothing is left of it.

The first process inside (number 1 of its own process namespace) is the handle to all: when it ends,
the kernel ends every other process inside, however it detached itself. It ends when the program
does, when we kill it, and when we die.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import IO

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox import bubblewrap, namespaces
from evalcore.sandbox.bind_ownership import chowned_binds
from evalcore.sandbox.exec_stage import STARTED
from evalcore.sandbox.identity import SandboxUser, acquire_sandbox_user
from evalcore.sandbox.launch import InheritedFiles, build_launch_plan
from evalcore.sandbox.layout import build_layout
from evalcore.sandbox.program_types import Ending, Limits, Means, Program, ProgramResult
from evalcore.sandbox.watch import UsageMonitor

_TICK = 0.05
_START_SECONDS = 20.0
_DYING_SECONDS = 10.0
_CHUNK = 1 << 16
_REASON = 2000  # characters of a builder's complaint that are kept
_COMMANDS = {
    "bubblewrap": bubblewrap.build_bwrap_command,
    "namespaces": namespaces.build_namespaces_command,
}


class SandboxBroken(EnvironmentFailure):
    """The sandbox could not be built; `output` is what its builder said."""

    def __init__(self, means: str, output: str) -> None:
        self.output = output
        super().__init__(f"sandbox ({means}) cannot be built: {output or 'no reason given'}")


class _Info(Record, frozen=True, rename={"child": "child-pid"}):
    child: int


def supervise_program(means: Means, program: Program, limits: Limits) -> ProgramResult:
    """Run `program` to its end.

    Raises SandboxBroken, and EnvironmentFailure where the program itself cannot be started.
    """
    try:
        "".join(program.argv).encode()  # the plan, written as JSON, would mend what is no text
        with acquire_sandbox_user() as user, chowned_binds(program.binds, user) as binds:
            return _run_in_sandbox(
                means, msgspec.structs.replace(program, binds=binds), limits, user
            )
    except OSError as problem:
        raise SandboxBroken(means, str(problem)) from problem
    except UnicodeError as problem:  # half a surrogate pair, which no command can hold
        raise EnvironmentFailure(f"sandbox: not a text for a command: {problem}") from problem


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
            child = _spawn_sandbox(words, program.stdin, inherited)
            inherited.close()
            output, ending = _supervise_child(child, info, watch, limits)
            report_text = report.read().decode("utf-8", "replace")
    seconds = time.monotonic() - started
    text = output.decode("utf-8", "replace")
    if not ending:
        _check_start(means, report_text, text)
    code = None if ending else _exit_code(child.returncode)
    return ProgramResult(exit_code=code, output=text, seconds=seconds, means=means, ended_by=ending)


def _spawn_sandbox(
    words: list[str], stdin: str, inherited: InheritedFiles
) -> subprocess.Popen[bytes]:
    entered = inherited.add_data(stdin.encode("utf-8", "replace"))
    return subprocess.Popen(
        words,
        stdin=entered,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env={},
        pass_fds=inherited.descriptors,
        start_new_session=True,
    )


def _check_start(means: Means, report: str, output: str) -> None:
    """Tell a sandbox that was not built, and a program that did not start, from one that ran."""
    if not report.startswith(STARTED):
        raise SandboxBroken(means, f"{report} {output}".strip()[-_REASON:])
    if report != STARTED:
        raise EnvironmentFailure(f"sandbox: the program {report[len(STARTED) :]}")


def _exit_code(status: int) -> int:
    if status < 0:
        raise EnvironmentFailure(f"sandbox: it was ended from outside by signal {-status}")
    return status


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
            raise EnvironmentFailure(f"sandbox: not up after {_START_SECONDS:g} s")
        piece = os.read(info.fileno(), _CHUNK)
        if not piece:
            return 0
        buffer += piece
    return msgspec.json.decode(buffer, type=_Info).child


def _kill_sandbox(child: subprocess.Popen[bytes], handle: int) -> None:
    """Kill what still runs and wait until nothing does; `handle` is of the first process inside.

    Killed from the inside out, so that each is reaped by who started it.
    """
    if handle >= 0:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not _wait_readable(handle, _DYING_SECONDS):
            raise EnvironmentFailure(f"sandbox: it does not die within {_DYING_SECONDS:g} s")
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
