"""SQLite databases, read from memory: their tables, and the rows of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines, parse_number_span
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable

_MAGIC = b"SQLite format 3\x00"
_FIRST_ROWS = 20
_MAX_ROWS = 5000
_LONGEST_CELL = 500


def read_sqlite(content: bytes, request: ReadRequest) -> str:
    """All tables with their first rows, or with `request.sheet` the rows `request.range` of one."""
    with closing(_open_sqlite(content)) as database:
        tables = [
            str(row[0])
            for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 "
                "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
            )
        ]
        if request.sheet and request.sheet not in tables:
            available = ", ".join(tables[:_FIRST_ROWS])
            raise Unreadable(
                f'no table "{request.sheet[:80]}" here; there are: {available or "none"}'
            )
        chosen = [table for table in tables if request.sheet in ("", table)]
        lines: list[str] = []
        for table in chosen:
            lines += _iter_sqlite_lines(database, table, request)
    whole = ReadRequest(name=request.name, limit=request.limit)
    return cut_by_lines(f"sqlite; {len(tables)} tables: {', '.join(tables)[:2000]}", lines, whole)


def _open_sqlite(content: bytes) -> sqlite3.Connection:
    if not content.startswith(_MAGIC):
        raise Unreadable("not a SQLite database, or a broken one")
    # Versions 2 stand for a write-ahead log beside the file, which one in memory cannot have.
    plain = content[:18] + b"\x01\x01" + content[20:]
    database = sqlite3.connect(":memory:")
    database.deserialize(plain)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def _iter_sqlite_lines(
    database: sqlite3.Connection, table: str, request: ReadRequest
) -> Iterator[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    count = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608
    row_range = (
        parse_number_span(request.range if request.sheet else "", count, "range", "row")
        if count
        else range(0)
    )
    max_rows = _MAX_ROWS if request.sheet else _FIRST_ROWS
    size = min(len(row_range), max_rows)
    rows = database.execute(
        f"SELECT * FROM {quoted} LIMIT ? OFFSET ?",  # noqa: S608 - quoted
        (size, max(row_range.start - 1, 0)),
    )
    columns = ", ".join(column[0] for column in rows.description)
    yield f"Table {table} ({columns}), {count} rows"
    yield from (" | ".join(map(_format_sqlite_value, row)) for row in rows)
    if size < count:
        first = row_range.start
        yield (
            f"[rows {first}-{first + size - 1} of {count}; read others with "
            f'"sheet" and a "range" of rows]'
        )


def _format_sqlite_value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return "NULL" if value is None else str(value)[:_LONGEST_CELL].replace("\n", "\\n")
