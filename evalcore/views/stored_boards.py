"""The boards of a store as they are on disk now: run headers, cached rankings and metrics, the runs
of a range of months, and how scores went from run to run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from evalcore.records import to_json
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store.headers import HeaderSnapshot, RunHeader, memoize_on_snapshot
from evalcore.store.index import headers_signature, load_headers
from evalcore.views import case_points
from evalcore.views.boards import (
    Board,
    Row,
    complete_score,
    list_board_rows,
    list_boards,
    list_suites,
)
from evalcore.views.case_points import ensure_case_tables
from evalcore.views.metric_board import MetricView, metric_cases, metric_view
from evalcore.views.ranking import (
    SUITE,
    build_ranking_frame,
    compute_row_score,
    find_row_status,
    list_board_orders,
)
from evalcore.views.run_problems import UNMEASURED

# The boards of a store: headers and rankings as they are on disk now. Reading them costs little
# while nothing changes; `compute_boards_signature` is the key for a cache of the frames.

Headers = Sequence[RunHeader]
V = TypeVar("V")
_CACHE_SIZE = 48  # rankings and views of metrics kept ready
_rankings: SingleFlightCache[pd.DataFrame] = SingleFlightCache(_CACHE_SIZE)
_views: SingleFlightCache[MetricView] = SingleFlightCache(_CACHE_SIZE)


def load_run_headers(settings: Settings) -> Headers:
    """Every finished run, newest first."""
    return load_headers(settings)


def compute_boards_signature(settings: Settings) -> str:
    """Changes whenever `load_run_headers` would."""
    return headers_signature(settings)


def memoize_on_headers(run_headers: Headers, key: Hashable, compute: Callable[[], V]) -> V:
    """What `compute` says of the headers, worked out once while they are the same; `key` names the
    question. The answer is shared: nobody may change it."""
    return memoize_on_snapshot(run_headers, ("remembered", key), compute)


def compute_board_version(run_headers: Headers, board: Board) -> str:
    """Changes whenever a run that stands on the board does, and not with other runs."""
    key = ("version", board.identity)
    return memoize_on_snapshot(run_headers, key, lambda: _hash_board_runs(run_headers, board))


def _hash_board_runs(run_headers: Headers, board: Board) -> str:
    digest = hashlib.sha256()
    for row in list_board_rows(run_headers, board):
        for benchmark, run in row.runs.items():
            digest.update(b"%s\0%s\n" % (benchmark.encode(), to_json(run)))
    return digest.hexdigest()


def load_cached_ranking(
    settings: Settings, board: Board, order: str = "", run_headers: Headers | None = None
) -> pd.DataFrame:
    """The frame of `board_ranking`, or of `rank_board_runs` with `run_headers`, worked out once for
    all who ask until a run on the board changes. Each gets a frame of its own over the same data.
    """
    selected_headers = load_run_headers(settings) if run_headers is None else run_headers
    version = compute_board_version(selected_headers, board)
    key = (settings.data, board.identity, version, order or list_board_orders(board)[0])
    frame = _rankings.get(key, lambda: rank_board_runs(settings, selected_headers, board, order))
    return frame.copy(deep=False)


def load_cached_metric(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """The view of `board_metric`, kept in the same way."""
    version = compute_board_version(load_run_headers(settings), board)
    key = (settings.data, board.identity, version, benchmark, metric)
    view = _views.get(key, lambda: board_metric(settings, board, benchmark, metric))
    return view._replace(
        standing=view.standing.copy(deep=False),
        failures=view.failures.copy(deep=False),
        evidence=dict(view.evidence),
    )


def find_run_board(run_headers: Headers, run: str) -> tuple[Board, str] | None:
    """Find the board to show a run on and what to rank it by: the first board with most of its
    columns, in its own order if the target counts there, else by a benchmark of the run. None for a
    run without a score, or with columns that no board has."""
    header = next((candidate for candidate in run_headers if candidate.run_id == run), None)
    if header is None:
        return None
    columns = {(key, score.column) for key, score in header.benchmarks.items()}
    shared = [
        (board, [key for key, column in board.columns.items() if (key, column.key) in columns])
        for suite in list_suites([header])
        for board in list_boards(run_headers, suite)
    ]
    board, own = max(shared, key=lambda pair: len(pair[1]), default=(None, []))
    if board is None or not own:
        return None
    board_rows = list_board_rows(run_headers, board)
    row = next(row for row in board_rows if row.identity == header.identity)
    first = list_board_orders(board)[0]
    needed = board.counted_benchmarks if first == SUITE else (first,)
    counted = set(needed) <= row.runs.keys() and not set(needed).isdisjoint(own)
    return board, first if counted else next(key for key in list_board_orders(board) if key in own)


class RunSuiteScore(NamedTuple):
    """The score of a run over the members of its board, None while any of them is `missing`: by
    benchmark its cases without a measurement by outcome, none where it was not run."""

    score: float | None
    low: float | None
    high: float | None
    missing: dict[str, dict[str, int]]


def score_run_suite(run_headers: Headers, run: str) -> RunSuiteScore | None:
    """What a run of several benchmarks came to by itself, reckoned as on its board; None for a run
    of one benchmark, and on a board that has no mean."""
    header = next((each for each in run_headers if each.run_id == run), None)
    if header is None or len(header.benchmarks) < 2:
        return None
    board = shown_on[0] if (shown_on := find_run_board(run_headers, run)) else None
    if board is None or not board.members:
        return None
    own = {key: score.column for key, score in header.benchmarks.items()}
    runs = {key: header for key, column in board.columns.items() if own.get(key) == column.key}
    row = Row(identity=header.identity, target_key=header.target_key, runs=runs)
    missing = {}
    for key in board.members:
        if complete_score(row, key) is None:
            outcomes = score.outcomes if (score := row.score(key)) is not None else {}
            missing[key] = {name: outcomes[name] for name in UNMEASURED if outcomes.get(name)}
    return RunSuiteScore(*compute_row_score(row, board, SUITE), missing)


def board_ranking(settings: Settings, board: Board, order: str = "") -> pd.DataFrame:
    """The frame of `ranking` with the cases read from the run folders."""
    return rank_board_runs(settings, load_run_headers(settings), board, order)


def rank_board_runs(
    settings: Settings, run_headers: Headers, board: Board, order: str = ""
) -> pd.DataFrame:
    """The same with only some of the runs, such as those of a month."""
    board_rows = list_board_rows(run_headers, board)
    points = case_points.load_board_points(settings, board_rows, board)
    return build_ranking_frame(board_rows, board, points, order)


def board_metric(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """One metric of a board, with the cases read from the run folders."""
    run_headers = load_run_headers(settings)
    board_rows = list_board_rows(run_headers, board)
    metric_runs = [row.runs[benchmark] for row in board_rows if benchmark in row.runs]
    folders = case_points.find_case_folders(settings, {run.run_id for run in metric_runs})
    paths = ensure_case_tables(list(folders.values()))
    case_data = metric_cases(paths, benchmark, metric)
    return metric_view(run_headers, board, benchmark, metric, case_data)


# A board as it stood: the runs of a range of months, of which a row takes the newest.

_MONTH = len("2026-11")


def list_board_months(headers: Iterable[RunHeader], board: Board) -> list[str]:
    """The months in which anything of a board was run, as "2026-11", the newest first."""
    months = {run.created_at[:_MONTH] for run in select_board_runs(headers, board)}
    return sorted(months, reverse=True)


def select_runs_between(
    headers: Sequence[RunHeader], since: str = "", until: str = ""
) -> Sequence[RunHeader]:
    """The runs begun from the month `since` to the month `until`, both included; empty: no limit.
    Which boards there are does not depend on it: a board keeps its columns in every month."""
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


# How the scores of targets on a board went from run to run.

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
    counted = set(board.counted_benchmarks if order == SUITE else (order,))
    for run in sorted(runs, key=lambda header: header.created_at):
        own = runs_by_identity.setdefault(run.identity, {})
        completed = {key for key in board.columns if _is_complete_run(run, board, key)}
        own.update(dict.fromkeys(completed, run))
        if completed & counted:
            record = _build_trend_record(run, dict(own), board, order)
            records += [record] if record else []
    frame = pd.DataFrame(records, columns=list(TREND_COLUMNS))
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame


def _is_complete_run(run: RunHeader, board: Board, benchmark: str) -> bool:
    score = run.benchmarks.get(benchmark)
    column = board.columns[benchmark].key
    return score is not None and score.column == column and score.complete


def _build_trend_record(
    run: RunHeader, own: dict[str, RunHeader], board: Board, order: str
) -> dict[str, Any] | None:
    row = Row(identity=run.identity, target_key=run.target_key, runs=own)
    readable = {(key, header.run_id) for key, header in own.items()}
    if find_row_status(row, board, order, readable) != "ranked":
        return None
    score, low, high = compute_row_score(row, board, order)
    values = (run.identity, run.created_at, score, low, high, run.run_id)
    return dict(zip(TREND_COLUMNS, values, strict=True))
