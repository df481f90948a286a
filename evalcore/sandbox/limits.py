"""Limits that the kernel holds a process to, set by the process itself and never lifted again.

| limit | effect |
|---|---|
| NOFILE | no file, socket or pipe can be opened any more; those that are open stay so |
| FSIZE 0 | no file can grow, whoever opened it |
| NPROC 0 | no process or thread can be started (does not bind root, and is then not named) |
| AS | address space: what is used now plus `memory_bytes` |
| CORE 0 | a crash leaves no memory image |
| CPU | seconds of processor time, renewed per request by `renew_cpu` |

A platform that lacks a limit (all of them on Windows, AS on macOS) is not an error: its name is
then missing from what `apply_limits` returns, and only the parent's clock stands.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

_STATM = Path("/proc/self/statm")


def apply_limits(memory_bytes: int) -> tuple[str, ...]:
    """Limit this process for good; call it when all files and modules it needs are loaded.

    Returns the names of the limits that now hold, from the table of this module.
    """
    if sys.platform == "win32":
        return ()
    limits = {
        "AS": _address_space() + memory_bytes,
        "FSIZE": 0,
        "CORE": 0,
        "NPROC": 0,
        "NOFILE": _lowest_free_descriptor(),
    }
    set_here = [name for name, value in limits.items() if _set_limit(name, value)]
    return tuple(name for name in set_here if name != "NPROC" or os.geteuid() != 0)


def renew_cpu(seconds: float) -> None:
    """Give this process `seconds` of processor time from now; then the kernel ends it.

    It is what stops a native loop whose parent has died, so that nobody is left to kill it.
    """
    if sys.platform == "win32":
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard < 0 else min(soft, hard), hard))


if sys.platform != "win32":

    def _set_limit(name: str, value: int) -> bool:
        """Set one limit, soft and hard; False where the platform has or takes it not."""
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            return False
        _, hard = resource.getrlimit(number)
        value = value if hard < 0 else min(value, hard)
        try:
            resource.setrlimit(number, (value, value))
        except (OSError, ValueError):
            return False
        return True


def _address_space() -> int:
    """Bytes of address space in use, 0 where the platform does not tell."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _lowest_free_descriptor() -> int:
    """New descriptors get the lowest free number, so a limit of that number refuses all."""
    probe = os.dup(0)
    os.close(probe)
    return probe
