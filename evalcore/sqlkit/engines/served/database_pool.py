"""Databases on a server that are claimed, filled from a setup, used, and filled again.

A slot is a database with a user who has rights in it alone, and a session of that user. Filling one
costs a few milliseconds where creating one costs tens, so a server keeps a number of them and gives
the one that was used longest ago to the next setup.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from evalcore.records import Record
from evalcore.sqlkit.engines.base import Status
from evalcore.sqlkit.table import ResultTable

Setup = tuple[str, ...]
CAPACITY = 48


class ConnectionLost(Exception):
    """The server went away, of its own or with the statement that ran on it."""


class StatementResult(Record, frozen=True):
    """What a statement gave: its tables (a procedure can give several) and the rows it changed."""

    tables: tuple[ResultTable, ...] = ()
    affected: int | None = None

    @property
    def table(self) -> ResultTable | None:
        return self.tables[-1] if self.tables else None


class QueryCost(Record, frozen=True):
    """What running a query took, in a unit of the engine, and its plan, a line a step."""

    unit: str
    amount: int
    plan: tuple[str, ...]


class DatabaseSlot(ABC):
    """One database with its session. `is_dirty` means that it is not what its setup made any more.

    `cancel_statement` and `cut_connection` are called from another thread: the first asks the
    server to end the statement, the second cuts the connection off.
    """

    errors: ClassVar[tuple[type[Exception], ...]]
    is_dirty: bool = False

    @property
    @abstractmethod
    def is_lost(self) -> bool:
        """Whether the session is gone."""

    @abstractmethod
    def fill(self, setup: Setup) -> None:
        """Empty the database and run the scripts of a setup."""

    @abstractmethod
    def begin_call(self, statements: Sequence[str]) -> None:
        """Get ready for the statements of one call."""

    @abstractmethod
    def end_call(self) -> None:
        """Undo what they did, or mark the slot as spoiled; nothing of the session stays."""

    @abstractmethod
    def run_statement(self, sql: str, *, last: bool = True) -> StatementResult:
        """Run one statement; rows over the limits are left behind if it is the last of its call."""

    @abstractmethod
    def explain_query(self, sql: str) -> ResultTable:
        """The engine's plan."""

    @abstractmethod
    def parse_statement(self, sql: str) -> None:
        """Raise the engine's error if its parser refuses the text; nothing is run."""

    @abstractmethod
    def measure_query(self, sql: str) -> QueryCost:
        """Run a query with fresh statistics and count what it took."""

    @abstractmethod
    def build_table_query(self, table: str) -> str:
        """The query for all rows of a table as its name was written in the DDL."""

    @abstractmethod
    def classify_error(self, error: Exception, sql: str) -> Status:
        """The word for an engine's error."""

    @abstractmethod
    def format_error(self, error: Exception) -> str:
        """The engine's words, without what belongs to this server alone."""

    @abstractmethod
    def renew_session(self) -> None:
        """Replace the session by a new one."""

    @abstractmethod
    def cancel_statement(self) -> None: ...

    @abstractmethod
    def cut_connection(self) -> None: ...


class DatabaseServer(Protocol):
    """An administrator's session on a server."""

    version: str

    def claim_slot(self) -> DatabaseSlot:
        """A slot that nobody else has; raises Gone where the server does not answer any more."""

    def close(self) -> None:
        """Drop the claimed slots, and those of dead owners; safe to call twice."""


class DatabasePool:
    """The slots of one engine by the setup that they hold; not for use by several threads."""

    def __init__(self, claim_slot: Callable[[], DatabaseSlot]) -> None:
        self._claim_slot = claim_slot
        self._filled: OrderedDict[Setup, DatabaseSlot] = OrderedDict()
        self._empty: list[DatabaseSlot] = []

    def find_slot(self, setup: Setup) -> DatabaseSlot | None:
        """The slot that holds a setup."""
        slot = self._filled.get(setup)
        if slot is not None:
            self._filled.move_to_end(setup)
        return slot

    def take_slot(self) -> DatabaseSlot:
        """A slot to fill; `put_filled` or `put_empty` gives it back."""
        if self._empty:
            return self._empty.pop()
        if len(self._filled) >= CAPACITY:
            return self._filled.popitem(last=False)[1]
        return self._claim_slot()

    def put_filled(self, setup: Setup, slot: DatabaseSlot) -> None:
        self._filled[setup] = slot

    def put_empty(self, slot: DatabaseSlot) -> None:
        self._empty.append(slot)

    def mark_dirty(self, setup: Setup) -> None:
        """A slot whose content was changed waits to be filled anew."""
        self._empty.append(self._filled.pop(setup))
