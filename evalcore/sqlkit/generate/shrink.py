"""A smaller database that still shows a difference (delta debugging, Zeller 1999)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from evalcore.sqlkit.generate.database import Database, Row

_MAX_PROBES = 160


def shrink_database(database: Database, still_differs: Callable[[Database], bool]) -> Database:
    """Rows are taken away, table by table, as long as the difference stays and probes are left."""
    probes = _MAX_PROBES

    def probe_candidate(candidate: Database) -> bool:
        nonlocal probes
        probes -= 1
        return still_differs(candidate)

    smallest = database
    before: list[int] = []
    while _count_table_rows(smallest) != before and probes > 0:  # a table may hold another's rows
        before = _count_table_rows(smallest)
        for name in sorted(smallest.tables, key=lambda n: -len(smallest.tables[n])):
            smallest = _remove_rows(smallest, name, probe_candidate, lambda: probes)
    return smallest


def _count_table_rows(database: Database) -> list[int]:
    return [len(rows) for rows in database.tables.values()]


def _remove_rows(
    smallest: Database,
    name: str,
    probe_candidate: Callable[[Database], bool],
    count_remaining: Callable[[], int],
) -> Database:
    """As few rows of one table as still show the difference."""
    rows = smallest.tables[name]
    step = max(1, len(rows) // 2)
    while rows and count_remaining() > 0:
        shorter = _find_shorter(smallest, name, rows, step, probe_candidate, count_remaining)
        if shorter is not None:
            rows = shorter
            smallest = _replace_rows(smallest, name, rows)
            step = min(step, max(1, len(rows) // 2))
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return smallest


def _find_shorter(
    database: Database,
    name: str,
    rows: tuple[Row, ...],
    step: int,
    probe_candidate: Callable[[Database], bool],
    count_remaining: Callable[[], int],
) -> tuple[Row, ...] | None:
    for start in range(0, len(rows), step):
        if count_remaining() <= 0:
            return None
        fewer = rows[:start] + rows[start + step :]
        if probe_candidate(_replace_rows(database, name, fewer)):
            return fewer
    return None


def _replace_rows(database: Database, name: str, rows: tuple[Row, ...]) -> Database:
    return msgspec.structs.replace(database, tables={**database.tables, name: rows})
