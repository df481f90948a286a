"""Small run folders for tests of the store: three cases of two metrics, with journals on demand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalcore.records import BenchmarkSpec, Episode, RunSpec, Sample, TargetSpec, Usage, Verdict
from evalcore.results import BenchmarkScore, Interval, MetricScore, RunSummary, Totals
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict

BENCHMARK = "sql_understanding"
SCORING = "s1"
SAMPLES = (
    Sample(metric="execution_accuracy", id="1", input={"dialect": "sqlite"}, difficulty=1),
    Sample(metric="execution_accuracy", id="2", input={"dialect": "duckdb"}, difficulty=3),
    Sample(metric="syntax_error_detection", id="1", input={}, difficulty=2),
)


def spec_of(run_id: str, *, epochs: int = 1, created_at: str = "", note: str = "") -> RunSpec:
    benchmark = BenchmarkSpec(
        key=BENCHMARK,
        suite="sql",
        dataset="bundled",
        dataset_hash="d1",
        options={"mode": "verified"},
        weights={"execution_accuracy": 4.0},
        prompt_version="1",
        scorer_version="1",
        column="c1",
        samples=len(SAMPLES),
    )
    return RunSpec(
        run_id=run_id,
        created_at=created_at or "2026-11-01T10:00:00.000+00:00",
        target=TargetSpec("openai:small", {"temperature": 0.5}),
        benchmarks=(benchmark,),
        epochs=epochs,
        note=note,
    )


def metric_score(name: str, score: float, interval: Interval | None = None) -> MetricScore:
    return MetricScore(
        metric=name,
        weight=4.0,
        samples=2,
        measured=2,
        passed=1.0,
        score=score,
        interval=interval,
    )


def score_of(metrics: dict[str, MetricScore], score: float = 200 / 3) -> BenchmarkScore:
    return BenchmarkScore(
        benchmark=BENCHMARK,
        column="c1",
        score=score,
        interval=Interval(12.345678, 98.765432),
        answered=score,
        coverage=1.0,
        samples=3,
        complete=True,
        full=True,
        metrics=metrics,
        outcomes={"passed": 2, "failed": 1, "not_executed": 0},
        views={"strict": 33.333333},
    )


def summary_of(spec: RunSpec) -> RunSummary:
    metrics = {
        "execution_accuracy": metric_score("execution_accuracy", 200 / 3, Interval(1.23456, 99.0)),
        "syntax_error_detection": metric_score("syntax_error_detection", 0.0),
    }
    return RunSummary(
        run_id=spec.run_id,
        target=spec.target,
        state="done",
        scoring=SCORING,
        benchmarks={BENCHMARK: score_of(metrics)},
        totals=Totals(input_tokens=30, output_tokens=6, requests=3),
        created_at=spec.created_at,
        finished_at="2026-11-01T10:00:09.000+00:00",
    )


def plan(root: Path, run_id: str, *, epochs: int = 1, created_at: str = "") -> RunFolder:
    """A planned run: the frozen part only."""
    folder = RunFolder(root / run_id)
    folder.create(
        spec_of(run_id, epochs=epochs, created_at=created_at),
        [(BENCHMARK, sample) for sample in SAMPLES],
    )
    return folder


def finish(root: Path, run_id: str, *, created_at: str = "") -> RunFolder:
    """A finished run with all journals and its summary."""
    folder = plan(root, run_id, created_at=created_at)
    for number, sample in enumerate(SAMPLES):
        answer(folder, sample, cost=0.01 * number)
        judge(folder, sample, passed=number != 1)
    folder.write_summary(summary_of(folder.read_spec()))
    return folder


def answer(folder: RunFolder, sample: Sample, *, key: str = "", epoch: int = 0, **more) -> Episode:
    """Journal an episode of a sample (under another generation key if given)."""
    episode = Episode(
        key=key or sample.key,
        epoch=epoch,
        finish_reason="stop",
        usage=Usage(input_tokens=10, output_tokens=2),
        latency=0.25,
        attempts=1,
        answer=f"answer to {sample.key}",
    )
    episode = msgspec.structs.replace(episode, **more)
    with Journal(folder.path / "generations" / "w1.jsonl") as journal:
        journal.append(StoredEpisode(benchmark=BENCHMARK, episode=episode))
    return episode


def judge(
    folder: RunFolder,
    sample: Sample,
    *,
    passed: bool,
    epoch: int = 0,
    scoring: str = SCORING,
    **more,
) -> Verdict:
    """Journal a measured verdict on a sample."""
    verdict = Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=epoch,
        outcome="passed" if passed else "failed",
        score=float(passed),
    )
    verdict = msgspec.structs.replace(verdict, **more)
    with Journal(folder.path / "verdicts" / scoring / "w1.jsonl") as journal:
        journal.append(StoredVerdict(benchmark=BENCHMARK, verdict=verdict))
    return verdict
