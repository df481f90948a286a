"""Reading results of MySQL and MariaDB as they come, with values as JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import decoders
from pymysql.cursors import SSCursor

from evalcore.sqlkit.engines.backend import fetch_table
from evalcore.sqlkit.engines.base import Limits
from evalcore.sqlkit.engines.served.slots import Found

Session = Any  # pymysql has no types
_TEXT = (
    FIELD_TYPE.DATE,
    FIELD_TYPE.NEWDATE,
    FIELD_TYPE.DATETIME,
    FIELD_TYPE.TIMESTAMP,
    FIELD_TYPE.TIME,
)


def _bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


#: Dates and times stay as the server spells them: it has dates and durations that Python has not.
CONVERSIONS = {
    **{kind: convert for kind, convert in decoders.items() if kind not in _TEXT},
    FIELD_TYPE.BIT: _bits,
}


def run(
    session: Session, sql: str, limits: Limits, *, changes: bool, cancel: Callable[[], None]
) -> Found:
    """Run one statement, which may give several tables; raises pymysql.MySQLError.

    `changes` says that it counts the rows it changes; `cancel` makes the server stop sending when
    the limits are reached.
    """
    cursor = SSCursor(session)
    try:
        cursor.execute(sql)
        return _found(cursor, limits, changes)
    finally:
        if session.open and cursor.connection is not None:
            _leave(cursor, cancel)


def _found(cursor: SSCursor, limits: Limits, changes: bool) -> Found:
    tables = []
    affected: int | None = None
    more: bool | None = True
    while more:
        if cursor.description:
            columns = [column[0] for column in cursor.description]
            tables.append(fetch_table(columns, cursor.fetchmany, limits))
            affected = len(tables[-1].rows) if changes else None
            if tables[-1].truncated:
                break
        elif changes:
            affected = cursor.rowcount
        more = cursor.nextset()
    return Found(tables=tuple(tables), affected=affected)


def _leave(cursor: SSCursor, cancel: Callable[[], None]) -> None:
    """Take what the server is still sending, after asking it to stop if it is."""
    result = cursor._result
    if result is not None and (result.unbuffered_active or result.has_next):
        cancel()
    with suppress(pymysql.MySQLError):  # it says that it was interrupted
        cursor.close()


def drain(session: Session, sql: str) -> None:
    """Run a query and throw its rows away one by one; raises pymysql.MySQLError."""
    with SSCursor(session) as cursor:
        cursor.execute(sql)
        while cursor.fetchmany(1000):
            pass
