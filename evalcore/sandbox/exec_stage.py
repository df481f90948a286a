"""The last thing before an untrusted program: take its limits, give up every right, become it.

It is run from its source by the interpreter inside (`python -I -S -c ... REPORT PLAN`), or imported
by `namespaces_child`, so it needs nothing but the standard library. PLAN is the number of an open
file with the JSON of a `Plan` (see `launch`); REPORT is a pipe to which "started" is written just
before the program takes over, and then "cannot be started: ..." where that fails.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

STARTED = "started\n"
_FAILED = "cannot be started: "


def exec_program(plan: dict[str, Any], report_fd: int) -> NoReturn:
    try:
        _close_all_except(report_fd)
        for name, value in plan["limits"].items():
            number = getattr(resource, f"RLIMIT_{name}")
            _, hard = resource.getrlimit(number)
            value = value if hard < 0 else min(value, hard)
            resource.setrlimit(number, (value, value))
        if plan["own_user"]:
            os.setgroups([])
            os.setresgid(plan["gid"], plan["gid"], plan["gid"])
            os.setresuid(plan["uid"], plan["uid"], plan["uid"])
        _reset_process_state()
        os.chdir(plan["cwd"])
        os.write(report_fd, STARTED.encode())
        os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606
    except (OSError, ValueError) as problem:
        os.write(report_fd, f"{_FAILED}{problem}".encode())
    os._exit(127)


def _close_all_except(report_fd: int) -> None:
    """Close every file but the standard ones, and the report too once the program takes over."""
    os.set_inheritable(report_fd, False)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is not worth its loading time
        number = int(name)
        if number > 2 and number != report_fd:
            with suppress(OSError):  # the one that the listing itself had open
                os.close(number)


def _reset_process_state() -> None:
    """Undo what an interpreter does to its process, and be the first to go when memory is short."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - as above
        file.write("1000")


def main() -> NoReturn:
    report_fd, plan_fd = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(plan_fd, "rb") as file:
        exec_program(json.load(file), report_fd)


if __name__ == "__main__":
    main()
