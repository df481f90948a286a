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


def take_last_step(plan: dict[str, Any], report: int) -> NoReturn:
    """Become the program of `plan`; never returns."""
    try:
        _keep_only(report)
        _limit(plan["limits"])
        if plan["own_user"]:
            os.setgroups([])
            os.setresgid(plan["gid"], plan["gid"], plan["gid"])
            os.setresuid(plan["uid"], plan["uid"], plan["uid"])
        _be_ordinary()
        os.chdir(plan["cwd"])
        os.write(report, STARTED.encode())
        os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606
    except (OSError, ValueError) as problem:
        os.write(report, f"{_FAILED}{problem}".encode())
    os._exit(127)


def _keep_only(report: int) -> None:
    """Close every file but the standard ones, and the report too once the program takes over."""
    os.set_inheritable(report, False)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is not worth its loading time
        number = int(name)
        if number > 2 and number != report:
            with suppress(OSError):  # the one that the listing itself had open
                os.close(number)


def _be_ordinary() -> None:
    """Undo what an interpreter does to its process, and be the first to go when memory is short."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - as above
        file.write("1000")


def _limit(limits: dict[str, int]) -> None:
    """Soft and hard, so that the program cannot lift them; a lower one that holds stays."""
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(number)
        value = value if hard < 0 else min(value, hard)
        resource.setrlimit(number, (value, value))


def main() -> NoReturn:
    """Entry where this source is run by itself."""
    report, plan = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(plan, "rb") as file:
        take_last_step(json.load(file), report)


if __name__ == "__main__":
    main()
