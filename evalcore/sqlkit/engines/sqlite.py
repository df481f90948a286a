"""SQLite inside its worker process: in-memory databases behind an authorizer.

The authorizer names what is allowed, so a feature nobody thought of is refused. The progress
handler stops a statement between two steps of the engine; a single step that never ends (a huge
printf) is stopped by the parent's kill. SQLite's own limits cap lengths, depths and pages.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evalcore.sqlkit.engines import Limits, Status
from evalcore.sqlkit.engines.backend import Backend, BackendResult, fetch_table
from evalcore.sqlkit.result_tables import ResultTable

_ACTIONS = (
    "SELECT READ RECURSIVE FUNCTION INSERT UPDATE DELETE TRANSACTION SAVEPOINT ANALYZE REINDEX "
    "ALTER_TABLE CREATE_TABLE CREATE_INDEX CREATE_VIEW CREATE_TRIGGER CREATE_TEMP_TABLE "
    "CREATE_TEMP_INDEX CREATE_TEMP_VIEW CREATE_TEMP_TRIGGER DROP_TABLE DROP_INDEX DROP_VIEW "
    "DROP_TRIGGER DROP_TEMP_TABLE DROP_TEMP_INDEX DROP_TEMP_VIEW DROP_TEMP_TRIGGER"
)
_ALLOWED = frozenset(getattr(sqlite3, f"SQLITE_{action}") for action in _ACTIONS.split())
_REFUSED_FUNCTIONS = frozenset(
    ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer")
)
_LIMITS = {
    "ATTACHED": 0,
    "TRIGGER_DEPTH": 100,
    "LIKE_PATTERN_LENGTH": 1000,
    "WORKER_THREADS": 0,
    "EXPR_DEPTH": 500,
}
_STEPS_BETWEEN_CHECKS = 5_000
_STEPS_COUNTED = 20
_PAGE = 4096
_READING = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|VALUES|WITH|EXPLAIN)\b", re.I | re.S
)

_STATUS: dict[int, Status] = {
    sqlite3.SQLITE_AUTH: "forbidden",
    sqlite3.SQLITE_INTERRUPT: "timeout",
    sqlite3.SQLITE_NOMEM: "memory",
    sqlite3.SQLITE_TOOBIG: "memory",
    sqlite3.SQLITE_FULL: "memory",
}
#: Refusals that carry no error code of their own.
_FORBIDDEN = ("one statement at a time", "not authorized")
#: What the parser itself says; every other message is about meaning.
_SYNTAX = re.compile(
    r"""near\ ".*":\ syntax\ error | incomplete\ input | unrecognized\ token:
      | unknown\ join\ type: | a\ JOIN\ clause\ is\ required\ before
      | (?:ORDER\ BY|LIMIT)\ clause\ should\ come\ after
      | embedded\ null\ character""",
    re.VERBOSE | re.DOTALL,
)


class SqliteBackend(Backend[sqlite3.Connection]):
    """See `Backend`. The progress handler interrupts it at the deadline of the call."""

    errors = (sqlite3.Error, sqlite3.Warning, ValueError)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.about = {"version": sqlite3.sqlite_version}
        self._changes = 0  # SQLite's count of changed rows when a call began

    def create_database(self, name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA temp_store = MEMORY")
        # trusted_schema stays on: SQLite 3.40 takes its JSON functions in a CHECK for unsafe;
        # the authorizer has the last word on every function, those of a schema included
        pages = self.limits.memory_mb * 500_000 // _PAGE  # half, as the rest is for results
        connection.execute(f"PRAGMA max_page_count = {pages}")
        for limit, value in (_LIMITS | {"LENGTH": self.limits.bytes}).items():
            connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{limit}"), value)
        connection.set_authorizer(_authorize_action)
        return connection

    def discard(self, connection: sqlite3.Connection) -> None:
        connection.close()

    @contextmanager
    def enforce_time_limit(self, connection: sqlite3.Connection) -> Iterator[None]:
        deadline = time.monotonic() + self.limits.seconds
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)
        self._changes = connection.total_changes
        yield

    def run_script(self, connection: sqlite3.Connection, script: str) -> None:
        connection.executescript(script)

    def run_statement(self, connection: sqlite3.Connection, sql: str) -> BackendResult:
        cursor = connection.execute(sql)
        table = _fetch_cursor_table(cursor, self.limits) if cursor.description else None
        return table, cursor.rowcount if cursor.rowcount >= 0 else None

    def is_read_only(self, connection: sqlite3.Connection, sql: str) -> bool:
        """By its first word, and for WITH, which may also change rows, by SQLite's own count."""
        unchanged = connection.total_changes == self._changes and not connection.in_transaction
        return unchanged and _READING.match(sql) is not None

    def explain_query(self, connection: sqlite3.Connection, sql: str) -> BackendResult:
        cursor = connection.execute(f"EXPLAIN QUERY PLAN {sql}")
        rows = [(row[0], row[1], row[3]) for row in cursor]
        return ResultTable.from_rows(("id", "parent", "detail"), rows), None

    def measure_query(self, connection: sqlite3.Connection, sql: str) -> BackendResult:
        """Steps of SQLite's virtual machine, in units of the handler that counts them."""
        plan, _ = self.explain_query(connection, sql)
        deadline, counted = time.monotonic() + self.limits.seconds, 0

        def count_step() -> bool:
            nonlocal counted
            counted += 1
            return time.monotonic() > deadline

        connection.set_progress_handler(count_step, _STEPS_COUNTED)
        self.run_statement(connection, sql)
        lines = [(f"{'  ' * depth}{detail}",) for depth, detail in _iter_indented_steps(plan)]
        return ResultTable.from_rows(("plan",), lines), counted * _STEPS_COUNTED

    def parse_statement(self, connection: sqlite3.Connection, sql: str) -> BackendResult:
        """Compile each statement under EXPLAIN, which prepares it and runs nothing.

        SQLite looks up the table of ALTER TABLE and CREATE TRIGGER before it has read the rest, so
        for these, where the table is unknown, an error further on stays unseen.
        """
        for statement in _split_sqlite_script(sql):
            prefix = "" if statement.lstrip().lower().startswith("explain") else "EXPLAIN "
            try:
                connection.execute(prefix + statement)
            except self.errors as error:
                if self.classify_error(error) not in ("error", "forbidden"):
                    raise
        return None, None

    def classify_error(self, error: Exception) -> Status:
        message = str(error)
        if any(text in message for text in _FORBIDDEN):
            return "forbidden"
        if _SYNTAX.match(message):
            return "syntax_error"
        return _STATUS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "error")


def open_backend(options: Mapping[str, Any]) -> SqliteBackend:
    """The service of the worker process; `options` are the fields of `Limits`."""
    return SqliteBackend(Limits(**options))


def _iter_indented_steps(plan: ResultTable | None) -> Iterator[tuple[int, str]]:
    """The lines of a plan of (id, parent, detail), each with its depth."""
    depths: dict[int, int] = {}
    for step_id, parent, detail in plan.rows if plan else ():
        depths[step_id] = depths.get(parent, -1) + 1
        yield depths[step_id], detail


def _authorize_action(action: int, _first: Any, second: Any, *_: Any) -> int:
    if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _fetch_cursor_table(cursor: sqlite3.Cursor, limits: Limits) -> ResultTable:
    names = [column[0] for column in cursor.description]
    return fetch_table(names, cursor.fetchmany, limits)


def _split_sqlite_script(script: str) -> Iterator[str]:
    """The statements of a script, cut where SQLite itself says that one is complete."""
    begin = 0
    for position, character in enumerate(script):
        if character == ";" and sqlite3.complete_statement(script[begin : position + 1]):
            yield script[begin : position + 1]
            begin = position + 1
    if script[begin:].strip():
        yield script[begin:]
