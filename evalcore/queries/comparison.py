"""Two runs side by side on the samples that both were asked: who is ahead, and where they differ.

The second run is measured against the first: a win is a case where the second scores higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import pandas as pd

from evalcore.queries.case_points import case_scores
from evalcore.queries.runs import RunRow
from evalcore.records import Record
from evalcore.scoring.paired import PairedResult, compare_paired
from evalcore.store.pairs import parse_comparison_note
from evalcore.store.run_folder import RunFolder, find_run

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
    columns = {
        benchmark_spec.key: benchmark_spec.column
        for benchmark_spec in folder.read_spec().benchmarks
    }
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
