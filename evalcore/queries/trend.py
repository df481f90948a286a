"""How the scores of targets on a board went from run to run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pandas as pd

from evalcore.queries.boards import Board, Row
from evalcore.queries.periods import on_board
from evalcore.queries.ranking import SUITE, score_of, status_of
from evalcore.store.headers import RunHeader

COLUMNS = ("identity", "date", "score", "low", "high", "run_id")


def trend(
    headers: Iterable[RunHeader], board: Board, order: str, identities: Collection[str]
) -> pd.DataFrame:
    """One row per run that gave one of the targets a new standing, oldest first: COLUMNS, with
    date in UTC and scores from 0 to 100.

    What counts is what would have been ranked then: complete runs, and for SUITE the mean with the
    newest runs of the other benchmarks at that time.
    """
    runs = [run for run in on_board(headers, board) if run.identity in identities]
    held: dict[str, dict[str, RunHeader]] = {}
    records = []
    for run in sorted(runs, key=lambda one: one.created_at):
        own = held.setdefault(run.identity, {})
        told = {key for key in board.columns if _complete(run, board, key)}
        own.update(dict.fromkeys(told, run))
        if told.intersection(board.counted if order == SUITE else (order,)):
            record = _record(run, dict(own), board, order)
            records += [record] if record else []
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame


def _complete(run: RunHeader, board: Board, benchmark: str) -> bool:
    score = run.benchmarks.get(benchmark)
    same = score is not None and score.column == board.columns[benchmark].key
    return same and score is not None and score.complete


def _record(
    run: RunHeader, own: dict[str, RunHeader], board: Board, order: str
) -> dict[str, Any] | None:
    row = Row(identity=run.identity, target_key=run.target_key, runs=own)
    if status_of(row, board, order, {(key, one.run_id) for key, one in own.items()}) != "ranked":
        return None
    score, low, high = score_of(row, board, order)
    values = (run.identity, run.created_at, score, low, high, run.run_id)
    return dict(zip(COLUMNS, values, strict=True))
