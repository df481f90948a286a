"""The child-side half that all engines share: stages, result caps and the naming of errors.

Runs inside the worker process only; an engine's module adds its connection and its locks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Generic, TypeVar

from evalcore.sqlkit.engines.base import Execution, Limits, Stage, Status
from evalcore.sqlkit.table import ResultTable, json_value

Connection = TypeVar("Connection")
Outcome = tuple[ResultTable | None, int | None]
_BATCH = 256
_MESSAGE = 1000


class Refused(Exception):
    """A statement against the rules of the sandbox, found before the engine runs it."""


class Backend(ABC, Generic[Connection]):
    """A service of `evalcore.sandbox.child`: requests are {"op", "setup", "sql", "state_of"}."""

    errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.about: dict[str, Any] = {}

    @abstractmethod
    def database(self) -> AbstractContextManager[Connection]:
        """A fresh database whose use is interrupted after `limits.seconds`."""

    @abstractmethod
    def run_script(self, connection: Connection, script: str) -> None:
        """Run all statements of a setup script."""

    @abstractmethod
    def run(self, connection: Connection, sql: str) -> Outcome:
        """Run one statement: its rows and the number of rows it changed."""

    @abstractmethod
    def plan(self, connection: Connection, sql: str) -> Outcome:
        """The engine's plan as a table."""

    @abstractmethod
    def parse(self, connection: Connection, sql: str) -> Outcome:
        """Nothing, or the engine's error."""

    @abstractmethod
    def status_of(self, error: Exception) -> Status:
        """The word for an engine's error."""

    def __call__(self, request: Mapping[str, Any]) -> Execution:
        stage: Stage = "statement"
        try:
            with self.database() as connection:
                stage = "setup"
                for script in request.get("setup", ()):
                    self.run_script(connection, script)
                stage = "statement"
                operations = {"execute": self.run, "explain": self.plan, "syntax": self.parse}
                table, affected = operations[request.get("op", "execute")](
                    connection, request.get("sql", "SELECT 1")
                )
                if request.get("state_of"):
                    stage = "state"
                    table, _ = self.run(connection, content_of(request["state_of"]))
        except Refused as error:
            return Execution(status="forbidden", message=str(error), stage=stage)
        except self.errors as error:
            status = self.status_of(error)
            return Execution(status=status, message=str(error)[:_MESSAGE], stage=stage)
        return Execution(status="ok", table=table, affected=affected)


def content_of(table: str) -> str:
    """The query for all rows of a table, whatever characters its name holds."""
    return 'SELECT * FROM "' + table.replace('"', '""') + '"'  # noqa: S608 - quoted as it must be


def fetch_table(
    columns: Sequence[str], fetch: Callable[[int], Sequence[Sequence[Any]]], limits: Limits
) -> ResultTable:
    """Rows by batches until there are no more or a cap is reached; the rest is never made."""
    rows: list[tuple[Any, ...]] = []
    room = limits.bytes
    for raw in _batches(fetch):
        row = tuple(json_value(cell) for cell in raw)
        room -= sum(map(_size, row)) + 2
        if len(rows) == limits.rows or room < 0:
            return ResultTable(columns=tuple(columns), rows=tuple(rows), truncated=True)
        rows.append(row)
    return ResultTable(columns=tuple(columns), rows=tuple(rows))


def _batches(fetch: Callable[[int], Sequence[Sequence[Any]]]) -> Iterator[Sequence[Any]]:
    while batch := fetch(_BATCH):
        yield from batch


def _size(value: Any) -> int:
    """About as many bytes as the JSON of a value has; exact enough for a cap."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace")) + 3
    if isinstance(value, list):
        return 3 + sum(map(_size, value))
    if isinstance(value, dict):
        return 3 + sum(_size(name) + _size(item) for name, item in value.items())
    return len(str(value)) + 1 if isinstance(value, int) else 18
