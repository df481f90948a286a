"""Parquet caches of the journals: the cases of one run, and the points of all runs of a column.
pyarrow, DuckDB, pandas and numpy are imported only by what needs them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from evalcore.errors import RunFolderError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record, RunSpec
from evalcore.single_flight import SingleFlightCache
from evalcore.store import case_parts
from evalcore.store.case_index import CaseIndex, locate_index
from evalcore.store.cases import build_sample_rows, select_scoring
from evalcore.store.journal import SAMPLES, list_journals, locate_journal
from evalcore.store.run_folder import RunFolder, write_atomic

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas as pd
    import pyarrow as pa

# The cases of a run as a Parquet file: a cache of the journals that pages query through DuckDB.
# `ensure_samples_table` makes the file anew whenever the journals have changed since it was made;
# `query_samples` and `query_case_page` read it.

_SIGNATURE = b"evalboard.signature"
_SELECT_COUNT, _SELECT_CASES = (
    "SELECT count(*) FROM samples",
    "SELECT * EXCLUDE (words) FROM samples",
)
_BEFORE, _BEHIND = (
    "(position < ? OR (position = ? AND epoch < ?))",
    "(position > ? OR (position = ? AND epoch > ?))",
)
_AFTER = " AND position >= ? AND (position > ? OR (position = ? AND epoch > ?))"
_PAGE = " ORDER BY position, epoch LIMIT ? OFFSET ?"
#: Before the first case: (position, epoch).
START = (-1, -1)
#: Fields of a filter that are no column.
_DERIVED_FIELDS = {
    "why": "CASE WHEN outcome <> 'passed' THEN "
    "coalesce(nullif(cause, ''), nullif(reason, ''), nullif(error_type, '')) END"
}
#: A case as `hidden_cases` names it.
_NAME = "concat_ws(chr(31), benchmark, metric, id)"
_TEXT = (
    "(contains(lower(id), lower(?)) OR NOT list_contains(?, {name}) "
    "AND contains(lower(concat_ws(' ', note, words)), lower(?)))"
)


class CaseFilter(Record, frozen=True):
    """Which cases to show: the values of a field are alternatives, an empty field admits all.

    `why` is the cause of a failure, or else the reason or the kind of error of what did not pass.
    `text` is looked for in the id, the note, the question and the answer, letter case aside. Every
    other field is a column of the table.
    """

    benchmark: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    difficulty: tuple[int, ...] = ()
    dialect: tuple[str, ...] = ()
    evidence_kind: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    extraction: tuple[str, ...] = ()
    error_type: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    text: str = ""


EVERY_CASE = CaseFilter()
Case = tuple[str, str, str]  # benchmark, metric, id
#: A database is opened for each question, which takes longer than the answer: what was asked last
#: is kept, in frames that nobody may change.
_pages: SingleFlightCache[tuple[pd.DataFrame, int]] = SingleFlightCache(32)
_tallies: SingleFlightCache[pd.DataFrame] = SingleFlightCache(128)
_CACHED_ROWS = 50  # of a page
_TRIES = 3  # to read tables that a worker replaces
T = TypeVar("T")
_parts: SingleFlightCache[list[Path]] = SingleFlightCache(32)


def ensure_samples_table(folder: RunFolder, scoring: str | None = None) -> Path:
    """The up-to-date Parquet file of a run under one scoring (default: `select_scoring`).

    It lies in the run folder or, where that cannot be written (read-only, full, something else of
    that name), in a folder of this user's own under the system's temporary one. Raises
    RunFolderError when a file of the run is broken.
    """
    scoring_name = select_scoring(folder) if scoring is None else scoring
    # before reading: lines added meanwhile change it again
    signature = _hash_source_files(folder, scoring_name)
    name = folder.parquet_path.name if scoring is None else f"samples.{scoring_name}.parquet"
    own, spare = folder.path / name, _cache_path(folder, name)
    if (current := _find_current([own, spare], signature)) is not None:
        return current
    spec, metadata = folder.read_spec(), {_SIGNATURE: signature}
    with CaseIndex.load(folder, scoring_name, spec.epochs) as index:

        def iterate_tables() -> Iterator[pa.Table]:
            if case_parts.is_large(index):
                return case_parts.iterate_tables(index, spec)
            return iter([case_parts.encode_rows(build_sample_rows(index, spec))])

        if os.access(folder.path, os.W_OK):
            try:
                case_parts.write_table(own, iterate_tables(), metadata)
                return own
            except OSError:
                pass
        case_parts.write_table(spare, iterate_tables(), metadata, make_folder=True)
    return spare


def list_samples_tables(folder: RunFolder) -> list[Path]:
    """The Parquet files that hold the cases of a run under the scoring to show: one, or the parts
    of a large run that is under way. Raises as `ensure_samples_table`."""
    scoring, path = select_scoring(folder), folder.parquet_path
    if not locate_index(folder, scoring).exists() or not os.access(folder.path, os.W_OK):
        return [ensure_samples_table(folder)]
    signature = _hash_source_files(folder, scoring)
    if _is_current(path, signature):
        if case_parts.locate_parts(folder, scoring).exists():  # of a reader that came last
            summary = folder.read_summary()
            if summary is not None and summary.state == "done":
                case_parts.remove_parts(folder, scoring)
        return [path]
    spec = folder.read_spec()

    def list_parts() -> list[Path]:
        with CaseIndex.load(folder, scoring, spec.epochs) as index:
            if not case_parts.is_large(index):
                return [ensure_samples_table(folder)]
            return case_parts.write_parts(index, spec, under_way=True)

    try:
        paths = _parts.get((str(folder.path), signature), list_parts)
        return paths if all(map(os.path.exists, paths)) else list_parts()
    except OSError:
        return [ensure_samples_table(folder)]


def refresh_parts(index: CaseIndex, spec: RunSpec) -> None:
    """Write the parts of a large run that stay as they are for a while: its worker does so as
    verdicts come. Raises OSError."""
    if index.is_kept and case_parts.is_large(index):
        case_parts.write_parts(index, spec, under_way=False)


def finish_table(index: CaseIndex, spec: RunSpec, *, done: bool) -> None:
    """Write the cases of a large run whose worker has ended: in one table where it is `done`, and
    in parts where it goes on another day. Raises OSError."""
    if not (index.is_kept and case_parts.is_large(index)):
        return
    if not done:
        case_parts.write_parts(index, spec, under_way=True)
        return
    signature = _hash_source_files(index.folder, index.scoring)
    path = index.folder.parquet_path
    case_parts.write_table(path, case_parts.iterate_tables(index, spec), {_SIGNATURE: signature})
    case_parts.remove_parts(index.folder, index.scoring)


def query_samples(paths: Iterable[Path], sql: str, params: Sequence[Any] = ()) -> pd.DataFrame:
    """The result of one SQL statement over the view `samples`: the rows of all `paths` together.

    `params` are bound to `?`. The statement reads these files and nothing else, and writes nothing.
    A column of integers with nulls arrives as float64.
    """
    with _open_samples_view(paths) as connection:
        return connection.execute(sql, list(params)).df()


def query_case_page(
    folder: RunFolder,
    where: CaseFilter = EVERY_CASE,
    *,
    scoring: str | None = None,
    offset: int = 0,
    limit: int = 50,
    after: tuple[int, int] = START,
    hidden_cases: Collection[Case] = (),
) -> tuple[pd.DataFrame, int]:
    """`limit` matching cases from `offset` on, in the declared order, and how many match in all.

    Of the cases in `hidden_cases` only the id is searched: what must not be shown must not be
    guessed by searching for it either. The column `words` is left out.

    With `after` (position, epoch) the offset counts from the case that follows that one: whoever
    reads on behind the last case seen misses and repeats none, also while outcomes change.
    """
    if offset < 0 or limit < 0:
        raise UsageError(Note("page_negative", offset=offset, limit=limit))
    if where == EVERY_CASE:  # all rows are there: the page begins at a known one
        epochs = folder.read_spec().epochs
        row = max(after[0] * epochs + min(after[1], epochs - 1), -1) + offset
        after, offset = ((row // epochs, row % epochs) if row >= 0 else START), 0
    terms, params = _build_where_clause(where, hidden_cases)
    condition = f" WHERE {terms}"
    more = [after[0], after[0], *after, limit, offset]

    def run_query(paths: list[Path]) -> tuple[pd.DataFrame, int]:
        with _open_samples_view(paths) as connection:
            connection.execute(_SELECT_COUNT + condition, params)
            total = connection.fetchall()[0][0]
            result = connection.execute(
                _SELECT_CASES + condition + _AFTER + _PAGE, [*params, *more]
            )
            return result.df(), total

    def find_page(paths: list[Path]) -> tuple[pd.DataFrame, int]:
        if limit > _CACHED_ROWS:
            return run_query(paths)
        key = (*map(_read_file_state, paths), condition, repr(params), *more)
        return _pages.get(key, lambda: run_query(paths))

    if scoring is not None:
        return find_page([ensure_samples_table(folder, scoring)])
    frame, total = _query_tables(folder, find_page)
    return frame.copy(deep=False), total


def _query_tables(folder: RunFolder, query: Callable[[list[Path]], T]) -> T:
    """The answer of a run's tables; asked again where its worker has replaced them meanwhile."""
    for _ in range(_TRIES):
        paths = list_samples_tables(folder)
        try:
            return query(paths)
        except (FileNotFoundError, RunFolderError):
            if all(map(os.path.exists, paths)):
                raise
    return query([ensure_samples_table(folder)])


def query_run_cached(folder: RunFolder, sql: str, params: Sequence[Any]) -> pd.DataFrame:
    """`query_samples` of one run for a statement whose answer is small: kept while its file is
    the same."""

    def find_answer(paths: list[Path]) -> pd.DataFrame:
        key = (*map(_read_file_state, paths), sql, repr(params))
        return _tallies.get(key, lambda: query_samples(paths, sql, params))

    return _query_tables(folder, find_answer).copy(deep=False)


def _read_file_state(path: Path) -> tuple[str, int, int, int]:
    """What tells a file from any that stood in its place before."""
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns, status.st_size


class CaseRank(NamedTuple):
    """Where a case stands among those of its benchmark that match: how many do, how many of them
    come before it, whether it does itself, and (metric, id, epoch) of those next to it. `outcomes`
    counts what matches whatever its outcome."""

    total: int
    before: int
    fits: bool
    previous: tuple[str, str, int] | None
    next: tuple[str, str, int] | None
    outcomes: dict[str, int]


def locate_case(
    folder: RunFolder,
    case: Case,
    epoch: int,
    where: CaseFilter,
    *,
    hidden_cases: Collection[Case] = (),
) -> CaseRank | None:
    """Locate a case among those of its benchmark that match `where`, in the declared order; None
    where the table has no such case. `hidden_cases` as in `query_case_page`."""
    fits, params = _build_where_clause(
        msgspec.structs.replace(where, benchmark=(case[0],)), hidden_cases
    )
    rest, rest_params = _build_where_clause(
        msgspec.structs.replace(where, benchmark=(case[0],), outcome=()), hidden_cases
    )

    def run_query(paths: list[Path]) -> CaseRank | None:
        with _open_samples_view(paths) as view:
            named = "benchmark = ? AND metric = ? AND id = ? AND epoch = ?"
            own = view.execute(
                f"SELECT position, {fits} FROM samples WHERE {named} LIMIT 1",  # noqa: S608 - our names
                [*params, *case, epoch],
            ).fetchone()
            if own is None:
                return None
            position, is_fitting = own
            here = [position, position, epoch]
            counts = view.execute(
                f"SELECT count(*) FILTER (WHERE {_BEFORE}), count(*) FROM samples "  # noqa: S608
                f"WHERE {fits}",
                [*here, *params],
            ).fetchone()
            near = [
                view.execute(
                    f"SELECT metric, id, epoch FROM samples WHERE {fits} AND {side} "  # noqa: S608
                    f"ORDER BY position {order}, epoch {order} LIMIT 1",
                    [*params, *here],
                ).fetchone()
                for side, order in ((_BEFORE, "DESC"), (_BEHIND, "ASC"))
            ]
            outcomes = view.execute(
                f"SELECT outcome, count(*) FROM samples WHERE {rest} GROUP BY outcome "  # noqa: S608
                "ORDER BY count(*) DESC, outcome",
                rest_params,
            ).fetchall()
        before, total = counts or (0, 0)
        return CaseRank(total, before, bool(is_fitting), near[0], near[1], dict(outcomes))

    return _query_tables(folder, run_query)


def _build_where_clause(where: CaseFilter, hidden_cases: Collection[Case]) -> tuple[str, list[Any]]:
    """A condition; only names of our own columns enter the SQL, values are bound."""
    terms: list[str] = ["true"]
    params: list[Any] = []
    for column in CaseFilter.__struct_fields__:
        values = getattr(where, column)
        if values and column != "text":
            terms.append(
                f"coalesce(list_contains(?, {_DERIVED_FIELDS.get(column, column)}), false)"
            )
            params.append(list(values))
    if where.text:
        terms.append(_TEXT.format(name=_NAME))
        params += [where.text, ["\x1f".join(case) for case in hidden_cases], where.text]
    return " AND ".join(terms), params


@contextmanager
def _open_samples_view(paths: Iterable[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that sees the given files as `samples` and can open nothing else."""
    import duckdb

    files = [str(path.resolve()) for path in paths]
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        connection.execute("SET allowed_paths = ?", [files])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            # `ensure_samples_table` makes their columns equal
            connection.read_parquet(files).create_view("samples")
            yield connection
        except duckdb.Error as error:
            damaged = [path for path in map(Path, files) if not _is_whole(path)]
            if not damaged:
                raise
            for path in damaged:  # behind an intact end; whoever asks next makes it anew
                path.unlink(missing_ok=True)
            raise RunFolderError(Note("case_table_damaged", error=error)) from None


def _find_current(paths: Iterable[Path], signature: bytes) -> Path | None:
    return next((path for path in paths if _is_current(path, signature)), None)


def _is_current(path: Path, signature: bytes) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_schema(path).metadata
    except (OSError, ValueError, pa.ArrowException):  # absent or damaged: made anew
        return False
    return (metadata or {}).get(_SIGNATURE) == signature


def _is_whole(path: Path) -> bool:
    import pyarrow as pa

    try:
        case_parts.read_table(path)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True


def samples_signature(folder: RunFolder) -> str:
    """Changes whenever the rows of a run under the scoring to show may; raises as
    `ensure_samples_table`."""
    return _hash_source_files(folder, select_scoring(folder)).decode()


def _hash_source_files(folder: RunFolder, scoring: str) -> bytes:
    """Of every file that the rows are made from."""
    sources = [folder.path / "spec.json", locate_journal(folder.path / SAMPLES)]
    parts = [case_parts.TABLE_VERSION, scoring]
    try:
        sources += list_journals(folder.path / "generations")
        sources += list_journals(folder.verdicts_dir(scoring)) if scoring else []
        for path in sources:
            status = path.stat()
            parts.append(f"{path.name}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
    except OSError as error:
        raise RunFolderError.locate(error.filename, error) from None
    return hashlib.sha256("|".join(parts).encode()).hexdigest().encode()


def _cache_path(folder: RunFolder, name: str) -> Path:
    """A place that only this user may read, one per run folder; raises UsageError if it is open."""
    base = Path(tempfile.gettempdir()) / f"evalboard-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UsageError(Note("folder_open", folder=base))
    digest = hashlib.sha256(os.fsencode(folder.path.resolve())).hexdigest()[:16]
    return base / f"{digest}-{name}"


# What every case added to the score of every run of a column, in one file: a cache of run folders.
# A board of a thousand targets rests on as many run folders. Read once, they are kept as a matrix
# of runs and cases beside the signatures of the folders, so that a restart or a new run costs no
# more than the folders that changed. The file can be deleted at any time.

_POINTS_VERSION = b"2"
_POINTS_CASES, _POINTS_MAXIMA = b"evalboard.cases", b"evalboard.maxima"
_POINTS_VERSION_FIELD = b"evalboard.version"


class PointTable(NamedTuple):
    """`cases`: (metric, id) per column of `points`; `runs`: run -> row; `signatures` of the folders
    the rows were read from. A point is 100 x weight x score / sum of weights, NaN where a run lacks
    the case. `maxima` is what a score of 1 would add, the most of all runs, one number per case."""

    cases: list[tuple[str, str]]
    runs: dict[str, int]
    signatures: dict[str, str]
    points: np.ndarray
    maxima: np.ndarray


def load_point_table(path: Path) -> PointTable | None:
    """The table of a file; None where there is none, or one that other code or a fault made."""
    import numpy as np
    import pyarrow as pa

    try:
        table = case_parts.read_table(path)
        metadata = table.schema.metadata or {}
        if metadata.get(_POINTS_VERSION_FIELD) != _POINTS_VERSION:
            return None
        cases = msgspec.json.decode(metadata[_POINTS_CASES], type=list[tuple[str, str]])
        maxima = np.array(msgspec.json.decode(metadata[_POINTS_MAXIMA], type=list[float]))
        names, signatures = (table[name].to_pylist() for name in ("run", "signature"))
        flat = table["points"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        points = flat.reshape(len(names), len(cases))
    except (OSError, KeyError, ValueError, pa.ArrowException, msgspec.MsgspecError):
        return None
    rows = {name: number for number, name in enumerate(names)}
    if len(maxima) != len(cases):
        return None
    return PointTable(cases, rows, dict(zip(names, signatures, strict=True)), points, maxima)


def save_point_table(path: Path, table: PointTable) -> None:
    """Replace the file; one without a case is not worth any. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if not table.cases:
        return
    metadata = {
        _POINTS_CASES: msgspec.json.encode(table.cases),
        _POINTS_MAXIMA: msgspec.json.encode(table.maxima.tolist()),
        _POINTS_VERSION_FIELD: _POINTS_VERSION,
    }
    kinds = [("run", pa.string()), ("signature", pa.string())]
    schema = pa.schema(
        [*kinds, ("points", pa.list_(pa.float64(), len(table.cases)))], metadata=metadata
    )
    names = sorted(table.runs, key=lambda name: table.runs[name])
    points = pa.FixedSizeListArray.from_arrays(pa.array(table.points.ravel()), len(table.cases))
    signatures = [table.signatures[name] for name in names]
    columns = [pa.array(names, pa.string()), pa.array(signatures, pa.string()), points]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    write_atomic(path, sink.getvalue().to_pybytes())
