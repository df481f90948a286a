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
from evalcore.sandbox.reasons import reason
from evalcore.sandbox.terms import MEANS, Finished, Limits, Means, Program

_LIMITS = Limits(seconds=60.0, output_bytes=1 << 16)
#: What may be missing: the filter knows two kinds of processor, and where the kernel does not count
#: processes the parent does.
_SECOND_LINES = frozenset(("system_calls", "process_count"))
_LINUX_ONLY = "Programs can be run in a sandbox on Linux only."


class Ability(Record, frozen=True):
    """`means` is "" where programs cannot be run; then `problem` and `fix` are a sentence each.

    `enforced` names what was seen to hold from inside (the names are those of `probe.seen`).
    """

    means: Means | Literal[""] = ""
    problem: str = ""
    fix: str = ""
    enforced: tuple[str, ...] = ()


@cache
def ability() -> Ability:
    """What this machine can do; found out once per process, by running a probe inside."""
    if sys.platform != "linux":
        return Ability(problem=_LINUX_ONLY, fix="Use Linux, a virtual machine or a container.")
    found = Ability()
    for means in MEANS:
        tried = ability_of(means)
        if tried.means:
            return tried
        found = tried  # the last word is our own builder's, which is always there
    return found


def ability_of(means: Means) -> Ability:
    """What this machine can do by `means`. Not remembered; takes about half a second."""
    from evalcore.sandbox.supervise import SandboxBroken  # needs a POSIX system

    try:
        finished = _probe(means)
    except SandboxBroken as broken:
        problem, fix = reason(broken.output)
        return Ability(problem=problem, fix=fix)
    except EnvironmentFailure as failure:
        return Ability(problem=f"{failure}.", fix=_readable())
    if finished.exit_code != 0:
        return _not_ready(finished)
    seen = finished.output.strip().splitlines()[-1]
    return _judge(means, msgspec.json.decode(seen, type=dict[str, bool]))


def _probe(means: Means) -> Finished:
    from evalcore.sandbox import probe
    from evalcore.sandbox.supervise import supervise

    source = Path(probe.__file__).read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile() as hidden, socket.create_server(("127.0.0.1", 0)) as host:
        words = ("python", "-c", source, hidden.name, str(host.getsockname()[1]))
        return supervise(means, Program(argv=words), _LIMITS)


def _judge(means: Means, seen: dict[str, bool]) -> Ability:
    open_doors = [name for name, holds in seen.items() if not holds and name not in _SECOND_LINES]
    if open_doors:
        problem = f"In a sandbox by {means} this was seen not to hold: {', '.join(open_doors)}."
        return Ability(problem=problem, fix="Use another machine or container.")
    return Ability(means=means, enforced=tuple(name for name, holds in seen.items() if holds))


def _not_ready(finished: Finished) -> Ability:
    last = (finished.output.strip().splitlines() or [finished.ended_by or "no output"])[-1]
    return Ability(
        problem=f"Python does not work inside the sandbox: {last[:300]}.",
        fix=f"Install pytest into {sys.prefix}. {_readable()}",
    )


def _readable() -> str:
    return (
        f"See that other users may read the interpreter: `chmod -R o+rX {sys.prefix} "
        f"{sys.base_prefix}`."
    )
