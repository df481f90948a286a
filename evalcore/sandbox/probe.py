"""A probe that runs inside the sandbox, from source, and reports what a program can reach there.

Arguments: a host path that must be invisible, and a port on which the host listens on its loopback
interface. Prints one JSON object, from protection to whether it holds, and fails where pytest
cannot be imported.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

#: More than the sandbox's own processes and ours can come to.
_PROCESSES_INSIDE = 16
_TRIES = 8


def probe_protections(hidden: str, port: int) -> dict[str, bool]:
    status = Path("/proc/self/status").read_text()
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return {
        "network": not _can_connect(port) and [name for _, name in socket.if_nameindex()] == ["lo"],
        "files": not Path(hidden).exists() and not _can_write("/") and not _can_write(sys.prefix),
        "environment": "EVALBOARD_DATA" not in os.environ and os.environ["HOME"] == "/tmp",  # noqa: S108
        "processes": _other_processes() < _PROCESSES_INSIDE,
        "rights": os.getuid() != 0 and int(facts["CapEff"], 16) == 0 and facts["NoNewPrivs"] == "1",
        "system_calls": facts.get("Seccomp") == "2",
        "memory": _is_limited(resource.RLIMIT_AS),
        "cpu": _is_limited(resource.RLIMIT_CPU),
        "file_size": _is_limited(resource.RLIMIT_FSIZE),
        "process_count": _is_limited(resource.RLIMIT_NPROC) and _count_binds(),
    }


def _can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def _can_write(folder: str) -> bool:
    path = Path(folder, ".written-from-inside")
    try:
        path.touch()
    except OSError:
        return False
    path.unlink()
    return True


def _other_processes() -> int:
    return max(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _is_limited(number: int) -> bool:
    return resource.getrlimit(number)[1] != resource.RLIM_INFINITY


def _count_binds() -> bool:
    """Whether the kernel refuses processes beyond the limit, which it does not for root."""
    resource.setrlimit(resource.RLIMIT_NPROC, (_TRIES // 2, _TRIES // 2))
    started = 0
    with suppress(OSError):
        for _ in range(_TRIES):
            if not os.fork():
                time.sleep(5)  # ends with the sandbox
                os._exit(0)
            started += 1
    return started < _TRIES


if __name__ == "__main__":
    __import__("pytest")
    print(json.dumps(probe_protections(sys.argv[1], int(sys.argv[2]))))
