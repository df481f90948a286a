"""How fast the index is beside TinyDB's default storage, as ratios measured in one run.

`python -m perf.store [--headers N] [--inserts N]` fills both with the same N headers and times, in
turn: one insert, a look-up by run id and a search, each with the file unchanged and just after
another process wrote it, and a rebuild from N run folders. A time is the median of its repeats,
the default storage may get fewer of them. The last line is JSON, times in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from tinydb import TinyDB, where

from evalcore.records import BenchmarkSpec, RunSpec, TargetSpec, to_json
from evalcore.results import BenchmarkScore, Interval, MetricScore, RunSummary
from evalcore.store.headers import RunHeader, build_run_header, scan_run_folders
from evalcore.store.index import Index
from evalcore.store.index_stores import RUNS

METRICS = {
    "execution_accuracy": 4.0,
    "sql_identification": 3.0,
    "explain_detection": 2.0,
    "syntax_error_detection": 1.0,
}
SLOW_REPEATS = 3


def run(number: int) -> tuple[RunSpec, RunSummary]:
    """A finished run of one benchmark, as `build_run_header` wants it."""
    score, interval = float(number % 100), Interval(10.123456, 90.123456)
    metrics = {
        name: MetricScore(name, weight, 60, 60, 30.0, score, score, interval)
        for name, weight in METRICS.items()
    }
    target = TargetSpec(f"openai:model-{number % 500}", {"temperature": 0.0})
    outcomes = {"passed": 120, "failed": 120}
    benchmark = BenchmarkScore(
        *("sql_understanding", "c1", score, interval, score, 1.0, 240, True, True),
        *(metrics, outcomes),
    )
    frozen = BenchmarkSpec(
        *("sql_understanding", "sql", "bundled", "d1", {}, METRICS, "1", "1", "c1", 240)
    )
    run_id, at = f"run-{number:06}", f"2026-11-01T00:00:{number:06}"
    spec = RunSpec(run_id, at, target, (frozen,))
    return spec, RunSummary(run_id, target, "done", "s1", {"sql_understanding": benchmark})


def median_ms(action: Callable[[], object], repeats: int, before: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(folder: Path, headers: int, inserts: int) -> dict[str, dict[str, float]]:
    """Milliseconds by operation: {"ours", "default", "ratio"}."""
    runs = [run(number) for number in range(headers)]
    rows = [build_run_header(*pair) for pair in runs]
    root = write_folders(folder / "runs", runs)
    index, foreign = Index(folder / "ours.json", [root]), Index(folder / "ours.json", [root])
    default, path = TinyDB(folder / "default.json").table(RUNS), folder / "default.json"
    extra = iter(range(headers, headers + 100 * inserts))

    def put(into: Index) -> None:
        into.put(build_run_header(*run(next(extra))))

    def insert_default() -> None:
        default.insert(msgspec.to_builtins(build_run_header(*run(next(extra)))))

    def rebuild_default() -> None:
        path.write_bytes(b"")
        headers = scan_run_folders([root], logging.warning)
        TinyDB(path).table(RUNS).insert_multiple(map(msgspec.to_builtins, headers.values()))

    middle = rows[len(rows) // 2]
    by_run, some = where("run_id") == middle.run_id, where("target_key") == middle.target_key
    get = lambda: index.get(middle.run_id)  # noqa: E731 - one line beside its counterpart
    get_default = lambda: default.get(by_run)  # noqa: E731

    def search() -> list[RunHeader]:
        return [row for row in index.headers() if row.target_key == middle.target_key]

    def search_default() -> object:
        default.clear_cache()
        return default.search(some)

    nothing, changed = (lambda: None), (lambda: put(foreign))
    fewer = min(SLOW_REPEATS, inserts)
    plan: list[tuple[str, Callable[[], object], Callable[[], object], Callable[[], object]]] = [
        ("rebuild", index.rebuild, rebuild_default, nothing),
        ("insert", lambda: put(index), insert_default, nothing),
        ("get, file unchanged", get, get_default, nothing),
        ("get, file changed", get, get_default, changed),
        ("search, file unchanged", search, search_default, nothing),
        ("search, file changed", search, search_default, changed),
    ]
    results = {}
    for name, ours, theirs, before in plan:
        once = name == "rebuild"
        mine = median_ms(ours, 1 if once else inserts, before)
        other = median_ms(theirs, 1 if once else fewer, nothing)
        results[name] = {"ours": mine, "default": other, "ratio": other / mine}
    return results


def write_folders(root: Path, runs: list[tuple[RunSpec, RunSummary]]) -> Path:
    for spec, summary in runs:
        folder = root / spec.run_id
        folder.mkdir(parents=True)
        (folder / "spec.json").write_bytes(to_json(spec))
        (folder / "summary.json").write_bytes(to_json(summary))
    return root


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headers", type=int, default=10_000)
    parser.add_argument("--inserts", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(Path(folder), chosen.headers, chosen.inserts)
        size = (Path(folder) / "ours.json").stat().st_size / 1e6
    print(f"{chosen.headers} headers, {size:.1f} MB")
    for name, times in results.items():
        print(
            f"{name:24}{times['ours']:12.3f} ms   default {times['default']:10.1f} ms   "
            f"{times['ratio']:8.1f} times as fast"
        )
    print(json.dumps({"headers": chosen.headers, "milliseconds": results}))


if __name__ == "__main__":
    main()
