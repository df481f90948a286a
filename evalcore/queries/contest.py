"""Several runs side by side: their scores by column, and all of them against a base, case by case.

Nothing here joins scores of different columns: a benchmark that was run by two rules makes two
groups, and the best is the best of its group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pandas as pd

from evalcore.catalog import benchmark_cards
from evalcore.queries import comparison
from evalcore.queries.case_points import case_scores
from evalcore.queries.comparison import Compared
from evalcore.queries.lineup import Entrant, Lineup, benchmarks, folders
from evalcore.records import BenchmarkScore, Interval, Record


class Mark(Record, frozen=True):
    """A score (0 to 100, None unmeasured) of one run. `best`: no other of its group is higher;
    never on a control, an incomplete run or a bare claim, nor where all that could have it are
    equal."""

    letter: str
    score: float | None
    interval: Interval | None
    samples: int
    coverage: float
    complete: bool
    claimed: bool = False
    best: bool = False


class MetricMarks(Record, frozen=True):
    """One metric across a group; `weight` None is reported and not scored."""

    metric: str
    weight: float | None
    marks: tuple[Mark, ...]


class Group(Record, frozen=True):
    """The runs that share a column of a benchmark, hence may be compared on it."""

    benchmark: str
    column: str
    label: str
    dataset: str
    samples: int
    full: bool
    marks: tuple[Mark, ...]
    metrics: tuple[MetricMarks, ...]

    @property
    def letters(self) -> list[str]:
        return [mark.letter for mark in self.marks]


class CaseLine(Record, frozen=True):
    """A case on which the runs differ: scores 0 to 1 by letter, `spread` between the extremes."""

    benchmark: str
    metric: str
    id: str
    weight: float
    spread: float
    scores: dict[str, float]


class Detail(Record, frozen=True):
    """One benchmark against the base: the paired results by letter, and the differing cases, those
    that weigh most first. `metric` empty means all of it; `common` cases were held by all."""

    benchmark: str
    metric: str
    base: str
    common: int
    pairs: dict[str, Compared]
    cases: tuple[CaseLine, ...]


def groups(lineup: Lineup) -> list[Group]:
    """Every benchmark and column that anyone has a score in."""
    found = []
    for benchmark in benchmarks(lineup):
        own = [one for one in lineup.entrants if benchmark in one.scores]
        for column in dict.fromkeys(one.scores[benchmark].column for one in own):
            found.append(
                _group(benchmark, [o for o in own if o.scores[benchmark].column == column])
            )
    return found


def comparable(lineup: Lineup, base: Entrant) -> dict[str, list[Entrant]]:
    """By benchmark, in the order of the catalogue, those who may be measured against the base,
    which comes first; only benchmarks on which there is anyone."""
    found = {}
    for benchmark in benchmarks(lineup):
        score = base.scores.get(benchmark)
        if score is None or score.score is None:
            continue
        others = [
            one
            for one in lineup.entrants
            if one.run_id != base.run_id
            and benchmark in one.scores
            and one.scores[benchmark].column == score.column
            and 0 not in (score.level, one.scores[benchmark].level)
            and one.scores[benchmark].score is not None
        ]
        if others:
            found[benchmark] = [base, *others]
    return found


def scores_of(roots: Sequence[Path], lineup: Lineup) -> pd.DataFrame:
    """The frame of `case_scores` for those who take part."""
    return case_scores(folders(roots, lineup))


def detail(
    scores: pd.DataFrame, benchmark: str, sides: Sequence[Entrant], metric: str = ""
) -> Detail:
    """`sides` on one benchmark (and metric), the first of them being the base.

    `scores` comes from `scores_of`, `sides` from `comparable`.
    """
    asked = scores[scores["benchmark"] == benchmark]
    if metric:
        asked = asked[asked["metric"] == metric]
    base, *others = sides
    cases = comparison.side_by_side(asked, {one.run_id: one.letter for one in sides})
    return Detail(
        benchmark=benchmark,
        metric=metric,
        base=base.letter,
        common=len(cases),
        pairs={
            one.letter: comparison.paired(benchmark, cases, base.letter, one.letter)
            for one in others
        },
        cases=_differing(cases, sorted(one.letter for one in sides)),
    )


def profile(group: Group) -> pd.DataFrame:
    """Frame for a radar of a group: axis (a metric), series (a letter) and score, 0 to 100."""
    return pd.DataFrame(
        [
            {"axis": line.metric, "series": mark.letter, "score": mark.score}
            for line in group.metrics
            for mark in line.marks
            if mark.score is not None
        ],
        columns=["axis", "series", "score"],
    )


def metrics_of(lineup: Lineup, benchmark: str) -> list[str]:
    """The metrics with cases, in the order of the catalogue."""
    held = [one.scores[benchmark] for one in lineup.entrants if benchmark in one.scores]
    return _metrics(held)


def _differing(cases: pd.DataFrame, letters: list[str]) -> tuple[CaseLine, ...]:
    spread = cases[letters].max(axis=1) - cases[letters].min(axis=1)
    table = cases.assign(spread=spread, size=spread * cases["weight"])
    table = table[table["size"] > 0].sort_values(
        ["size", "spread", "metric", "id"], ascending=[False, False, True, True]
    )
    return tuple(
        CaseLine(
            benchmark=str(row["benchmark"]),
            metric=str(row["metric"]),
            id=str(row["id"]),
            weight=float(row["weight"]),
            spread=float(row["spread"]),
            scores={letter: float(row[letter]) for letter in letters},
        )
        for row in table.to_dict("records")
    )


def _group(benchmark: str, own: Sequence[Entrant]) -> Group:
    score, spec = own[0].scores[benchmark], own[0].specs[benchmark]
    marks = [_mark(one, one.scores[benchmark]) for one in own]
    return Group(
        benchmark=benchmark,
        column=score.column,
        label=score.label,
        dataset=spec.dataset,
        samples=score.samples,
        full=score.full,
        marks=_with_best(marks, own),
        metrics=_metric_marks(benchmark, own),
    )


def _mark(one: Entrant, score: BenchmarkScore) -> Mark:
    return Mark(
        letter=one.letter,
        score=score.score,
        interval=score.interval,
        samples=score.samples,
        coverage=score.coverage,
        complete=score.complete,
        claimed=score.level == 0,
    )


def _metric_marks(benchmark: str, own: Sequence[Entrant]) -> tuple[MetricMarks, ...]:
    found = []
    for metric in _metrics([one.scores[benchmark] for one in own]):
        marks, weight = [], None
        for one in own:
            score = one.scores[benchmark]
            part = score.metrics.get(metric)
            if part is None or not (part.samples or score.level == 0):
                continue
            weight = part.weight
            marks.append(
                Mark(
                    letter=one.letter,
                    score=part.score,
                    interval=part.interval,
                    samples=part.samples,
                    coverage=part.measured / part.samples if part.samples else 0.0,
                    complete=score.complete,
                    claimed=score.level == 0,
                )
            )
        found.append(MetricMarks(metric, weight, _with_best(marks, own)))
    return tuple(found)


def _metrics(held: Iterable[BenchmarkScore]) -> list[str]:
    scores = list(held)
    named = {
        name: score.benchmark
        for score in scores
        for name, part in score.metrics.items()
        if part.samples or score.level == 0
    }
    card = benchmark_cards().get(scores[0].benchmark) if scores else None
    known = [metric.key for metric in card.metrics] if card else []
    return [*(key for key in known if key in named), *(key for key in named if key not in known)]


def _with_best(marks: Sequence[Mark], own: Sequence[Entrant]) -> tuple[Mark, ...]:
    controls = {one.letter for one in own if one.control}
    able = [
        mark
        for mark in marks
        if mark.complete and not mark.claimed and mark.letter not in controls
        if mark.score is not None
    ]
    top = max((mark.score for mark in able if mark.score is not None), default=0.0)
    if all(mark.score == top for mark in able):
        return tuple(marks)
    return tuple(
        msgspec.structs.replace(mark, best=mark in able and mark.score == top) for mark in marks
    )
