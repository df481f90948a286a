"""What a report says of a run, read from its folder: scores, and every case with its answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

from evalcore.errors import UsageError
from evalcore.records import (
    BenchmarkScore,
    BenchmarkSpec,
    Episode,
    Record,
    RunSpec,
    RunSummary,
    Verdict,
)
from evalcore.store.run_folder import RunFolder, StoredSample
from evalcore.store.sample_rows import generation_key

MISSING = "missing"  # the outcome of a case without a verdict
_ERRORS = frozenset({"target_error", "judge_error", "environment_error", MISSING})


class CaseRow(Record, frozen=True):
    """One case in one epoch. `score` is 0 to 1 and 0 where unmeasured; `latency` in seconds."""

    metric: str
    id: str
    epoch: int
    difficulty: int
    outcome: str
    score: float
    evidence_kind: str
    reason: str
    note: str
    prediction: str
    latency: float | None

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


class BenchmarkReport(Record, frozen=True):
    """One benchmark of a run: `score` is ours, the properties are the plain counts."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    cases: tuple[CaseRow, ...]

    @property
    def total(self) -> int:
        """Declared cases times epochs."""
        return len(self.cases)

    @property
    def passed(self) -> int:
        return sum(case.passed for case in self.cases)

    @property
    def rate(self) -> float:
        """passed / total, 0 to 1, neither weighted nor thinned out; 0 without cases."""
        return self.passed / self.total if self.cases else 0.0

    @property
    def errors(self) -> int:
        """Cases that say nothing about the target."""
        return sum(case.outcome in _ERRORS for case in self.cases)

    @property
    def latency(self) -> float | None:
        """The mean in seconds over the cases that were asked, None where none was."""
        known = [case.latency for case in self.cases if case.latency is not None]
        return fmean(known) if known else None


class RunReport(Record, frozen=True):
    """A run with its benchmarks, in the order of its spec."""

    spec: RunSpec
    summary: RunSummary
    benchmarks: tuple[BenchmarkReport, ...]

    @property
    def rate(self) -> float:
        """The mean of the plain rates of the benchmarks, 0 to 1."""
        return fmean(b.rate for b in self.benchmarks) if self.benchmarks else 0.0


def read(folder: RunFolder) -> RunReport:
    """The report of a run that has been scored.

    Raises UsageError where it has not, RunFolderError where a file of it cannot be read.
    """
    spec, summary = folder.spec(), folder.summary()
    if summary is None:
        raise UsageError(
            f"run {folder.run_id} has no scores yet; wait for its end, "
            f"or go on with `evalcore resume {folder.run_id}`"
        )
    cases: dict[str, list[CaseRow]] = defaultdict(list)
    for benchmark, case in _cases(folder, summary.scoring, spec.epochs):
        cases[benchmark].append(case)
    return RunReport(
        spec=spec,
        summary=summary,
        benchmarks=tuple(
            BenchmarkReport(b, summary.benchmarks[b.key], tuple(cases[b.key]))
            for b in spec.benchmarks
            if b.key in summary.benchmarks
        ),
    )


def _cases(folder: RunFolder, scoring: str, epochs: int) -> Iterator[tuple[str, CaseRow]]:
    """(benchmark, case) in declared order; of several verdicts or episodes the last counts."""
    verdicts = {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in folder.verdicts(scoring)
    }
    episodes = {
        (line.benchmark, line.episode.key, line.episode.epoch): line.episode
        for line in folder.episodes()
    }
    for stored in folder.samples():
        benchmark, sample = stored.benchmark, stored.sample
        for epoch in range(epochs):
            verdict = verdicts.get((benchmark, sample.metric, sample.id, epoch))
            key = generation_key(verdict, sample.key)
            yield benchmark, _row(stored, epoch, verdict, episodes.get((benchmark, key, epoch)))


def _row(
    stored: StoredSample, epoch: int, verdict: Verdict | None, episode: Episode | None
) -> CaseRow:
    return CaseRow(
        metric=stored.sample.metric,
        id=stored.sample.id,
        epoch=epoch,
        difficulty=stored.sample.difficulty,
        outcome=verdict.outcome if verdict else MISSING,
        score=(verdict.score or 0.0) if verdict else 0.0,
        evidence_kind=verdict.evidence_kind if verdict else "",
        reason=verdict.reason if verdict else "",
        note=verdict.note if verdict else "",
        prediction=episode.answer if episode else "",
        latency=episode.latency if episode else None,
    )
