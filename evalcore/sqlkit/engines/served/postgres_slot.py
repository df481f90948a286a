"""A database of PostgreSQL with a role of its own, and a session of that role.

A query runs in a transaction that is rolled back, so that nothing of it stays; sequences, which no
rollback touches, are set back. Only where a script or procedure ends transactions by itself does it
run without one, and the slot is then filled anew. The role owns its database and nothing else: no
file, no other database, no other role. Its own settings are given with each session and every
session is reset after each call.

Fresh databases compare and sort text by code points, as SQLite and DuckDB do.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import pq, sql

from evalcore.sqlkit.engines.base import Limits, Status
from evalcore.sqlkit.engines.served import postgres_plan, postgres_rows
from evalcore.sqlkit.engines.served.database_pool import (
    DatabaseSlot,
    QueryCost,
    Setup,
    StatementResult,
)
from evalcore.sqlkit.table import ResultTable

_CONNECT_SECONDS = "10"
_SETTINGS = {
    "search_path": "public",
    "client_min_messages": "error",
    "TimeZone": "UTC",
    "DateStyle": "ISO,YMD",
    "IntervalStyle": "postgres",
    "work_mem": "8MB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "idle_in_transaction_session_timeout": "0",
}
_EMPTY = "DROP OWNED BY CURRENT_USER CASCADE; CREATE SCHEMA IF NOT EXISTS public"
_SEQUENCES = "SELECT schemaname, sequencename, last_value, start_value FROM pg_sequences"
_TABLES = "SELECT schemaname, tablename FROM pg_tables WHERE tableowner = CURRENT_USER"
_STATUS: dict[str, Status] = {
    "42501": "forbidden",
    "25006": "forbidden",
    "57014": "timeout",
    "57P01": "timeout",
    "53100": "memory",
    "53200": "memory",
    "53400": "memory",
    "54000": "memory",
}
#: What a statement may say that ends a transaction; in strings too, which only costs time.
_ENDS_TRANSACTION = re.compile(r"\b(?:COMMIT|ROLLBACK|CONCURRENTLY)\b", re.IGNORECASE)
_CALLS = re.compile(r"\s*(?:CALL|DO)\b", re.IGNORECASE)
#: The parser's codes: syntax, names, escapes and characters.
_UNREADABLE = ("42601", "42602", "42622", "22025", "22P06", "22021", "0A000")
_PATH = re.compile(r'"(?:base|global|pg_\w+)/[^"]*"|(?:/[\w.-]+){2,}')
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
Session = psycopg.Connection[Any]
Parameters = dict[str, Any]


def connect_postgres(parameters: Parameters) -> Session:
    """A session without transactions of its own; raises psycopg.Error."""
    return psycopg.connect(
        **parameters, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_SECONDS
    )


class PostgresSlot(DatabaseSlot):
    """See `DatabaseSlot`."""

    errors = (psycopg.Error, UnicodeError)

    def __init__(self, parameters: Parameters, limits: Limits) -> None:
        timeout = {"statement_timeout": str(int(limits.seconds * 1000))}
        settings = {**_SETTINGS, **timeout}
        options = " ".join(
            f"-c {name}={value.replace(' ', '')}" for name, value in settings.items()
        )
        self._parameters = {**parameters, "options": options}
        self._limits = limits
        self._session = self._open_session()
        self._restore = ""
        self._analysed = self._commits = False

    @property
    def is_lost(self) -> bool:
        return bool(self._session.closed)

    def fill(self, setup: Setup) -> None:
        self._analysed, self._restore = False, ""
        self._commits = any(map(_ENDS_TRANSACTION.search, setup))
        self._session.execute("\n;".join((_EMPTY, *setup)).encode())
        self._restore = self._build_sequence_reset()

    def begin_call(self, statements: Sequence[str]) -> None:
        calls = self._commits and any(map(_CALLS.match, statements))
        if calls or any(map(_ENDS_TRANSACTION.search, statements)):
            self.is_dirty = True
            self._session.execute("SELECT 1")  # notices a server that has gone
        else:
            self._session.execute("BEGIN")

    def end_call(self) -> None:
        status = self._session.info.transaction_status
        if status != pq.TransactionStatus.IDLE:
            self._session.execute("ROLLBACK")
        self._session.execute("DISCARD ALL")
        if self._restore and not self.is_dirty:
            self._session.execute(self._restore.encode())

    def run_statement(self, sql: str, *, last: bool = True) -> StatementResult:
        result = postgres_rows.run_postgres_statement(self._session, sql, self._limits, last=last)
        if self._session.info.transaction_status == pq.TransactionStatus.IDLE:
            self.is_dirty = True  # it has ended the transaction: what it did stays
        return result

    def explain_query(self, sql: str) -> ResultTable:
        if not self._analysed:
            self._gather_statistics()
        result = self.run_statement(f"EXPLAIN {sql}")
        return result.table or ResultTable()

    def parse_statement(self, sql: str) -> None:
        """Send the text to be parsed in a transaction that has failed.

        There the server reads it with its own grammar, then refuses to look at what it means.
        """
        if self._session.info.transaction_status == pq.TransactionStatus.IDLE:
            self._session.execute("BEGIN")
        if self._session.info.transaction_status == pq.TransactionStatus.INTRANS:
            with suppress(psycopg.errors.DivisionByZero):
                self._session.execute("SELECT 1/0")
        answer = self._session.pgconn.prepare(b"", sql.encode())
        if answer.status != pq.ExecStatus.FATAL_ERROR:
            return
        error = psycopg.errors.error_from_result(answer)
        # Several statements are refused too, once they all have been read: without a place.
        if error.sqlstate in _UNREADABLE and error.diag.statement_position:
            raise psycopg.errors.SyntaxError(error.diag.message_primary or "")

    def measure_query(self, sql: str) -> QueryCost:
        if not self._analysed:
            self._gather_statistics()
        return postgres_plan.measure_pages(
            lambda text: self.run_statement(text, last=False).table, sql
        )

    def build_table_query(self, table: str) -> str:
        """A plain name is folded to lower case, as the server did when the table was created."""
        plain = _PLAIN.fullmatch(table)
        names = table.lower().split(".") if plain else [table]
        quoted = ".".join('"' + name.replace('"', '""') + '"' for name in names)
        return f"SELECT * FROM {quoted}"  # noqa: S608 - quoted as it must be

    def classify_error(self, error: Exception, sql: str) -> Status:
        state = getattr(error, "sqlstate", None) or ""
        if state != "42601":
            return _STATUS.get(state, "error")
        if not sql:
            return "syntax_error"
        try:  # the code is given to some errors of meaning too
            self.parse_statement(sql)
        except psycopg.Error:
            return "syntax_error"
        return "error"

    def format_error(self, error: Exception) -> str:
        primary_message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return _PATH.sub("…", primary_message or str(error).strip().splitlines()[0])[:1000]

    def renew_session(self) -> None:
        self._session.close()
        self._session = self._open_session()

    def cancel_statement(self) -> None:
        with suppress(psycopg.Error):  # the statement may have ended just now
            self._session.cancel_safe(timeout=1)

    def cut_connection(self) -> None:
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._session.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._session.close()

    def _open_session(self) -> Session:
        session = connect_postgres(self._parameters)
        postgres_rows.register_loaders(session)
        return session

    def _gather_statistics(self) -> None:
        """Gather statistics once for a setup; autovacuum might do it in the midst of something."""
        tables = [sql.Identifier(*row) for row in self._session.execute(_TABLES)]
        if tables:
            self._session.execute("ROLLBACK")
            names = sql.SQL(", ").join(tables)
            self._session.execute(sql.SQL("VACUUM (ANALYZE) {}").format(names))
            self._session.execute("BEGIN")
        self._analysed = True

    def _build_sequence_reset(self) -> str:
        """The statement that sets all sequences to where they are now, "" if there are none."""
        settings = [
            sql.SQL("setval({}, {}, {})").format(
                sql.Literal(sql.Identifier(schema, name).as_string()),
                sql.Literal(start if value is None else value),
                sql.Literal(value is not None),
            )
            for schema, name, value, start in self._session.execute(_SEQUENCES)
        ]
        if not settings:
            return ""
        return sql.SQL("SELECT {}").format(sql.SQL(", ").join(settings)).as_string()
