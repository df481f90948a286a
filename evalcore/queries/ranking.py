"""The ranking of a board as a frame: who stands where, how sure that is, and at what cost.

Ranked are complete runs alone. A target with an incomplete run is listed without a rank, its strict
score being a lower bound; so is a score that others claim without cases behind it; a control is a
yardstick; what was not run is None and never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd

from evalcore.catalog import benchmark_cards
from evalcore.errors import EvalboardError
from evalcore.queries.boards import Board, Row, is_control, rows, suite_score
from evalcore.queries.metrics import metric_line
from evalcore.scoring.ranks import RankRow, rank_board
from evalcore.store import samples_table
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import RunFolder

STATUSES = ("ranked", "claimed", "incomplete", "not_run", "unreadable", "control")
SUITE = "suite"
_CASES = """
SELECT run, benchmark, metric, id, any_value(difficulty * weight) AS weight,
       avg(coalesce(score, 0)) AS score
FROM samples WHERE weight IS NOT NULL GROUP BY run, benchmark, metric, id
"""


def orders(board: Board) -> list[str]:
    """What a board can be ranked by, the first by default: SUITE where its mean is fair and means
    more than one benchmark, and every benchmark."""
    whole = board.whole and len(board.columns) > 1
    return [SUITE, *board.columns] if whole else list(board.columns)


def case_scores(folders: Iterable[RunFolder]) -> pd.DataFrame:
    """Per run and scored case: run, benchmark, metric, id, weight (difficulty x metric weight) and
    score (0 to 1, the mean over the epochs, what is missing being 0).

    A run whose journals cannot be read has no rows: `ranking` then says so.
    """
    paths = tables(folders)
    if not paths:
        return pd.DataFrame(columns=["run", "benchmark", "metric", "id", "weight", "score"])
    return samples_table.query(paths, _CASES)


def tables(folders: Iterable[RunFolder]) -> list[Path]:
    """The tables of cases of those of the runs that can be read."""
    paths = []
    for folder in folders:
        try:
            paths.append(samples_table.ensure(folder))
        except EvalboardError:
            continue
    return paths


def ranking(
    headers: Iterable[RunHeader], board: Board, cases: pd.DataFrame, order: str = ""
) -> pd.DataFrame:
    """One row per target with a score on the board: the ranked first, then the others by score.

    `cases` comes from `case_scores` of the runs on the board, `order` from `orders`. Columns:
    identity, target_key, kind, status (of STATUSES), rank, rank_low, rank_high, group (1 for the
    first), leader (of the group), score, low, high (0 to 100), coverage (0 to 1), a column
    per benchmark and per "benchmark/metric", passed, measured and errors (cases), cost (USD),
    input_tokens, output_tokens, latency (s, median), date (UTC), run_id (of the newest run),
    self_judged (the target is one of its own judges).
    """
    by = order or orders(board)[0]
    board_rows = rows(headers, board)
    readable = set(cases["run"])
    ranks = standings(board_rows, board, by, cases)
    records = [
        _record(row, board, by, status_of(row, board, by, readable), ranks.get(row.identity))
        for row in board_rows
    ]
    frame = pd.DataFrame(records, columns=_columns(board))
    for name in ("rank", "rank_low", "rank_high", "group"):
        frame[name] = frame[name].astype("Int64")
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    place = frame["status"].map({status: n for n, status in enumerate(STATUSES)})
    return (
        frame.assign(place=place)
        .sort_values(["place", "rank", "score", "identity"], ascending=[True, True, False, True])
        .drop(columns="place")
        .reset_index(drop=True)
    )


def standings(
    board_rows: Iterable[Row], board: Board, by: str, cases: pd.DataFrame
) -> dict[str, RankRow]:
    """The ranks of the rows that may be ranked, from their scores case by case."""
    benchmarks = list(board.columns) if by == SUITE else [by]
    readable = set(cases["run"])
    contributions: dict[str, pd.Series[float]] = {}
    for row in board_rows:
        if status_of(row, board, by, readable) == "ranked":
            parts = [_contribution(cases, row.runs[key].run_id, key) for key in benchmarks]
            contributions[row.identity] = pd.concat(parts) / len(benchmarks)
    if not contributions:
        return {}
    table = pd.DataFrame(contributions).sort_index()
    return rank_board(
        {str(name): table[name].to_numpy() for name in table},
        strata=[(benchmark, metric) for benchmark, metric, _ in table.index],
    )


def _contribution(cases: pd.DataFrame, run: str, benchmark: str) -> pd.Series[float]:
    """What every case adds to the score of a benchmark, by (benchmark, metric, id)."""
    own = cases[(cases["run"] == run) & (cases["benchmark"] == benchmark)]
    own = own.set_index(["benchmark", "metric", "id"])
    return 100 * own["weight"] * own["score"] / own["weight"].sum()


def status_of(row: Row, board: Board, by: str, readable: set[str]) -> str:
    """Whether a row is ranked by SUITE or a benchmark, or why it is not; `readable` are the runs
    whose cases are known."""
    needed = list(board.columns) if by == SUITE else [by]
    runs = [row.runs[key] for key in needed if key in row.runs]
    if is_control(row.target_key):
        return "control"
    if len(runs) < len(needed):
        return "not_run"
    if any(row.runs[key].benchmarks[key].claimed for key in needed):
        return "claimed"
    if not all(row.runs[key].benchmarks[key].complete for key in needed):
        return "incomplete"
    return "ranked" if all(run.run_id in readable for run in runs) else "unreadable"


def _record(row: Row, board: Board, by: str, status: str, rank: RankRow | None) -> dict[str, Any]:
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    score, low, high = score_of(row, board, by)
    return {
        "identity": row.identity,
        "target_key": row.target_key,
        "kind": row.kind,
        "self_judged": any(run.benchmarks[key].self_judged for key, run in row.runs.items()),
        "status": status,
        "rank": rank and rank.rank,
        "rank_low": rank and rank.low,
        "rank_high": rank and rank.high,
        "group": rank and rank.group,
        "leader": rank and rank.leader,
        "score": score,
        "low": low,
        "high": high,
        "coverage": min(run.benchmarks[key].coverage for key, run in row.runs.items()),
        **_parts(row, board),
        **_outcomes(row),
        **_costs(row, board),
        "date": newest.created_at,
        "run_id": newest.run_id,
    }


def score_of(row: Row, board: Board, by: str) -> tuple[float | None, float | None, float | None]:
    """Score and 95 % interval of what the board is ordered by.

    Benchmarks of a suite share no case, so the half-widths of the mean's interval add up as the
    root of the sum of their squares.
    """
    if by != SUITE:
        score = row.score(by)
        return (None, None, None) if score is None else (score.score, score.low, score.high)
    mean = suite_score(row, board)
    scores = [run.benchmarks[key] for key, run in row.runs.items()]
    below = [s.score - s.low for s in scores if s.low is not None]
    above = [s.high - s.score for s in scores if s.high is not None]
    if mean is None or len(below) < len(scores) or len(above) < len(scores):
        return mean, None, None
    down, up = (sqrt(sum(d * d for d in widths)) / len(scores) for widths in (below, above))
    return mean, max(0.0, mean - down), min(100.0, mean + up)


def _parts(row: Row, board: Board) -> dict[str, float | None]:
    """The scores of the benchmarks and of their metrics."""
    parts: dict[str, float | None] = {}
    for benchmark in board.columns:
        score = row.score(benchmark)
        parts[benchmark] = None if score is None else score.score
        for metric in benchmark_cards()[benchmark].metrics:
            key = f"{benchmark}/{metric.key}"
            parts[key] = metric_line(score, metric.key)[0]
    return parts


def _outcomes(row: Row) -> dict[str, int]:
    counts = [run.benchmarks[key].outcomes for key, run in row.runs.items()]
    passed = sum(count.get("passed", 0) for count in counts)
    measured = passed + sum(count.get("failed", 0) for count in counts)
    everything = sum(sum(count.values()) for count in counts)
    return {"passed": passed, "measured": measured, "errors": everything - measured}


def _costs(row: Row, board: Board) -> dict[str, float | None]:
    """Cost, tokens and latency, unknown where a run also did what is not on this board."""
    runs = {run.run_id: run for run in row.runs.values()}.values()
    alone = all(set(run.benchmarks) <= set(board.columns) for run in runs)
    totals = [run.totals for run in runs] if alone else []
    return {
        "cost": _sum([total.cost for total in totals]),
        "input_tokens": _sum([total.input_tokens for total in totals]),
        "output_tokens": _sum([total.output_tokens for total in totals]),
        "latency": totals[0].latency_p50 if len(totals) == 1 else None,
    }


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum where every value is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _columns(board: Board) -> list[str]:
    parts = [
        name
        for benchmark in board.columns
        for name in (
            benchmark,
            *(f"{benchmark}/{metric.key}" for metric in benchmark_cards()[benchmark].metrics),
        )
    ]
    head = ["identity", "target_key", "kind", "status", "rank", "rank_low", "rank_high", "group"]
    head += ["leader", "score", "low", "high", "coverage"]
    tail = ["passed", "measured", "errors", "cost", "input_tokens", "output_tokens", "latency"]
    return [*head, *parts, *tail, "date", "run_id", "self_judged"]
