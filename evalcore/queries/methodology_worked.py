"""The rules of certainty worked with the numbers of a board: a rate and its interval, two targets
against each other, chance between two judges, the mean of a suite, and who stands where."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pandas as pd

from evalcore.errors import EvalboardError
from evalcore.judges.agreement import PairAgreement
from evalcore.queries.boards import Board, Row, suite_score
from evalcore.queries.case_points import case_scores
from evalcore.queries.ranking import STATUSES, SUITE
from evalcore.queries.ranking_views import tie_groups
from evalcore.records import BenchmarkScore, Interval, Record
from evalcore.scoring.intervals import Z95, wilson_interval
from evalcore.scoring.paired import PairedResult, compare_paired
from evalcore.scoring.ranks import FEWEST_DIFFERING
from evalcore.store.run_folder import find_run

__all__ = ["FEWEST_DIFFERING", "Z95"]  # for the pages, which may not import the scoring


class Rate(Record, frozen=True):
    """Cases solved of all declared ones, without weights; `interval` is Wilson's, 0 to 100."""

    passed: float
    samples: int
    interval: Interval

    @property
    def rate(self) -> float:
        return self.passed / self.samples


class LeaderComparison(Record, frozen=True):
    """The leader of a board against another ranked target, `apart` as their groups say."""

    leader: str
    other: str
    apart: bool
    result: PairedResult


class Kappa(Record, frozen=True):
    """Cohen's kappa of two judges = (agreed - chance) / (1 - chance), over `n` answers."""

    first: str
    second: str
    n: int
    agreed: float
    chance: float
    kappa: float


def compute_plain_rate(score: BenchmarkScore) -> Rate | None:
    """The share of cases solved in the metrics that count, None without a measured case."""
    scored = [
        metric_score for metric_score in score.metrics.values() if metric_score.weight is not None
    ]
    passed, samples = (
        sum(metric_score.passed for metric_score in scored),
        sum(metric_score.samples for metric_score in scored),
    )
    if not samples or score.score is None:
        return None
    return Rate(passed, samples, wilson_interval(passed / samples, samples))


def find_rivals(frame: pd.DataFrame) -> tuple[str, str] | None:
    """The leader and whom to hold it against: the first that can be told from it, else the next;
    None where fewer than two are ranked."""
    groups = tie_groups(frame)
    if len(groups) > 1:
        return groups[0][0], groups[1][0]
    return (groups[0][0], groups[0][1]) if groups and len(groups[0]) > 1 else None


def compare_rivals(
    roots: Sequence[Path], rows: Sequence[Row], board: Board, by: str, frame: pd.DataFrame
) -> LeaderComparison | None:
    """The leader of a board against its rival, case by case.

    `by` is what `frame`, the ranking, is ordered by: SUITE or a benchmark. None where fewer than
    two are ranked, or where the cases of one cannot be read.
    """
    identities = find_rivals(frame)
    if identities is None:
        return None
    rows_by_identity = {row.identity: row for row in rows}
    keys = list(board.members) if by == SUITE else [by]
    try:
        sides = [
            _load_side_scores(roots, rows_by_identity[identity], keys) for identity in identities
        ]
    except EvalboardError:
        return None
    (ours, weights), (theirs, _) = sides
    groups = frame.set_index("identity")["group"]
    return LeaderComparison(
        leader=identities[0],
        other=identities[1],
        apart=bool(groups[identities[0]] != groups[identities[1]]),
        result=compare_paired(ours, theirs, weights, itemgetter(0, 1)),
    )


_Key = tuple[str, str, str]


def _load_side_scores(
    roots: Sequence[Path], row: Row, benchmarks: Sequence[str]
) -> tuple[dict[_Key, float], dict[_Key, float]]:
    """Scores (0 to 1) and weights by case; every benchmark weighs 1 in all."""
    scores: dict[_Key, float] = {}
    weights: dict[_Key, float] = {}
    for benchmark in benchmarks:
        run = row.runs[benchmark].run_id
        cases = case_scores([find_run(run, roots)])
        own = cases[cases["benchmark"] == benchmark]
        total = float(own["weight"].sum())
        for case in own.to_dict("records"):
            key = (benchmark, str(case["metric"]), str(case["id"]))
            scores[key] = float(case["score"])
            weights[key] = float(case["weight"]) / total if total else 0.0
    return scores, weights


def list_suite_scores(row: Row, board: Board) -> tuple[list[float], float] | None:
    """The scores of a target by benchmark and their mean, None where the board has no such mean
    for it."""
    mean = suite_score(row, board)
    scores = [row.score(benchmark) for benchmark in board.members]
    if mean is None or len(scores) < 2:
        return None
    return [score.score for score in scores if score is not None and score.score is not None], mean


def standing_counts(frame: pd.DataFrame) -> dict[str, int]:
    """How many targets of a ranking stand where, by status, in the order of the board."""
    counts = frame["status"].value_counts()
    return {status: int(counts.get(status, 0)) for status in STATUSES}


def find_best_kappa(pairs: Sequence[PairAgreement]) -> Kappa | None:
    """The pair of judges with the most answers in common that has a kappa, and the agreement that
    chance alone would give it; None where none has one."""
    kappas = [
        Kappa(
            agreement.first,
            agreement.second,
            agreement.n,
            agreement.agreed,
            _solve_chance(agreement.agreed, agreement.kappa),
            agreement.kappa,
        )
        for agreement in pairs
        if agreement.agreed is not None and agreement.kappa is not None and agreement.kappa < 1
    ]
    return max(kappas, key=lambda agreement: agreement.n, default=None)


def _solve_chance(agreed: float, value: float) -> float:
    """kappa = (agreed - chance) / (1 - chance), solved for chance."""
    return (agreed - value) / (1 - value)
