"""Parquet caches of the journals: the cases of one run, and the points of all runs of a column.
pyarrow, DuckDB, pandas and numpy are imported only by what needs them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Record
from evalcore.single_flight import SingleFlightCache
from evalcore.store.cases import COLUMNS, Row, build_sample_rows, select_scoring
from evalcore.store.journal import SAMPLES, list_journals, locate_journal
from evalcore.store.run_folder import RunFolder, write_atomic

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas as pd

# The cases of a run as a Parquet file: a cache of the journals that pages query through DuckDB.
# `ensure_samples_table` makes the file anew whenever the journals have changed since it was made;
# `query_samples` and `query_case_page` read it. pyarrow, DuckDB and pandas are imported only by
# what needs them.

#: Part of the signature, so that a table made by other code is made anew.
_SAMPLES_VERSION = "7"
_SIGNATURE = b"evalboard.signature"
_SELECT_COUNT, _SELECT_CASES = (
    "SELECT count(*) FROM samples",
    "SELECT * EXCLUDE (words) FROM samples",
)
_PLACES = "SELECT position, epoch, metric, id, outcome, {fits} AS fits FROM samples{among}"
_AFTER = " AND (position > ? OR (position = ? AND epoch > ?))"
_PAGE = " ORDER BY position, epoch LIMIT ? OFFSET ?"
#: Before the first case: (position, epoch).
START = (-1, -1)
#: Fields of a filter that are no column.
_DERIVED_FIELDS = {
    "why": "CASE WHEN outcome <> 'passed' THEN coalesce(cause, nullif(reason, ''), error_type) END"
}
#: A case as `closed` of `query_case_page` and `locate_cases` names it.
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
    own = folder.path / name
    if _is_current(own, signature):
        return own
    spare = _cache_path(folder, name)
    if _is_current(spare, signature):
        return spare
    content = _encode_samples_table(build_sample_rows(folder, scoring_name), signature)
    if os.access(folder.path, os.W_OK):
        try:
            write_atomic(own, content, make_folder=False)
            return own
        except OSError:
            pass
    write_atomic(spare, content)
    return spare


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
        raise UsageError(f"offset {offset} and limit {limit} of a page of cases cannot be negative")
    terms, params = _build_where_clause(where, hidden_cases)
    condition = f" WHERE {terms}"
    path, more = ensure_samples_table(folder, scoring), [after[0], *after, limit, offset]

    def run_query() -> tuple[pd.DataFrame, int]:
        with _open_samples_view([path]) as connection:
            connection.execute(_SELECT_COUNT + condition, params)
            total = connection.fetchall()[0][0]
            result = connection.execute(
                _SELECT_CASES + condition + _AFTER + _PAGE, [*params, *more]
            )
            return result.df(), total

    key = (_read_file_state(path), condition, repr(params), *more)
    frame, total = _pages.get(key, run_query) if limit <= _CACHED_ROWS else run_query()
    return frame.copy(deep=False), total


def query_run_cached(folder: RunFolder, sql: str, params: Sequence[Any]) -> pd.DataFrame:
    """`query_samples` of one run for a statement whose answer is small: kept while its file is
    the same."""
    path = ensure_samples_table(folder)
    key = (_read_file_state(path), sql, repr(params))
    return _tallies.get(key, lambda: query_samples([path], sql, params)).copy(deep=False)


def _read_file_state(path: Path) -> tuple[str, int, int, int]:
    """What tells a file from any that stood in its place before."""
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns, status.st_size


def locate_cases(
    folder: RunFolder, where: CaseFilter, among: CaseFilter, *, hidden_cases: Collection[Case] = ()
) -> pd.DataFrame:
    """Locate the cases that match `among`, in the declared order: position, epoch, metric, id,
    outcome, and `fits`, whether they match `where` too. `hidden_cases` as in `query_case_page`."""
    fits, params = _build_where_clause(where, hidden_cases)
    terms, more = _build_where_clause(among, hidden_cases)
    statement = _PLACES.format(fits=fits, among=f" WHERE {terms}") + " ORDER BY position, epoch"
    return query_samples([ensure_samples_table(folder)], statement, [*params, *more])


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
            raise RunFolderError(f"a table of cases was damaged; try again ({error})") from None


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
    import pyarrow.parquet as parquet

    try:
        parquet.read_table(path, use_threads=False)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True


def _encode_samples_table(table_rows: Iterable[Row], signature: bytes) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schema = pa.schema(
        [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()],
        metadata={_SIGNATURE: signature},
    )
    table = pa.Table.from_pylist(list(table_rows), schema=schema)
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def samples_signature(folder: RunFolder) -> str:
    """Changes whenever the rows of a run under the scoring to show may; raises as
    `ensure_samples_table`."""
    return _hash_source_files(folder, select_scoring(folder)).decode()


def _hash_source_files(folder: RunFolder, scoring: str) -> bytes:
    """Of every file that the rows are made from."""
    sources = [folder.path / "spec.json", locate_journal(folder.path / SAMPLES)]
    parts = [_SAMPLES_VERSION, scoring]
    try:
        sources += list_journals(folder.path / "generations")
        sources += list_journals(folder.verdicts_dir(scoring)) if scoring else []
        for path in sources:
            status = path.stat()
            parts.append(f"{path.name}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
    except OSError as error:
        raise RunFolderError(f"{error.filename}: {error.strerror}") from None
    return hashlib.sha256("|".join(parts).encode()).hexdigest().encode()


def _cache_path(folder: RunFolder, name: str) -> Path:
    """A place that only this user may read, one per run folder; raises UsageError if it is open."""
    base = Path(tempfile.gettempdir()) / f"evalboard-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UsageError(f"{base} is open to other users; set TMPDIR to a private folder")
    digest = hashlib.sha256(os.fsencode(folder.path.resolve())).hexdigest()[:16]
    return base / f"{digest}-{name}"


# What every case added to the score of every run of a column, in one file: a cache of run
# folders.
# A board of a thousand targets rests on as many run folders. Read once, they are kept as a matrix
# of runs and cases beside the signatures of the folders, so that a restart or a new run costs no
# more than the folders that changed. The file can be deleted at any time. pyarrow and numpy are
# imported only by what needs them.

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
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path, use_threads=False)
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
