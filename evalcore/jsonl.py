"""Reading JSON-lines files that people made: every problem names the file, line and field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers, from 1; empty lines are passed over.

    Raises DatasetError for a file that cannot be read and for a line that is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # JSON may hold other line ends
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(path, None, "", f"cannot be read as UTF-8 text: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(path, number, "", f"is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise DatasetError(path, number, "", "is not a JSON object")
        yield number, row
