"""Running programs in the sandbox from tests: by each means, as root and as an ordinary user.

Where the tests run as root, the ordinary user is number 65534, in a driver process of its own. What
of this interpreter lies in folders that only root may enter is made reachable for that process by a
mount namespace, in which such a folder is covered by an open one; nothing of the machine changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalcore.records import to_json
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import MEANS, Bind, Limits, Means, Program, ProgramResult
from tests.support.sandbox_driver import Answer, Request, read_answers

PROJECT = Path(__file__).resolve().parents[2]
NOBODY = 65534
CANARY = "EVALBOARD_CANARY"
WHO = ("root", "ordinary")
EVERY_WAY = [(means, who) for means in MEANS for who in WHO]

#: Small, so that a bomb does not shake the machine.
SMALL = Limits(
    seconds=20.0,
    cpu_seconds=10,
    memory_bytes=192 << 20,
    file_bytes=1 << 20,
    processes=24,
    output_bytes=1 << 16,
    disk_bytes=4 << 20,
)


class Driver:
    """A process that runs programs for us as `who`."""

    def __init__(self, who: str) -> None:
        self.who = who
        self._problems: dict[Means, str] = {}
        self._secret = os.open(__file__, os.O_RDONLY)  # an open file that a child would inherit
        os.set_inheritable(self._secret, True)
        self.process = subprocess.Popen(
            [*command_as(who), sys.executable, "-m", "tests.support.sandbox_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
            env={**os.environ, CANARY: "seen"},
            close_fds=False,
        )

    def ask(self, request: Request) -> list[Answer]:
        """All answers to a request."""
        self.send(request)
        assert self.process.stdout is not None
        return read_answers(self.process.stdout.readline())

    def problem_with(self, means: Means) -> str:
        """Why there is no such sandbox here, "" where there is; asked once."""
        if means not in self._problems:
            (answer,) = self.ask(Request(means, Program(argv=("true",))))
            self._problems[means] = answer.failure
        return self._problems[means]

    def send(self, request: Request) -> None:
        """Begin a run without waiting for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(to_json(request).decode() + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
        os.close(self._secret)


@contextmanager
def drivers_for_tests() -> Iterator[dict[str, Driver]]:
    """Where `way` keeps its drivers; they are ended with the block."""
    started: dict[str, Driver] = {}
    try:
        yield started
    finally:
        for driver in started.values():
            driver.close()


class Way:
    """One means as one kind of user."""

    def __init__(self, means: Means, who: str, driver: Driver) -> None:
        self.means, self.who, self.driver = means, who, driver

    def python(self, code: str, limits: Limits = SMALL, **program: object) -> ProgramResult:
        """Run Python code; the test fails where it cannot be run."""
        return self.run(("python", "-S", "-c", textwrap.dedent(code)), limits, **program)

    def run(
        self, argv: tuple[str, ...], limits: Limits = SMALL, **program: object
    ) -> ProgramResult:
        """Run a command; the test fails where it cannot be run."""
        request = Request(self.means, Program(argv=argv, **program), limits)  # type: ignore[arg-type]
        (answer,) = self.driver.ask(request)
        assert answer.finished is not None, answer.failure
        return answer.finished

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder of that user."""
        path = Path(tempfile.mkdtemp(prefix="sandbox-test-", dir="/tmp"))
        if self.who == "ordinary" and os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        try:
            yield path
        finally:
            remove_tree(path)


def way(means: Means, who: str, drivers: dict[str, Driver]) -> Way:
    """Skips where this machine, or this user, has no such way."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("the tests do not run as root")
    if who not in drivers:
        drivers[who] = Driver(who)
    problem = drivers[who].problem_with(means)
    if problem:
        pytest.skip(f"no {means} as {who}: {problem}")
    return Way(means, who, drivers[who])


def shown(path: Path, at: str, *, writable: bool = True) -> tuple[Bind, ...]:
    """`path` bound at `at`."""
    return (Bind(source=str(path), target=at, writable=writable),)


def gone(token: str, seconds: float = 180.0) -> bool:
    """Whether no process of this machine has `token` in its command line, within a while."""
    deadline = time.monotonic() + seconds
    while processes_with(token):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def processes_with(token: str) -> list[int]:
    """Processes of this machine whose command line holds `token`, but for this one."""
    result = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if token.encode() in (entry / "cmdline").read_bytes():
                result.append(int(entry.name))
        except OSError:
            continue
    return result


def command_as(who: str) -> list[str]:
    """The words before a command that make it run as `who`."""
    if who == "root" or os.geteuid() != 0:
        return []
    become = f'exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$@"'
    lines = ["set -e", *_open_up([Path(sys.prefix), Path(sys.base_prefix), PROJECT]), become]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines), "sh"]


def _open_up(expected: list[Path]) -> list[str]:
    """Shell lines that make `wanted` reachable where a folder above is closed to others."""
    closed: dict[Path, list[Path]] = {}
    for path in expected:
        above = next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)
        if above is not None:
            closed.setdefault(above, []).append(path)
    lines = ["hold=/mnt", "mount -t tmpfs tmpfs $hold"] if closed else []  # nothing is left of it
    for number, (above, paths) in enumerate(closed.items()):
        for inner, path in enumerate(paths):
            text = f"$hold/{number}-{inner}"
            lines += [f"mkdir {text}", f"mount --rbind {path} {text}"]
        lines.append(f"mount -t tmpfs -o mode=0755 tmpfs {above}")
        for inner, path in enumerate(paths):
            lines += [f"mkdir -p {path}", f"mount --rbind $hold/{number}-{inner} {path}"]
    return lines
