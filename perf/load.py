"""Many runs, many readers: what pages take with a large store, and while others write.

    python -m perf.load [--runs 200] [--cases 1000] [--sessions 50] [--workers 4]

Part 1: as many finished runs, each of a target of its own, are browsed: the list of runs, the
ranking (the first one reads the points of every case, the next ones do when a run was added), and
for each run its first page of cases, a page of failures and one case. Reported are median and 95th
percentile in ms for a store of a tenth of the runs and for all, and the ratio of the latter. Part
2: sessions read pages of large runs while their workers write them; reported are the pages read,
the seconds a page took, and what a reader must never see (errors, rows lost, verdicts gone again),
which must be 0. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.records import TargetSpec, to_json
from evalcore.settings import Settings, load_settings
from evalcore.store.case_index import CaseIndex
from evalcore.store.run_folder import RunFolder
from evalcore.store.stored_cases import write_case_points
from evalcore.views import runs, stored_boards
from evalcore.views.boards import list_boards, list_suites
from evalcore.views.cases import EVERY_CASE, CaseFilter, case_page, case_view
from perf import million
from tests.support import large_runs
from tests.support.loopback_server import Options, serve
from tests.support.worker_runs import new_run

FAILED = CaseFilter(outcome=("failed",))


def plan_first(data: Path, cases: int) -> RunFolder:
    """A finished run, of which the others are copies."""
    planned = million.run_stage("plan", str(data), cases, {"target": "control:reference"})
    million.run_stage("work", str(data), planned["run"])
    return RunFolder(load_settings(data).runs_dir / planned["run"])


def copy_run(first: RunFolder, number: int) -> None:
    """A run of another target with the same answers, as its worker leaves it; its journals are
    links to the first ones."""
    spec, summary = first.read_spec(), first.read_summary()
    assert summary is not None
    name, target = f"copy-{number:04}", TargetSpec(f"openai:model-{number:04}")
    path = first.path.with_name(name)
    caches = shutil.ignore_patterns("*.parquet", "*.index", "*.cache", "worker.lock", "*.json")
    shutil.copytree(first.path, path, ignore=caches, copy_function=os.link)
    changed = msgspec.structs.replace(spec, run_id=name, target=target)
    (path / "spec.json").write_bytes(to_json(changed))
    folder = RunFolder(path)
    folder.write_summary(msgspec.structs.replace(summary, run_id=name, target=target))
    with CaseIndex.load(folder, summary.scoring, changed.epochs) as index:
        write_case_points(index, changed)


def rank(settings: Settings) -> None:
    """What Ranking draws: every board of every suite."""
    headers = stored_boards.load_run_headers(settings)
    for suite in list_suites(headers):
        for board in list_boards(headers, suite):
            frame = stored_boards.load_cached_ranking(settings, board)
            assert len(frame) == len(headers), (len(frame), len(headers))


def browse(first: RunFolder, count: int) -> dict[str, list[float]]:
    """Milliseconds of each kind of page. The store holds one run less than `count`, which is added
    in between."""
    times: dict[str, list[float]] = defaultdict(list)
    root, data = first.path.parent, first.path.parent.parent
    settings = msgspec.structs.replace(load_settings(data), shipped=str(data / "none"))

    def measure(name: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = action()
        times[name].append((time.perf_counter() - start) * 1000)
        return result

    measure("ranking, first", lambda: rank(settings))
    copy_run(first, count - 1)
    measure("ranking, a new run", lambda: rank(settings))
    for folder in sorted(root.iterdir()):
        measure("ranking", lambda: rank(settings))
        measure("list of runs", lambda: list(runs.all_rows([root])))
        name = folder.name
        frame, _ = measure("first page", lambda name=name: case_page([root], name, EVERY_CASE))
        measure("failed page", lambda name=name: case_page([root], name, FAILED))
        case = str(frame["metric"].iloc[0]), str(frame["id"].iloc[0])
        measure("one case", lambda name=name, case=case: case_view([root], name, *case))
    return times


def summarize(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
    }


def measure_browsing(data: Path, count: int, cases: int) -> dict[str, Any]:
    results = []
    for part in (max(count // 10, 2), count):
        first = plan_first(data / str(part), cases)
        for number in range(1, part - 1):
            copy_run(first, number)
        results.append({n: summarize(times) for n, times in browse(first, part).items()})
    few, many = results
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
        median, p95 = figures["all"]["median"], figures["all"]["p95"]
        print(f"{name:20}{median:10.1f} ms, p95 {p95:10.1f} ms, {figures['ratio']:6.2f} x a tenth")
    for name, value in read.items():
        print(f"{name:24}{value}")
    print(json.dumps({"browsed": browsed, "read": read}))
    return 1 if read["problems"] or read["workers that failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
