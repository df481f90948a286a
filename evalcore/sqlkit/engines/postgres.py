"""PostgreSQL: the administrator's session, the slots it gives, and what a query costs there."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, LiteralString

import psycopg
from psycopg import pq, sql

from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.sqlkit.engines import (
    Limits,
    QueryCost,
    SessionScript,
    StatementResult,
    Status,
    postgres_rows,
    split_generated_rows,
)
from evalcore.sqlkit.engines.local_server import ServerLease
from evalcore.sqlkit.engines.postgres_shims import build_shim_script
from evalcore.sqlkit.engines.served import ConnectionLost, DatabaseServer, DatabaseSlot, Setup
from evalcore.sqlkit.result_tables import ResultTable

_ASK = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, FORMAT JSON) "
_PAGES = tuple(
    f"{kind} {way} Blocks" for kind in ("Shared", "Local", "Temp") for way in ("Hit", "Read")
)

#: Averages of a loop.
_ROWS = (
    "Actual Rows",
    "Rows Removed by Filter",
    "Rows Removed by Join Filter",
    "Rows Removed by Index Recheck",
)


def measure_pages(run: Callable[[str], ResultTable | None], sql: str) -> QueryCost:
    """The pages that a query touches, as the server counts them at its second run, which holds no
    reading of the catalogue."""
    for _ in range(2):
        table = run(_ASK + sql)
    root = table.rows[0][0][0]["Plan"] if table else {}
    return QueryCost(
        unit="pages",
        amount=sum(int(root.get(name, 0)) for name in _PAGES),
        plan=tuple(_iter_plan_lines(root)),
        visited=_count_visited_rows(root),
    )


def _count_visited_rows(node: Mapping[str, Any]) -> int:
    """The rows that came out of every operator and those that its conditions removed."""
    rows = sum(float(node.get(name, 0)) for name in _ROWS)
    own = round(rows * float(node.get("Actual Loops", 0)))
    return own + sum(map(_count_visited_rows, node.get("Plans", ())))


def _iter_plan_lines(node: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The operators, each with what it works on and how many rows came out of it."""
    object_name = node.get("Index Name") or node.get("Relation Name") or node.get("CTE Name") or ""
    words = [node.get("Join Type", ""), node.get("Node Type", ""), object_name]
    rows, loops = node.get("Actual Rows", 0), node.get("Actual Loops", 1)
    yield f"{'  ' * depth}{' '.join(filter(None, words))} (rows {rows:g}, loops {loops:g})"
    for child in node.get("Plans", ()):
        yield from _iter_plan_lines(child, depth + 1)


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
#: What makes a database more than its tables: these cannot be emptied alone.
_NOT_EMPTIED = re.compile(
    r"\b(?:INSERT|MERGE|COPY|INTO|DO|CALL|TRIGGER|RULE|FUNCTION|PROCEDURE|SEQUENCE|MATERIALIZED"
    r"|PARTITION|AS\s*\(?\s*(?:SELECT|WITH|VALUES|TABLE))\b",
    re.IGNORECASE,
)
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
    """A query runs in a transaction that is rolled back, so that nothing of it stays; sequences,
    which no rollback touches, are set back. Only where a script or procedure ends transactions by
    itself does it run without one, and the slot is then filled anew. The role owns its database
    and nothing else: no file, no other database, no other role. Its settings come with each session
    and every session is reset after each call. Text is compared by code points, as SQLite and
    DuckDB do.
    """

    errors = (psycopg.Error, UnicodeError)

    def __init__(
        self, parameters: Parameters, limits: Limits, install_shims: Callable[[], None]
    ) -> None:
        settings = {**_SETTINGS, "statement_timeout": str(int(limits.seconds * 1000))}
        options = " ".join(
            f"-c {name}={value.replace(' ', '')}" for name, value in settings.items()
        )
        self._parameters = {**parameters, "options": options}
        self._limits = limits
        self._session = self._open_session()
        self._restore = self._truncate = ""
        self._analysed = self._commits = self._has_shims = False
        self._install_shims = install_shims
        self._session_scripts: tuple[str, ...] = ()

    @property
    def is_lost(self) -> bool:
        return bool(self._session.closed)

    def fill(self, setup: Setup) -> None:
        """Empty the database and run the scripts of a setup; where it holds their tables already,
        put other rows into these, in a third of the time."""
        tables, rows = split_generated_rows(setup)
        truncate = self._truncate if tables == self.tables and not self._analysed else ""
        self.tables, self._analysed, restore, self._restore = (), False, self._restore, ""
        self._commits = any(map(_ENDS_TRANSACTION.search, setup))
        self._session_scripts = tuple(s for s in setup if isinstance(s, SessionScript))
        if self._session_scripts and not self._has_shims:
            self._install_shims()
            self._has_shims = True
        scripts = (truncate, *rows) if truncate else (_EMPTY, *setup)
        self._session.execute("\n;".join(scripts).encode())
        if restore or not truncate:
            self._restore = self._build_sequence_reset()
        self.tables, self._truncate = tables, truncate or self._build_truncation(tables)

    def _build_truncation(self, tables: Setup) -> str:
        """The statement that empties the tables of a database which holds nothing else; the server
        gathers no statistics of them that other rows would be planned by."""
        if any(map(_NOT_EMPTIED.search, tables)):
            return ""
        names = [sql.Identifier(*row) for row in self._session.execute(_TABLES)]
        off = sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)")
        self._session.execute(sql.SQL(";").join(map(off.format, names)))
        statement = sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(
            sql.SQL(", ").join(names)
        )
        return statement.as_string() if names else ""

    def begin_call(self, statements: Sequence[str]) -> None:
        calls = self._commits and any(map(_CALLS.match, statements))
        if calls or any(map(_ENDS_TRANSACTION.search, statements)):
            self.is_dirty = True
            self._session.execute("SELECT 1")  # notices a server that has gone
        else:
            self._run_command(b"BEGIN")
        self._run_session_scripts()

    def _run_command(self, command: bytes) -> None:
        """Run a command without rows by libpq alone, in a third of the time of a cursor."""
        result = self._session.pgconn.exec_(command)
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)

    def _run_session_scripts(self) -> None:
        for script in self._session_scripts:
            self._session.execute(script.encode())

    def end_call(self) -> None:
        status = self._session.info.transaction_status
        if status != pq.TransactionStatus.IDLE:
            self._run_command(b"ROLLBACK")
        self._run_command(b"DISCARD ALL")
        if self._restore and not self.is_dirty:
            self._session.execute(self._restore.encode())

    def run_statement(self, sql: str, *, last: bool = True) -> StatementResult:
        result = postgres_rows.run_postgres_statement(self._session, sql, self._limits, last=last)
        if self._session.info.transaction_status == pq.TransactionStatus.IDLE:
            self.is_dirty = True  # it has ended the transaction: what it did stays
        return result

    def explain_query(self, sql: str) -> ResultTable:
        self._gather_statistics()
        return self.run_statement(f"EXPLAIN {sql}").table or ResultTable()

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
        self._gather_statistics()
        return measure_pages(lambda text: self.run_statement(text, last=False).table, sql)

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

    def close_session(self) -> None:
        self._session.close()

    def _open_session(self) -> Session:
        session = connect_postgres(self._parameters)
        postgres_rows.register_loaders(session)
        return session

    def _gather_statistics(self) -> None:
        """Gather statistics once per setup; otherwise autovacuum might do so at any time."""
        if self._analysed:
            return
        tables = [sql.Identifier(*row) for row in self._session.execute(_TABLES)]
        if tables:
            self._session.execute("ROLLBACK")
            names = sql.SQL(", ").join(tables)
            self._session.execute(sql.SQL("VACUUM (ANALYZE) {}").format(names))
            self._session.execute("BEGIN")
            self._run_session_scripts()
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


_NAME = "evalboard_slot_{}"
_LOCKS = 0x45564C42  # the first half of the advisory locks by which slots are claimed
#: How a database is made so that text compares by code points, by the first version that has it.
_KINDS: tuple[tuple[int, LiteralString], ...] = (
    (170_000, "STRATEGY file_copy LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"),
    (150_000, "STRATEGY file_copy LOCALE_PROVIDER libc"),
    (0, ""),
)


_PRODUCT = re.compile(r"\b(?:openGauss|GaussDB(?: Kernel)?|KingbaseES)[ \w.]*", re.IGNORECASE)


def name_server(text: str, version: str) -> str:
    """What a server is by its `version()`: a product after PostgreSQL with its own version, else
    PostgreSQL's `version`."""
    product = _PRODUCT.search(text)
    return product[0].strip() if product else version


class PostgresServer(DatabaseServer):
    errors = (psycopg.Error,)

    def __init__(self, parameters: Parameters, limits: Limits, lease: ServerLease | None) -> None:
        self._parameters, self._limits = parameters, limits
        try:
            super().__init__(connect_postgres(parameters), lease)
        except psycopg.Error as error:
            reason = str(error).strip().splitlines()[0].rsplit(": ", 1)[-1]
            raise EnvironmentFailure(Note("engine_postgres_connection", message=reason)) from None
        text = self._admin.execute("SELECT version()").fetchone()
        version = self._admin.info.parameter_status("server_version") or ""
        self.version = name_server(str(text[0]) if text else "", version)

    def explain_claim_failure(self, error: Exception) -> Exception:
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return EnvironmentFailure(Note("postgres_rights"))
        return ConnectionLost() if isinstance(error, psycopg.OperationalError) else error

    def lock_slot(self, number: int) -> bool:
        cursor = self._admin.execute("SELECT pg_try_advisory_lock(%s, %s)", (_LOCKS, number))
        row = cursor.fetchone()
        return bool(row and row[0])

    def list_slot_numbers(self) -> list[int]:
        beginning = _NAME.format("")
        query = "SELECT datname FROM pg_database WHERE starts_with(datname::text, %s)"
        names = (row[0] for row in self._admin.execute(query, (beginning,)))
        return [int(name[len(beginning) :]) for name in names]

    def drop_slot(self, number: int) -> None:
        name = sql.Identifier(_NAME.format(number))
        self._admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        self._admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(name))

    def create_slot(self, number: int) -> PostgresSlot:
        name, password = _NAME.format(number), secrets.token_hex(16)
        database = sql.Identifier(name)
        version = self._admin.info.server_version
        kind = next(text for since, text in _KINDS if version >= since)
        for command in (
            sql.SQL(
                "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD {}"
            ).format(database, sql.Literal(password)),
            sql.SQL("GRANT {} TO CURRENT_USER").format(database),
            sql.SQL(
                "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' "
                "LC_CTYPE 'C' {}"
            ).format(database, database, sql.SQL(kind)),
            sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database),
        ):
            self._admin.execute(command)
        own = {"dbname": name, "user": name, "password": password}
        install = partial(self._install_shims, name)
        return PostgresSlot({**self._parameters, **own}, self._limits, install)

    def _install_shims(self, name: str) -> None:
        """Make in a slot's database what products have that PostgreSQL lacks."""
        with connect_postgres({**self._parameters, "dbname": name}) as session:
            session.execute(build_shim_script().encode())
