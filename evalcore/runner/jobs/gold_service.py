"""Runs the expected answers of a data set: `python -m evalcore.runner.jobs.gold_service`.

A question (see `gold`) comes by standard input, a report leaves by standard output. The process has
no limits of the kernel, which the database servers that it starts would inherit: engines bound each
statement, `gold` the time of all.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from evalcore.benchmarks.base import Benchmark, DatasetIssue, DatasetSource
from evalcore.errors import EvalboardError
from evalcore.records import Sample, from_json, to_json
from evalcore.runner.gold import (
    MAX_PROBLEMS,
    ConfirmRequest,
    GoldProblem,
    GoldReport,
    compute_gold_key,
    load_gold_report,
    save_gold_report,
)
from evalcore.runner.plan import create_benchmark, find_gold_location
from evalcore.settings import override_data_folder

_LARGEST = 640  # samples between two looks at the clock
_QUICK = 2.0  # seconds within which a group is worth doubling: each opens its engines anew
_GRACE = 10.0  # seconds for a group under way when the time is up
_NO_TIME = "there was no time to run them; `evalcore datasets check` takes as long as it needs"


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
                entry.problem[:500],
            )
            for entry in findings
            if entry.kind == "contradicted"
        ]
        open_ = {
            entry.sample: entry.problem[:300] for entry in findings if entry.kind == "unconfirmed"
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


def confirm_samples(question: ConfirmRequest, tally: ConfirmTally | None = None) -> GoldReport:
    """The report on the samples of a question, from memory where there is one."""
    location, tally = question.place, tally or ConfirmTally()
    benchmark = create_benchmark(location.benchmark, location.options)
    try:
        samples = list(question.samples)
        if not samples:
            if find_gold_location(benchmark, Path(location.path), question.settings) is None:
                return GoldReport()
            samples = benchmark.load_dataset(DatasetSource(path=location.path))
        if question.keys:
            chosen = frozenset(question.keys)
            samples = [sample for sample in samples if sample.key in chosen]
        key = compute_gold_key(location, samples)
        report = load_gold_report(question.settings, key)
        if report is None:
            tally.samples = samples
            _check_samples(benchmark, tally, question.seconds)
            report = tally.build_gold_report()
            by_engines = benchmark.confirms_by_engines
            save_gold_report(question.settings, key, report, by_engines=by_engines)
        return report
    finally:
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


def main() -> int:
    question = from_json(ConfirmRequest, sys.stdin.buffer.read())
    answer = sys.stdout.buffer
    # What a library prints must not stand in the report.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    tally = ConfirmTally()

    def report_and_exit() -> None:
        """Report what was found out before a sample that hangs, and take the process with it."""
        if not tally.runnable:  # the cases are not read yet
            print(_NO_TIME, file=sys.stderr, flush=True)
            os._exit(1)
        answer.write(to_json(tally.build_gold_report()))
        answer.flush()
        os._exit(0)

    watch = threading.Timer(question.seconds + _GRACE, report_and_exit)
    watch.daemon = True
    watch.start()
    try:
        with override_data_folder(question.settings.data):
            report = confirm_samples(question, tally)
    except (EvalboardError, OSError, MemoryError) as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 1
    finally:
        watch.cancel()
    answer.write(to_json(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
