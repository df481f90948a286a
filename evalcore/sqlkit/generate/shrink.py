"""A smaller database that still shows a difference (delta debugging, Zeller 1999)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from evalcore.sqlkit.generate.database import Database, Row

_MOST_PROBES = 160


def shrink(database: Database, still_differs: Callable[[Database], bool]) -> Database:
    """Rows are taken away, table by table, as long as the difference stays and probes are left."""
    probes = _MOST_PROBES

    def tried(candidate: Database) -> bool:
        nonlocal probes
        probes -= 1
        return still_differs(candidate)

    smallest = database
    before: list[int] = []
    while _sizes(smallest) != before and probes > 0:  # a table may hold another's rows
        before = _sizes(smallest)
        for name in sorted(smallest.tables, key=lambda n: -len(smallest.tables[n])):
            smallest = _without_rows(smallest, name, tried, lambda: probes)
    return smallest


def _sizes(database: Database) -> list[int]:
    return [len(rows) for rows in database.tables.values()]


def _without_rows(
    smallest: Database,
    name: str,
    tried: Callable[[Database], bool],
    left: Callable[[], int],
) -> Database:
    """As few rows of one table as still show the difference."""
    rows = smallest.tables[name]
    step = max(1, len(rows) // 2)
    while rows and left() > 0:
        shorter = _first_shorter(smallest, name, rows, step, tried, left)
        if shorter is not None:
            rows = shorter
            smallest = _with(smallest, name, rows)
            step = min(step, max(1, len(rows) // 2))
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return smallest


def _first_shorter(
    database: Database,
    name: str,
    rows: tuple[Row, ...],
    step: int,
    tried: Callable[[Database], bool],
    left: Callable[[], int],
) -> tuple[Row, ...] | None:
    for start in range(0, len(rows), step):
        if left() <= 0:
            return None
        fewer = rows[:start] + rows[start + step :]
        if tried(_with(database, name, fewer)):
            return fewer
    return None


def _with(database: Database, name: str, rows: tuple[Row, ...]) -> Database:
    return msgspec.structs.replace(database, tables={**database.tables, name: rows})
