"""A board as it stood: the runs of a range of months, of which a row takes the newest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalcore.queries.boards import Board
from evalcore.store.headers import RunHeader
from evalcore.store.snapshot import HeaderSnapshot, memoize_on_snapshot

_MONTH = len("2026-11")


def list_board_months(headers: Iterable[RunHeader], board: Board) -> list[str]:
    """The months in which anything of a board was run, as "2026-11", the newest first."""
    return sorted(
        {run.created_at[:_MONTH] for run in select_board_runs(headers, board)}, reverse=True
    )


def select_runs_between(
    headers: Sequence[RunHeader], since: str = "", until: str = ""
) -> Sequence[RunHeader]:
    """The runs begun from the month `since` to the month `until`, both included; empty: no limit.

    Which boards there are does not depend on it: a board keeps its columns in every month.
    """
    if not since and not until:
        return headers
    last = until or "~"  # sorts after every digit

    def select_runs() -> HeaderSnapshot:
        return HeaderSnapshot(run for run in headers if since <= run.created_at[:_MONTH] <= last)

    return memoize_on_snapshot(headers, ("within", since, until), select_runs)


def select_board_runs(headers: Iterable[RunHeader], board: Board) -> list[RunHeader]:
    """The runs with a score in one of the board's columns."""
    keys = {(benchmark, column.key) for benchmark, column in board.columns.items()}
    return [
        run
        for run in headers
        if any((key, score.column) in keys for key, score in run.benchmarks.items())
    ]
