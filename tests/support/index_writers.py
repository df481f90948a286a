"""Processes that write an index, to be run beside each other and killed.

`python -m tests.support.index_writers insert INDEX NAME COUNT` inserts COUNT headers.
`python -m tests.support.index_writers record DATA FIRST LAST` records the runs numbered so.
`python -m tests.support.index_writers nursery INDEX ACKNOWLEDGED` forks a writer for every line on
its input and prints its process id: it writes until it is killed, and appends each run id to the
file ACKNOWLEDGED once `put` has returned. Forking spares each of many writers its start-up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from evalcore.settings import Settings
from evalcore.store.headers import RunHeader, build_run_header
from evalcore.store.index import Index, record_run
from evalcore.store.run_folder import RunFolder
from tests.support import stored_runs

ROOT = Path(__file__).resolve().parents[2]


def start(*arguments: object, **options) -> subprocess.Popen:
    """Run this module in a process of its own."""
    command = [sys.executable, "-m", "tests.support.index_writers", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, **options)


def put_all(index: Index, run_ids: Iterator[str]) -> Iterator[str]:
    """Put a header for each id; yields it when it is in the index."""
    for run_id in run_ids:
        index.put(header_for(run_id))
        yield run_id


def header_for(run_id: str) -> RunHeader:
    spec = stored_runs.spec_of(run_id)
    return build_run_header(spec, stored_runs.summary_of(spec))


def insert(path: str, name: str, number: str) -> None:
    for _ in put_all(Index(Path(path)), (f"{name}-{n}" for n in range(int(number)))):
        pass


def record(data: str, first: str, last: str) -> None:
    settings = Settings(data=data)
    for number in range(int(first), int(last)):
        record_run(settings, RunFolder(settings.runs_dir / f"run-{number}"))


def nursery(path: str, acknowledged: str) -> None:
    for number, _ in enumerate(sys.stdin):
        child = os.fork()
        if not child:
            _write_until_killed(path, acknowledged, f"writer-{number}")
        print(child, flush=True)
        os.waitpid(child, 0)


def _write_until_killed(path: str, acknowledged: str, name: str) -> None:
    handle = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for run_id in put_all(Index(Path(path)), (f"{name}-{n}" for n in count())):
        os.write(handle, f"{run_id}\n".encode())


if __name__ == "__main__":
    {"insert": insert, "record": record, "nursery": nursery}[sys.argv[1]](*sys.argv[2:])
