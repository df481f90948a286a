"""The boards of a store: headers and rankings as they are on disk now.

Reading them costs little while nothing changes; `signature` is the key for a cache of the frames.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.errors import EvalboardError
from evalcore.queries.boards import Board, rows
from evalcore.queries.metric_board import MetricView, metric_cases, metric_view
from evalcore.queries.ranking import case_scores, ranking, tables
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.index import headers_signature, load_headers
from evalcore.store.run_folder import RunFolder, find

Headers = Sequence[RunHeader]


def headers(settings: Settings) -> Headers:
    """Every finished run, newest first."""
    return load_headers(settings)


def signature(settings: Settings) -> str:
    """Changes whenever `headers` would."""
    return headers_signature(settings)


def board_ranking(settings: Settings, board: Board, order: str = "") -> pd.DataFrame:
    """The frame of `ranking` with the cases read from the run folders."""
    return ranked(settings, headers(settings), board, order)


def ranked(settings: Settings, among: Headers, board: Board, order: str = "") -> pd.DataFrame:
    """The same with only some of the runs, such as those of a month."""
    runs = {run.run_id for row in rows(among, board) for run in row.runs.values()}
    return ranking(among, board, case_scores(_folders(settings, sorted(runs))), order)


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
            folders.append(find(run, settings.run_roots))
        except EvalboardError:
            continue
    return folders
