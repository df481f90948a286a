"""One metric of a board across its targets: who stands where in it, at what cost, and why answers
failed.

Ranked are the targets whose run of the benchmark is complete; ranks, their intervals and groups of
ties come from the cases of this metric alone. Everything else follows the rules of the ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from evalcore.catalog import FLOOR_CONTROLS
from evalcore.scoring.ranks import RankRow, rank_board
from evalcore.store import case_tables
from evalcore.store.headers import RunHeader
from evalcore.views.boards import Board, Row, is_control, list_board_rows
from evalcore.views.case_points import find_partial_runs
from evalcore.views.ranking import STATUSES, build_rank_fields, find_row_status
from evalcore.views.targets import metric_line

#: The causes that `summarize_failures` tells apart; the rest goes together under OTHER.
MAX_CAUSES, OTHER = 7, ""
#: What a target is measured against: a control's answers by name.
CONTROL_LINES = (*FLOOR_CONTROLS, "reference")
_COLUMNS = (
    *("identity", "target_key", "kind", "status", "rank", "rank_low", "rank_high", "group"),
    *("leader", "score", "low", "high", "passed", "cases", "cost", "latency", "date", "run_id"),
)
_CASES = """
SELECT run, id, any_value(difficulty) AS difficulty, any_value(weight) AS weight,
       any_value(case_weight) AS case_weight,
       count(*) AS tries, avg(coalesce(score, 0)) AS score,
       avg(CAST(outcome = 'passed' AS DOUBLE)) AS passed,
       bool_or(reason IS NOT DISTINCT FROM 'unusable_task') AS unusable,
       any_value(evidence_kind) FILTER (WHERE outcome IN ('passed', 'failed')) AS evidence,
       avg(cost) AS cost,
       bool_or(outcome IN ('passed', 'failed') AND cost IS NULL) AS unpriced,
       median(latency) AS latency,
       list(coalesce(cause, '')) FILTER (WHERE outcome = 'failed') AS causes
FROM samples WHERE benchmark = ? AND metric = ? GROUP BY run, id
"""


class MetricCases(NamedTuple):
    """The cases of one metric in some runs.

    `cases` has a row per run and case: run, id, difficulty, case_weight (within the metric), weight
    (of the metric, missing where it is not scored), tries, score and passed (0 to 1, means over the
    tries), unusable, evidence, cost (USD a try), unpriced, latency (s). `causes`: run, cause (""
    unknown), count of failed tries.
    """

    cases: pd.DataFrame
    causes: pd.DataFrame


class MetricView(NamedTuple):
    """What a page shows of a metric: the frames of `metric_board` and `failures`, the number of
    cases, the metric's weight (None: not scored) and what its verdicts rest on."""

    standing: pd.DataFrame
    failures: pd.DataFrame
    cases: int
    weight: float | None
    evidence: dict[str, float]


def metric_view(
    headers: Sequence[RunHeader], board: Board, benchmark: str, metric: str, case_data: MetricCases
) -> MetricView:
    """Everything a page shows of a metric but its `find_control_lines`; `case_data` are the runs
    on the board."""
    standing = metric_board(headers, board, benchmark, metric, case_data.cases)
    return MetricView(
        standing=standing,
        failures=summarize_failures(standing, case_data),
        cases=case_data.cases["id"].nunique(),
        weight=find_metric_weight(case_data.cases),
        evidence=evidence_shares(case_data.cases),
    )


def metric_cases(paths: Sequence[Path], benchmark: str, metric: str) -> MetricCases:
    """The cases of a metric from the tables of runs; both frames are empty without a table."""
    if not paths:
        names = ("id", "difficulty", "weight", "tries", "score", "passed", "unusable", "evidence")
        more = ("case_weight", "cost", "unpriced", "latency")
        return MetricCases(
            pd.DataFrame(columns=["run", *names, *more]),
            pd.DataFrame(columns=["run", "cause", "count"]),
        )
    # One query for both: opening a thousand tables takes longer than reading them.
    cases = case_tables.query_samples(paths, _CASES, [benchmark, metric])
    causes = cases[["run", "causes"]].dropna().explode("causes").rename(columns={"causes": "cause"})
    counts = causes.groupby(["run", "cause"], as_index=False).size()
    return MetricCases(cases.drop(columns="causes"), counts.rename(columns={"size": "count"}))


def metric_board(
    headers: Iterable[RunHeader], board: Board, benchmark: str, metric: str, cases: pd.DataFrame
) -> pd.DataFrame:
    """One row per target with a score in the metric: the ranked first, then the others by score.

    `cases` comes from `metric_cases` of the runs on the board. Columns: identity, target_key, kind,
    status (as in the ranking), rank, rank_low, rank_high, group, leader, score, low, high (0 to
    100), passed and cases (plain, tasks that cannot be used left out), cost (USD a case), latency
    (s, median), date (UTC), run_id, and "level/N" per difficulty N that occurs (0 to 100).
    """
    scored_rows = [
        row
        for row in list_board_rows(headers, board)
        if metric_line(row.score(benchmark), metric)[0] is not None
    ]
    totals, levels = _sum_metric_cases(cases), _average_by_difficulty(cases)
    sets = {str(run): frozenset(ids) for run, ids in cases.groupby("run")["id"]}
    readable = {(benchmark, run) for run in sets}
    partial = {(benchmark, run) for run in find_partial_runs(sets, len)}
    statuses = {
        row.identity: find_row_status(row, board, benchmark, readable, partial)
        for row in scored_rows
    }
    ranked = {
        row.identity: row.runs[benchmark].run_id
        for row in scored_rows
        if statuses[row.identity] == "ranked"
    }
    ranks = _rank_metric_cases(ranked, cases)
    records = [
        _build_metric_record(row, benchmark, metric, status, ranks.get(row.identity))
        for row, status in zip(scored_rows, statuses.values(), strict=True)
    ]
    frame = pd.DataFrame(records, columns=[name for name in _COLUMNS if name not in totals])
    frame = frame.join(totals, on="run_id").join(levels, on="run_id")
    for name in ("rank", "rank_low", "rank_high", "group"):
        frame[name] = frame[name].astype("Int64")
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    frame["position"] = frame["status"].map({status: n for n, status in enumerate(STATUSES)})
    by = ["position", "rank", "score", "identity"]
    frame = frame.sort_values(by, ascending=[True, True, False, True], ignore_index=True)
    shown: pd.DataFrame = frame[[*_COLUMNS, *levels.columns]]
    return shown


def level_columns(frame: pd.DataFrame) -> list[str]:
    """The columns of scores by difficulty where there is more than one difficulty, else none."""
    level_names = [name for name in frame.columns if name.startswith("level/")]
    return level_names if len(level_names) > 1 else []


def find_control_lines(
    headers: Iterable[RunHeader], board: Board, benchmark: str, metric: str
) -> dict[str, float]:
    """The metric's scores of the complete controls of LINES: the floors and the ceiling."""
    line_scores = {}
    for row in list_board_rows(headers, board):
        name, score = row.target_key.partition(":")[2], row.score(benchmark)
        value = metric_line(score, metric)[0]
        line = is_control(row.target_key) and name in CONTROL_LINES
        if line and value is not None and score is not None and score.complete:
            line_scores[name] = value
    return line_scores


def summarize_failures(standing: pd.DataFrame, case_data: MetricCases) -> pd.DataFrame:
    """Why the answers of the ranked targets failed: identity, cause (the frequent ones and OTHER),
    count and share (0 to 1, of all tries), targets as in `standing`, the most frequent cause first.
    """
    ranked = standing[standing["status"] == "ranked"]
    names = dict(zip(ranked["run_id"], ranked["identity"], strict=True))
    own = case_data.causes[case_data.causes["run"].isin(list(names))]
    if own.empty:
        return pd.DataFrame(columns=["identity", "cause", "count", "share"])
    totals = own.groupby("cause")["count"].sum().drop(OTHER, errors="ignore")
    frequent = list(totals.sort_values(ascending=False, kind="stable").index[:MAX_CAUSES])
    own = own.assign(cause=own["cause"].where(own["cause"].isin(frequent), OTHER))
    counts = own.groupby(["run", "cause"], as_index=False)["count"].sum()
    tries = case_data.cases.groupby("run")["tries"].sum()
    counts["identity"] = counts["run"].map(names)
    counts["share"] = counts["count"] / counts["run"].map(tries)
    target = {run: number for number, run in enumerate(names)}
    cause = {name: number for number, name in enumerate([*frequent, OTHER])}
    counts = counts.assign(target=counts["run"].map(target), position=counts["cause"].map(cause))
    counts = counts.sort_values(["target", "position"], ignore_index=True)
    shown: pd.DataFrame = counts[["identity", "cause", "count", "share"]]
    return shown


def find_metric_weight(cases: pd.DataFrame) -> float | None:
    """The weight the metric has in these runs, None where it is reported and not scored. The runs
    of one column share it."""
    weights = cases["weight"].dropna()
    return float(weights.iloc[0]) if len(weights) else None


def evidence_shares(cases: pd.DataFrame) -> dict[str, float]:
    """What the verdicts rest on, the most frequent first: evidence kind -> share (0 to 1)."""
    shares = cases["evidence"].replace("", None).dropna().value_counts(normalize=True)
    return {str(kind): float(share) for kind, share in shares.items()}


def _build_metric_record(
    row: Row, benchmark: str, metric: str, status: str, rank: RankRow | None
) -> dict[str, Any]:
    score, low, high, _ = metric_line(row.score(benchmark), metric)
    run = row.runs[benchmark]
    return {
        **{"identity": row.identity, "target_key": row.target_key, "kind": row.kind},
        **{"status": status, **build_rank_fields(rank), "score": score, "low": low, "high": high},
        **{"date": run.created_at, "run_id": run.run_id},
    }


def _sum_metric_cases(cases: pd.DataFrame) -> pd.DataFrame:
    """Per run: passed, cases, cost (unknown where that of a measured case is), latency."""
    usable = cases[~cases["unusable"].astype(bool)]
    groups = usable.groupby("run")
    totals = pd.DataFrame(
        {
            "passed": groups["passed"].sum(),
            "cases": groups["id"].count(),
            "cost": groups["cost"].mean(),
            "latency": groups["latency"].median(),
        }
    )
    unpriced = groups["unpriced"].any()
    return totals.assign(cost=totals["cost"].mask(unpriced.reindex(totals.index).astype(bool)))


def _average_by_difficulty(cases: pd.DataFrame) -> pd.DataFrame:
    """Per run the mean score of each difficulty, 0 to 100, as "level/N"."""
    usable = cases[~cases["unusable"].astype(bool)].dropna(subset=["difficulty"])
    means = 100 * usable.groupby(["run", "difficulty"])["score"].mean().unstack("difficulty")
    return means.rename(columns=lambda level: f"level/{level:.0f}")


def _rank_metric_cases(ranked: dict[str, str], cases: pd.DataFrame) -> dict[str, RankRow]:
    """Ranks by identity, from what every case adds to the score of the metric."""
    if not ranked:
        return {}
    table = cases.assign(part=cases["case_weight"] * cases["score"]).pivot_table(
        index="id", columns="run", values="part", aggfunc="sum", fill_value=0.0
    )
    heaviest = cases.groupby("run")["case_weight"].sum().max()
    points = 100 * table / heaviest
    maxima = 100 * cases.groupby("id")["difficulty"].max().reindex(table.index) / heaviest
    added = {name: points[run].to_numpy() for name, run in ranked.items()}
    return rank_board(added, maxima=maxima.to_numpy())
