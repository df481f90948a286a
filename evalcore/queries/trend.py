"""How the scores of targets on a board went from run to run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pandas as pd

from evalcore.queries.board_periods import select_board_runs
from evalcore.queries.boards import Board, Row
from evalcore.queries.ranking import SUITE, compute_row_score, find_row_status
from evalcore.store.headers import RunHeader

TREND_COLUMNS = ("identity", "date", "score", "low", "high", "run_id")


def build_score_trend(
    headers: Iterable[RunHeader], board: Board, order: str, identities: Collection[str]
) -> pd.DataFrame:
    """One row per run that gave one of the targets a new standing, oldest first: COLUMNS, with
    date in UTC and scores from 0 to 100.

    What counts is what would have been ranked then: complete runs, and for SUITE the mean with the
    newest runs of the other benchmarks at that time.
    """
    runs = [run for run in select_board_runs(headers, board) if run.identity in identities]
    runs_by_identity: dict[str, dict[str, RunHeader]] = {}
    records = []
    for run in sorted(runs, key=lambda header: header.created_at):
        own = runs_by_identity.setdefault(run.identity, {})
        completed_benchmarks = {key for key in board.columns if _is_complete_run(run, board, key)}
        own.update(dict.fromkeys(completed_benchmarks, run))
        if completed_benchmarks.intersection(
            board.counted_benchmarks if order == SUITE else (order,)
        ):
            record = _build_trend_record(run, dict(own), board, order)
            records += [record] if record else []
    frame = pd.DataFrame(records, columns=list(TREND_COLUMNS))
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame


def _is_complete_run(run: RunHeader, board: Board, benchmark: str) -> bool:
    score = run.benchmarks.get(benchmark)
    same = score is not None and score.column == board.columns[benchmark].key
    return same and score is not None and score.complete


def _build_trend_record(
    run: RunHeader, own: dict[str, RunHeader], board: Board, order: str
) -> dict[str, Any] | None:
    row = Row(identity=run.identity, target_key=run.target_key, runs=own)
    if (
        find_row_status(row, board, order, {(key, header.run_id) for key, header in own.items()})
        != "ranked"
    ):
        return None
    score, low, high = compute_row_score(row, board, order)
    values = (run.identity, run.created_at, score, low, high, run.run_id)
    return dict(zip(TREND_COLUMNS, values, strict=True))
