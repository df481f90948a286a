"""Finding and reading the rows of GAIA: Parquet or JSON lines, in the layouts they come in.

The Hub has `2023/<split>/metadata.parquet` and one such file a level; earlier copies have JSON
lines under the same names; our own sets are `<split>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError
from evalcore.intake.json_text import read_rows

SPLITS = ("validation", "test")
YEAR = "2023"
_SPLIT_FILES = ("metadata.parquet", "metadata.jsonl")
_LEVEL_FILES = tuple(f"metadata.level{level}.parquet" for level in (1, 2, 3))
#: Bytes of a Parquet file once unpacked, by what it says itself; the real ones have under 1 MB.
_LIMIT = 512 << 20

Row = tuple[Path, int, dict[str, Any]]


def iter_gaia_rows(source: Path, split: str) -> Iterator[Row]:
    """File, number (from 1) and content of each row of a file, or of one split of a folder.

    Raises DatasetError where there is none or one cannot be read.
    """
    for path in _find_row_files(source, split):
        read = _read_parquet_rows if path.suffix == ".parquet" else read_rows
        for number, row in read(path):
            yield path, number, row


def _find_row_files(source: Path, split: str) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DatasetError(source, None, "", "no such file or folder")
    for folder in _list_split_folders(source, split):
        for names in (*((name,) for name in _SPLIT_FILES), _LEVEL_FILES):
            paths = [path for name in names if (path := folder / name).is_file()]
            if paths:
                return paths
    return _find_file_by_name(source, split)


def _list_split_folders(folder: Path, split: str) -> list[Path]:
    """Where the files of a split may be: never in the folder of another one."""
    others = {name for name in SPLITS if name != split}
    own = [] if folder.name in others else [folder]
    return [folder / YEAR / split, folder / split, *own]


def _find_file_by_name(folder: Path, split: str) -> list[Path]:
    """A file named after the split, else the only one of JSON lines that is not of another."""
    for name in (f"{split}.jsonl", f"{split}.parquet"):
        if (folder / name).is_file():
            return [folder / name]
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in SPLITS]
    if len(paths) != 1:
        problem = (
            f"holds no split {split!r}: neither {YEAR}/{split}/{_SPLIT_FILES[0]} nor "
            f"{split}.jsonl; "
            "name another split or folder"
        )
        raise DatasetError(folder, None, "", problem)
    return paths


def _read_parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            if sum(file.metadata.row_group(at).total_byte_size for at in groups) > _LIMIT:
                raise DatasetError(path, None, "", f"has more than {_LIMIT >> 20} MB of rows")
            table = file.read().to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DatasetError(path, None, "", f"cannot be read as Parquet: {error}") from None
    yield from enumerate(table, 1)
