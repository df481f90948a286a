"""Finished run folders built case by case, for tests of what is made from one: text included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Record,
    RunSpec,
    Sample,
    TargetSpec,
    Verdict,
)
from evalcore.results import RunSummary, Totals
from evalcore.scoring.aggregation import score_benchmark
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict

BENCHMARK = "demo"
SCORING = "s1"
WEIGHTS = {"A": 4.0, "B": 2.0}
CARD = BenchmarkCard(
    key=BENCHMARK,
    suite="sql",
    implementation="",
    metrics=tuple(MetricCard(key=key, weight=weight) for key, weight in WEIGHTS.items()),
)


class Case(Record, frozen=True):
    """A case as it ended. `score` None: the target failed; `journaled` False: nothing is known.

    `generation` names the episode where cases share one.
    """

    metric: str
    id: str
    score: float | None = 1.0
    difficulty: int = 1
    epoch: int = 0
    answer: str = "42"
    note: str = ""
    reason: str = ""
    latency: float = 0.5
    journaled: bool = True
    generation: str = ""


#: The worked example of the formula: 6 x 4 + 5 x 2 = 34 points.
EXAMPLE = tuple(
    Case(metric, str(difficulty), difficulty=difficulty)
    for metric, difficulty in (("A", 1), ("A", 2), ("A", 3), ("B", 2), ("B", 3))
)


def make_run(
    root: Path,
    run_id: str,
    target: str = "openai:small",
    cases: Sequence[Case] = EXAMPLE,
    *,
    epochs: int = 1,
    note: str = "",
    options: dict[str, object] | None = None,
    finished: bool = True,
) -> RunFolder:
    """The folder `root/run_id` with its journals and, if finished, its scores."""
    samples = {
        (case.metric, case.id): Sample(case.metric, case.id, {}, difficulty=case.difficulty)
        for case in cases
    }
    spec = _spec(run_id, TargetSpec(target, options or {}), len(samples), epochs, note)
    folder = RunFolder(root / run_id)
    folder.create(spec, [(BENCHMARK, sample) for sample in samples.values()])
    verdicts = _journal(folder, cases)
    if finished:
        folder.write_summary(_summary(spec, list(samples.values()), verdicts))
    return folder


def _spec(run_id: str, target: TargetSpec, samples: int, epochs: int, note: str) -> RunSpec:
    benchmark = BenchmarkSpec(
        key=BENCHMARK,
        suite="sql",
        dataset="bundled",
        dataset_hash="d1",
        options={},
        weights=WEIGHTS,
        prompt_version="1",
        scorer_version="1",
        column="c1",
        samples=samples,
    )
    return RunSpec(
        run_id=run_id,
        created_at="2026-11-01T10:00:00.000+00:00",
        target=target,
        benchmarks=(benchmark,),
        epochs=epochs,
        note=note,
    )


def _journal(folder: RunFolder, cases: Sequence[Case]) -> list[Verdict]:
    verdicts = []
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as scored,
    ):
        for case in cases:
            if case.journaled:
                generations.append(StoredEpisode(BENCHMARK, _episode(case)))
                scored.append(StoredVerdict(BENCHMARK, verdict := _verdict(case)))
                verdicts.append(verdict)
    return verdicts


def _episode(case: Case) -> Episode:
    failed = case.score is None
    return Episode(
        key=case.generation or f"{case.metric}/{case.id}",
        epoch=case.epoch,
        answer="" if failed else case.answer,
        latency=case.latency,
        failure=Failure("retryable", "server error", 503) if failed else None,
    )


def _verdict(case: Case) -> Verdict:
    return Verdict(
        metric=case.metric,
        id=case.id,
        outcome="target_error" if case.score is None else "passed" if case.score == 1 else "failed",
        epoch=case.epoch,
        score=case.score,
        reason=case.reason,
        note=case.note,
        details={"generation": case.generation} if case.generation else {},
    )


def _summary(spec: RunSpec, samples: list[Sample], verdicts: list[Verdict]) -> RunSummary:
    score = score_benchmark(CARD, samples, verdicts, WEIGHTS, epochs=spec.epochs, column="c1")
    return RunSummary(
        run_id=spec.run_id,
        target=spec.target,
        state="done" if score.complete else "incomplete",
        scoring=SCORING,
        benchmarks={BENCHMARK: score},
        totals=Totals(input_tokens=1200, output_tokens=34, requests=len(verdicts)),
        created_at=spec.created_at,
        epochs=spec.epochs,
    )
