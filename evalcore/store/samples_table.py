"""The cases of a run as a Parquet file: a cache of the journals that pages query through DuckDB.

`ensure` makes the file anew whenever the journals have changed since it was made; `query` and
`page` read it. pyarrow, DuckDB and pandas are imported only by what needs them.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Record
from evalcore.store.kept import Kept
from evalcore.store.run_folder import RunFolder, write_atomic
from evalcore.store.sample_rows import COLUMNS, Row, rows, scoring_of

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

#: Part of the signature, so that a table made by other code is made anew.
_VERSION = "4"
_SIGNATURE = b"evalboard.signature"
_COUNT, _CASES = "SELECT count(*) FROM samples", "SELECT * EXCLUDE (words) FROM samples"
_PLACES = "SELECT position, epoch, metric, id, outcome, {fits} AS fits FROM samples{among}"
_AFTER = " AND (position > ? OR (position = ? AND epoch > ?))"
_PAGE = " ORDER BY position, epoch LIMIT ? OFFSET ?"
#: Before the first case: (position, epoch).
START = (-1, -1)
#: Fields of a filter that are no column.
_MADE = {
    "why": "CASE WHEN outcome <> 'passed' THEN coalesce(cause, nullif(reason, ''), error_type) END"
}
#: A case as `closed` of `page` and `places` names it.
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
    text: str = ""


EVERY_CASE = CaseFilter()
Case = tuple[str, str, str]  # benchmark, metric, id
#: A database is opened for each question, which takes longer than the answer: what was asked last
#: is kept, in frames that nobody may change.
_pages: Kept[tuple[pd.DataFrame, int]] = Kept(32)
_tallies: Kept[pd.DataFrame] = Kept(128)
_KEPT_ROWS = 50  # of a page


def ensure(folder: RunFolder, scoring: str | None = None) -> Path:
    """The up-to-date Parquet file of a run under one scoring (default: `scoring_of`).

    It lies in the run folder or, where that cannot be written (read-only, full, something else of
    that name), in a folder of this user's own under the system's temporary one. Raises
    RunFolderError when a file of the run is broken.
    """
    wanted = scoring_of(folder) if scoring is None else scoring
    signature = _signature(folder, wanted)  # before reading: lines added meanwhile change it again
    name = folder.parquet_path.name if scoring is None else f"samples.{wanted}.parquet"
    own = folder.path / name
    if _is_current(own, signature):
        return own
    spare = _cache_path(folder, name)
    if _is_current(spare, signature):
        return spare
    content = _encode(rows(folder, wanted), signature)
    if os.access(folder.path, os.W_OK):
        try:
            write_atomic(own, content, make_folder=False)
            return own
        except OSError:
            pass
    write_atomic(spare, content)
    return spare


def query(paths: Iterable[Path], sql: str, params: Sequence[Any] = ()) -> pd.DataFrame:
    """The result of one SQL statement over the view `samples`: the rows of all `paths` together.

    `params` are bound to `?`. The statement reads these files and nothing else, and writes nothing.
    A column of integers with nulls arrives as float64.
    """
    with _connection(paths) as connection:
        return connection.execute(sql, list(params)).df()


def page(
    folder: RunFolder,
    where: CaseFilter = EVERY_CASE,
    *,
    scoring: str | None = None,
    offset: int = 0,
    limit: int = 50,
    after: tuple[int, int] = START,
    closed: Collection[Case] = (),
) -> tuple[pd.DataFrame, int]:
    """`limit` matching cases from `offset` on, in the declared order, and how many match in all.

    Of the cases in `closed` only the id is searched: what must not be shown must not be guessed by
    searching for it either. The column `words` is left out.

    With `after` (position, epoch) the offset counts from the case that follows that one: whoever
    reads on behind the last case seen misses and repeats none, also while outcomes change.
    """
    if offset < 0 or limit < 0:
        raise UsageError(f"offset {offset} and limit {limit} of a page of cases cannot be negative")
    terms, params = _condition(where, closed)
    condition = f" WHERE {terms}"
    path, more = ensure(folder, scoring), [after[0], *after, limit, offset]

    def read() -> tuple[pd.DataFrame, int]:
        with _connection([path]) as connection:
            connection.execute(_COUNT + condition, params)
            total = connection.fetchall()[0][0]
            found = connection.execute(_CASES + condition + _AFTER + _PAGE, [*params, *more])
            return found.df(), total

    key = (_state(path), condition, repr(params), *more)
    frame, total = _pages.get(key, read) if limit <= _KEPT_ROWS else read()
    return frame.copy(deep=False), total


def tally(folder: RunFolder, sql: str, params: Sequence[Any]) -> pd.DataFrame:
    """`query` of one run for a statement whose answer is small: kept while its file is the same."""
    path = ensure(folder)
    key = (_state(path), sql, repr(params))
    return _tallies.get(key, lambda: query([path], sql, params)).copy(deep=False)


def _state(path: Path) -> tuple[str, int, int, int]:
    """What tells a file from any that stood in its place before."""
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns, status.st_size


def places(
    folder: RunFolder, where: CaseFilter, among: CaseFilter, *, closed: Collection[Case] = ()
) -> pd.DataFrame:
    """The cases that fit `among` in the declared order: position, epoch, metric, id, outcome, and
    `fits`, whether they fit `where` too. `closed` as in `page`."""
    fits, params = _condition(where, closed)
    terms, more = _condition(among, closed)
    statement = _PLACES.format(fits=fits, among=f" WHERE {terms}") + " ORDER BY position, epoch"
    return query([ensure(folder)], statement, [*params, *more])


def _condition(where: CaseFilter, closed: Collection[Case]) -> tuple[str, list[Any]]:
    """A condition; only names of our own columns enter the SQL, values are bound."""
    terms: list[str] = ["true"]
    params: list[Any] = []
    for column in CaseFilter.__struct_fields__:
        values = getattr(where, column)
        if values and column != "text":
            terms.append(f"coalesce(list_contains(?, {_MADE.get(column, column)}), false)")
            params.append(list(values))
    if where.text:
        terms.append(_TEXT.format(name=_NAME))
        params += [where.text, ["\x1f".join(case) for case in closed], where.text]
    return " AND ".join(terms), params


@contextmanager
def _connection(paths: Iterable[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that sees the given files as `samples` and can open nothing else."""
    import duckdb

    files = [str(path.resolve()) for path in paths]
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        connection.execute("SET allowed_paths = ?", [files])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            # `ensure` makes their columns equal
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


def _encode(table_rows: Iterable[Row], signature: bytes) -> bytes:
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


def signature(folder: RunFolder) -> str:
    """Changes whenever the rows of a run under the scoring to show may; raises as `ensure`."""
    return _signature(folder, scoring_of(folder)).decode()


def _signature(folder: RunFolder, scoring: str) -> bytes:
    """Of every file that the rows are made from."""
    sources = [folder.path / "spec.json", folder.path / "samples.jsonl"]
    sources += _journals(folder.path / "generations")
    sources += _journals(folder.verdicts_dir(scoring)) if scoring else []
    parts = [_VERSION, scoring]
    for path in sources:
        try:
            status = path.stat()
        except OSError as error:
            raise RunFolderError(f"{path}: {error.strerror}") from None
        parts.append(f"{path.name}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest().encode()


def _journals(folder: Path) -> list[Path]:
    """The journals in a folder by name; faster than a glob, since a board asks a thousand runs."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".jsonl"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunFolderError(f"{folder}: {error.strerror}") from None
    return [folder / name for name in names]


def _cache_path(folder: RunFolder, name: str) -> Path:
    """A place that only this user may read, one per run folder; raises UsageError if it is open."""
    base = Path(tempfile.gettempdir()) / f"evalboard-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UsageError(f"{base} is open to other users; set TMPDIR to a folder of your own")
    digest = hashlib.sha256(os.fsencode(folder.path.resolve())).hexdigest()[:16]
    return base / f"{digest}-{name}"
