"""Where one run stands on its board: its row, the rows next to it, and the failures that tell most
about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.case_tables import PointTable
from evalcore.store.headers import RunHeader
from evalcore.views.boards import Board, Row, list_board_rows
from evalcore.views.case_points import (
    Points,
    ensure_case_tables,
    find_case_folders,
    load_board_points,
)

TELLING_FAILURES = 3
_FAILED = """
SELECT DISTINCT benchmark, metric, id, case_weight * weight AS weight
FROM samples WHERE outcome = 'failed' AND weight > 0
"""


class TellingFailure(Record, frozen=True):
    """A failed case of a run, and how many of the `others` ranked got it right."""

    run: str
    benchmark: str
    metric: str
    id: str
    solved: int
    others: int


class RunStanding(Record, frozen=True):
    """The identity that a run belongs to, the positions of its neighbors and of itself in the frame
    of the ranking (empty where it has no rank), and its failures that tell most."""

    identity: str
    neighbors: tuple[int, ...]
    failures: tuple[TellingFailure, ...]


def find_run_standing(
    settings: Settings, headers: Sequence[RunHeader], board: Board, frame: pd.DataFrame, run: str
) -> RunStanding | None:
    """Where a run stands on the ranking `frame` of a board; None where its target has no row."""
    board_rows = list_board_rows(headers, board)
    identity = next((header.identity for header in headers if header.run_id == run), None)
    row = next((row for row in board_rows if row.identity == identity), None)
    if row is None:
        return None
    ranked = frame.loc[frame["status"] == "ranked", "identity"].tolist()
    neighbors: tuple[int, ...] = ()
    if row.identity in ranked:
        place = ranked.index(row.identity)
        neighbors = tuple(range(max(0, place - 1), min(len(ranked), place + 2)))
    others = [other for other in board_rows if other.identity in ranked and other is not row]
    failures = _find_telling_failures(settings, board, row, others)
    return RunStanding(row.identity, neighbors, failures)


def _find_telling_failures(
    settings: Settings, board: Board, row: Row, others: Sequence[Row]
) -> tuple[TellingFailure, ...]:
    """The failures on cases that most of the others got right; of equals the heaviest, one of each
    metric before a second of any. What a provider or a tool failed at is no failure of the run."""
    runs = {run.run_id for run in row.runs.values()}
    paths = ensure_case_tables(find_case_folders(settings, runs).values())
    if not paths:
        return ()
    failed = case_tables.query_samples(paths, _FAILED)
    points = load_board_points(settings, [row, *others], board)
    found = []
    for benchmark, group in failed.groupby("benchmark"):
        key = str(benchmark)
        if key in row.runs:
            other_runs = [other.runs[key].run_id for other in others if key in other.runs]
            found += _count_solvers(group, points, key, row.runs[key].run_id, other_runs)
    found.sort(key=lambda pair: (-pair[0].solved / max(1, pair[0].others), -pair[1], pair[0].id))
    seen: dict[tuple[str, str], int] = {}
    turns = []
    for failure, _ in found:
        part = (failure.benchmark, failure.metric)
        turns.append(seen.get(part, 0))
        seen[part] = turns[-1] + 1
    first = sorted(range(len(found)), key=lambda number: (turns[number] > 0, number))
    return tuple(found[number][0] for number in first[:TELLING_FAILURES])


def _count_solvers(
    failed: pd.DataFrame, points: Points, benchmark: str, run: str, others: Sequence[str]
) -> list[tuple[TellingFailure, float]]:
    """The failed cases of one benchmark with their weights, each with how many solved it."""
    table: PointTable = points[benchmark]
    columns = {case: column for column, case in enumerate(table.cases)}
    rows = [table.runs[other] for other in others if other in table.runs]
    counted = []
    for metric, case, weight in failed[["metric", "id", "weight"]].itertuples(index=False):
        column = columns.get((str(metric), str(case)))
        solved = 0
        if column is not None and table.maxima[column] > 0:
            shares = table.points[rows, column] / table.maxima[column]
            solved = int(np.count_nonzero(shares >= 1 - 1e-9))
        failure = TellingFailure(run, benchmark, str(metric), str(case), solved, len(rows))
        counted.append((failure, float(weight)))
    return counted
