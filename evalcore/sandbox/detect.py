"""Whether untrusted programs can be run on this machine, by what means, and if not, why."""

from __future__ import annotations

import socket
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.diagnostics import diagnose_failure
from evalcore.sandbox.program_types import MEANS, Limits, Means, Program, ProgramResult

_PROBE_LIMITS = Limits(seconds=60.0, output_bytes=1 << 16)
#: What may be missing: the filter knows two kinds of processor, and where the kernel does not count
#: processes the parent does.
_SECOND_LINES = frozenset(("system_calls", "process_count"))
_LINUX_ONLY = "Programs can be run in a sandbox on Linux only."


class SandboxSupport(Record, frozen=True):
    """`means` is "" where programs cannot be run; then `problem` and `fix` are a sentence each.

    `enforced` names what was seen to hold from inside (the names are those of
    `probe.probe_protections`).
    """

    means: Means | Literal[""] = ""
    problem: str = ""
    fix: str = ""
    enforced: tuple[str, ...] = ()


@cache
def detect_sandbox() -> SandboxSupport:
    """What this machine can do; found out once per process, by running a probe inside."""
    if sys.platform != "linux":
        return SandboxSupport(
            problem=_LINUX_ONLY, fix="Use Linux, a virtual machine or a container."
        )
    support = SandboxSupport()
    for means in MEANS:
        candidate = detect_means(means)
        if candidate.means:
            return candidate
        support = candidate  # the last word is our own builder's, which is always there
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
        return SandboxSupport(problem=f"{failure}.", fix=_suggest_permissions())
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
        problem = f"In a sandbox by {means} this was seen not to hold: {', '.join(failures)}."
        return SandboxSupport(problem=problem, fix="Use another machine or container.")
    return SandboxSupport(
        means=means, enforced=tuple(name for name, holds in seen.items() if holds)
    )


def _not_ready(finished: ProgramResult) -> SandboxSupport:
    last = (finished.output.strip().splitlines() or [finished.ended_by or "no output"])[-1]
    return SandboxSupport(
        problem=f"Python does not work inside the sandbox: {last[:300]}.",
        fix=f"Install pytest into {sys.prefix}. {_suggest_permissions()}",
    )


def _suggest_permissions() -> str:
    return (
        f"See that other users may read the interpreter: `chmod -R o+rX {sys.prefix} "
        f"{sys.base_prefix}`."
    )
