"""A finished run whose verdicts a panel of three gave, for tests of what is told of judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Outcome,
    RunSpec,
    Sample,
    Section,
    TargetSpec,
    Verdict,
)
from evalcore.results import RunSummary, Totals
from evalcore.scoring.aggregation import score_benchmark
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict

METRIC = "logical_equivalence"
JUDGES = ("openai:mild", "openai:stern?base_url=http://127.0.0.1:1/v1", "openai:shy")
#: By case: the three votes and what execution said, "" where nothing could be executed.
VOTES: tuple[tuple[tuple[str, str, str], Outcome | None], ...] = (
    (("yes", "yes", "abstain"), "passed"),
    (("yes", "no", "no"), "failed"),
    (("yes", "no", "yes"), "passed"),
    (("no", "no", "failed"), None),
)
_WHEN = "2026-11-01T10:00:00.000+00:00"


def make_judged_run(settings: Settings, run_id: str, cost: float | None = 0.5) -> RunFolder:
    """Four cases judged for `cost` USD each, entered into the index."""
    samples = [Sample(metric=METRIC, id=str(number), input={}) for number in range(len(VOTES))]
    verdicts = [_verdict(number, cost) for number in range(len(samples))]
    return write_scored_run(
        settings,
        run_id,
        TargetSpec(key="openai:answers"),
        samples,
        verdicts,
        column="judged",
        options={"mode": "scale"},
        judges=JUDGES,
    )


def write_scored_run(
    settings: Settings,
    run_id: str,
    target: TargetSpec,
    samples: list[Sample],
    verdicts: list[Verdict],
    episodes: Sequence[Episode] = (),
    *,
    column: str,
    **benchmark_fields: Any,
) -> RunFolder:
    """Write a finished run of conversions with these verdicts, and enter it into the index."""
    benchmark = BenchmarkSpec(
        key=CARD.key,
        suite=CARD.suite,
        dataset="own",
        dataset_hash="d1",
        weights={METRIC: 4.0},
        prompt_version="1",
        column=column,
        samples=len(samples),
        **{"options": {}, "scorer_version": "1", **benchmark_fields},
    )
    spec = RunSpec(run_id=run_id, created_at=_WHEN, target=target, benchmarks=(benchmark,))
    folder = RunFolder(settings.runs_dir / run_id)
    folder.create(spec, [(CARD.key, sample) for sample in samples])
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / "s1" / "w1.jsonl") as journal,
    ):
        for episode in episodes:
            generations.append(StoredEpisode(benchmark=CARD.key, episode=episode))
        for verdict in verdicts:
            journal.append(StoredVerdict(benchmark=CARD.key, verdict=verdict))
    score = score_benchmark(
        CARD, samples, verdicts, benchmark.weights, column=column, full=True, label=column
    )
    folder.write_summary(
        RunSummary(
            run_id=run_id,
            target=target,
            state="done",
            scoring="s1",
            benchmarks={CARD.key: score},
            totals=Totals(),
            created_at=_WHEN,
            finished_at=_WHEN,
        )
    )
    record_run(settings, folder)
    return folder


def _verdict(number: int, cost: float | None) -> Verdict:
    votes, executed = VOTES[number]
    lines = [{"judge": judge, "vote": vote} for judge, vote in zip(JUDGES, votes, strict=True)]
    passed = votes.count("yes") > votes.count("no")
    details = {"judge_requests": 3} | ({"executed": executed} if executed else {})
    return Verdict(
        metric=METRIC,
        id=str(number),
        outcome="passed" if passed else "failed",
        score=float(passed),
        evidence_kind="judged",
        details=details if cost is None else details | {"judge_cost": cost},
        evidence=(Section(kind="votes", title="votes", body=lines),),
    )
