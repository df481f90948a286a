"""DuckDB inside its worker process: one locked instance, a new in-memory database per call.

The instance is made before the process gives up its rights, with file access, extensions and Python
lookups off, one thread, capped memory, no spilling to disk, and its configuration locked. Each call
attaches a fresh database under the usual name and drops the last one, which takes under a
millisecond. A watchdog interrupts a statement at its deadline; a single kernel that never looks up
(repeat of a billion) is stopped by the parent's kill.
"""

from __future__ import annotations

import json
import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from types import ModuleType
from typing import Any

import duckdb

from evalcore.sandbox.worker_process import Watch, Watchdog
from evalcore.sqlkit.engines import Limits, Status
from evalcore.sqlkit.engines.backend import Backend, BackendResult, ForbiddenStatement, fetch_table
from evalcore.sqlkit.result_tables import ResultTable

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "threads": 1,
    "async_threads": 0,
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
}
_LOCK = ("SET TimeZone = 'UTC'", "SET lock_configuration = true")
#: Names of DuckDB's statement types; MULTI is a PIVOT that first creates its type.
_QUERYING = frozenset(("SELECT", "MULTI"))
_READING = frozenset(("SELECT", "EXPLAIN"))
_CHANGING = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE_INTO"))
_ALLOWED = _QUERYING | _CHANGING | frozenset(("CREATE", "DROP", "ALTER", "TRANSACTION"))
_INTERRUPT_SECONDS = 0.05
_MAX_EXTRACTED = 64  # texts whose parsed statements are remembered
_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
#: One value of every type whose conversion to Python loads something at its first use.
_WARM_UP = """SELECT 1::DECIMAL(9,2), DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00',
    TIMESTAMPTZ '2024-01-01 10:00:00+02', TIME '10:00:00', TIMETZ '10:00:00+02', INTERVAL 1 DAY,
    uuid(), 'ab'::BLOB, [1, 2], {'a': 1}, MAP {'a': 1}, 1::HUGEINT, '101'::BIT, '{}'::JSON"""

_STATUS: tuple[tuple[type[Exception], Status], ...] = (
    (duckdb.ParserException, "syntax_error"),
    (duckdb.SyntaxException, "syntax_error"),
    (duckdb.PermissionException, "forbidden"),
    (duckdb.InterruptException, "timeout"),
    (duckdb.OutOfMemoryException, "memory"),
)
#: What a class does not tell: too deep an expression is no syntax error.
_STATUS_BY_TEXT: dict[str, Status] = {
    "bad_alloc": "memory",
    "could not allocate block": "memory",
    "expression depth limit": "error",
    "has been locked": "forbidden",
}


class DuckdbBackend(Backend[duckdb.DuckDBPyConnection]):
    """See `Backend`. Half of the memory is the engine's own budget, the rest is for results."""

    errors = (duckdb.Error, RuntimeError, UnicodeError)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        sys.modules["pytz"] = _build_pytz_stub()
        config = {**_CONFIG, "memory_limit": f"{limits.memory_mb // 2}MB"}
        self._root = duckdb.connect(":memory:", config=config)
        for statement in (*_LOCK, _WARM_UP):
            self._root.execute(statement).fetchall()
        self._watchdog = Watchdog(start=True)
        self._watch: Watch | None = None
        self._names: dict[int, str] = {}
        self._statements: OrderedDict[str, list[duckdb.Statement]] = OrderedDict()
        self.about = {"version": duckdb.__version__}

    def create_database(self, name: str) -> duckdb.DuckDBPyConnection:
        try:
            self._root.execute(f"ATTACH ':memory:' AS d{name}")
            connection = self._root.cursor()
            connection.execute(f"USE d{name}")
        except duckdb.Error as error:
            raise BrokenInstance(str(error)) from error
        self._names[id(connection)] = f"d{name}"
        return connection

    def discard(self, connection: duckdb.DuckDBPyConnection) -> None:
        name = self._names.pop(id(connection))
        connection.close()
        try:
            self._root.execute(f"DETACH {name}")
        except duckdb.Error as error:
            raise BrokenInstance(str(error)) from error

    @contextmanager
    def enforce_time_limit(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        def interrupt() -> Iterator[float]:
            while True:  # an interrupt between two statements of a call is lost
                connection.interrupt()
                yield _INTERRUPT_SECONDS

        with self._watchdog.watch_call(self.limits.seconds, interrupt) as self._watch:
            yield

    def run_script(self, connection: duckdb.DuckDBPyConnection, script: str) -> None:
        for statement in _check_statements(connection.extract_statements(script)):
            connection.execute(statement)

    def run_statement(self, connection: duckdb.DuckDBPyConnection, sql: str) -> BackendResult:
        table, affected = None, None
        for statement in _check_statements(self._extract_statements(sql)):
            result = connection.execute(statement)
            names = [column[0] for column in result.description or ()]
            table = fetch_table(names, result.fetchmany, self.limits)
            kind = statement.type.name
            if kind in _CHANGING:
                counted = names == ["Count"] and not _RETURNING.search(sql)
                affected = table.rows[0][0] if counted else len(table.rows)
                table = None if counted else table
            elif kind not in _QUERYING:
                table = None
        return table, affected

    def is_read_only(self, connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
        """Decide by the statement's type; an open transaction is not read-only."""
        statements = self._extract_statements(sql)
        return bool(statements) and all(s.type.name in _READING for s in statements)

    def _extract_statements(self, sql: str) -> list[duckdb.Statement]:
        """The statements of a text, remembered for its run on the next database: a parsed statement
        belongs to no connection."""
        statements = self._statements.pop(sql, None)
        if statements is None:
            statements = self._root.extract_statements(sql)
        self._statements[sql] = statements
        if len(self._statements) > _MAX_EXTRACTED:
            self._statements.popitem(last=False)
        return statements

    def explain_query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> BackendResult:
        _check_statements(self._extract_statements(sql))
        result = connection.execute(f"EXPLAIN {sql}")
        return ResultTable.from_rows(("explain_key", "explain_value"), result.fetchall()), None

    def measure_query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> BackendResult:
        """Rows that the operators of the plan passed on and, of scans, looked at."""
        _check_statements(self._extract_statements(sql))
        analyzed = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}").fetchall()
        steps = list(_iter_plan_steps(json.loads(analyzed[0][1]).get("operator", ())))
        lines = [(f"{'  ' * depth}{kind}: {rows}",) for depth, kind, rows in steps]
        return ResultTable.from_rows(("plan",), lines), sum(rows for _, _, rows in steps)

    def parse_statement(self, connection: duckdb.DuckDBPyConnection, sql: str) -> BackendResult:
        try:
            connection.extract_statements(sql)
        except self.errors as error:
            if self.classify_error(error) != "error":
                raise
        return None, None

    def classify_error(self, error: Exception) -> Status:
        if self._watch is not None and self._watch.fired:
            return "timeout"
        for text, status in _STATUS_BY_TEXT.items():
            if text in str(error):
                return status
        return next((status for kind, status in _STATUS if isinstance(error, kind)), "error")


class BrokenInstance(Exception):
    """An earlier statement left the instance unusable: this process must be replaced."""


def _iter_plan_steps(
    operators: Iterable[Mapping[str, Any]], depth: int = 0
) -> Iterator[tuple[int, str, int]]:
    """The operators of an analysed plan: depth, name, rows looked at and passed on."""
    for operator in operators:
        rows = operator.get("intermediate_rows", 0) + operator.get("operator_rows_scanned", 0)
        yield depth, str(operator.get("type", "")), int(rows)
        yield from _iter_plan_steps(operator.get("children", ()), depth + 1)


def open_backend(options: Mapping[str, Any]) -> DuckdbBackend:
    """The service of the worker process; `options` are the fields of `Limits`."""
    return DuckdbBackend(Limits(**options))


def _check_statements(statements: list[duckdb.Statement]) -> list[duckdb.Statement]:
    """The statements as DuckDB's own parser cut them; raises ForbiddenStatement for any but the
    allowed."""
    for statement in statements:
        if statement.type.name not in _ALLOWED:
            raise ForbiddenStatement(f"{statement.type.name} statements are not run")
    return statements


class _Utc(tzinfo):
    """UTC as the library pytz presents it."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "UTC"

    def localize(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=self)


def _build_pytz_stub() -> ModuleType:
    """What DuckDB asks the library pytz for: the zone of the session, which is always UTC here."""
    module = ModuleType("pytz")
    module.timezone = lambda name: _Utc()  # type: ignore[attr-defined]
    return module
