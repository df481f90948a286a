"""Check the cases of a data set: verb `datasets check`, job `confirm`, task `gold`."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, DatasetIssue, DatasetSource
from evalcore.catalog import BenchmarkCard
from evalcore.errors import UsageError
from evalcore.i18n import Note, cut_note
from evalcore.records import Record, Sample
from evalcore.runner.gold import (
    INTERACTIVE_TIMEOUT,
    MAX_PROBLEMS,
    GoldProblem,
    GoldReport,
    compute_gold_key,
    load_gold_report,
    save_gold_report,
)
from evalcore.runner.jobs import TaskContext, TaskReply
from evalcore.runner.plan import create_benchmark, dataset_hash, find_dataset, find_gold_location
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


def check_datasets(
    names: Sequence[str], settings: Settings, processes: int, every: int = 1
) -> Iterator[DatasetReport]:
    """Check datasets by name or path, so many at a time, and give each report when it and those
    before it are there; without names, every bundled one whose library is installed. Of each
    dataset only every so-manieth case is checked. Raises UsageError for an unknown name."""
    dataset_names = names or [
        card.dataset
        for card in catalog.benchmark_cards().values()
        if card.dataset and not catalog.find_missing_extra(card)
    ]
    for name in dataset_names:
        find_dataset(name, _find_dataset_card(name), settings)
    check = partial(_check_dataset, settings=settings, every=every)
    if min(processes, len(dataset_names)) < 2:
        yield from map(check, dataset_names)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(dataset_names)), context) as pool:
        yield from pool.map(check, dataset_names)


def _check_dataset(name: str, settings: Settings, every: int) -> DatasetReport:
    card = _find_dataset_card(name)
    benchmark = create_benchmark(card.key, {})
    path = find_dataset(name, card, settings)
    every_sample = list(benchmark.load_dataset(DatasetSource(path=str(path))))
    samples = every_sample[::every]
    try:
        findings, engines = benchmark.validate_dataset(samples)
    finally:
        benchmark.close()
    return DatasetReport(
        dataset=name,
        benchmark=card.key,
        hash=dataset_hash(every_sample),
        samples=len(samples),
        counterexamples=sum(len(s.meta.get("counterexamples", ())) for s in samples),
        engines=engines,
        findings=tuple(findings),
    )


def _find_dataset_card(name: str) -> BenchmarkCard:
    """The benchmark of a dataset: by its name or its folder's, else by the names of its files.
    Benchmarks share names of metrics, so that the one with most of them is meant."""
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
    raise UsageError(Note("dataset_unknown", name=name, names=bundled_names))


# The job `confirm`: is every expected answer of a data set right, as far as it can be run here?

MAX_FINDINGS = 200
_CHUNK = 10


def confirm_dataset(context: TaskContext, location: DatasetLocation) -> dict[str, Any]:
    """Check a set; the result has `samples`, `hash`, `engines` (name to version), the number of
    `problems` and the first of them as `findings`."""
    context.report_progress(Note("reading_cases"))
    benchmark = create_benchmark(location.benchmark, location.options)
    samples = list(benchmark.load_dataset(DatasetSource(path=location.path)))
    findings: list[dict[str, str]] = []
    engines: dict[str, str] = {}
    done = problems = 0
    try:
        for group in _group_samples(benchmark, samples):
            context.report_progress(Note("cases_confirmed", done=done, total=len(samples)))
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
    context.report_progress(Note("cases_confirmed", done=done, total=len(samples)))
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


# The task `gold`: as many expected answers as there is time for.

_LARGEST = 640  # samples between two looks at the clock
_QUICK = 2.0  # seconds within which a group is worth doubling: each opens its engines anew
_GRACE = 10.0  # seconds for a group under way when the time is up
_NO_TIME = Note("gold_no_time")


class ConfirmTally:
    """What was found out so far, which is reported also where a sample hangs."""

    def __init__(self) -> None:
        self.samples: Sequence[Sample] = ()
        self.runnable: Sequence[Sample] = ()
        self.checked = 0
        self.engines: dict[str, str] = {}
        self.findings: list[DatasetIssue] = []

    def build_gold_report(self) -> GoldReport:
        by_key = {entry.key: entry for entry in self.samples}
        findings = list(self.findings)
        wrong = [
            GoldProblem(
                entry.sample,
                str(by_key[entry.sample].meta.get("source", "")),
                entry.field,
                cut_note(entry.problem, 500),
            )
            for entry in findings
            if entry.kind == "contradicted"
        ]
        open_ = {
            entry.sample: cut_note(entry.problem, 300)
            for entry in findings
            if entry.kind == "unconfirmed"
        }
        for problem in wrong:
            open_.pop(problem.sample, None)
        left = len(self.runnable) - self.checked
        return GoldReport(
            samples=len(self.samples),
            engines=self.engines,
            contradicted=tuple(wrong[:MAX_PROBLEMS]),
            unconfirmed=len(open_) + left,
            reason=next(iter(open_.values()), _NO_TIME if left else ""),
            complete=not left,
        )


def confirm_samples(
    context: TaskContext,
    location: DatasetLocation,
    keys: tuple[str, ...] = (),
    seconds: float = INTERACTIVE_TIMEOUT,
    samples: tuple[Sample, ...] = (),
) -> GoldReport:
    """The report on the samples of a data set with these `keys` (none: all), from memory where
    there is one. `samples` stand for what lies at the location, where that is nowhere yet."""
    settings, tally = context.settings, ConfirmTally()

    def reply_and_exit() -> None:
        """Report what was found out before a sample that hangs, and take the process with it."""
        report = tally.build_gold_report()
        # without any sample the cases are not read yet
        context.reply_and_exit(TaskReply(report) if tally.runnable else TaskReply(error=_NO_TIME))

    watch = threading.Timer(seconds + _GRACE, reply_and_exit)
    watch.daemon = True
    watch.start()
    benchmark = create_benchmark(location.benchmark, location.options)
    try:
        cases = list(samples)
        if not cases:
            if find_gold_location(benchmark, Path(location.path), settings) is None:
                return GoldReport()
            cases = list(benchmark.load_dataset(DatasetSource(path=location.path)))
        if keys:
            chosen = frozenset(keys)
            cases = [sample for sample in cases if sample.key in chosen]
        key = compute_gold_key(location, cases)
        report = load_gold_report(settings, key)
        if report is None:
            tally.samples = cases
            _check_samples(benchmark, tally, seconds)
            report = tally.build_gold_report()
            save_gold_report(settings, key, report, by_engines=benchmark.confirms_by_engines)
        return report
    finally:
        watch.cancel()
        benchmark.close()


def _check_samples(benchmark: Benchmark, tally: ConfirmTally, seconds: float) -> None:
    """Samples that a panel may judge bring no answer that could be run."""
    deadline, parent = time.monotonic() + seconds, os.getppid()
    tally.runnable = [entry for entry in tally.samples if not benchmark.may_be_judged(entry)]
    size = benchmark.checked_at_once
    while tally.checked < len(tally.runnable) and (began := time.monotonic()) < deadline:
        if os.getppid() != parent:  # who asked was killed
            return
        group = tally.runnable[tally.checked : tally.checked + size]
        findings, engines = _check_group(benchmark, group)
        quick = time.monotonic() - began < _QUICK
        size = min(2 * size, _LARGEST) if quick else benchmark.checked_at_once
        tally.engines |= engines
        tally.findings += findings
        tally.checked += len(group)
        if sum(entry.kind == "contradicted" for entry in tally.findings) >= MAX_PROBLEMS:
            break


def _check_group(
    benchmark: Benchmark, group: Sequence[Sample]
) -> tuple[list[DatasetIssue], dict[str, str]]:
    """The findings of a group; a sample on which a check breaks is alone in being unconfirmed."""
    try:
        return benchmark.validate_dataset(group)
    except Exception as error:
        if len(group) == 1:
            problem = f"the check of this case broke: {type(error).__name__}: {error}"
            return [DatasetIssue(group[0].key, problem, kind="unconfirmed")], {}
    half = len(group) // 2
    findings, engines = _check_group(benchmark, group[:half])
    more, used = _check_group(benchmark, group[half:])
    return findings + more, engines | used
