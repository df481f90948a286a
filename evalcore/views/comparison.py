"""Runs compared case by case: paired tests, groups of cases, differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import msgspec
import pandas as pd

from evalcore.catalog import benchmark_cards
from evalcore.records import Record
from evalcore.results import BenchmarkScore, Interval
from evalcore.scoring.intervals import PairedResult, compare_paired
from evalcore.store.headers import parse_comparison_note
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.views.case_points import case_scores
from evalcore.views.comparison_runs import (
    ComparedRun,
    Lineup,
    find_lineup_folders,
    list_compared_benchmarks,
)
from evalcore.views.runs import RunRow

# Two runs side by side on the samples that both were asked: who is ahead, and where they differ.
# The second run is measured against the first: a win is a case where the second scores higher.

_KEY = ["benchmark", "metric", "id"]


class PairedScores(Record, frozen=True):
    """One benchmark: the scores of both on their common cases (0 to 100), and the paired result
    of the second against the first."""

    benchmark: str
    first: float
    second: float
    result: PairedResult


class RunPair(Record, frozen=True):
    """The two runs of a comparison as they stand now."""

    first: RunRow
    second: RunRow


def find_run_pair(rows: Iterable[RunRow], run: str) -> RunPair | None:
    """The comparison that a run was started for, None where there is none or one side is gone."""
    run_rows = list(rows)
    own = next((parse_comparison_note(row.note) for row in run_rows if row.run_id == run), None)
    if own is None:
        return None
    sides = {
        pair.side: row
        for row in run_rows
        if (pair := parse_comparison_note(row.note)) is not None and pair.id == own.id
    }
    return RunPair(sides["first"], sides["second"]) if len(sides) == 2 else None


def compute_pair_signature(roots: Sequence[Path], first: str, second: str) -> str:
    """Changes whenever `compare_benchmarks` or `find_differing_cases` may; raises UsageError for
    an unknown run."""
    return "|".join(find_run(run, roots).signature() for run in (first, second))


def load_common_cases(roots: Sequence[Path], first: str, second: str) -> pd.DataFrame:
    """The cases that count and that both runs hold: benchmark, metric, id, weight, first, second.

    Scores are 0 to 1, the mean over the epochs, what was not measured being 0. Benchmarks whose
    columns differ are left out: they were asked or judged by other rules. Raises UsageError when
    there is no such run, RunFolderError when its files are broken.
    """
    folders = [find_run(run, roots) for run in (first, second)]
    columns = [_find_run_columns(folder) for folder in folders]
    same = [key for key, column in columns[0].items() if columns[1].get(key) == column]
    scores = case_scores(folders)
    return pivot_case_scores(
        scores[scores["benchmark"].isin(same)], {first: "first", second: "second"}
    )


def _find_run_columns(folder: RunFolder) -> dict[str, str]:
    """The column of every benchmark: that of its score, which a rescoring may have changed."""
    columns = {spec.key: spec.column for spec in folder.read_spec().benchmarks}
    summary = folder.read_summary()
    scored = {} if summary is None else summary.benchmarks
    return columns | {key: score.column for key, score in scored.items()}


def pivot_case_scores(scores: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The cases of `case_scores` that all runs of `names` (run -> column) hold: benchmark, metric,
    id, weight and a column of scores per run."""
    own = scores[scores["run"].isin(list(names))]
    table = own.pivot(index=_KEY, columns="run", values="score").reindex(columns=list(names))
    table.columns = pd.Index(list(names.values()))
    table.insert(0, "weight", own.groupby(_KEY)["weight"].first())
    return table.dropna().reset_index()


def compare_benchmarks(cases: pd.DataFrame) -> list[PairedScores]:
    """The paired result of each benchmark in a frame of `cases`, by name."""
    return [
        compare_run_pair(str(name), group) for name, group in cases.groupby("benchmark", sort=True)
    ]


def compare_run_pair(
    benchmark: str, cases: pd.DataFrame, first: str = "first", second: str = "second"
) -> PairedScores:
    """The column `second` of the cases of one benchmark, measured against the column `first`."""
    keys = list(zip(cases["metric"], cases["id"], strict=True))
    base, other, weights = (
        dict(zip(keys, cases[name].astype(float), strict=True))
        for name in (first, second, "weight")
    )
    total = sum(weights.values())
    scores = [
        100 * sum(weights[key] * side[key] for key in keys) / total if total else 0.0
        for side in (base, other)
    ]
    return PairedScores(
        benchmark, scores[0], scores[1], compare_paired(other, base, weights, itemgetter(0))
    )


def find_differing_cases(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases on which the two differ, those that weigh most first, with `change` (-1 to 1)."""
    change = cases["second"] - cases["first"]
    table = cases.assign(change=change, size=(change * cases["weight"]).abs())
    table = table[(table["change"] != 0) & (table["weight"] > 0)]
    order = ["size", "change", *_KEY]
    table = table.sort_values(order, ascending=[False, False, True, True, True])
    return table.drop(columns="size").reset_index(drop=True)


# Several runs side by side: their scores by column, and all of them against a base, case by case.
# Nothing here joins scores of different columns: a benchmark that was run by two rules makes two
# groups, and the best is the best of its group.


class RunScore(Record, frozen=True):
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


class MetricScores(Record, frozen=True):
    """One metric across a group; `weight` None is reported and not scored."""

    metric: str
    weight: float | None
    marks: tuple[RunScore, ...]


class ColumnGroup(Record, frozen=True):
    """The runs that share a column of a benchmark, hence may be compared on it."""

    benchmark: str
    column: str
    label: str
    dataset: str
    samples: int
    full: bool
    marks: tuple[RunScore, ...]
    metrics: tuple[MetricScores, ...]

    @property
    def letters(self) -> list[str]:
        return [mark.letter for mark in self.marks]


class DifferingCase(Record, frozen=True):
    """A case on which the runs differ: scores 0 to 1 by letter, `spread` between the extremes."""

    benchmark: str
    metric: str
    id: str
    weight: float
    spread: float
    scores: dict[str, float]


class BenchmarkDetail(Record, frozen=True):
    """One benchmark against the base: the paired results by letter, and the differing cases, those
    that weigh most first. `metric` empty means all of it; `common` cases were held by all."""

    benchmark: str
    metric: str
    base: str
    common: int
    pairs: dict[str, PairedScores]
    cases: tuple[DifferingCase, ...]


def group_compared_runs(lineup: Lineup) -> list[ColumnGroup]:
    """Every benchmark and column that anyone has a score in."""
    column_groups = []
    for benchmark in list_compared_benchmarks(lineup):
        own = [run for run in lineup.compared if benchmark in run.scores]
        for column in dict.fromkeys(run.scores[benchmark].column for run in own):
            group = [run for run in own if run.scores[benchmark].column == column]
            column_groups.append(_build_column_group(benchmark, group))
    return column_groups


def find_comparable_runs(lineup: Lineup, base: ComparedRun) -> dict[str, list[ComparedRun]]:
    """By benchmark, in the order of the catalogue, those who may be measured against the base,
    which comes first; only benchmarks on which there is anyone."""
    comparable_runs = {}
    for benchmark in list_compared_benchmarks(lineup):
        score = base.scores.get(benchmark)
        if score is None or score.score is None:
            continue
        others = [
            run
            for run in lineup.compared
            if run.run_id != base.run_id
            and benchmark in run.scores
            and run.scores[benchmark].column == score.column
            and 0 not in (score.level, run.scores[benchmark].level)
            and run.scores[benchmark].score is not None
        ]
        if others:
            comparable_runs[benchmark] = [base, *others]
    return comparable_runs


def load_lineup_scores(roots: Sequence[Path], lineup: Lineup) -> pd.DataFrame:
    """The frame of `case_scores` for those who take part."""
    return case_scores(find_lineup_folders(roots, lineup))


def compare_with_base(
    scores: pd.DataFrame, benchmark: str, sides: Sequence[ComparedRun], metric: str = ""
) -> BenchmarkDetail:
    """`sides` on one benchmark (and metric), the first of them being the base. `scores` comes from
    `load_lineup_scores`, `sides` from `find_comparable_runs`."""
    selected = scores[scores["benchmark"] == benchmark]
    if metric:
        selected = selected[selected["metric"] == metric]
    base, *others = sides
    cases = pivot_case_scores(selected, {run.run_id: run.letter for run in sides})
    return BenchmarkDetail(
        benchmark=benchmark,
        metric=metric,
        base=base.letter,
        common=len(cases),
        pairs={
            run.letter: compare_run_pair(benchmark, cases, base.letter, run.letter)
            for run in others
        },
        cases=_list_differing_cases(cases, sorted(run.letter for run in sides)),
    )


def build_group_radar(group: ColumnGroup) -> pd.DataFrame:
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


def list_lineup_metrics(lineup: Lineup, benchmark: str) -> list[str]:
    """The metrics with cases, in the order of the catalogue."""
    benchmark_scores = [run.scores[benchmark] for run in lineup.compared if benchmark in run.scores]
    return _order_metrics(benchmark_scores)


def _list_differing_cases(cases: pd.DataFrame, letters: list[str]) -> tuple[DifferingCase, ...]:
    spread = cases[letters].max(axis=1) - cases[letters].min(axis=1)
    table = cases.assign(spread=spread, size=spread * cases["weight"])
    table = table[table["size"] > 0].sort_values(
        ["size", "spread", "metric", "id"], ascending=[False, False, True, True]
    )
    return tuple(
        DifferingCase(
            benchmark=str(row["benchmark"]),
            metric=str(row["metric"]),
            id=str(row["id"]),
            weight=float(row["weight"]),
            spread=float(row["spread"]),
            scores={letter: float(row[letter]) for letter in letters},
        )
        for row in table.to_dict("records")
    )


def _build_column_group(benchmark: str, runs: Sequence[ComparedRun]) -> ColumnGroup:
    score, spec = runs[0].scores[benchmark], runs[0].specs[benchmark]
    marks = []
    for run in runs:
        own = run.scores[benchmark]
        size = (own.samples, own.coverage, own.complete, own.level == 0)
        marks.append(RunScore(run.letter, own.score, own.interval, *size))
    return ColumnGroup(
        benchmark=benchmark,
        column=score.column,
        label=score.label,
        dataset=spec.dataset,
        samples=score.samples,
        full=score.full,
        marks=_mark_best_score(marks, runs),
        metrics=_build_metric_scores(benchmark, runs),
    )


def _build_metric_scores(benchmark: str, runs: Sequence[ComparedRun]) -> tuple[MetricScores, ...]:
    metric_scores = []
    for metric in _order_metrics([run.scores[benchmark] for run in runs]):
        marks, weight = [], None
        for run in runs:
            score = run.scores[benchmark]
            part = score.metrics.get(metric)
            if part is None or not (part.samples or score.level == 0):
                continue
            weight = part.weight
            marks.append(
                RunScore(
                    letter=run.letter,
                    score=part.score,
                    interval=part.interval,
                    samples=part.samples,
                    coverage=part.measured / part.samples if part.samples else 0.0,
                    complete=score.complete,
                    claimed=score.level == 0,
                )
            )
        metric_scores.append(MetricScores(metric, weight, _mark_best_score(marks, runs)))
    return tuple(metric_scores)


def _order_metrics(benchmark_scores: Iterable[BenchmarkScore]) -> list[str]:
    scores = list(benchmark_scores)
    named = {
        name: score.benchmark
        for score in scores
        for name, part in score.metrics.items()
        if part.samples or score.level == 0
    }
    card = benchmark_cards().get(scores[0].benchmark) if scores else None
    catalog_order = [metric.key for metric in card.metrics] if card else []
    return [
        *(key for key in catalog_order if key in named),
        *(key for key in named if key not in catalog_order),
    ]


def _mark_best_score(
    marks: Sequence[RunScore], runs: Sequence[ComparedRun]
) -> tuple[RunScore, ...]:
    controls = {run.letter for run in runs if run.is_control_run}
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
