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
    for name in sorted(database.tables, key=lambda n: -len(database.tables[n])):
        rows = smallest.tables[name]
        step = max(1, len(rows) // 2)
        while rows and probes > 0:
            shorter = _first_shorter(smallest, name, rows, step, tried, lambda: probes)
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
