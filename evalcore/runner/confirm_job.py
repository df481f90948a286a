"""The job `confirm`: is every expected answer of a data set right, as far as it can be run here?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.records import Sample
from evalcore.runner import job_process
from evalcore.runner.column import dataset_hash
from evalcore.runner.job_process import Say
from evalcore.runner.plan import create_benchmark
from evalcore.runner.upload_records import Place
from evalcore.settings import Settings

MOST_FINDINGS = 200
_CHUNK = 10


def confirm(
    given: Mapping[str, Any], settings: Settings, keys: Mapping[str, str], say: Say
) -> dict[str, Any]:
    """Check the set that `given` describes as a Place; the result has `samples`, `hash`, `engines`
    (name to version), the number of `problems` and the first of them as `findings`."""
    say("reading the cases")
    place = msgspec.convert(given, Place)
    benchmark = create_benchmark(place.benchmark, place.options)
    samples = benchmark.load_dataset(DatasetSource(path=place.path))
    findings: list[dict[str, str]] = []
    engines: dict[str, str] = {}
    done = problems = 0
    try:
        for group in _groups(benchmark, samples):
            say(f"{done} of {len(samples)} cases confirmed")
            found, used = benchmark.validate_dataset(group)
            engines |= used
            problems += len(found)
            findings += [{"sample": one.sample, "problem": one.problem[:500]} for one in found]
            done += len(group)
    finally:
        benchmark.close()
    say(f"{done} of {len(samples)} cases confirmed")
    return {
        "samples": len(samples),
        "hash": dataset_hash(samples),
        "engines": engines,
        "problems": problems,
        "findings": findings[:MOST_FINDINGS],
    }


def _groups(benchmark: Benchmark, samples: Sequence[Sample]) -> Iterator[Sequence[Sample]]:
    """Samples that can be checked apart from the others: few at a time, but a whole metric where
    the benchmark also compares its cases with each other."""
    if type(benchmark).validate_references is Benchmark.validate_references:
        for start in range(0, len(samples), _CHUNK):
            yield samples[start : start + _CHUNK]
        return
    for metric in dict.fromkeys(sample.metric for sample in samples):
        yield [sample for sample in samples if sample.metric == metric]


if __name__ == "__main__":
    sys.exit(job_process.run(confirm))
