"""How long a task of SWE-bench takes here, against the same tests run bare.

    python -m perf.swe_local [--repeats 20]

The example of the shared data, else a tiny repository of our tests, is cloned, patched, tested in
the sandbox and graded. Reported: seconds of the whole (median and slowest), of the hardened second
look and of the first validation, each as a ratio to `python -m pytest` on the patched work tree
without sandbox (no plugins either way), and whether all repeats came to the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench.execution.checkout import checkout
from evalcore.benchmarks.swe_bench.execution.hardened import hardened
from evalcore.benchmarks.swe_bench.execution.local import execute
from evalcore.benchmarks.swe_bench.execution.resolution import resolved
from evalcore.benchmarks.swe_bench.execution.validate import usable
from evalcore.benchmarks.swe_bench.patches.apply import apply_official
from evalcore.benchmarks.swe_bench.task import Task
from tests.support.shared_data import shared_data
from tests.support.swe_tasks import example_task, make_task


def timed(repeats: int, work: Callable[[], object]) -> list[float]:
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return found


def bare(task: Task, folder: Path) -> Callable[[], object]:
    """pytest on a patched work tree, as anyone would run it."""
    tree = checkout(task, folder / "bare")
    for patch in (task.patch, task.test_patch):
        assert apply_official(tree, patch).how == "apply"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return lambda: subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, check=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            task = example_task(shared_data("swe_bench"))
        except pytest.skip.Exception:
            task = make_task(folder / "made", bundle=True)
        (validation,) = timed(1, lambda: usable(task))
        facts = usable(task)
        run = bare(task, folder)
        run()
        base = statistics.median(timed(max(3, repeats // 4), run))
        found = [execute(task, task.patch) for _ in range(repeats)]
        whole = [one.seconds for one in found]
        again = timed(max(3, repeats // 4), lambda: hardened(task, task.patch, found[0], facts))
        rows = {
            "bare pytest": [base],
            "a task": whole,
            "its hardened look": again,
            "its first validation": [validation],
        }
        print(f"{task.instance_id}, {repeats} repeats")
        for title, seconds in rows.items():
            median = statistics.median(seconds)
            print(f"{title:22} {median:6.2f} s  slowest {max(seconds):5.2f}  x{median / base:5.2f}")
        reports = {json.dumps(one.report, sort_keys=True) for one in found}
        print(f"all resolved: {all(map(resolved, found))}; distinct reports: {len(reports)}")


if __name__ == "__main__":
    main()
