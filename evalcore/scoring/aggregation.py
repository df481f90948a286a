"""From verdicts to scores: reduce the epochs of a sample, then weight samples and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from math import fsum
from typing import NamedTuple, Protocol, runtime_checkable

from evalcore.catalog import BenchmarkCard
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import MEASURED, Sample, Verdict
from evalcore.results import BenchmarkScore, MetricScore
from evalcore.scoring.intervals import (
    Stratum,
    WeightedStrata,
    compute_weighted_score,
    score_interval,
)

# From verdicts to scores of declared samples: epochs are reduced to their mean. Samples of a metric
# that weigh and score alike are counted together, so that a million of them take no memory.


class SampleScore(NamedTuple):
    """`samples` declared ones with the scores (0 to 1) of the epochs in which they were
    measured."""

    metric: str
    weight: float
    epochs: int
    measured: tuple[float, ...]
    samples: int

    @property
    def strict(self) -> float:
        """The mean over all declared epochs; an unmeasured one counts 0."""
        return fsum(self.measured) / self.epochs

    @property
    def answered(self) -> float | None:
        """The mean over the measured epochs, None where there is none."""
        return fsum(self.measured) / len(self.measured) if self.measured else None


class ScoredVerdict(Protocol):
    """What of a verdict decides a score."""

    @property
    def outcome(self) -> str: ...

    @property
    def score(self) -> float | None: ...

    @property
    def views(self) -> Mapping[str, float]: ...


class ScoredCase(NamedTuple):
    """A declared sample with its verdict in each epoch, None where there is none."""

    metric: str
    id: str
    weight: float
    verdicts: Sequence[ScoredVerdict | None]


@runtime_checkable
class CaseVerdicts(Protocol):
    """Verdicts that lie with their samples, and are read one case at a time."""

    @property
    def samples(self) -> Sequence[Sample]: ...

    def iterate_cases(self) -> Iterator[ScoredCase]: ...


#: The score and the views of a measured verdict.
_Reading = tuple[float, tuple[tuple[str, float], ...]]
_Cell = tuple[str, float, tuple[_Reading | None, ...]]


def _iterate_cases(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], epochs: int
) -> Iterator[ScoredCase]:
    """Each declared sample with at most one verdict per epoch.

    Of several on one epoch the last counts, as everywhere in a run folder. Verdicts on samples or
    epochs that were not declared are left out. Raises UsageError for a sample declared twice.
    """
    if isinstance(verdicts, CaseVerdicts) and verdicts.samples is samples:
        yield from verdicts.iterate_cases()
        return
    declared = Counter((sample.metric, sample.id) for sample in samples)
    for (metric, name), times in declared.items():
        if times > 1:
            raise UsageError(Note("score_twice", metric=metric, name=name, times=times))
    latest = {
        (verdict.metric, verdict.id, verdict.epoch): verdict
        for verdict in verdicts
        if (verdict.metric, verdict.id) in declared
    }
    for sample in samples:
        weight = float(sample.difficulty if sample.weight is None else sample.weight)
        own = [latest.get((sample.metric, sample.id, epoch)) for epoch in range(epochs)]
        yield ScoredCase(sample.metric, sample.id, weight, own)


def _read_verdict(case: ScoredCase, verdict: ScoredVerdict | None) -> _Reading | None:
    """What was measured; raises UsageError for a measured verdict without a score of 0 to 1."""
    if verdict is None or verdict.outcome not in MEASURED:
        return None
    for score in (verdict.score, *verdict.views.values()):
        if score is None or not 0 <= score <= 1:
            sample, outcome = f"{case.metric}/{case.id}", verdict.outcome
            raise UsageError(Note("verdict_score", sample=sample, outcome=outcome, score=score))
    return float(verdict.score or 0.0), tuple(sorted(verdict.views.items()))


def _reduce_epochs(cells: Mapping[_Cell, int], view: str = "") -> list[SampleScore]:
    """With a `view`, verdicts that have such a second reading count with it, the others as they
    are."""
    counted: Counter[tuple[str, float, int, tuple[float, ...]]] = Counter()
    for (metric, weight, readings), count in cells.items():
        measured = tuple(
            float(dict(reading[1]).get(view, reading[0])) for reading in readings if reading
        )
        counted[metric, weight, len(readings), measured] += count
    return [SampleScore(*cell, count) for cell, count in sorted(counted.items())]


# The score of one benchmark: strict, answered-only and coverage, per metric and together.
# Metric score = sum(case weight x sample score), a case weighing its difficulty unless the run or
# the data set says otherwise; benchmark score = 100 x sum(metric points x metric weight) /
# sum(metric maximum x metric weight), the published rule of SCALE. The denominator is the
# declared sample set, whatever became of the requests.

MISSING = "missing"  # counted beside the outcomes: no verdict of any kind

Groups = Mapping[str, Sequence[SampleScore]]


def score_benchmark(
    card: BenchmarkCard,
    samples: Sequence[Sample],
    verdicts: Sequence[Verdict],
    weights: Mapping[str, float],
    *,
    epochs: int = 1,
    column: str = "",
    full: bool = True,
    label: str = "",
) -> BenchmarkScore:
    """The score triple with its interval, the metrics, the outcomes and the views.

    `weights` holds the weight of every scored metric; a metric without one is reported with
    weight None, a metric of the card without samples with 0 samples. What was not measured at all
    has no score. `outcomes` counts declared (sample, epoch) pairs. The order of samples and
    verdicts does not matter. Raises UsageError for a negative weight, no epoch, a sample declared
    twice, a score outside 0 to 1.
    """
    _check_metric_weights(weights, epochs)
    cells: Counter[_Cell] = Counter()
    outcomes: Counter[str] = Counter()
    for case in _iterate_cases(samples, verdicts, epochs):
        outcomes.update([v.outcome if v is not None else MISSING for v in case.verdicts])
        readings = tuple([_read_verdict(case, verdict) for verdict in case.verdicts])
        cells[case.metric, case.weight, readings] += 1
    groups = _group_by_metric(card, _reduce_epochs(cells))
    strict = _build_strata(groups)
    declared = len(samples) * epochs
    measured = sum(len(s.measured) * s.samples for group in groups.values() for s in group)
    scored = _select_weighted_strata(strict, weights)
    return BenchmarkScore(
        benchmark=card.key,
        column=column,
        score=compute_weighted_score(scored),
        interval=score_interval(scored),
        answered=_compute_answered_score(groups, weights),
        coverage=measured / declared if declared else 0.0,
        samples=len(samples),
        complete=0 < declared == measured,
        full=full,
        metrics={
            metric: _metric_score(metric, group, strict[metric], weights.get(metric))
            for metric, group in groups.items()
        },
        outcomes={outcome: n for outcome, n in sorted(outcomes.items()) if n},
        views={
            view: _view_score(card, _reduce_epochs(cells, view), weights)
            for view in _list_views(cells)
        },
        label=label,
    )


def _list_views(cells: Iterable[_Cell]) -> list[str]:
    return sorted({name for _, _, readings in cells for r in readings if r for name, _ in r[1]})


def _check_metric_weights(weights: Mapping[str, float], epochs: int) -> None:
    for metric, weight in weights.items():
        if not 0 <= weight < float("inf"):
            raise UsageError(Note("score_weight", metric=metric, weight=weight))
    if epochs < 1:
        raise UsageError(Note("score_epochs", epochs=epochs))


def _group_by_metric(
    card: BenchmarkCard, scores: Sequence[SampleScore]
) -> dict[str, list[SampleScore]]:
    """Group by the metrics of the card in its order, then by those that only samples name."""
    groups: dict[str, list[SampleScore]] = {metric.key: [] for metric in card.metrics}
    for score in scores:
        groups.setdefault(score.metric, []).append(score)
    return groups


def _build_strata(groups: Groups) -> dict[str, Stratum]:
    return {
        metric: Stratum.from_counts(metric, ((s.weight, s.strict, s.samples) for s in group))
        for metric, group in groups.items()
    }


def _select_weighted_strata(
    strata: Mapping[str, Stratum], weights: Mapping[str, float]
) -> WeightedStrata:
    """The scored strata, sorted, so that sums do not depend on the order of the metrics."""
    return [(strata[metric], weights[metric]) for metric in sorted(strata) if metric in weights]


def _compute_answered_score(groups: Groups, weights: Mapping[str, float]) -> float | None:
    """The score over what was measured alone; None where nothing was that can win a point."""
    strata = {
        metric: Stratum.from_counts(
            metric, ((s.weight, s.answered, s.samples) for s in group if s.answered is not None)
        )
        for metric, group in groups.items()
    }
    scored = _select_weighted_strata(strata, weights)
    return (
        compute_weighted_score(scored)
        if any(part.maximum * weight for part, weight in scored)
        else None
    )


def _metric_score(
    metric: str, group: Sequence[SampleScore], stratum: Stratum, weight: float | None
) -> MetricScore:
    """`measured` counts the samples with a measured verdict in every epoch."""
    return MetricScore(
        metric=metric,
        weight=weight,
        samples=sum(s.samples for s in group),
        measured=sum(s.samples for s in group if len(s.measured) == s.epochs),
        passed=fsum(chain.from_iterable(repeat(s.strict, s.samples) for s in group)),
        score=compute_weighted_score([(stratum, 1.0)]),
        answered=_compute_answered_score({metric: group}, {metric: 1.0}),
        interval=score_interval([(stratum, 1.0)]),
        points=stratum.points,
        maximum=stratum.maximum,
    )


def _view_score(
    card: BenchmarkCard, scores: Sequence[SampleScore], weights: Mapping[str, float]
) -> float:
    return compute_weighted_score(
        _select_weighted_strata(_build_strata(_group_by_metric(card, scores)), weights)
    )
