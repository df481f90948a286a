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
from evalcore.queries.boards import Board, Row, is_control, rows
from evalcore.queries.case_points import partial_runs
from evalcore.queries.metrics import metric_line
from evalcore.queries.ranking import STATUSES, standing_of, status_of
from evalcore.scoring.ranks import RankRow, rank_board
from evalcore.store import samples_table
from evalcore.store.headers import RunHeader

#: The causes that `failures` tells apart; the rest goes together under OTHER.
MOST_CAUSES, OTHER = 7, ""
#: What a target is measured against: a control's answers by name.
LINES = (*FLOOR_CONTROLS, "reference")
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
    headers: Sequence[RunHeader], board: Board, benchmark: str, metric: str, found: MetricCases
) -> MetricView:
    """Everything a page shows of a metric but its `lines`; `found` are the runs on the board."""
    standing = metric_board(headers, board, benchmark, metric, found.cases)
    return MetricView(
        standing=standing,
        failures=failures(standing, found),
        cases=found.cases["id"].nunique(),
        weight=weight_of(found.cases),
        evidence=evidence_shares(found.cases),
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
    cases = samples_table.query_samples(paths, _CASES, [benchmark, metric])
    causes = cases[["run", "causes"]].dropna().explode("causes").rename(columns={"causes": "cause"})
    counts = causes.groupby(["run", "cause"], as_index=False).size()
    return MetricCases(cases.drop(columns="causes"), counts.rename(columns={"size": "count"}))


def metric_board(
    headers: Iterable[RunHeader],
    board: Board,
    benchmark: str,
    metric: str,
    cases: pd.DataFrame,
) -> pd.DataFrame:
    """One row per target with a score in the metric: the ranked first, then the others by score.

    `cases` comes from `metric_cases` of the runs on the board. Columns: identity, target_key, kind,
    status (as in the ranking), rank, rank_low, rank_high, group, leader, score, low, high (0 to
    100), passed and cases (plain, tasks that cannot be used left out), cost (USD a case), latency
    (s, median), date (UTC), run_id, and "level/N" per difficulty N that occurs (0 to 100).
    """
    known = [row for row in rows(headers, board) if _line(row, benchmark, metric)[0] is not None]
    totals, levels = _totals(cases), _levels(cases)
    sets = {str(run): frozenset(ids) for run, ids in cases.groupby("run")["id"]}
    readable = {(benchmark, run) for run in sets}
    partial = {(benchmark, run) for run in partial_runs(sets, len)}
    statuses = {row.identity: status_of(row, board, benchmark, readable, partial) for row in known}
    ranked = {
        row.identity: row.runs[benchmark].run_id
        for row in known
        if statuses[row.identity] == "ranked"
    }
    ranks = _ranks(ranked, cases)
    records = [
        _record(row, benchmark, metric, statuses[row.identity], ranks.get(row.identity))
        for row in known
    ]
    frame = pd.DataFrame(records, columns=[name for name in _COLUMNS if name not in totals])
    frame = frame.join(totals, on="run_id").join(levels, on="run_id")
    for name in ("rank", "rank_low", "rank_high", "group"):
        frame[name] = frame[name].astype("Int64")
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    frame["place"] = frame["status"].map({status: n for n, status in enumerate(STATUSES)})
    by = ["place", "rank", "score", "identity"]
    frame = frame.sort_values(by, ascending=[True, True, False, True], ignore_index=True)
    shown: pd.DataFrame = frame[[*_COLUMNS, *levels.columns]]
    return shown


def level_columns(frame: pd.DataFrame) -> list[str]:
    """The columns of scores by difficulty where there is more than one difficulty, else none."""
    found = [name for name in frame.columns if name.startswith("level/")]
    return found if len(found) > 1 else []


def lines(
    headers: Iterable[RunHeader], board: Board, benchmark: str, metric: str
) -> dict[str, float]:
    """The metric's scores of the complete controls of LINES: the floors and the ceiling."""
    found = {}
    for row in rows(headers, board):
        name, (value, *_) = row.target_key.partition(":")[2], _line(row, benchmark, metric)
        score = row.score(benchmark)
        if not is_control(row.target_key) or name not in LINES or value is None:
            continue
        if score is not None and score.complete:
            found[name] = value
    return found


def failures(standing: pd.DataFrame, found: MetricCases) -> pd.DataFrame:
    """Why the answers of the ranked targets failed: identity, cause (the frequent ones and OTHER),
    count and share (0 to 1, of all tries), targets as in `standing`, the most frequent cause first.
    """
    ranked = standing[standing["status"] == "ranked"]
    names = dict(zip(ranked["run_id"], ranked["identity"], strict=True))
    own = found.causes[found.causes["run"].isin(list(names))]
    if own.empty:
        return pd.DataFrame(columns=["identity", "cause", "count", "share"])
    totals = own.groupby("cause")["count"].sum().drop(OTHER, errors="ignore")
    frequent = list(totals.sort_values(ascending=False, kind="stable").index[:MOST_CAUSES])
    own = own.assign(cause=own["cause"].where(own["cause"].isin(frequent), OTHER))
    counts = own.groupby(["run", "cause"], as_index=False)["count"].sum()
    tries = found.cases.groupby("run")["tries"].sum()
    counts["identity"] = counts["run"].map(names)
    counts["share"] = counts["count"] / counts["run"].map(tries)
    target = {run: number for number, run in enumerate(names)}
    cause = {name: number for number, name in enumerate([*frequent, OTHER])}
    counts = counts.assign(target=counts["run"].map(target), place=counts["cause"].map(cause))
    counts = counts.sort_values(["target", "place"], ignore_index=True)
    shown: pd.DataFrame = counts[["identity", "cause", "count", "share"]]
    return shown


def weight_of(cases: pd.DataFrame) -> float | None:
    """The weight the metric has in these runs, None where it is reported and not scored. The runs
    of one column share it."""
    known = cases["weight"].dropna()
    return float(known.iloc[0]) if len(known) else None


def evidence_shares(cases: pd.DataFrame) -> dict[str, float]:
    """What the verdicts rest on, the most frequent first: evidence kind -> share (0 to 1)."""
    shares = cases["evidence"].replace("", None).dropna().value_counts(normalize=True)
    return {str(kind): float(share) for kind, share in shares.items()}


def _line(
    row: Row, benchmark: str, metric: str
) -> tuple[float | None, float | None, float | None, int]:
    return metric_line(row.score(benchmark), metric)


def _record(
    row: Row, benchmark: str, metric: str, status: str, rank: RankRow | None
) -> dict[str, Any]:
    score, low, high, _ = _line(row, benchmark, metric)
    run = row.runs[benchmark]
    return {
        "identity": row.identity,
        "target_key": row.target_key,
        "kind": row.kind,
        "status": status,
        **standing_of(rank),
        "score": score,
        "low": low,
        "high": high,
        "date": run.created_at,
        "run_id": run.run_id,
    }


def _totals(cases: pd.DataFrame) -> pd.DataFrame:
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


def _levels(cases: pd.DataFrame) -> pd.DataFrame:
    """Per run the mean score of each difficulty, 0 to 100, as "level/N"."""
    usable = cases[~cases["unusable"].astype(bool)].dropna(subset=["difficulty"])
    means = 100 * usable.groupby(["run", "difficulty"])["score"].mean().unstack("difficulty")
    return means.rename(columns=lambda level: f"level/{level:.0f}")


def _ranks(ranked: dict[str, str], cases: pd.DataFrame) -> dict[str, RankRow]:
    """Ranks by identity, from what every case adds to the score of the metric."""
    if not ranked:
        return {}
    table = cases.assign(part=cases["case_weight"] * cases["score"]).pivot_table(
        index="id", columns="run", values="part", aggfunc="sum", fill_value=0.0
    )
    heaviest = cases.groupby("run")["case_weight"].sum().max()
    points = 100 * table / heaviest
    maxima = 100 * cases.groupby("id")["difficulty"].max().reindex(table.index) / heaviest
    return rank_board(
        {name: points[run].to_numpy() for name, run in ranked.items()}, maxima=maxima.to_numpy()
    )
