"""Reading the files of a data set: plain or gzip, of a bounded size, every problem named."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment.arguments import find_bounds_problem
from evalcore.errors import DatasetError

LARGEST_FILE = 64 * 2**20
_MAX_VALUES = 3_000_000


def find_data_file(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder, or the same with `.gz`; None where there is neither."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def require_data_file(folder: Path, name: str) -> Path:
    """As `find_data_file`. Raises DatasetError where there is neither."""
    path = find_data_file(folder, name)
    if path is None:
        raise DatasetError(folder, None, "", f"holds no file {name} or {name}.gz")
    return path


def read_data_text(path: Path) -> str:
    """The text of a file. Raises DatasetError for one that is no UTF-8 or that is too large."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise DatasetError(path, None, "", f"is larger than {LARGEST_FILE} bytes")
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DatasetError(path, None, "", f"cannot be read as UTF-8 text: {error}") from None


def read_data_json(path: Path) -> Any:
    """The JSON of a file. Raises DatasetError, also for one that is nested too deep."""
    return _parse_bounded_json(path, None, read_data_text(path))


def iter_jsonl_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with line numbers from 1. Raises DatasetError."""
    for number, line in enumerate(read_data_text(path).split("\n"), 1):
        if line.strip():
            row = _parse_bounded_json(path, number, line)
            if not isinstance(row, dict):
                raise DatasetError(path, number, "", "is not a JSON object")
            yield number, row


def _parse_bounded_json(path: Path, line: int | None, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(path, line, "", f"is not JSON: {error}") from None
    problem = find_bounds_problem(value, _MAX_VALUES, LARGEST_FILE)
    if problem:
        raise DatasetError(path, line, "", problem)
    return value
