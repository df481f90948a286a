"""The content of a database, apart from any engine."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record

Row = tuple[Any, ...]


class Database(Record, frozen=True):
    """Rows per table, in the order of insertion, a cell per column of the schema.

    Cells are None, bool, int, float or str; dates and times are ISO texts. `profile` names the kind
    of database that was aimed at.
    """

    profile: str
    tables: dict[str, tuple[Row, ...]]

    @property
    def row_count(self) -> int:
        return sum(map(len, self.tables.values()))


def permute_rows(database: Database) -> Database:
    """The same rows in another order: every second one backwards, then the others."""
    return Database(
        profile=database.profile,
        tables={
            name: (*rows[-1::-2], *rows[-2::-2]) if len(rows) > 2 else rows[::-1]
            for name, rows in database.tables.items()
        },
    )
