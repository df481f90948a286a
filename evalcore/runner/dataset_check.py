"""Check a data set: what the verb `datasets check` and the job `confirm` report about its cases."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, DatasetIssue, DatasetSource
from evalcore.catalog import BenchmarkCard
from evalcore.errors import UsageError
from evalcore.plain_text import format_count
from evalcore.records import Record, Sample
from evalcore.runner import jobs
from evalcore.runner.jobs import ProgressCallback
from evalcore.runner.plan import create_benchmark, dataset_hash, find_dataset
from evalcore.runner.uploads import DatasetLocation
from evalcore.settings import Settings

# `evalcore datasets check`: is every expected answer right, and every counterexample wrong?


class DatasetReport(Record, frozen=True):
    """What the check of one dataset found; `engines` are those that confirmed answers."""

    dataset: str
    benchmark: str
    hash: str
    samples: int
    counterexamples: int
    engines: dict[str, str]
    findings: tuple[DatasetIssue, ...]


class CheckReport(Record, frozen=True):
    datasets: tuple[DatasetReport, ...]

    @property
    def ok(self) -> bool:
        return not any(dataset.findings for dataset in self.datasets)

    def as_data(self) -> list[dict[str, object]]:
        return [
            {
                "dataset": d.dataset,
                "benchmark": d.benchmark,
                "hash": d.hash,
                "samples": d.samples,
                "counterexamples": d.counterexamples,
                "engines": d.engines,
                "findings": [{"sample": f.sample, "problem": f.problem} for f in d.findings],
            }
            for d in self.datasets
        ]

    def as_text(self) -> str:
        lines = []
        for d in self.datasets:
            engines = ", ".join(f"{name} {version}" for name, version in d.engines.items())
            lines.append(
                f"{d.dataset}: {format_count(d.samples, 'sample')} and "
                f"{format_count(d.counterexamples, 'counterexample')} checked ({engines}), "
                f"{format_count(len(d.findings), 'problem')}, hash {d.hash}"
            )
            lines += [f"  {finding.sample}: {finding.problem}" for finding in d.findings]
        return "\n".join(lines)


def check_datasets(names: Sequence[str], settings: Settings) -> CheckReport:
    """Check datasets by name or path; without names, every bundled one."""
    cards = catalog.benchmark_cards().values()
    dataset_names = names or [card.dataset for card in cards if card.dataset]
    return CheckReport(datasets=tuple(_check_dataset(name, settings) for name in dataset_names))


def _check_dataset(name: str, settings: Settings) -> DatasetReport:
    card = _find_dataset_card(name, settings)
    benchmark = create_benchmark(card.key, {})
    path = find_dataset(name, card, settings)
    samples = benchmark.load_dataset(DatasetSource(path=str(path)))
    try:
        findings, engines = benchmark.validate_dataset(samples)
    finally:
        benchmark.close()
    return DatasetReport(
        dataset=name,
        benchmark=card.key,
        hash=dataset_hash(samples),
        samples=len(samples),
        counterexamples=sum(len(s.meta.get("counterexamples", ())) for s in samples),
        engines=engines,
        findings=tuple(findings),
    )


def _find_dataset_card(name: str, settings: Settings) -> BenchmarkCard:
    """The benchmark of a dataset: by its name or its folder's, else by the names of its files.

    Benchmarks share names of metrics, so that the one with most of them is meant.
    """
    cards = catalog.benchmark_cards()
    for card in cards.values():
        if card.dataset == name:
            return card
    dataset_path = Path(name)
    stems = (
        {dataset_path.stem}
        if dataset_path.is_file()
        else {path.stem for path in dataset_path.glob("*.jsonl")}
    )

    def rate_match(card: BenchmarkCard) -> tuple[bool, int]:
        common = stems & {metric.key for metric in card.metrics}
        return bool(common) and card.dataset in dataset_path.resolve().parts, len(common)

    best = max(cards.values(), key=rate_match)
    if rate_match(best)[1]:
        return best
    bundled_names = ", ".join(card.dataset for card in cards.values())
    raise UsageError(f"{name!r} is no dataset of a known benchmark; bundled: {bundled_names}")


# The job `confirm_dataset`: is every expected answer of a data set right, as far as it can be run
# here?

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
    sys.exit(jobs.run_job(confirm_dataset))
