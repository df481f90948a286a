"""One target as frames: its runs, its profile on a board, its history, outcomes and cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from evalcore.queries.boards import Board, Row, is_control, list_board_rows
from evalcore.queries.metrics import (
    benchmark_values,
    find_peaks,
    find_score_extremes,
    metric_values,
)
from evalcore.records import Outcome
from evalcore.store.headers import RunHeader
from evalcore.store.snapshot import memoize_on_snapshot

OUTCOMES: tuple[Outcome, ...] = (
    "passed",
    "failed",
    "not_executed",
    "target_error",
    "judge_error",
    "environment_error",
)
#: From this many spokes on a radar shows a shape; with fewer it shows the metrics instead.
_SPOKES = 3


def list_identities(headers: Iterable[RunHeader]) -> list[str]:
    """Every target identity with a run: models first, controls last, each by name."""
    return list(memoize_on_snapshot(headers, "identities", lambda: _sort_identities(headers)))


def _sort_identities(headers: Iterable[RunHeader]) -> list[str]:
    target_keys = {header.identity: header.target_key for header in headers}
    return sorted(target_keys, key=lambda identity: (is_control(target_keys[identity]), identity))


def list_target_runs(headers: Iterable[RunHeader], identity: str) -> list[RunHeader]:
    """The runs of one target, newest first; empty for an unknown target."""
    runs = memoize_on_snapshot(headers, "runs", lambda: _group_by_identity(headers)).get(
        identity, []
    )
    return sorted(runs, key=lambda run: run.created_at, reverse=True)


def _group_by_identity(headers: Iterable[RunHeader]) -> dict[str, list[RunHeader]]:
    runs_by_identity: dict[str, list[RunHeader]] = {}
    for header in headers:
        runs_by_identity.setdefault(header.identity, []).append(header)
    return runs_by_identity


def find_target_row(headers: Iterable[RunHeader], board: Board, identity: str) -> Row | None:
    """The target's row on a board, None where it has no score there."""
    return next((row for row in list_board_rows(headers, board) if row.identity == identity), None)


def find_best_other(
    headers: Iterable[RunHeader], board: Board, row: Row, benchmark: str
) -> Row | None:
    """The other target with the best complete score in a benchmark of a board, controls left out;
    None where nobody else ran it to its end."""
    candidates = [
        (score.score, other)
        for other in list_board_rows(headers, board)
        if other.identity != row.identity
        and not is_control(other.target_key)
        and (score := other.score(benchmark)) is not None
        and score.complete
        and score.score is not None
    ]
    return max(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def benchmark_frame(row: Row, board: Board) -> pd.DataFrame:
    """Per benchmark of the board: benchmark, score, low, high, answered, coverage (0 to 1),
    samples, complete, run_id; a benchmark that was not run has None."""
    records = []
    for benchmark in board.columns:
        score, run = row.score(benchmark), row.runs.get(benchmark)
        records.append(
            {
                "benchmark": benchmark,
                "score": None if score is None else score.score,
                "low": None if score is None else score.low,
                "high": None if score is None else score.high,
                "answered": None if score is None else score.answered,
                "coverage": None if score is None else score.coverage,
                "samples": None if score is None else score.samples,
                "complete": score is not None and score.complete,
                "run_id": None if run is None else run.run_id,
            }
        )
    return pd.DataFrame(records)


def build_target_radar(headers: Sequence[RunHeader], board: Board, identity: str) -> pd.DataFrame:
    """Frame for the radar: axis, series (target, best, floor) and score, 0 to 100.

    The spokes are those of `list_radar_axes` that anybody has a score on. `best` is the best ranked
    target per axis, `floor` the best of the controls that score floors.
    """
    own = [row for row in list_board_rows(headers, board) if row.identity == identity]
    radar_axes = list_radar_axes(board, own[0] if own else None)
    whole = not any("/" in axis for axis in radar_axes)
    best, floor = find_score_extremes(headers, board, whole=whole)
    series_scores = {
        "target": find_peaks(own, benchmark_values if whole else metric_values),
        "best": best,
        "floor": floor,
    }
    records = [
        {"axis": axis, "series": series, "score": score}
        for series, scores in series_scores.items()
        for axis, score in scores.items()
        if axis in radar_axes
    ]
    return pd.DataFrame(records, columns=["axis", "series", "score"])


def list_radar_axes(board: Board, row: Row | None = None) -> list[str]:
    """The spokes of `build_target_radar` in the order of the catalogue: the board's benchmarks, or
    "benchmark/metric" of those that the row (None: the board) has where they are too few for a
    shape."""
    present = [key for key in board.columns if row is None or key in row.runs]
    if len(present) >= _SPOKES:
        return list(board.columns)
    return [part for part in board.metrics if part.partition("/")[0] in present]


def build_run_history(runs: Iterable[RunHeader], board: Board | None = None) -> pd.DataFrame:
    """One row per run and benchmark, oldest first: date (UTC), benchmark, label, dataset, samples,
    full, score, low, high, coverage, complete, on_board, run_id, state, note, cost."""
    records = []
    for run in runs:
        for benchmark, score in run.benchmarks.items():
            column = None if board is None else board.columns.get(benchmark)
            records.append(
                {
                    "date": run.created_at,
                    "benchmark": benchmark,
                    "label": score.label,
                    "dataset": score.dataset,
                    "samples": score.samples,
                    "full": score.full,
                    "score": score.score,
                    "low": score.low,
                    "high": score.high,
                    "coverage": score.coverage,
                    "complete": score.complete,
                    "on_board": column is not None and column.key == score.column,
                    "run_id": run.run_id,
                    "state": run.state,
                    "note": run.note,
                    "cost": run.totals.cost,
                }
            )
    frame = pd.DataFrame(records, columns=_HISTORY)
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame.sort_values("date", ignore_index=True)


_HISTORY = [
    "date",
    "benchmark",
    "label",
    "dataset",
    "samples",
    "full",
    "score",
    "low",
    "high",
    "coverage",
    "complete",
    "on_board",
    "run_id",
    "state",
    "note",
    "cost",
]


def count_target_outcomes(row: Row) -> pd.DataFrame:
    """Cases per benchmark and outcome: benchmark, outcome, count; outcomes that occur."""
    return pd.DataFrame(
        [
            {"benchmark": benchmark, "outcome": outcome, "count": count}
            for benchmark, run in row.runs.items()
            for outcome in OUTCOMES
            if (count := run.benchmarks[benchmark].outcomes.get(outcome, 0))
        ],
        columns=["benchmark", "outcome", "count"],
    )
