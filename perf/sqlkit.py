"""How long a decided answer takes on each engine, warm: the bundled conversions, decided again.

`python -m perf.sqlkit [--cases N]` takes N cases per engine from `datasets/dialect_conversion`,
prepares their databases, then decides every reference, variant and counterexample. It prints, per
engine: version, answers, the median and the 95th percentile in milliseconds, the median of those
that differ, that of those that were compared on every database because none told them apart, and
the three medians as ratios to parsing the same answer once with sqlglot in the same run. Beside
other work the CPU time says more than these: the mean of both kinds, in milliseconds and in ratio
to that of a parse, with the time of the worker and server processes. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import defaultdict
from pathlib import Path

import sqlglot

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.dialect_conversion.benchmark import (
    DialectConversion,
    build_conversion_question,
)
from evalcore.errors import EvalboardError
from evalcore.records import Sample
from evalcore.settings import ROOT, load_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=8)
    args = parser.parse_args()
    benchmark = DialectConversion({"mode": "verified"})
    samples = benchmark.load_dataset(
        DatasetSource(path=str(ROOT / "datasets" / "dialect_conversion"))
    )
    by_engine: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_engine[sample.reference["engine"]].append(sample)
    figures = {}
    for engine, group in sorted(by_engine.items()):
        try:
            figures[engine] = measure(benchmark, group[: args.cases])
        except EvalboardError as error:
            print(f"{engine}: not measured: {error}")
            continue
        print(f"{engine} {benchmark.engines.collect_versions()[engine]}: {figures[engine]}")
    benchmark.close()
    print(json.dumps(figures))


def measure(benchmark: DialectConversion, samples: list[Sample]) -> dict[str, float]:
    """Milliseconds per decided answer, after the databases were prepared and used once."""
    times, parsing, whole, databases, different = [], [], [], [], []
    used: dict[str, list[float]] = {"equivalent": [], "different": [], "parse": []}
    for sample in samples:
        question = build_conversion_question(sample)
        benchmark.decider.decide(question, question.reference)
        answers = (*sample.meta["variants"], *sample.meta["counterexamples"])
        for answer in answers:
            others = _read_engine_cpu_seconds()
            start, own = time.perf_counter(), time.process_time()
            decision = benchmark.decider.decide(question, answer)
            times.append(1000 * (time.perf_counter() - start))
            own = time.process_time() - own
            spent = own + _read_engine_cpu_seconds() - others
            used.setdefault(decision.status, []).append(1000 * spent)
            if decision.status == "equivalent":  # compared on every database
                whole.append(times[-1])
                databases.append(decision.databases)
            elif decision.status == "different":
                different.append(times[-1])
            before = time.process_time()
            parsing.append(1000 * _parse(answer, question.engine))
            used["parse"].append(1000 * (time.process_time() - before))
    median, parse = statistics.median(times), statistics.median(parsing)
    cpu = {kind: statistics.mean(values) for kind, values in used.items() if values}
    return {
        "cpu_ms_if_different": round(cpu["different"], 1),
        "cpu_ms_if_equivalent": round(cpu["equivalent"], 1),
        "cpu_of_parses_if_different": round(cpu["different"] / cpu["parse"], 1),
        "cpu_of_parses_if_equivalent": round(cpu["equivalent"] / cpu["parse"], 1),
        "answers": len(times),
        "median_ms": round(median, 1),
        "median_ms_if_different": round(statistics.median(different), 1),
        "median_ms_if_equivalent": round(statistics.median(whole), 1),
        "databases_if_equivalent": statistics.median(databases),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "times_a_parse": round(median / parse, 1),
        "times_a_parse_if_different": round(statistics.median(different) / parse, 1),
        "times_a_parse_if_equivalent": round(statistics.median(whole) / parse, 1),
    }


def _read_engine_cpu_seconds() -> float:
    """CPU time of the children of this process and of the servers below its data folder (Linux)."""
    engines = str(load_settings().data_dir / "engines").encode()
    parents, ticks, ours = {}, {}, {os.getpid()}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if engines in (folder / "cmdline").read_bytes():
                ours.add(int(folder.name))
        except OSError:  # it has ended
            continue
        parents[int(folder.name)], ticks[int(folder.name)] = (
            int(fields[1]),
            sum(map(int, fields[11:13])),
        )
    below = {pid for pid in parents if pid in ours or parents[pid] in ours}
    others = sum(ticks[pid] for pid in below - {os.getpid()})
    return others / os.sysconf("SC_CLK_TCK")


def _parse(sql: str, dialect: str) -> float:
    start = time.perf_counter()
    try:
        sqlglot.parse(sql, read=dialect)
    except sqlglot.errors.SqlglotError:
        return time.perf_counter() - start
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
