"""Reading the files of a data set: plain or gzip, of a bounded size, every problem named."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment.arguments import unfit
from evalcore.errors import DatasetError

LARGEST_FILE = 64 * 2**20
_MOST_VALUES = 3_000_000


def existing(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder, or the same with `.gz`; None where there is neither."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def needed(folder: Path, name: str) -> Path:
    """As `existing`. Raises DatasetError where there is neither."""
    path = existing(folder, name)
    if path is None:
        raise DatasetError(folder, None, "", f"holds no file {name} or {name}.gz")
    return path


def text_of(path: Path) -> str:
    """The text of a file. Raises DatasetError for one that is no UTF-8 or that is too large."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise DatasetError(path, None, "", f"is larger than {LARGEST_FILE} bytes")
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DatasetError(path, None, "", f"cannot be read as UTF-8 text: {error}") from None


def json_of(path: Path) -> Any:
    """The JSON of a file. Raises DatasetError, also for one that is nested too deep."""
    return _parsed(path, None, text_of(path))


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with line numbers from 1. Raises DatasetError."""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            row = _parsed(path, number, line)
            if not isinstance(row, dict):
                raise DatasetError(path, number, "", "is not a JSON object")
            yield number, row


def _parsed(path: Path, line: int | None, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(path, line, "", f"is not JSON: {error}") from None
    problem = unfit(value, _MOST_VALUES, LARGEST_FILE)
    if problem:
        raise DatasetError(path, line, "", problem)
    return value
