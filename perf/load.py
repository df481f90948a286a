"""Many runs, many readers: what pages of cases take while others write.

    python -m perf.load [--runs 200] [--cases 1000] [--sessions 50] [--workers 4]

Part 1: as many finished runs are browsed, each by the list of runs, its first page of cases, a page
of failures and one case; reported are median and 95th percentile in ms for a store of a tenth of
the runs and for all, and their ratio. Part 2: sessions read pages of large runs while their workers
write them; reported are the pages read, the seconds a page took, and what a reader must never see
(errors, rows lost, verdicts gone again), which must be 0. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.records import to_json
from evalcore.settings import load_settings
from evalcore.store.run_folder import RunFolder
from evalcore.views import runs
from evalcore.views.cases import EVERY_CASE, CaseFilter, case_page, case_view
from perf import million
from tests.support import large_runs
from tests.support.loopback_server import Options, serve
from tests.support.worker_runs import new_run

FAILED = CaseFilter(outcome=("failed",))


def copy_runs(data: Path, count: int, cases: int) -> Path:
    """The folder of as many finished runs, copies of one."""
    planned = million.run_stage("plan", str(data), cases, {"target": "control:reference"})
    million.run_stage("work", str(data), planned["run"])
    root = load_settings(data).runs_dir
    first = RunFolder(root / planned["run"])
    spec, summary = first.read_spec(), first.read_summary()
    assert summary is not None
    for number in range(count - 1):
        name = f"copy-{number:04}"
        shutil.copytree(first.path, root / name, ignore=shutil.ignore_patterns("*.parquet"))
        changed = msgspec.structs.replace(spec, run_id=name)
        (root / name / "spec.json").write_bytes(to_json(changed))
        RunFolder(root / name).write_summary(msgspec.structs.replace(summary, run_id=name))
    return root


def browse(root: Path, count: int) -> dict[str, list[float]]:
    """Milliseconds of each kind of page, by run."""
    times: dict[str, list[float]] = defaultdict(list)

    def measure(name: str, start: float) -> None:
        times[name].append((time.perf_counter() - start) * 1000)

    for folder in sorted(root.iterdir())[:count]:
        start = time.perf_counter()
        list(runs.all_rows([root]))
        measure("list of runs", start)
        start = time.perf_counter()
        frame, _ = case_page([root], folder.name, EVERY_CASE)
        measure("first page", start)
        start = time.perf_counter()
        case_page([root], folder.name, FAILED)
        measure("failed page", start)
        start = time.perf_counter()
        case_view([root], folder.name, str(frame["metric"].iloc[0]), str(frame["id"].iloc[0]))
        measure("one case", start)
    return times


def summarize(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
    }


def measure_browsing(data: Path, count: int, cases: int) -> dict[str, Any]:
    root = copy_runs(data, count, cases)
    few = {name: summarize(times) for name, times in browse(root, max(1, count // 10)).items()}
    many = {name: summarize(times) for name, times in browse(root, count).items()}
    return {
        name: {"few": few[name], "all": many[name], "ratio": many[name]["p95"] / few[name]["p95"]}
        for name in many
    }


def measure_reading(data: Path, cases: int, sessions: int, workers: int) -> dict[str, Any]:
    large_runs.shrink_large_runs()
    with serve(Options(latency=0.02)) as server:
        folders = [new_run(data / str(number), server, cases) for number in range(workers)]
        with large_runs.Watch(folders, cases, sessions) as watch:
            processes = [large_runs.start(folder) for folder in folders]
            statuses = large_runs.wait_for_all(processes, 3600)
    return {
        "pages": len(watch.seconds),
        "workers that failed": sum(status != 0 for status in statuses),
        "problems": len(watch.problems),
        "first problems": watch.problems[:3],
        **{f"{name} s": value for name, value in summarize(watch.seconds).items()},
    }


def main() -> int:
    catalog.benchmark_cards()[million.CARD.key] = million.CARD
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--workers", type=int, default=4)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        browsed = measure_browsing(Path(folder) / "browse", chosen.runs, chosen.cases)
        read = measure_reading(Path(folder), 500, chosen.sessions, chosen.workers)
    for name, figures in browsed.items():
        print(f"{name:16}{figures['all']['median']:10.1f} ms, p95 {figures['all']['p95']:10.1f} ms")
    for name, value in read.items():
        print(f"{name:24}{value}")
    print(json.dumps({"browsed": browsed, "read": read}))
    return 1 if read["problems"] or read["workers that failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
