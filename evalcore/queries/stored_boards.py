"""The boards of a store: headers and rankings as they are on disk now.

Reading them costs little while nothing changes; `signature` is the key for a cache of the frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import pandas as pd

from evalcore.errors import EvalboardError
from evalcore.queries import case_points
from evalcore.queries.boards import Board, boards, rows, suites
from evalcore.queries.case_points import tables
from evalcore.queries.metric_board import MetricView, metric_cases, metric_view
from evalcore.queries.ranking import SUITE, orders, ranking_of
from evalcore.records import to_json
from evalcore.settings import Settings
from evalcore.store.cache import SingleFlightCache
from evalcore.store.headers import RunHeader
from evalcore.store.index import headers_signature, load_headers
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.snapshot import memoize_on_snapshot

Headers = Sequence[RunHeader]
V = TypeVar("V")
_MOST = 48  # rankings and views of metrics kept ready
_rankings: SingleFlightCache[pd.DataFrame] = SingleFlightCache(_MOST)
_views: SingleFlightCache[MetricView] = SingleFlightCache(_MOST)


def headers(settings: Settings) -> Headers:
    """Every finished run, newest first."""
    return load_headers(settings)


def signature(settings: Settings) -> str:
    """Changes whenever `headers` would."""
    return headers_signature(settings)


def remembered(among: Headers, key: Hashable, make: Callable[[], V]) -> V:
    """What `make` says of the headers, worked out once while they are the same; `key` names the
    question. The answer is shared: nobody may change it."""
    return memoize_on_snapshot(among, ("remembered", key), make)


def version(among: Headers, board: Board) -> str:
    """Changes whenever a run that stands on the board does, and not with other runs."""
    return memoize_on_snapshot(among, ("version", board.identity), lambda: _version(among, board))


def _version(among: Headers, board: Board) -> str:
    told = hashlib.sha256()
    for row in rows(among, board):
        for benchmark, run in row.runs.items():
            told.update(b"%s\0%s\n" % (benchmark.encode(), to_json(run)))
    return told.hexdigest()


def kept_ranking(
    settings: Settings, board: Board, order: str = "", among: Headers | None = None
) -> pd.DataFrame:
    """The frame of `board_ranking`, or of `ranked` with `among`, worked out once for all who ask
    until a run on the board changes. Each gets a frame of its own over the same data."""
    some = headers(settings) if among is None else among
    key = (settings.data, board.identity, version(some, board), order or orders(board)[0])
    frame = _rankings.get(key, lambda: ranked(settings, some, board, order))
    return frame.copy(deep=False)


def kept_metric(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """The view of `board_metric`, kept in the same way."""
    key = (settings.data, board.identity, version(headers(settings), board), benchmark, metric)
    view = _views.get(key, lambda: board_metric(settings, board, benchmark, metric))
    return view._replace(
        standing=view.standing.copy(deep=False),
        failures=view.failures.copy(deep=False),
        evidence=dict(view.evidence),
    )


def board_of_run(among: Headers, run: str) -> tuple[Board, str] | None:
    """The board on which a run is to be seen and what to rank it by: the first board with most of
    its columns, in its own order where that counts the target, else by a benchmark that the run
    has. None for a run without a score, or whose columns are on no board."""
    header = next((one for one in among if one.run_id == run), None)
    if header is None:
        return None
    columns = {(key, score.column) for key, score in header.benchmarks.items()}
    shared = [
        (board, [key for key, column in board.columns.items() if (key, column.key) in columns])
        for suite in suites([header])
        for board in boards(among, suite)
    ]
    board, own = max(shared, key=lambda pair: len(pair[1]), default=(None, []))
    if board is None or not own:
        return None
    row = next(row for row in rows(among, board) if row.identity == header.identity)
    first = orders(board)[0]
    needed = board.counted if first == SUITE else (first,)
    counted = set(needed) <= row.runs.keys() and not set(needed).isdisjoint(own)
    return board, first if counted else next(key for key in orders(board) if key in own)


def board_ranking(settings: Settings, board: Board, order: str = "") -> pd.DataFrame:
    """The frame of `ranking` with the cases read from the run folders."""
    return ranked(settings, headers(settings), board, order)


def ranked(settings: Settings, among: Headers, board: Board, order: str = "") -> pd.DataFrame:
    """The same with only some of the runs, such as those of a month."""
    board_rows = rows(among, board)
    points = case_points.of_board(settings, board_rows, board)
    return ranking_of(board_rows, board, points, order)


def board_metric(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """One metric of a board, with the cases read from the run folders."""
    everyone = headers(settings)
    held = [row.runs[benchmark] for row in rows(everyone, board) if benchmark in row.runs]
    paths = tables(_folders(settings, sorted({run.run_id for run in held})))
    found = metric_cases(paths, benchmark, metric)
    return metric_view(everyone, board, benchmark, metric, found)


def _folders(settings: Settings, runs: list[str]) -> list[RunFolder]:
    """The folders of those runs that still exist: one may be deleted at any moment."""
    folders = []
    for run in runs:
        try:
            folders.append(find_run(run, settings.run_roots))
        except EvalboardError:
            continue
    return folders
