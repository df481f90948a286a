"""The job `confirm_dataset`: is every expected answer of a data set right, as far as it can be
run here?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.records import Sample
from evalcore.runner import job_process
from evalcore.runner.column import dataset_hash
from evalcore.runner.job_process import ProgressCallback
from evalcore.runner.plan import create_benchmark
from evalcore.runner.upload_records import DatasetLocation
from evalcore.settings import Settings

MAX_FINDINGS = 200
_CHUNK = 10


def confirm_dataset(
    job_args: Mapping[str, Any],
    settings: Settings,
    keys: Mapping[str, str],
    on_progress: ProgressCallback,
) -> dict[str, Any]:
    """Check the set that `job_args` describes as a Place; the result has `samples`, `hash`,
    `engines` (name to version), the number of `problems` and the first of them as `findings`."""
    on_progress("reading the cases")
    location = msgspec.convert(job_args, DatasetLocation)
    benchmark = create_benchmark(location.benchmark, location.options)
    samples = benchmark.load_dataset(DatasetSource(path=location.path))
    findings: list[dict[str, str]] = []
    engines: dict[str, str] = {}
    done = problems = 0
    try:
        for group in _group_samples(benchmark, samples):
            on_progress(f"{done} of {len(samples)} cases confirmed")
            group_findings, used = benchmark.validate_dataset(group)
            engines |= used
            problems += len(group_findings)
            findings += [
                {"sample": finding.sample, "problem": finding.problem[:500]}
                for finding in group_findings
            ]
            done += len(group)
    finally:
        benchmark.close()
    on_progress(f"{done} of {len(samples)} cases confirmed")
    return {
        "samples": len(samples),
        "hash": dataset_hash(samples),
        "engines": engines,
        "problems": problems,
        "findings": findings[:MAX_FINDINGS],
    }


def _group_samples(benchmark: Benchmark, samples: Sequence[Sample]) -> Iterator[Sequence[Sample]]:
    """Samples that can be checked apart from the others: few at a time, but a whole metric where
    the benchmark also compares its cases with each other."""
    if type(benchmark).validate_references is Benchmark.validate_references:
        for start in range(0, len(samples), _CHUNK):
            yield samples[start : start + _CHUNK]
        return
    for metric in dict.fromkeys(sample.metric for sample in samples):
        yield [sample for sample in samples if sample.metric == metric]


if __name__ == "__main__":
    sys.exit(job_process.run_job(confirm_dataset))
