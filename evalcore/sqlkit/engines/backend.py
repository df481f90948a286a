"""The child-side half that all engines share: prepared databases, stages, result caps, errors.

Runs inside the worker process only; an engine's module adds its connection and its locks. The
database of a setup is kept for the next statement on it, until one may have changed something.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from evalcore.records import content_hash
from evalcore.sqlkit.engines import Execution, Limits, Stage, Status
from evalcore.sqlkit.result_tables import ResultTable, to_json_cell

Connection = TypeVar("Connection")
BackendResult = tuple[ResultTable | None, int | None]
_BATCH = 256
_MESSAGE = 1000
_MAX_DATABASES = 64  # prepared databases
_EACH_SECONDS, _EACH_ROWS = 0.15, 5_000  # of one request for several databases


def compute_setup_key(setup: Sequence[str]) -> str:
    """The name under which the database of a setup is kept."""
    return content_hash(list(setup))


class ForbiddenStatement(Exception):
    """A statement against the rules of the sandbox, found before the engine runs it."""


class Backend(ABC, Generic[Connection]):
    """A service of `evalcore.sandbox.worker_process`.

    Requests are {"op", "setup", "sql", "state_of", "probes", "script"}, as `base.Engine` has them;
    op "measure" answers with the amount of work as `affected` and the plan as the table. Op
    "execute_each" has `databases` for `setup`: see `_execute_each`.
    """

    errors: ClassVar[tuple[type[Exception], ...]]
    mark: ClassVar[str] = '"'  # what quotes a name

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.about: dict[str, Any] = {}
        self._connections: OrderedDict[str, Connection] = OrderedDict()

    @abstractmethod
    def create_database(self, name: str) -> Connection:
        """A fresh, empty database."""

    @abstractmethod
    def discard(self, connection: Connection) -> None:
        """Forget a database with all it holds."""

    @abstractmethod
    def enforce_time_limit(self, connection: Connection) -> AbstractContextManager[None]:
        """Whatever runs within is interrupted after `limits.seconds`."""

    @abstractmethod
    def run_script(self, connection: Connection, script: str) -> None:
        """Run all statements of a script."""

    @abstractmethod
    def run_statement(self, connection: Connection, sql: str) -> BackendResult:
        """Run one statement: its rows and the number of rows it changed."""

    @abstractmethod
    def is_read_only(self, connection: Connection, sql: str) -> bool:
        """Whether a statement, run already, can have left nothing behind."""

    @abstractmethod
    def explain_query(self, connection: Connection, sql: str) -> BackendResult:
        """The engine's plan as a table."""

    @abstractmethod
    def measure_query(self, connection: Connection, sql: str) -> BackendResult:
        """Run a query; its plan as a table of one column, and the amount of work it took."""

    @abstractmethod
    def parse_statement(self, connection: Connection, sql: str) -> BackendResult:
        """Nothing, or the engine's error."""

    @abstractmethod
    def classify_error(self, error: Exception) -> Status:
        """The word for an engine's error."""

    def open_statement_scope(
        self, connection: Connection, request: Mapping[str, Any]
    ) -> AbstractContextManager[None]:
        """Around the statement and its probes; an engine may begin and undo a transaction here."""
        return self.enforce_time_limit(connection)

    def is_unchanged(
        self, connection: Connection, request: Mapping[str, Any], failed: bool
    ) -> bool:
        """Whether the database is as its setup made it, after the statement and its probes."""
        if request.get("op") == "syntax":
            return not failed
        statements = (request.get("sql", "SELECT 1"), *request.get("probes", ()))
        return not failed and all(self.is_read_only(connection, sql) for sql in statements)

    def __call__(self, request: Mapping[str, Any]) -> Execution | list[tuple[Execution, bool]]:
        if request.get("op") == "execute_each":
            return self._execute_each(request)
        return self._run_request(request, compute_setup_key(request.get("setup", ())))

    def _execute_each(self, request: Mapping[str, Any]) -> list[tuple[Execution, bool]]:
        """Run a statement on `databases`, each (key, setup), with whether it is kept afterwards.

        The setup of one that is kept may be left out. Ends early, after the first at the soonest,
        when much time has passed or much was read, and before a database that is kept no more.
        """
        start = time.perf_counter()
        done: list[tuple[Execution, bool]] = []
        rows = 0
        for key, setup in request["databases"]:
            before = time.perf_counter()
            if rows > _EACH_ROWS or before - start > _EACH_SECONDS:
                break
            if setup is None and key not in self._connections:
                break
            one = {**request, "op": "execute", "setup": setup or ()}
            execution = self._run_request(one, key)
            elapsed = time.perf_counter() - before
            done.append(
                (msgspec.structs.replace(execution, elapsed=elapsed), key in self._connections)
            )
            tables = (execution.table, *execution.probed)
            rows += sum(len(table.rows) for table in tables if table is not None)
        return done

    def _run_request(self, request: Mapping[str, Any], name: str) -> Execution:
        stage: Stage = "setup"
        failed = True
        connection = self._connections.pop(name, None)
        try:
            if connection is None:
                connection = self.create_database(name)
                with self.enforce_time_limit(connection):
                    for script in request.get("setup", ()):
                        self.run_script(connection, script)
            stage = "statement"
            with self.open_statement_scope(connection, request):
                table, affected = self._run_operation(connection, request)
                stage = "state"
                if request.get("state_of"):
                    table, _ = self.run_statement(
                        connection, build_table_query(request["state_of"], self.mark)
                    )
                probed = [
                    self.run_statement(connection, probe)[0] for probe in request.get("probes", ())
                ]
            failed = False
        except ForbiddenStatement as error:
            return Execution(status="forbidden", message=str(error), stage=stage)
        except self.errors as error:
            status = self.classify_error(error)
            return Execution(status=status, message=self.format_error(error), stage=stage)
        finally:
            if connection is not None:
                setup_done = stage != "setup"
                clean = setup_done and self.is_unchanged(connection, request, failed)
                self._release_connection(name, connection, clean)
        probed_tables = tuple(table for table in probed if table is not None)
        return Execution(status="ok", table=table, affected=affected, probed=probed_tables)

    def format_error(self, error: Exception) -> str:
        return str(error)[:_MESSAGE]

    def _run_operation(self, connection: Connection, request: Mapping[str, Any]) -> BackendResult:
        sql = request.get("sql", "SELECT 1")
        if request.get("script"):
            self.run_script(connection, sql)
            return None, None
        operations = {
            "execute": self.run_statement,
            "explain": self.explain_query,
            "measure": self.measure_query,
            "syntax": self.parse_statement,
        }
        return operations[request.get("op", "execute")](connection, sql)

    def _release_connection(self, name: str, connection: Connection, clean: bool) -> None:
        if not clean:
            self.discard(connection)
            return
        self._connections[name] = connection
        if len(self._connections) > _MAX_DATABASES:
            self.discard(self._connections.popitem(last=False)[1])


def build_table_query(table: str, mark: str) -> str:
    """The query for all rows of a table, whatever characters its name holds."""
    return f"SELECT * FROM {mark}{table.replace(mark, mark * 2)}{mark}"  # noqa: S608 - quoted


def fetch_table(
    columns: Sequence[str], fetch: Callable[[int], Sequence[Sequence[Any]]], limits: Limits
) -> ResultTable:
    """Rows by batches until there are no more or a cap is reached; the rest is never made."""
    rows: list[tuple[Any, ...]] = []
    decimals: set[int] = set()
    truncated = False
    room = limits.bytes
    for raw in _iter_fetched_rows(fetch):
        row = tuple(to_json_cell(cell) for cell in raw)
        room -= sum(map(_estimate_json_size, row)) + 2
        truncated = len(rows) == limits.rows or room < 0
        if truncated:
            break
        rows.append(row)
        decimals.update(index for index, cell in enumerate(raw) if isinstance(cell, Decimal))
    return ResultTable(
        columns=tuple(columns),
        rows=tuple(rows),
        truncated=truncated,
        decimals=tuple(sorted(decimals)),
    )


def _iter_fetched_rows(fetch: Callable[[int], Sequence[Sequence[Any]]]) -> Iterator[Sequence[Any]]:
    while batch := fetch(_BATCH):
        yield from batch


def _estimate_json_size(value: Any) -> int:
    """About as many bytes as the JSON of a value has; exact enough for a cap."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace")) + 3
    if isinstance(value, list):
        return 3 + sum(map(_estimate_json_size, value))
    if isinstance(value, dict):
        return 3 + sum(
            _estimate_json_size(name) + _estimate_json_size(item) for name, item in value.items()
        )
    return len(str(value)) + 1 if isinstance(value, int) else 18
