"""The ranking of a board as a frame: ranks with their intervals, tie groups, filter and sort."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from evalcore.access.redaction import mask_target
from evalcore.records import Record
from evalcore.scoring.intervals import compare_paired
from evalcore.scoring.ranks import RankRow, rank_board
from evalcore.store.case_tables import PointTable
from evalcore.store.headers import RunHeader
from evalcore.views import case_points
from evalcore.views.boards import Board, Row, is_control, suite_score
from evalcore.views.case_points import Points
from evalcore.views.targets import metric_line

# The ranking of a board as a frame: who stands where, how sure that is, and at what cost.
# Ranked are complete runs alone. A target with an incomplete run is listed without a rank, its
# strict score being a lower bound; so is a score that others claim without cases behind it; a
# control is a yardstick; what was not run is None and never 0.

STATUSES = ("ranked", "claimed", "incomplete", "not_run", "unreadable", "control")
_STATUS_ORDER = "_status_order"  # a column while rows are sorted; no benchmark has such a key
SUITE = "suite"


def list_board_orders(board: Board) -> list[str]:
    """What a board can be ranked by, the first by default: SUITE where its mean is fair and means
    more than one benchmark, and every benchmark: the members of the suite before others, or, where
    nobody declares members, those with the most complete targets first. Where no target has run all
    members, SUITE ranks nobody and comes after the members, the most complete of which is first."""
    columns = board.columns

    def by_completeness(keys: Iterable[str]) -> list[str]:
        return sorted(keys, key=lambda key: -columns[key].complete)

    if not board.members:
        return by_completeness(columns)
    members = [key for key in columns if key in board.members]
    others = [key for key in columns if key not in board.members]
    if not board.has_all_members or len(board.members) < 2:
        return [*members, *others]
    if board.finished != 0 or not any(columns[key].complete for key in members):
        return [SUITE, *members, *others]
    return [*by_completeness(members), SUITE, *others]


def build_ranking_frame(
    board_rows: Sequence[Row], board: Board, points: Points, order: str = ""
) -> pd.DataFrame:
    """One row per target with a score on the board: the ranked first, then the others by score.

    `points` is what the cases add to the scores, `order` is of `list_board_orders`. Columns:
    identity, target_key, kind, status (of STATUSES), rank, rank_low, rank_high, group (1 for the
    first), leader (of the group), score, low, high (0 to 100), coverage (0 to 1), a column per
    benchmark and per "benchmark/metric", passed, measured and errors (cases), cost (USD),
    input_tokens, output_tokens, latency (s, median), date (UTC), run_id (of the newest run),
    self_judged (the target is one of its own judges).
    """
    by = order or list_board_orders(board)[0]
    readable = case_points.find_readable_scores(points)
    partial = case_points.find_partial_scores(points)
    statuses = {
        row.identity: find_row_status(row, board, by, readable, partial) for row in board_rows
    }
    ranked = [row for row in board_rows if statuses[row.identity] == "ranked"]
    ranks = compute_standings(ranked, board, by, points)
    records = [
        _build_ranking_record(row, board, by, statuses[row.identity], ranks.get(row.identity))
        for row in board_rows
    ]
    frame = pd.DataFrame(records, columns=_list_ranking_columns(board))
    for name in ("rank", "rank_low", "rank_high", "group"):
        frame[name] = frame[name].astype("Int64")
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    status_order = frame["status"].map({status: n for n, status in enumerate(STATUSES)})
    return (
        frame.assign(**{_STATUS_ORDER: status_order})
        .sort_values(
            [_STATUS_ORDER, "rank", "score", "identity"], ascending=[True, True, False, True]
        )
        .drop(columns=_STATUS_ORDER)
        .reset_index(drop=True)
    )


def compute_standings(
    ranked: Sequence[Row], board: Board, by: str, points: Points
) -> dict[str, RankRow]:
    """The ranks of rows of the status "ranked", from their scores case by case."""
    benchmarks = list(board.counted_benchmarks) if by == SUITE else [by]
    if not ranked:
        return {}
    parts, strata, maxima = [], [], []
    for key in benchmarks:
        runs = [row.runs[key].run_id for row in ranked]
        added, metrics, case_maxima = _compute_contributions(points[key], runs)
        parts.append(added / len(benchmarks))
        maxima.append(case_maxima / len(benchmarks))
        strata += [(key, metric) for metric in metrics]
    table = np.concatenate(parts, axis=1)
    return rank_board(
        {row.identity: added for row, added in zip(ranked, table, strict=True)},
        strata=strata,
        maxima=np.concatenate(maxima),
    )


class Lead(Record, frozen=True):
    """How far the best of a ranking is ahead of the next: both identities (`second` is empty where
    only one is ranked), the difference of their scores in points with the 95 % interval of a paired
    comparison, whether the board's ranks tell them apart, and on how many cases that rests. Not
    `tested`, no verdicts are known, and nothing says how sure it is."""

    first: str
    second: str
    points: float
    low: float
    high: float
    significant: bool
    cases: int
    tested: bool = True


def compute_lead(
    frame: pd.DataFrame, board_rows: Sequence[Row], board: Board, by: str, points: Points
) -> Lead | None:
    """The lead on the ranking `frame` of `build_ranking_frame`; None where nobody is ranked."""
    ranked = frame[frame["status"] == "ranked"].head(2)
    if ranked.empty:
        return None
    rows = {row.identity: row for row in board_rows}
    both = [rows[identity] for identity in ranked["identity"]]
    benchmarks = list(board.counted_benchmarks) if by == SUITE else [by]
    scores: tuple[dict[tuple[str, int], float], ...] = ({}, {})
    weights: dict[tuple[str, int], float] = {}
    metric_of: dict[tuple[str, int], tuple[str, str]] = {}
    for key in benchmarks:
        runs = [row.runs[key].run_id for row in both]
        added, metrics, maxima = _compute_contributions(points[key], runs)
        for number in np.flatnonzero(~np.isnan(added).any(axis=0)):
            case = (key, int(number))
            weights[case] = float(maxima[number]) / len(benchmarks)
            metric_of[case] = (key, metrics[number])
            for side, values in zip(scores, added, strict=False):
                side[case] = float(values[number] / maxima[number]) if maxima[number] else 0.0
    if len(both) == 1:
        return Lead(both[0].identity, "", 0.0, 0.0, 0.0, False, len(weights))
    result = compare_paired(scores[0], scores[1], weights, metric_of.__getitem__)
    gap = float(ranked["score"].iloc[0] - ranked["score"].iloc[1])
    low, high = (result.interval.low, result.interval.high) if result.interval else (gap, gap)
    significant = bool(ranked["group"].iloc[0] != ranked["group"].iloc[1])
    return Lead(both[0].identity, both[1].identity, gap, low, high, significant, len(weights))


def _compute_contributions(
    table: PointTable, runs: Sequence[str]
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """What every case that one of the runs has adds to their scores, shape (runs, cases), with the
    metric of each case and the most that it could add."""
    nothing = np.full((1, table.points.shape[1]), np.nan)
    own = [table.runs.get(run, -1) for run in runs]
    added = np.concatenate([table.points, nothing])[own]
    is_measured = ~np.isnan(added).all(axis=0)
    metrics = [metric for (metric, _), there in zip(table.cases, is_measured, strict=True) if there]
    return added[:, is_measured], metrics, table.maxima[is_measured]


def find_row_status(
    row: Row,
    board: Board,
    by: str,
    readable: Container[tuple[str, str]],
    partial: Container[tuple[str, str]] = (),
) -> str:
    """Whether a row is ranked by SUITE or a benchmark, or why it is not, by (benchmark, run):
    `readable` are those whose cases are known, `partial` those that lack some of their column."""
    needed = list(board.counted_benchmarks) if by == SUITE else [by]
    if is_control(row.target_key):
        return "control"
    if not row.runs.keys() >= set(needed):
        return "not_run"
    if any(row.runs[key].benchmarks[key].is_bare_claim for key in needed):
        return "claimed"
    if not all(row.runs[key].benchmarks[key].complete for key in needed):
        return "incomplete"
    if any(row.runs[key].benchmarks[key].score is None for key in needed):
        return "incomplete"
    runs = [(key, row.runs[key].run_id) for key in needed]
    if any(run in partial for run in runs):
        return "incomplete"
    return "ranked" if all(run in readable for run in runs) else "unreadable"


def _build_ranking_record(
    row: Row, board: Board, by: str, status: str, rank: RankRow | None
) -> dict[str, Any]:
    runs = _select_counted_runs(row, board, by)
    newest = max(runs.values(), key=lambda run: run.created_at)
    score, low, high = compute_row_score(row, board, by)
    return {
        **{"identity": row.identity, "target_key": row.target_key, "kind": row.kind},
        "self_judged": any(run.benchmarks[key].self_judged for key, run in runs.items()),
        "status": status,
        **build_rank_fields(rank),
        "score": score,
        "low": low,
        "high": high,
        "coverage": min(run.benchmarks[key].coverage for key, run in runs.items()),
        **_collect_part_scores(row, board),
        **_count_case_outcomes(runs),
        **_sum_run_costs(runs),
        "date": newest.created_at,
        "run_id": newest.run_id,
    }


def _select_counted_runs(row: Row, board: Board, by: str) -> dict[str, RunHeader]:
    """The runs behind the sums of a row: of the suite's members, so that what else was run changes
    nothing; of the benchmark ranked by where it is no member; whatever ran where none of these
    did."""
    keys = board.counted_benchmarks if by == SUITE or by in board.counted_benchmarks else (by,)
    return {key: run for key, run in row.runs.items() if key in keys} or row.runs


def build_rank_fields(rank: RankRow | None) -> dict[str, Any]:
    """The columns that say where a row stands, all None where it is not ranked."""
    names = {"rank": "rank", "rank_low": "low", "rank_high": "high"}
    names |= {"group": "group", "leader": "leader"}
    return {name: rank and getattr(rank, field) for name, field in names.items()}


def compute_row_score(
    row: Row, board: Board, by: str
) -> tuple[float | None, float | None, float | None]:
    """Score and 95 % interval of what the board is ordered by. Benchmarks of a suite share no case,
    so the half-widths of the mean's interval add up as the root of the sum of their squares."""
    if by != SUITE:
        score = row.score(by)
        return (None, None, None) if score is None else (score.score, score.low, score.high)
    mean = suite_score(row, board)
    scores = [row.runs[key].benchmarks[key] for key in board.members if key in row.runs]
    below = [s.score - s.low for s in scores if s.score is not None and s.low is not None]
    above = [s.high - s.score for s in scores if s.score is not None and s.high is not None]
    if mean is None or len(below) < len(scores) or len(above) < len(scores):
        return mean, None, None
    down, up = (sqrt(sum(d * d for d in widths)) / len(scores) for widths in (below, above))
    return mean, max(0.0, mean - down), min(100.0, mean + up)


def _collect_part_scores(row: Row, board: Board) -> dict[str, float | None]:
    parts: dict[str, float | None] = {}
    for benchmark, column in board.columns.items():
        score = row.score(benchmark)
        parts[benchmark] = None if score is None else score.score
        for metric in column.card.metrics:
            key = f"{benchmark}/{metric.key}"
            parts[key] = metric_line(score, metric.key)[0]
    return parts


def _count_case_outcomes(counted: Mapping[str, RunHeader]) -> dict[str, int]:
    counts = [run.benchmarks[key].outcomes for key, run in counted.items()]
    passed = sum(count.get("passed", 0) for count in counts)
    measured = passed + sum(count.get("failed", 0) for count in counts)
    everything = sum(sum(count.values()) for count in counts)
    return {"passed": passed, "measured": measured, "errors": everything - measured}


def _sum_run_costs(counted: Mapping[str, RunHeader]) -> dict[str, float | None]:
    """Cost, tokens and latency, unknown where a run also did what is not counted here."""
    runs = {run.run_id: run for run in counted.values()}.values()
    alone = all(set(run.benchmarks) <= set(counted) for run in runs)
    totals = [run.totals for run in runs] if alone else []
    return {
        "cost": _sum_complete([total.cost for total in totals]),
        "input_tokens": _sum_complete([total.input_tokens for total in totals]),
        "output_tokens": _sum_complete([total.output_tokens for total in totals]),
        "latency": totals[0].latency_p50 if len(totals) == 1 else None,
    }


def _sum_complete(values: Sequence[float | None]) -> float | None:
    """The sum where every value is known."""
    present_values = [value for value in values if value is not None]
    return sum(present_values) if present_values and len(present_values) == len(values) else None


def _list_ranking_columns(board: Board) -> list[str]:
    parts = [
        name
        for benchmark, column in board.columns.items()
        for name in (benchmark, *(f"{benchmark}/{metric.key}" for metric in column.card.metrics))
    ]
    head = ["identity", "target_key", "kind", "status", "rank", "rank_low", "rank_high", "group"]
    head += ["leader", "score", "low", "high", "coverage"]
    tail = ["passed", "measured", "errors", "cost", "input_tokens", "output_tokens", "latency"]
    return [*head, *parts, *tail, "date", "run_id", "self_judged"]


# What can be read off a ranking: ties, the parts of its scores, the rows that fit a filter.


def tie_groups(frame: pd.DataFrame) -> list[list[str]]:
    """The ranked identities by group of ties, the best group first."""
    ranked = frame[frame["status"] == "ranked"]
    groups: dict[Any, list[str]] = {}
    for group, identity in ranked[["group", "identity"]].dropna().itertuples(index=False):
        groups.setdefault(group, []).append(identity)
    return [groups[group] for group in sorted(groups)]


def list_board_parts(board: Board) -> list[str]:
    """What a score is made of: the benchmarks, or the metrics ("benchmark/metric") of only one."""
    if len(board.columns) > 1:
        return list(board.columns)
    return board.metrics


def match_target_text(frame: pd.DataFrame, text: str) -> pd.Series[bool]:
    """Which rows hold `text` (letter case aside) in the identity or, where the frame has such
    columns, in the name or the maker's."""
    text = mask_target(text)
    fits = pd.Series(False, index=frame.index)
    for name in frame.columns.intersection(["identity", "name", "organization"]):
        fits |= frame[name].str.contains(text, case=False, regex=False)
    return fits


def filter_ranking(frame: pd.DataFrame, text: str, kinds: Collection[str] = ()) -> pd.DataFrame:
    """The rows of which `text` is said and whose kind is one of `kinds` (none: any). Ranks stay
    what they are among all."""
    fits = match_target_text(frame, text)
    if kinds:
        fits &= frame["kind"].isin(list(kinds))
    return frame[fits].reset_index(drop=True)


# The order in which rows stand: by rank, or by anything else that is known of them.

RANK_ORDER = "rank"
#: Code of an order -> whether it begins with the smallest.
_ASCENDING = {"name": True, "cost": True, "latency": True, "price": True, "parameters": True}


def list_sort_keys(board: Board) -> list[str]:
    """List the codes by which a board can be sorted: rank first, then cost, date and the score of
    each part."""
    facts = ("name", "cost", "latency", "price", "parameters", "date")
    return [RANK_ORDER, *facts, *list_board_parts(board)]


def is_ascending(sort: str) -> bool:
    """Whether an order begins with the smallest: names, costs and sizes do, scores and dates do
    not."""
    return _ASCENDING.get(sort, False)


def sort_board_rows(frame: pd.DataFrame, sort: str) -> pd.DataFrame:
    """The rows in an order of `list_sort_keys`, what is unknown last and equals as they stood."""
    if sort == RANK_ORDER:
        return frame
    values = frame[sort]
    if sort == "name":
        values = values.str.casefold()
    elif sort != "date":
        values = values.astype(float)
    sorted_values = values.sort_values(
        ascending=is_ascending(sort), kind="stable", na_position="last"
    )
    return frame.loc[sorted_values.index]
