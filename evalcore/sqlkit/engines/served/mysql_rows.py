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
from evalcore.sqlkit.engines.served.database_pool import StatementResult

Session = Any  # pymysql has no types
_TEXT = (
    FIELD_TYPE.DATE,
    FIELD_TYPE.NEWDATE,
    FIELD_TYPE.DATETIME,
    FIELD_TYPE.TIMESTAMP,
    FIELD_TYPE.TIME,
)


def _bits_to_int(value: bytes) -> int:
    return int.from_bytes(value, "big")


#: Dates and times stay as the server spells them: it has dates and durations that Python has not.
CONVERSIONS = {
    **{kind: convert for kind, convert in decoders.items() if kind not in _TEXT},
    FIELD_TYPE.BIT: _bits_to_int,
}


def run_mysql_statement(
    session: Session, sql: str, limits: Limits, *, changes: bool, cancel: Callable[[], None]
) -> StatementResult:
    """Run one statement, which may give several tables; raises pymysql.MySQLError.

    `changes` says that it counts the rows it changes; `cancel` makes the server stop sending when
    the limits are reached.
    """
    cursor = SSCursor(session)
    try:
        cursor.execute(sql)
        return _read_mysql_results(cursor, limits, changes)
    finally:
        if session.open and cursor.connection is not None:
            _close_cursor(cursor, cancel)


def _read_mysql_results(cursor: SSCursor, limits: Limits, changes: bool) -> StatementResult:
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
    return StatementResult(tables=tuple(tables), affected=affected)


def _close_cursor(cursor: SSCursor, cancel: Callable[[], None]) -> None:
    """Take what the server is still sending, after asking it to stop if it is."""
    result = cursor._result
    if result is not None and (result.unbuffered_active or result.has_next):
        cancel()
    with suppress(pymysql.MySQLError):  # it says that it was interrupted
        cursor.close()


def drain_query(session: Session, sql: str) -> None:
    """Run a query and throw its rows away one by one; raises pymysql.MySQLError."""
    with SSCursor(session) as cursor:
        cursor.execute(sql)
        while cursor.fetchmany(1000):
            pass
