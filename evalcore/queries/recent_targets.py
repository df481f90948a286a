"""What is new on a board: targets that came lately, measured by the board's own newest run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from evalcore.queries.board_periods import select_board_runs
from evalcore.queries.boards import Board, is_control
from evalcore.store.headers import RunHeader

RECENT_DAYS = 30


def find_recent_targets(
    headers: Iterable[RunHeader], board: Board, released: Mapping[str, str]
) -> frozenset[str]:
    """The identities first run or released within `RECENT_DAYS` days before the newest run.

    Controls are never news. `released` holds dates by identity; a year alone is too coarse to
    count. On a board that is itself no older than that, no first run is news.
    """
    runs = [run for run in select_board_runs(headers, board) if not is_control(run.target_key)]
    if not runs:
        return frozenset()
    first: dict[str, str] = {}
    for run in runs:
        first[run.identity] = min(run.created_at, first.get(run.identity, run.created_at))
    newest = max(run.created_at for run in runs)
    edge = (pd.Timestamp(newest) - pd.Timedelta(days=RECENT_DAYS)).isoformat()
    old = min(first.values()) < edge
    return frozenset(
        identity
        for identity, begun in first.items()
        if (old and begun >= edge) or _is_recent_date(released.get(identity, ""), edge, newest)
    )


def _is_recent_date(date: str, edge: str, newest: str) -> bool:
    """Whether a release date, to the month or the day, lies in the window before the newest run."""
    size = len(date)
    return size >= len("2026-11") and edge[:size] <= date <= newest[:size]
