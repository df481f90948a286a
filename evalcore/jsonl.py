"""Reading JSON-lines files that people made: every problem names the file, line and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers, from 1; empty lines are passed over.

    A byte order mark is no part of the first line. Half of a surrogate pair, which no file of ours
    could hold, becomes the replacement character.

    Raises DatasetError for a file that cannot be read and for a line that is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON may hold other line ends
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(path, None, "", f"cannot be read as UTF-8 text: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = _whole(json.loads(line)) if _ESCAPED_SURROGATE.search(line) else json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(path, number, "", f"is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise DatasetError(path, number, "", "is not a JSON object")
        yield number, row


def _whole(row: Any) -> Any:
    text = json.dumps(row, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
