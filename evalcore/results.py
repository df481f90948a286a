"""What a run came to: the value types of scores, totals, summary and progress.

They are records (`evalcore.records`); scores are 0 to 100 here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from evalcore.intake import add_counts
from evalcore.records import MEASURED, CostSource, Measured, Record, TargetSpec, Usage

CLAIMED_VIEW = "claimed"  # the score that a publisher gives beside the recomputed one
RunState = Literal["planned", "running", "done", "incomplete", "cancelled", "interrupted", "broken"]


class Interval(Record, frozen=True):
    """A 95 % interval, on the scale of the score it belongs to."""

    low: float
    high: float


class MetricScore(Record, frozen=True):
    """Scores are 0 to 100, None where no sample was measured. `weight` None: reported, not scored.
    `passed`/`samples` is plain."""

    metric: str
    weight: float | None
    samples: int
    measured: int
    passed: float
    score: float | None
    answered: float | None = None
    interval: Interval | None = None
    points: float = 0.0
    maximum: float = 0.0


class BenchmarkScore(Record, frozen=True):
    """The score triple of one benchmark: `score` (strict), `answered`, `coverage` (0 to 1); of what
    others published `level` 0 is a bare claim, 1 has a complete case report behind it. Scores are
    None where nothing that counts was measured, see `measured_score`. `repeats` are `deterministic`
    where a model answered alike in every epoch: they say no more than one epoch."""

    benchmark: str
    column: str
    score: float | None
    interval: Interval | None
    answered: float | None
    coverage: float
    samples: int
    complete: bool
    full: bool
    metrics: dict[str, MetricScore]
    outcomes: dict[str, int]
    views: dict[str, float] = {}
    groups: dict[str, float | None] = {}
    label: str = ""
    level: int | None = None
    self_judged: bool = False
    repeats: Literal["", "deterministic"] = ""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to ask: all is measured or outside the scope of the target. A
        score with cases outside is not `complete`, and has no rank beside those without."""
        ends = {*MEASURED, "not_applicable"}
        return self.complete or (bool(self.outcomes) and ends.issuperset(self.outcomes))

    def __post_init__(self) -> None:
        """Files written before unmeasured scores were None hold 0.0 for them."""
        if self.level == 0:
            return
        score = measured_score(self.score, self.answered, self.samples)
        metrics = {
            name: msgspec.structs.replace(metric, score=None, interval=None)
            if metric.answered is None and not metric.measured
            else metric
            for name, metric in self.metrics.items()
        }
        msgspec.structs.force_setattr(self, "score", score)
        msgspec.structs.force_setattr(self, "metrics", metrics)
        if score is None:
            msgspec.structs.force_setattr(self, "interval", None)
            msgspec.structs.force_setattr(self, "views", drop_unmeasured_views(self.views))


def drop_unmeasured_views(views: dict[str, float]) -> dict[str, float]:
    """The readings of a benchmark of which nothing was measured: only what a publisher claims."""
    return {name: value for name, value in views.items() if name == CLAIMED_VIEW}


def measured_score(score: float | None, answered: float | None, samples: int) -> float | None:
    """The strict score of a benchmark: None where samples were declared and nothing that counts was
    measured, since a failure of the provider, the judges or the environment is no 0 of the target.
    Without a sample it stays 0, labelled "no cases"."""
    return None if samples and answered is None else score


class Totals(Measured, frozen=True):
    """What a run took, summed over its episodes; `cost` in USD, None where any price is unknown;
    `tokens_per_second` is the median of the answers', `queue_p50` what they waited before a local
    model began, `wall` the seconds of the last worker, `joules` what the machine took meanwhile,
    where it can be read and a local model answered everything. The panel's requests and cost are
    apart."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    requests: int = 0
    cached: int = 0
    first_token_p50: float | None = None
    tokens_per_second: float | None = None
    queue_p50: float | None = None
    wall: float = 0.0
    judge_requests: int = 0
    judge_cost: float | None = 0.0
    cost_sources: tuple[CostSource, ...] = ()
    joules: float | None = None


def add_usage(left: Usage, right: Usage) -> Usage:
    """Token counts added field by field; what neither reports stays unknown. The stated costs are
    not added: where one answer lacks it, their sum would pass for the whole."""
    return Usage(
        input_tokens=add_counts(left.input_tokens, right.input_tokens),
        output_tokens=add_counts(left.output_tokens, right.output_tokens),
        reasoning_tokens=add_counts(left.reasoning_tokens, right.reasoning_tokens),
        cached_tokens=add_counts(left.cached_tokens, right.cached_tokens),
    )


class RunSummary(Record, frozen=True):
    """`summary.json`: the scores of a run under one scoring. `message` says why it was stopped
    before its end, `tool_refusal` why calls of tools were not asked for natively, `api_change` to
    which API the server sent the run, and its words; all are empty where that was not so."""

    run_id: str
    target: TargetSpec
    state: RunState
    scoring: str
    benchmarks: dict[str, BenchmarkScore]
    totals: Totals = Totals()
    errors: dict[str, int] = {}
    created_at: str = ""
    finished_at: str = ""
    origin: str = "executed"
    epochs: int = 1
    message: str = ""
    tool_refusal: str = ""
    api_change: str = ""

    @property
    def is_complete(self) -> bool:
        ended = self.state not in ("incomplete", "cancelled")
        return (
            ended and bool(self.benchmarks) and all(b.is_settled for b in self.benchmarks.values())
        )


class RunCounts(Record, frozen=True):
    """How far a run is, and what is under way."""

    run_id: str
    state: RunState
    phase: str = ""
    total: int = 0
    generated: int = 0
    scored: int = 0
    outcomes: dict[str, int] = {}
    errors: dict[str, int] = {}
    in_flight: int = 0
    limit: int = 0
    requests: int = 0
    refused: int = 0
    rate: float = 0.0
    eta: float | None = None


class Progress(RunCounts, Measured, frozen=True):
    """`progress.json`: where a run stands, rewritten twice a second while its worker lives."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    started_at: str = ""
    at: str = ""
    message: str = ""
