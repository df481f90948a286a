"""The table of cases of a large run in parts, a Parquet file each, which are written as verdicts
come. A part is named by what decides its rows: whoever sees its name knows that it is up to date.

pyarrow is imported only by what needs it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from evalcore.records import RunSpec
from evalcore.store.case_index import LARGE, CaseIndex
from evalcore.store.case_lines import NOWHERE
from evalcore.store.cases import COLUMNS, Row, build_indexed_rows
from evalcore.store.run_folder import RunFolder, write_atomic

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

#: Part of every name, so that parts made by other code are made anew.
TABLE_VERSION = "8"
_ROWS = 2 * LARGE  # of a part
_SMALLEST = 64  # cases of a part, however many epochs
_DICTIONARY = 1 << 16  # bytes; in a larger one a column of texts takes memory and saves no room
_OLD = 60.0  # seconds after which nobody reads a part any more that another has replaced
_SUFFIX = ".parquet"


class Part(NamedTuple):
    """Cases from `start` on, their rows in the index, and the file of their table."""

    number: int
    start: int
    rows: np.ndarray
    path: Path

    @property
    def is_settled(self) -> bool:
        """Whether all or none of the cases has a verdict: those under way change soon."""
        has_verdict = self.rows[:, 3::2] != NOWHERE
        return bool(has_verdict.all() or not (self.rows[:, 2:] != NOWHERE).any())


def locate_parts(folder: RunFolder, scoring: str) -> Path:
    """The folder of the parts under one scoring."""
    return folder.path / f"cases.{scoring or 'none'}"


def is_large(index: CaseIndex) -> bool:
    return index.cases * index.epochs > _ROWS


def iterate_parts(index: CaseIndex) -> Iterator[Part]:
    """The parts of a run as of now, whether they are written or not."""
    step = max(_ROWS // index.epochs, _SMALLEST)
    home = locate_parts(index.folder, index.scoring)
    for number, start in enumerate(range(0, index.cases, step)):
        digest, rows = index.hash_cases(start, min(start + step, index.cases))
        path = home / f"{number:05}-{TABLE_VERSION}-{digest}{_SUFFIX}"
        yield Part(number, start, rows, path)


def write_parts(index: CaseIndex, spec: RunSpec, *, under_way: bool) -> list[Path]:
    """Write what is missing, with `under_way` also parts that change soon, and remove what was
    replaced a while ago; returns all parts in order. Raises OSError, and RunFolderError for a
    broken line."""
    paths = []
    written = {path.name for path in list_files(locate_parts(index.folder, index.scoring))}
    for part in iterate_parts(index):
        if part.path.name not in written and (under_way or part.is_settled):
            part.path.parent.mkdir(exist_ok=True)
            write_table(part.path, [build_table(index, spec, part)])
        paths.append(part.path)
    current = {path.name for path in paths}
    for path in list_files(locate_parts(index.folder, index.scoring)):
        with suppress(OSError):
            if path.name not in current and time.time() - path.stat().st_mtime > _OLD:
                path.unlink()
    return paths


def list_files(home: Path) -> list[Path]:
    try:
        return [path for path in home.iterdir() if path.suffix == _SUFFIX]
    except OSError:
        return []


def remove_parts(folder: RunFolder, scoring: str) -> None:
    """Remove the parts of a run whose cases are in one table."""
    shutil.rmtree(locate_parts(folder, scoring), ignore_errors=True)


def import_arrow() -> ModuleType:
    """pyarrow, which from now on takes its memory from the system: its own pool keeps for each
    thread what that needed most, and parts are encoded in several."""
    import pyarrow

    module: ModuleType = pyarrow
    module.set_memory_pool(module.system_memory_pool())
    return module


def iterate_tables(index: CaseIndex, spec: RunSpec) -> Iterator[pa.Table]:
    """The cases of a run, part by part, from the files of those that are written."""
    pa = import_arrow()
    for part in iterate_parts(index):
        table = None
        if part.path.exists():
            with suppress(OSError, ValueError, pa.ArrowException):
                table = read_table(part.path)
        yield build_table(index, spec, part) if table is None else table


def read_table(path: Path) -> pa.Table:
    """As `parquet.read_table`, which would import what takes 45 MB, with the same errors."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        return file.read(use_threads=False)


def build_table(index: CaseIndex, spec: RunSpec, part: Part) -> pa.Table:
    return encode_rows(build_indexed_rows(index, spec, part.start, part.rows.tolist()))


def encode_rows(rows: Iterable[Row]) -> pa.Table:
    """Rows as a table of COLUMNS."""
    pa = import_arrow()
    values: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for row in rows:
        for name, column in values.items():
            column.append(row.get(name))
    arrays = [pa.array(values[name], pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    return pa.Table.from_arrays(arrays, names=list(COLUMNS))


def write_table(
    path: Path,
    tables: Iterable[pa.Table],
    metadata: dict[bytes, bytes] | None = None,
    *,
    make_folder: bool = False,
) -> None:
    """Replace a Parquet file by tables of COLUMNS, a row group each, of which one at a time is in
    memory. Raises OSError."""
    pa = import_arrow()
    import pyarrow.parquet as parquet

    kinds = [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    schema = pa.schema(kinds, metadata=metadata)

    def encode() -> Iterator[bytes]:
        sink = Pieces()
        options = {"compression": "zstd", "dictionary_pagesize_limit": _DICTIONARY}
        with parquet.ParquetWriter(sink, schema, **options) as writer:
            for table in tables:
                writer.write_table(table)
                yield sink.take()
        yield sink.take()

    write_atomic(path, encode(), make_folder=make_folder)
    pa.default_memory_pool().release_unused()


class Pieces:
    """A file that holds what was written since it was last taken."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, content: bytes) -> int:
        self._pieces.append(bytes(content))
        self._size += len(content)
        return len(content)

    def take(self) -> bytes:
        content, self._pieces = b"".join(self._pieces), []
        return content

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
