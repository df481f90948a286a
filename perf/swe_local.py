"""How long the tasks of SWE-bench take here, against the same tests run bare.

    python -m perf.swe_local [--repeats 20] [--tasks 20]

The bundled repositories are cloned, patched with the true patch, tested in the sandbox and graded.
Reported over all tasks: the median seconds of the whole, of the hardened second look and of the
first validation, each as a ratio to `python -m pytest` on the patched work tree without sandbox (no
plugins either way), and whether all repeats of each task came to the same.
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

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.checkout import checkout_task
from evalcore.benchmarks.swe_bench.dataset import load_swe_samples, to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import check_hardened, check_usability
from evalcore.benchmarks.swe_bench.execution import execute_patch
from evalcore.benchmarks.swe_bench.grade import is_resolved
from evalcore.benchmarks.swe_bench.patches.official import apply_official
from evalcore.settings import ROOT


def timed(repeats: int, work: Callable[[], object]) -> list[float]:
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return seconds


def bare(task: Task, folder: Path) -> Callable[[], object]:
    """pytest on a patched work tree, as anyone would run it."""
    tree = checkout_task(task, folder / "bare")
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
    parser.add_argument("--tasks", type=int, default=20)
    args = parser.parse_args()
    source = DatasetSource(str(ROOT / "datasets" / "swe_bench"))
    tasks = [to_swe_task(sample) for sample in load_swe_samples(source)][: args.tasks]
    timings = [measured(task, args.repeats) for task in tasks]
    print(f"{len(tasks)} tasks, {args.repeats} repeats each; medians over the tasks")
    base = statistics.median(timing["bare pytest"] for timing in timings)
    for title in timings[0]:
        seconds = [timing[title] for timing in timings]
        median = statistics.median(seconds)
        print(f"{title:22} {median:6.2f} s  slowest {max(seconds):5.2f}  x{median / base:5.2f}")


def measured(task: Task, repeats: int) -> dict[str, float]:
    """Median seconds of a task by what was done; says aloud where repeats differ."""
    with tempfile.TemporaryDirectory() as name:
        [validation] = timed(1, lambda: check_usability(task))
        facts, run = check_usability(task), bare(task, Path(name))
        run()
        base = timed(3, run)
        runs = [execute_patch(task, task.patch) for _ in range(repeats)]
        again = timed(3, lambda: check_hardened(task, task.patch, runs[0], facts))
    reports = {json.dumps(grading.report, sort_keys=True) for grading in runs}
    same = all(map(is_resolved, runs)) and len(reports) == 1
    print(f"{task.instance_id:28} {'all the same' if same else 'DIFFERENT RESULTS'}")
    return {
        "bare pytest": statistics.median(base),
        "a task": statistics.median(grading.seconds for grading in runs),
        "its hardened look": statistics.median(again),
        "its first validation": validation,
    }


if __name__ == "__main__":
    main()
