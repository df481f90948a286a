"""SQLite databases, read from memory: their tables, and the rows of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from evalcore.benchmarks.gaia.attachments.asked import Asked, Unreadable
from evalcore.benchmarks.gaia.attachments.paging import by_lines, span

_MAGIC = b"SQLite format 3\x00"
_FIRST_ROWS = 20
_MOST_ROWS = 5000
_LONGEST_CELL = 500


def read_sqlite(content: bytes, asked: Asked) -> str:
    """All tables with their first rows, or with `asked.sheet` the rows `asked.range` of one."""
    with closing(_opened(content)) as database:
        tables = [
            str(row[0])
            for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 "
                "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
            )
        ]
        if asked.sheet and asked.sheet not in tables:
            known = ", ".join(tables[:_FIRST_ROWS])
            raise Unreadable(f'no table "{asked.sheet[:80]}" here; there are: {known or "none"}')
        chosen = [table for table in tables if asked.sheet in ("", table)]
        lines: list[str] = []
        for table in chosen:
            lines += _table(database, table, asked)
    whole = Asked(name=asked.name, limit=asked.limit)
    return by_lines(f"sqlite; {len(tables)} tables: {', '.join(tables)[:2000]}", lines, whole)


def _opened(content: bytes) -> sqlite3.Connection:
    if not content.startswith(_MAGIC):
        raise Unreadable("not a SQLite database, or a broken one")
    # Versions 2 stand for a write-ahead log beside the file, which one in memory cannot have.
    plain = content[:18] + b"\x01\x01" + content[20:]
    database = sqlite3.connect(":memory:")
    database.deserialize(plain)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def _table(database: sqlite3.Connection, table: str, asked: Asked) -> Iterator[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    count = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608
    wanted = span(asked.range if asked.sheet else "", count, "range", "row") if count else range(0)
    most = _MOST_ROWS if asked.sheet else _FIRST_ROWS
    size = min(len(wanted), most)
    rows = database.execute(
        f"SELECT * FROM {quoted} LIMIT ? OFFSET ?",  # noqa: S608 - quoted
        (size, max(wanted.start - 1, 0)),
    )
    columns = ", ".join(column[0] for column in rows.description)
    yield f"Table {table} ({columns}), {count} rows"
    yield from (" | ".join(map(_cell, row)) for row in rows)
    if size < count:
        first = wanted.start
        yield (
            f"[rows {first}-{first + size - 1} of {count}; read others with "
            f'"sheet" and a "range" of rows]'
        )


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return "NULL" if value is None else str(value)[:_LONGEST_CELL].replace("\n", "\\n")
