"""Whole runs for tests of boards and pages: many cases, any skill, scored by the real rules.

The cases of every run with equal `cases`, `dataset` and `mode` are the same, so that such runs
share a column; whether a target solves a case follows from its name, the case and its skill alone.
"""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd

from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Message,
    Record,
    RunSpec,
    Sample,
    TargetSpec,
    Usage,
    Verdict,
    content_hash,
)
from evalcore.results import RunSummary, Totals
from evalcore.scoring.aggregation import score_benchmark
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from evalcore.views import boards, case_points, ranking

BENCHMARK = CARD.key
SCORING = "s1"
DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


class Plan(Record, frozen=True):
    """What a run is like. `skill` 0 to 1 is the share of cases it tends to solve; `failing` of its
    cases end without an answer, which leaves the run incomplete; `price` is USD per case."""

    target: str
    skill: float = 0.5
    created_at: str = "2026-11-01T10:00:00.000+00:00"
    cases: int = 20
    dataset: str = BENCHMARK
    mode: str = "verified"
    full: bool = True
    failing: int = 0
    price: float | None = 0.001
    options: dict[str, object] = {}
    skills: dict[str, float] = {}


def samples(plan: Plan) -> list[Sample]:
    """`plan.cases` cases per metric, of difficulty 1 to 3 in turn."""
    return [
        Sample(
            metric=metric.key,
            id=str(number),
            input={"dialect": DIALECTS[number % 4], "sql": f"SELECT {number}"},
            reference={"dataset": plan.dataset},
            difficulty=1 + number % 3,
        )
        for metric in CARD.metrics
        for number in range(plan.cases)
    ]


def make_run(settings: Settings, plan: Plan, run_id: str = "") -> RunFolder:
    """A finished run with all its journals, entered into the index."""
    declared = samples(plan)
    spec = _spec(plan, declared, run_id or f"run-{content_hash([plan], 10)}")
    folder = RunFolder(settings.runs_dir / spec.run_id)
    folder.create(spec, [(BENCHMARK, sample) for sample in declared])
    verdicts = _journal(folder, plan, declared)
    score = score_benchmark(
        CARD,
        declared,
        verdicts,
        CARD.weights,
        column=spec.benchmarks[0].column,
        full=plan.full,
        label=f"{plan.dataset} · {plan.mode} · {len(declared)} samples",
    )
    folder.write_summary(
        RunSummary(
            run_id=spec.run_id,
            target=spec.target,
            state="done" if score.complete else "incomplete",
            scoring=SCORING,
            benchmarks={BENCHMARK: score},
            totals=Totals(
                input_tokens=300 * len(declared),
                output_tokens=80 * len(declared),
                cost=None if plan.price is None else plan.price * len(declared),
                latency_p50=0.8,
                latency_p95=2.5,
                requests=len(declared),
            ),
            errors={"retryable": plan.failing} if plan.failing else {},
            created_at=plan.created_at,
            finished_at=plan.created_at,
        )
    )
    record_run(settings, folder)
    return folder


def _spec(plan: Plan, declared: list[Sample], run_id: str) -> RunSpec:
    hashed = content_hash([sample.case_hash for sample in declared])
    benchmark = BenchmarkSpec(
        key=BENCHMARK,
        suite=CARD.suite,
        dataset=plan.dataset,
        dataset_hash=hashed,
        options={"mode": plan.mode},
        weights=CARD.weights,
        prompt_version="1",
        scorer_version="1",
        column=content_hash([hashed, plan.mode], 12),
        samples=len(declared),
        full=plan.full,
    )
    return RunSpec(
        run_id=run_id,
        created_at=plan.created_at,
        target=TargetSpec(key=plan.target, options=plan.options),
        benchmarks=(benchmark,),
    )


def _journal(folder: RunFolder, plan: Plan, declared: list[Sample]) -> list[Verdict]:
    verdicts = []
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as scored,
    ):
        for number, sample in enumerate(declared):
            episode = _episode(plan, sample, failed=number < plan.failing)
            verdict = _verdict(plan, sample, failed=number < plan.failing)
            generations.append(StoredEpisode(benchmark=BENCHMARK, episode=episode))
            scored.append(StoredVerdict(benchmark=BENCHMARK, verdict=verdict))
            verdicts.append(verdict)
    return verdicts


def _episode(plan: Plan, sample: Sample, *, failed: bool) -> Episode:
    question = Message(role="user", content=f"What does {sample.input['sql']} return?")
    reply = Message(role="assistant", content=f"answer to {sample.key}")
    return Episode(
        key=sample.key,
        epoch=0,
        answer="" if failed else reply.content,
        messages=(question,) if failed else (question, reply),
        finish_reason="" if failed else "stop",
        usage=Usage(input_tokens=300, output_tokens=80),
        cost=plan.price,
        cost_sources=() if plan.price is None else ("provider",),
        latency=0.8,
        attempts=1,
        failure=Failure(kind="retryable", message="server error") if failed else None,
    )


def _verdict(plan: Plan, sample: Sample, *, failed: bool) -> Verdict:
    if failed:
        return Verdict(metric=sample.metric, id=sample.id, outcome="target_error", reason="server")
    skill = plan.skills.get(sample.metric, plan.skill)
    # Half of a case's difficulty is its own, half is the target's luck with it: as with real ones.
    hardness = random.Random(sample.key).random()
    luck = random.Random(f"{plan.target}{plan.created_at}{sample.key}").random()
    passed = (hardness + luck) / 2 < skill if 0 < skill < 1 else bool(skill)
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        outcome="passed" if passed else "failed",
        score=float(passed),
        evidence_kind=CARD.find_metric(sample.metric).evidence,
        reason="" if passed else "wrong_result",
        note="" if passed else "a row differs",
    )


def settings_in(path: Path) -> Settings:
    """A store of its own under `path`, without the shipped runs."""
    return Settings(data=str(path / "data"), shipped=str(path / "shipped"))


def build_ranking(headers, board, cases: pd.DataFrame) -> pd.DataFrame:
    """The ranking of runs by a frame of `case_points.case_scores`, by the board's first order."""
    points = {
        key: case_points.build_point_table(cases[cases["benchmark"] == key])
        for key in (board.columns if len(cases) else ())
    }
    points = points or dict.fromkeys(board.columns, case_points._NOTHING)
    return ranking.build_ranking_frame(boards.list_board_rows(headers, board), board, points)
