"""Reading what somebody handed in: bytes to rows, with every problem by line and field.

Nothing of it is trusted: sizes, encodings, quoting and nesting are checked before a benchmark sees
a row. Two forms are taken, JSON lines and CSV. In a CSV a column that holds anything but texts in
the bundled cases is JSON in its cells; an empty cell is an absent field.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalcore.errors import IntakeError
from evalcore.intake.json_text import parse_json
from evalcore.runner.upload_forms import MAX_CASES, MAX_FILE_BYTES, MAX_LINE_LENGTH
from evalcore.runner.upload_records import LineError

#: Columns of a CSV by name: whether its cells are JSON (True) or text as it stands.
UploadColumns = Mapping[str, bool]
UploadRow = tuple[int, dict[str, Any]]

_DELIMITERS = ",;\t"


class _UnreadableFile(Exception):
    """A file that cannot be read any further."""

    def __init__(self, line: int, problem: str) -> None:
        self.error = LineError(line, "", problem)
        super().__init__(problem)


def read_upload(
    content: bytes, file_name: str, columns: UploadColumns
) -> tuple[list[UploadRow], list[LineError]]:
    """The rows with their lines, and what is wrong with the other lines."""
    try:
        text = _decode_upload(content)
        rows_of = _iterate_csv if file_name.lower().endswith(".csv") else _iterate_jsonl
        parsed = list(rows_of(text, columns))
    except _UnreadableFile as refused:
        return [], [refused.error]
    errors = [item for item in parsed if isinstance(item, LineError)]
    rows = [item for item in parsed if not isinstance(item, LineError)]
    if len(rows) > MAX_CASES:
        return [], [LineError(0, "", f"holds {len(rows)} cases; at most {MAX_CASES} are taken")]
    if not parsed:
        errors = [LineError(0, "", "holds no case")]
    return rows, errors


def _decode_upload(content: bytes) -> str:
    """The file as text; a byte order mark and the line ends of other systems are no part of it."""
    if len(content) > MAX_FILE_BYTES:
        size, most = len(content) / (1 << 20), MAX_FILE_BYTES >> 20
        raise _UnreadableFile(0, f"has {size:.1f} MB; at most {most} MB are taken")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _UnreadableFile(0, "is UTF-16 text; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _UnreadableFile(
            line, f"is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise _UnreadableFile(line, "holds a NUL character; this is no text file")
    return text


def _iterate_jsonl(text: str, columns: UploadColumns) -> Iterator[UploadRow | LineError]:
    if text.lstrip()[:1] == "[":
        raise _UnreadableFile(
            1, "begins a JSON list; write one JSON object a line, without a list around"
        )
    for number, line in enumerate(text.split("\n"), 1):  # JSON may hold the other line ends
        if line.strip():
            yield _parse_json_row(number, line.strip())


def _parse_json_row(number: int, line: str) -> UploadRow | LineError:
    if len(line) > MAX_LINE_LENGTH:
        return LineError(number, "", f"is longer than {MAX_LINE_LENGTH >> 10} KB")
    try:
        row = parse_json(line, strict=True)
    except IntakeError as error:
        return LineError(number, "", str(error))
    if not isinstance(row, dict):
        return LineError(number, "", "is not a JSON object")
    return number, row


def _iterate_csv(text: str, columns: UploadColumns) -> Iterator[UploadRow | LineError]:
    if not text.strip():
        return
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    begin = 1
    try:
        csv.field_size_limit(MAX_LINE_LENGTH)
        for cells in reader:
            number, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _parse_header(cells, columns)
                continue
            yield from _parse_cells(number, header, cells, columns)
    except csv.Error as error:
        raise _UnreadableFile(begin, f"is not CSV from here on: {error}") from None


def _parse_header(cells: Sequence[str], columns: UploadColumns) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if name not in columns:
            column_names = ", ".join(columns)
            raise _UnreadableFile(
                1, f"has a column {name[:60]!r}, which is none of: {column_names}"
            )
        if names.count(name) > 1:
            raise _UnreadableFile(1, f"has two columns {name!r}")
    return names


def _parse_cells(
    number: int, header: Sequence[str], cells: Sequence[str], columns: UploadColumns
) -> Iterator[UploadRow | LineError]:
    """The row of a line, or an error for each cell that is wrong."""
    if len(cells) != len(header):
        yield LineError(number, "", f"has {len(cells)} cells, the header has {len(header)}")
        return
    row, errors = {}, []
    for name, cell in zip(header, cells, strict=True):
        if not cell.strip():
            continue
        try:
            row[name] = parse_json(cell, strict=True) if columns[name] else cell
        except IntakeError as error:
            errors.append(LineError(number, name, f"the cell {error}"))
    if errors:
        yield from errors
    else:
        yield number, row
