"""A database of MySQL or MariaDB with a user of its own, and a session for each call.

A session is opened for each call (under a millisecond on a socket) and closed after it, which ends
the transaction and all that a session keeps. What has committed by then (definitions, procedures,
counters of AUTO_INCREMENT) spoils the slot, which is filled anew when needed. The user has rights
in its own database alone and none to read files. Where MariaDB differs from MySQL 8 is told in
`mysql_dialect`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import pymysql
from pymysql.converters import escape_string

from evalcore.sqlkit.engines.base import Limits, Status
from evalcore.sqlkit.engines.script import Statement, split_script
from evalcore.sqlkit.engines.served import mysql_rows
from evalcore.sqlkit.engines.served.database_pool import (
    DatabaseSlot,
    QueryCost,
    Setup,
    StatementResult,
)
from evalcore.sqlkit.engines.served.mysql_dialect import DEFAULT, for_mariadb
from evalcore.sqlkit.engines.served.server_binaries import SQL_MODE
from evalcore.sqlkit.table import ResultTable

_CONNECT_SECONDS = 10
_DENIED = 1045
_SYNTAX = (1064, 1149)
_STATUS: dict[int, Status] = {
    **dict.fromkeys(_SYNTAX, "syntax_error"),
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1290, 1370, 1410, 1419, 1698), "forbidden"),
    **dict.fromkeys((1317, 1969, 3024), "timeout"),
    **dict.fromkeys((5, 1021, 1037, 1038, 1041, 1114, 1153), "memory"),
}
_OUT_OF_MEMORY = "max_session_mem_used"
_READS = frozenset(("SELECT", "WITH", "VALUES", "TABLE"))
_CHANGES = frozenset(("INSERT", "UPDATE", "DELETE", "REPLACE"))
_UNDONE = _READS | _CHANGES | {"SET"}
#: What a setup can hold whose change no rollback undoes, and what lets a query change something.
_COUNTS = re.compile(
    r"\b(?:AUTO_INCREMENT|SERIAL|SEQUENCE|ENGINE\s*=?\s*(?!InnoDB\b)\w)", re.IGNORECASE
)
_ACTS = re.compile(r"\b(?:FUNCTION|SEQUENCE)\b", re.IGNORECASE)
_IN_TRANSACTION = 1  # of the status that the server sends with each result
_PATH = re.compile(r"'?\.?(?:/[\w.#@-]+){2,}'?")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_READ_ROWS = "SHOW SESSION STATUS LIKE 'Handler_read%'"
_SHOWN = ("table", "type", "key", "rows", "Extra")
Parameters = dict[str, Any]


class SlotAdmin(Protocol):
    """What a slot needs of its server."""

    @property
    def is_mariadb(self) -> bool: ...

    def recreate_database(self, name: str) -> None: ...

    def kill_query(self, session: int) -> None: ...

    def set_password(self, name: str, password: str) -> None: ...


def connect_mysql(parameters: Parameters) -> mysql_rows.Session:
    """A session without encryption, whose preparation alone takes 20 ms, unless it is asked for.

    Raises pymysql.MySQLError.
    """
    return pymysql.connect(
        **{"ssl_disabled": True, **parameters},
        autocommit=True,
        charset="utf8mb4",
        connect_timeout=_CONNECT_SECONDS,
        conv=mysql_rows.CONVERSIONS,
    )


def fetch_rows(session: mysql_rows.Session, query: str) -> list[tuple[Any, ...]]:
    """All rows of a query of our own."""
    with session.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


class MysqlSlot(DatabaseSlot):
    """See `DatabaseSlot`."""

    errors = (pymysql.MySQLError, UnicodeError)

    def __init__(
        self, name: str, parameters: Parameters, server: SlotAdmin, limits: Limits
    ) -> None:
        self._name, self._parameters, self._server = name, parameters, server
        self._limits = limits
        self._session: mysql_rows.Session | None = None
        self._number = 0
        self._counts = self._acts = self._analysed = False

    @property
    def is_lost(self) -> bool:
        return self._session is not None and not self._session.open

    def fill(self, setup: Setup) -> None:
        self._analysed = False
        self._counts = any(map(_COUNTS.search, setup))
        self._acts = any(map(_ACTS.search, setup))
        self._server.recreate_database(self._name)
        session = self._open_session()
        fetch_rows(session, "SET foreign_key_checks = 0")  # tables come in any order
        fetch_rows(session, "START TRANSACTION")
        for script in setup:
            for statement in _split_mysql_script(script):
                fetch_rows(session, self._adapt_sql(statement.text))
        fetch_rows(session, "COMMIT")

    def begin_call(self, statements: Sequence[str]) -> None:
        fetch_rows(self._open_session(), "START TRANSACTION")

    def end_call(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.open:
            session.close()

    def renew_session(self) -> None:
        self.end_call()

    def run_statement(self, sql: str, *, last: bool = True) -> StatementResult:
        statement = _split_mysql_script(sql)[0]
        first = statement.first_word
        counts = self._counts and (first not in _READS or self._acts)
        self.is_dirty = self.is_dirty or counts or first not in _UNDONE
        session = self._ensure_session()
        result = mysql_rows.run_mysql_statement(
            session,
            self._adapt_sql(sql),
            self._limits,
            changes=first in _CHANGES,
            cancel=self.cancel_statement,
        )
        if not session.server_status & _IN_TRANSACTION:
            self.is_dirty = True
        return result

    def explain_query(self, sql: str) -> ResultTable:
        self._gather_statistics()
        return self.run_statement(f"EXPLAIN {sql}").table or ResultTable()

    def parse_statement(self, sql: str) -> None:
        """Let the server prepare each statement, which reads it and runs nothing."""
        session = self._session or self._open_session()
        for statement in _split_mysql_script(sql):
            text = escape_string(self._adapt_sql(statement.text))
            try:
                fetch_rows(session, f"PREPARE evalboard FROM '{text}'")
            except pymysql.MySQLError as error:
                if error.args[0] in _SYNTAX or not session.open:
                    raise

    def measure_query(self, sql: str) -> QueryCost:
        """Rows that the storage engine was asked for, less those that the asking itself takes."""
        self._gather_statistics()
        plan = self.run_statement(f"EXPLAIN {sql}", last=False).table or ResultTable()
        session = self._ensure_session()
        first, second = self._count_read_rows(), self._count_read_rows()
        mysql_rows.drain_query(session, self._adapt_sql(sql))
        amount = self._count_read_rows() - second - (second - first)
        steps = (dict(zip(plan.columns, row, strict=True)) for row in plan.rows)
        lines = (" ".join(f"{name}={step.get(name)}" for name in _SHOWN) for step in steps)
        return QueryCost(unit="rows", amount=amount, plan=tuple(lines))

    def build_table_query(self, table: str) -> str:
        names = table.split(".") if _PLAIN.fullmatch(table) else [table]
        quoted = ".".join("`" + name.replace("`", "``") + "`" for name in names)
        return f"SELECT * FROM {quoted}"  # noqa: S608 - quoted as it must be

    def classify_error(self, error: Exception, sql: str) -> Status:
        code, message = (*error.args, "", "")[:2]
        if _OUT_OF_MEMORY in str(message):
            return "memory"
        return _STATUS.get(code, "error") if isinstance(code, int) else "error"

    def format_error(self, error: Exception) -> str:
        message = str(error.args[1] if len(error.args) > 1 else error)
        for ours in (f"{self._name}.", f"`{self._name}`.", f"'{self._name}'@'%'", self._name):
            message = message.replace(ours, "")
        return _PATH.sub("…", message)[:1000]

    def cancel_statement(self) -> None:
        self._server.kill_query(self._number)

    def cut_connection(self) -> None:
        line = getattr(self._session, "_sock", None)
        if line is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _ensure_session(self) -> mysql_rows.Session:
        return self._session or self._open_session()

    def _open_session(self) -> mysql_rows.Session:
        self.end_call()
        session = self._session = self._connect_user()
        self._number = session.thread_id()
        seconds = self._limits.seconds
        limit = (
            f"max_statement_time = {seconds:f}, collation_connection = {DEFAULT}"
            if self._server.is_mariadb
            else f"max_execution_time = {int(seconds * 1000)}"
        )
        mode = SQL_MODE if self._server.is_mariadb else f"ONLY_FULL_GROUP_BY,{SQL_MODE}"
        fetch_rows(session, f"SET SESSION sql_mode = '{mode}', time_zone = '+00:00', {limit}")
        with suppress(pymysql.err.OperationalError):  # a database may be refused until it is made
            session.select_db(self._name)
        return session

    def _connect_user(self) -> mysql_rows.Session:
        """A session of the slot's user, whose password a statement may have changed."""
        try:
            return connect_mysql(self._parameters)
        except pymysql.err.OperationalError as error:
            if error.args[0] != _DENIED:
                raise
            self._server.set_password(self._name, self._parameters["password"])
            return connect_mysql(self._parameters)

    def _adapt_sql(self, sql: str) -> str:
        return for_mariadb(sql) if self._server.is_mariadb else sql

    def _count_read_rows(self) -> int:
        return sum(int(row[1]) for row in fetch_rows(self._ensure_session(), _READ_ROWS))

    def _gather_statistics(self) -> None:
        """Gather statistics once for a setup, which ends the transaction."""
        if self._analysed:
            return
        session = self._ensure_session()
        for table, _ in fetch_rows(session, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'"):
            fetch_rows(session, f"ANALYZE TABLE `{table}`")
        fetch_rows(session, "START TRANSACTION")
        self._analysed = True


def _split_mysql_script(sql: str) -> tuple[Statement, ...]:
    """The statements of a text; what has no tokens is one, for the server to judge."""
    return split_script(sql, "mysql") or (Statement(text=sql, words=()),)
