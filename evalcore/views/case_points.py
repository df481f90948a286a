"""What every case adds to the score of a benchmark, for all runs that stand on a board.

Ranks rest on these numbers alone. They are read from the run folders once and then kept, a file a
column, until a folder changes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from evalcore.errors import EvalboardError
from evalcore.records import content_hash
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.case_tables import PointTable
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.stored_cases import read_case_points
from evalcore.views.boards import Board, Row

_log = logging.getLogger(__name__)

FOLDER = "cache"
_MAX_OTHER_ROWS = 3_000  # rows of runs that are not on the board now
_BATCH_SIZE = 100  # run folders whose cases are in memory together
_BATCH_CASES = 200_000  # of them, if they are of several runs
S = TypeVar("S", bound=Hashable)
#: Benchmark -> the points of its runs.
Points = dict[str, PointTable]
_NOTHING = PointTable([], {}, {}, np.empty((0, 0)), np.empty(0))
_SCORES = """
SELECT run, benchmark, metric, id, any_value(case_weight * weight) AS weight,
       avg(coalesce(score, 0)) AS score
FROM samples WHERE weight IS NOT NULL GROUP BY run, benchmark, metric, id
"""


def case_scores(folders: Iterable[RunFolder]) -> pd.DataFrame:
    """Per run and scored case: run, benchmark, metric, id, weight (case x metric weight) and
    score (0 to 1, the mean over the epochs, what is missing being 0).

    A run whose journals cannot be read has no rows: a ranking then says so.
    """
    rows, unread = [], []
    for folder in folders:
        points = read_case_points(folder)
        unread += [folder] if points is None else []
        for benchmark, own in (points or {}).items():
            rows += [(folder.run_id, benchmark, *row) for row in own]
    frame = pd.DataFrame(rows, columns=["run", "benchmark", "metric", "id", "weight", "score"])
    if not (paths := ensure_case_tables(unread)):
        return frame
    others = case_tables.query_samples(paths, _SCORES)
    return pd.concat([frame, others], ignore_index=True) if rows else others


def ensure_case_tables(folders: Iterable[RunFolder]) -> list[Path]:
    """The tables of cases of those of the runs that can be read."""
    paths = []
    for folder in folders:
        try:
            paths.append(case_tables.ensure_samples_table(folder))
        except EvalboardError:
            continue
    return paths


def find_readable_scores(points: Points) -> set[tuple[str, str]]:
    """(benchmark, run) of which any case is known."""
    return {
        (benchmark, run)
        for benchmark, table in points.items()
        for run, row in table.runs.items()
        if not np.isnan(table.points[row]).all()
    }


def find_partial_scores(points: Points) -> set[tuple[str, str]]:
    """(benchmark, run) whose cases are not those of their column, see `find_partial_runs`."""
    runs = set()
    for benchmark, table in points.items():
        present = ~np.isnan(table.points)
        rows = {run: present[row] for run, row in table.runs.items()}
        sets = {run: row.tobytes() for run, row in rows.items() if row.any()}
        runs |= {(benchmark, run) for run in find_partial_runs(sets, lambda cases: cases.count(1))}
    return runs


def find_partial_runs(sets: Mapping[str, S], size: Callable[[S], int]) -> set[str]:
    """The runs whose set of cases is not the one that most hold, of equally frequent ones the
    largest.

    Runs of one column were asked the same cases. Only those that others published can lack some
    whatever their summary says, and a score over fewer cases has no rank among the others.
    """
    counts = Counter(sets.values())
    usual = max(counts, key=lambda cases: (counts[cases], size(cases)), default=None)
    return {run for run, cases in sets.items() if cases != usual}


def load_board_points(settings: Settings, rows: Sequence[Row], board: Board) -> Points:
    """The points of every run that stands on a board in one of its `rows`.

    Reads the folders that changed since their points were kept, and keeps those in turn. A run that
    is gone or cannot be read is left out.
    """
    runs_by_benchmark = {
        key: sorted({row.runs[key].run_id for row in rows if key in row.runs})
        for key in board.columns
    }
    everything = {run for runs in runs_by_benchmark.values() for run in runs}
    folders = find_case_folders(settings, everything)
    signatures = _read_case_signatures(folders)
    paths = {
        key: settings.data_dir / FOLDER / f"points-{content_hash([key, column.key], 16)}.parquet"
        for key, column in board.columns.items()
    }
    stored = {key: case_tables.load_point_table(path) or _NOTHING for key, path in paths.items()}
    reusable = {
        key: _select_unchanged(stored[key], runs, signatures)
        for key, runs in runs_by_benchmark.items()
    }
    missing = {
        key: [run for run in runs if run in signatures and run not in reusable[key].runs]
        for key, runs in runs_by_benchmark.items()
    }
    read = _read_case_points(folders, missing, signatures)
    points = {key: _merge_point_tables([reusable[key], *read[key]]) for key in runs_by_benchmark}
    for key, table in points.items():
        if read[key]:
            # Not asked for now, and may be again: another month, say, ranks other runs.
            others = [run for run in stored[key].runs if run not in table.runs][:_MAX_OTHER_ROWS]
            others_table = _select_table_rows(stored[key], others)
            _save_point_table(paths[key], _merge_point_tables([table, others_table]))
    return points


def find_case_folders(settings: Settings, runs: Iterable[str]) -> dict[str, RunFolder]:
    """The folders of those runs that still exist: one may be deleted at any moment."""
    folders = {}
    for run in sorted(runs):
        try:
            folders[run] = find_run(run, settings.run_roots)
        except EvalboardError:
            continue
    return folders


def _read_case_signatures(folders: Mapping[str, RunFolder]) -> dict[str, str]:
    signatures = {}
    for run, folder in folders.items():
        try:
            signatures[run] = case_tables.samples_signature(folder)
        except (EvalboardError, OSError):
            continue
    return signatures


def _select_unchanged(
    table: PointTable, runs: Sequence[str], signatures: Mapping[str, str]
) -> PointTable:
    """The rows of those runs that are as they were when the table was made."""
    same = [run for run in runs if table.signatures.get(run, "") == signatures.get(run)]
    return _select_table_rows(table, same)


def _select_table_rows(table: PointTable, same: Sequence[str]) -> PointTable:
    return PointTable(
        table.cases,
        {run: row for row, run in enumerate(same)},
        {run: table.signatures[run] for run in same},
        table.points[[table.runs[run] for run in same]],
        table.maxima,
    )


def _read_case_points(
    folders: Mapping[str, RunFolder],
    missing: Mapping[str, Sequence[str]],
    signatures: Mapping[str, str],
) -> dict[str, list[PointTable]]:
    """The points of the missing runs by benchmark, some folders at a time."""
    runs = sorted({run for names in missing.values() for run in names})
    tables_by_benchmark: dict[str, list[PointTable]] = {key: [] for key in missing}
    for part in _split_runs(folders, runs):
        cases = case_scores([folders[run] for run in part])
        for key, names in missing.items():
            own = cases[(cases["benchmark"] == key) & cases["run"].isin(list(names))]
            table = build_point_table(own)
            if table.runs:
                table_signatures = {run: signatures[run] for run in table.runs}
                tables_by_benchmark[key].append(table._replace(signatures=table_signatures))
    return tables_by_benchmark


def _split_runs(folders: Mapping[str, RunFolder], runs: Iterable[str]) -> Iterator[list[str]]:
    """Runs that are read together: not many, and not many cases."""
    part: list[str] = []
    total = 0
    for run in runs:
        count = _count_cases(folders[run])
        if part and (len(part) == _BATCH_SIZE or total + count > _BATCH_CASES):
            yield part
            part, total = [], 0
        part.append(run)
        total += count
    if part:
        yield part


def _count_cases(folder: RunFolder) -> int:
    try:
        return sum(benchmark.samples for benchmark in folder.read_spec().benchmarks)
    except EvalboardError:  # it has none that can be read
        return 0


def build_point_table(cases: pd.DataFrame) -> PointTable:
    """The points of one benchmark from its rows of `case_scores`."""
    rows, runs = pd.factorize(cases["run"], sort=True)
    names = pd.MultiIndex.from_arrays([cases["metric"].astype(str), cases["id"].astype(str)])
    columns, labels = names.factorize(sort=True)
    weights = cases["weight"].to_numpy(dtype=float)
    order = np.argsort(columns, kind="stable")  # equal weights then have the very same sum
    totals = np.bincount(rows[order], weights=weights[order], minlength=len(runs))
    points = np.full((len(runs), len(labels)), np.nan)
    total, heaviest = totals[rows], 100 * weights
    most = np.divide(heaviest, total, out=np.zeros_like(heaviest), where=total > 0)
    points[rows, columns] = most * cases["score"].to_numpy(dtype=float)
    maxima = np.zeros(len(labels))
    np.fmax.at(maxima, columns, most)
    return PointTable(
        [(str(metric), str(case)) for metric, case in labels],
        {str(run): row for row, run in enumerate(runs)},
        {},
        points,
        maxima,
    )


def _merge_point_tables(tables: Sequence[PointTable]) -> PointTable:
    cases = sorted({case for table in tables if table.runs for case in table.cases})
    column_by_case = {case: column for column, case in enumerate(cases)}
    points = np.full((sum(len(table.runs) for table in tables), len(cases)), np.nan)
    maxima = np.zeros(len(cases))
    runs: dict[str, int] = {}
    signatures: dict[str, str] = {}
    for table in tables:
        if not table.runs:
            continue
        columns, start = [column_by_case[case] for case in table.cases], len(runs)
        points[start : start + len(table.runs), columns] = table.points
        maxima[columns] = np.maximum(maxima[columns], table.maxima)
        runs |= {run: start + row for run, row in table.runs.items()}
        signatures |= table.signatures
    return PointTable(cases, runs, signatures, points, maxima)


def _save_point_table(path: Path, table: PointTable) -> None:
    """Keep the table where that is possible: a read-only store goes without."""
    try:
        case_tables.save_point_table(path, table)
    except OSError as error:
        _log.info("%s was not kept: %s", path, error)
