"""MySQL and MariaDB: the administrator's session, the slots it gives, and the rows they return."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import decoders, escape_string
from pymysql.cursors import SSCursor

from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.sqlkit.engines import GeneratedScript, Limits, QueryCost, StatementResult, Status
from evalcore.sqlkit.engines.backend import fetch_table
from evalcore.sqlkit.engines.guard import Statement, split_script
from evalcore.sqlkit.engines.local_server import SQL_MODE, ServerLease
from evalcore.sqlkit.engines.served import ConnectionLost, DatabaseServer, DatabaseSlot, Setup
from evalcore.sqlkit.result_tables import ResultTable

# Where MariaDB differs from MySQL 8, and what is done about it before a statement is sent.
# - MySQL's default collation utf8mb4_0900_ai_ci does not pad with blanks; MariaDB does not know it.
#   Its kin (UCA 14 in place of UCA 9, no padding) stands for it, as it does for utf8mb4 named
#   without a collation. Older collations stay what they are in both.
# - Table names are compared without case, as MySQL does on macOS and Windows.
# - A recursion that MySQL ends with an error after 1000 steps runs on up to a million here.
# - There are no LATERAL derived tables, no functional indexes, and no JSON type beside its text;
#   EXPLAIN shows fewer estimates.

DEFAULT = "utf8mb4_uca1400_nopad_ai_ci"
_DEFINES = re.compile(r"\s*(?:CREATE|ALTER)\b", re.IGNORECASE)
_BINARY = re.compile(r"\butf8mb4_0900_bin\b", re.IGNORECASE)
_NEWER = re.compile(r"\butf8mb4_0900_(ai_ci|as_ci|as_cs)\b", re.IGNORECASE)
_BARE = re.compile(
    r"\b((?:CHARSET|CHARACTER\s+SET)\s*=?\s*utf8mb4)\b(?!\s*,?\s*(?:DEFAULT\s+)?COLLATE\b)",
    re.IGNORECASE,
)


def for_mariadb(sql: str) -> str:
    """A statement with the collations of MySQL 8 in MariaDB's names."""
    sql = _BINARY.sub("utf8mb4_nopad_bin", sql)
    sql = _NEWER.sub(r"utf8mb4_uca1400_nopad_\1", sql)
    return _BARE.sub(rf"\1 COLLATE {DEFAULT}", sql) if _DEFINES.match(sql) else sql


Session = Any  # pymysql has no types
#: Dates and times stay as the server spells them: it has dates and durations that Python has not.
_TEXT = [getattr(FIELD_TYPE, name) for name in ["DATE", "NEWDATE", "DATETIME", "TIMESTAMP", "TIME"]]
CONVERSIONS = {
    **{kind: convert for kind, convert in decoders.items() if kind not in _TEXT},
    FIELD_TYPE.BIT: lambda value: int.from_bytes(value, "big"),
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


_CONNECT_SECONDS = 10
_DENIED = 1045
_SYNTAX = (1064, 1149)
#: The server has no connection left; one that gives up its own gets another.
_FULL = ((1040,), (1203,))
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
_COUNTS_FOUND = re.compile(r"\bFOUND_ROWS\b", re.IGNORECASE)
_RESET = 0x1F  # the protocol's COM_RESET_CONNECTION, which pymysql has no name for
_IN_TRANSACTION = 1  # of the status that the server sends with each result
_PATH = re.compile(r"'?\.?(?:/[\w.#@-]+){2,}'?")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_READ_ROWS = "SHOW SESSION STATUS LIKE 'Handler_read%'"
_SHOWN = ("table", "type", "key", "rows", "Extra")
Parameters = dict[str, Any]


def connect_mysql(parameters: Parameters) -> Session:
    """A session without encryption, whose preparation alone takes 20 ms, unless it is asked for.

    Raises pymysql.MySQLError.
    """
    return pymysql.connect(
        **{"ssl_disabled": True, **parameters},
        autocommit=True,
        charset="utf8mb4",
        connect_timeout=_CONNECT_SECONDS,
        conv=CONVERSIONS,
    )


def fetch_rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    """All rows of a query of our own."""
    with session.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


class MysqlSlot(DatabaseSlot):
    """A session is reset before each call, which ends the transaction and all that a session keeps
    in a third of the time that a new one takes; after one that left something behind or was
    cancelled it is closed. What has committed by then (definitions, procedures, counters of
    AUTO_INCREMENT) spoils the slot, which is filled anew when needed. The user has rights in its
    own database alone and none to read files.
    """

    errors = (pymysql.MySQLError, UnicodeError)

    def __init__(
        self, name: str, parameters: Parameters, server: MysqlServer, limits: Limits
    ) -> None:
        self._name, self._parameters, self._server = name, parameters, server
        self._limits = limits
        self._session: Session | None = None
        self._reset_session: Session | None = None  # for the next call
        self._number = 0
        self._counts = self._acts = self._analysed = self._is_cancelled = False

    @property
    def is_lost(self) -> bool:
        return self._session is not None and not self._session.open

    def fill(self, setup: Setup) -> None:
        self._analysed = False
        self._counts = any(map(_COUNTS.search, setup))
        self._acts = any(map(_ACTS.search, setup))
        self.close_session()  # whose database goes
        self._server.recreate_database(self._name)
        session = self._open_session()
        fetch_rows(session, "SET foreign_key_checks = 0")  # tables come in any order
        fetch_rows(session, "START TRANSACTION")
        for script in setup:
            if isinstance(script, GeneratedScript):
                fetch_rows(session, str(script))
                continue
            for statement in _split_mysql_script(script):
                fetch_rows(session, self._adapt_sql(statement.text))
        fetch_rows(session, "COMMIT")

    def begin_call(self, statements: Sequence[str]) -> None:
        session = self._open_session()
        fetch_rows(session, "START TRANSACTION")
        if any(map(_COUNTS_FOUND.search, statements)):  # which a reset leaves as it was
            fetch_rows(session, "SELECT 1 LIMIT 0")

    def load_rows(self) -> None:
        session = self._ensure_session()
        if self._server.is_mariadb:
            for script in self.rows:
                fetch_rows(session, f"SET STATEMENT foreign_key_checks = 0 FOR {script}")
            return
        fetch_rows(session, "SET foreign_key_checks = 0")
        for script in self.rows:
            fetch_rows(session, script)
        fetch_rows(session, "SET foreign_key_checks = 1")

    def end_call(self) -> None:
        session, self._session = self._session, None
        is_clean = not (self.is_dirty or self._acts or self._is_cancelled)
        self._is_cancelled = False
        if session is not None and session.open:
            with suppress(pymysql.MySQLError):  # it is lost or was cancelled
                session._execute_command(_RESET, b"")  # which rolls back
                session._read_ok_packet()
                self._reset_session = session if is_clean else None
            if self._reset_session is None:
                session.close()

    def close_session(self) -> None:
        self._is_cancelled = True
        self.end_call()
        session, self._reset_session = self._reset_session, None
        if session is not None and session.open:
            session.close()

    renew_session = close_session

    def run_statement(self, sql: str, *, last: bool = True) -> StatementResult:
        statement = _split_mysql_script(sql)[0]
        first = statement.first_word
        counts = self._counts and (first not in _READS or self._acts)
        self.is_dirty = self.is_dirty or counts or first not in _UNDONE
        session = self._ensure_session()
        result = run_mysql_statement(
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
        session = self._ensure_session()
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
        visited = 0
        if self._server.is_mariadb:  # which runs it and throws its rows away
            analyzed = fetch_rows(session, f"ANALYZE FORMAT=JSON {self._adapt_sql(sql)}")
            visited = _sum_visited_rows(msgspec.json.decode(str(analyzed[0][0])))
        else:
            drain_query(session, self._adapt_sql(sql))
        amount = self._count_read_rows() - second - (second - first)
        steps = (dict(zip(plan.columns, row, strict=True)) for row in plan.rows)
        lines = (" ".join(f"{name}={step.get(name)}" for name in _SHOWN) for step in steps)
        return QueryCost(unit="rows", amount=amount, plan=tuple(lines), visited=visited)

    def build_table_query(self, table: str) -> str:
        names = table.split(".") if _PLAIN.fullmatch(table) else [table]
        quoted = ".".join("`" + name.replace("`", "``") + "`" for name in names)
        return f"SELECT * FROM {quoted}"  # noqa: S608 - quoted as it must be

    def classify_error(self, error: Exception, sql: str) -> Status:
        if self._server.is_lost or error.args[:1] in _FULL:  # the session that fills the slot
            raise ConnectionLost
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
        self._is_cancelled = True  # which may reach the session later than the statement's end
        self._server.kill_query(self._number)

    def cut_connection(self) -> None:
        line = getattr(self._session, "_sock", None)
        if line is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _ensure_session(self) -> Session:
        return self._session or self._open_session()

    def _open_session(self) -> Session:
        session, self._reset_session = self._reset_session, None
        if session is None or not session.open:
            session = self._connect_user()
            self._number = session.thread_id()
            with suppress(pymysql.err.OperationalError):  # one may be refused until it is made
                session.select_db(self._name)
        self._session = session
        seconds = self._limits.seconds
        limit = (
            f"max_statement_time = {seconds:f}, collation_connection = {DEFAULT}"
            if self._server.is_mariadb
            else f"max_execution_time = {int(seconds * 1000)}"
        )
        mode = SQL_MODE if self._server.is_mariadb else f"ONLY_FULL_GROUP_BY,{SQL_MODE}"
        fetch_rows(
            session,
            f"SET NAMES utf8mb4, SESSION sql_mode = '{mode}', time_zone = '+00:00', {limit}",
        )
        return session

    def _connect_user(self) -> Session:
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


def _sum_visited_rows(node: Any) -> int:
    """Of MariaDB's analyzed plan: rows of a loop, or rows of the buffer a comparison is made with,
    times loops."""
    if isinstance(node, list):
        return sum(map(_sum_visited_rows, node))
    if not isinstance(node, dict):
        return 0
    rows = node.get("r_effective_rows", node.get("r_rows")) or 0
    own = round(rows * (node.get("r_loops") or 0))
    return own + sum(map(_sum_visited_rows, node.values()))


def _split_mysql_script(sql: str) -> tuple[Statement, ...]:
    """The statements of a text; what has no tokens is one, for the server to judge."""
    return split_script(sql, "mysql") or (Statement(text=sql, words=()),)


_NAME = "evalboard_slot_{}"
_RIGHTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE VIEW, "
    "SHOW VIEW, CREATE TEMPORARY TABLES, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, TRIGGER"
)


class MysqlServer(DatabaseServer):
    errors = (pymysql.MySQLError,)

    def __init__(self, parameters: Parameters, limits: Limits, lease: ServerLease | None) -> None:
        self._parameters, self._limits = parameters, limits
        try:
            super().__init__(connect_mysql(parameters), lease)
            self.version = str(fetch_rows(self._admin, "SELECT VERSION()")[0][0])
        except pymysql.MySQLError as error:
            code = error.args[0] if error.args else ""
            raise EnvironmentFailure(Note("engine_mysql_connection", number=code)) from None

    @property
    def is_lost(self) -> bool:
        """Whether the session of the administrator is gone."""
        return not self._admin.open

    def explain_claim_failure(self, error: Exception) -> Exception:
        if self.is_lost or error.args[:1] in _FULL:
            return ConnectionLost()
        return EnvironmentFailure(
            f"the user of EVALBOARD_MYSQL_DSN must be allowed to create databases and users "
            f"(error {error.args[0]})"
        )

    def can_load_rows(self, tables: Setup, statements: Sequence[str]) -> bool:
        """Where only tables of InnoDB without counters change, which a rollback undoes."""
        return not any(_COUNTS.search(text) or _ACTS.search(text) for text in tables) and all(
            _split_mysql_script(text)[0].first_word in _READS | _CHANGES for text in statements
        )

    def lock_slot(self, number: int) -> bool:
        return bool(fetch_rows(self._admin, f"SELECT GET_LOCK('{_NAME.format(number)}', 0)")[0][0])

    def list_slot_numbers(self) -> list[int]:
        beginning = _NAME.format("")
        rows = fetch_rows(self._admin, f"SHOW DATABASES LIKE '{beginning}%'")
        return [int(row[0][len(beginning) :]) for row in rows]

    def drop_slot(self, number: int) -> None:
        name = _NAME.format(number)
        fetch_rows(self._admin, f"DROP DATABASE IF EXISTS {name}")
        fetch_rows(self._admin, f"DROP USER IF EXISTS {name}")

    def create_slot(self, number: int) -> MysqlSlot:
        name, password = _NAME.format(number), f"{secrets.token_hex(16)}Aa1!"
        fetch_rows(self._admin, f"CREATE USER {name} IDENTIFIED BY '{password}'")
        fetch_rows(self._admin, f"GRANT {_RIGHTS} ON {name}.* TO {name}")
        own = {**self._parameters, "user": name, "password": password}
        return MysqlSlot(name, own, self, self._limits)

    def recreate_database(self, name: str) -> None:
        """Make the database of a slot anew."""
        fetch_rows(self._admin, f"DROP DATABASE IF EXISTS {name}")
        collation = f" COLLATE {DEFAULT}" if self.is_mariadb else ""
        fetch_rows(self._admin, f"CREATE DATABASE {name} CHARACTER SET utf8mb4{collation}")

    def set_password(self, name: str, password: str) -> None:
        """Give a slot's user its password back."""
        fetch_rows(self._admin, f"ALTER USER {name} IDENTIFIED BY '{password}'")

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self.version

    def kill_query(self, session: int) -> None:
        """End the statement of a session; from a session of its own, as this runs in any thread."""
        with suppress(pymysql.MySQLError):  # the statement may have ended just now
            other = connect_mysql(self._parameters)
            try:
                fetch_rows(other, f"KILL QUERY {session}")
            finally:
                other.close()
