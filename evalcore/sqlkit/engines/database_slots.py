"""Databases on a server: a slot for each, the server that gives slots, a pool of filled ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar

from evalcore.records import Record
from evalcore.sqlkit.engines import GeneratedScript, SessionScript, Status
from evalcore.sqlkit.engines.local_server import ServerLease
from evalcore.sqlkit.result_tables import ResultTable

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
    """What running a query took, in a unit of the engine, its plan, a line a step, and the rows
    that the operators of the plan visited."""

    unit: str
    amount: int
    plan: tuple[str, ...]
    visited: int = 0


class DatabaseSlot(ABC):
    """A database with a user who has rights in it alone, and a session of that user.

    Filling one costs a few milliseconds where creating one costs tens, so it is filled again for
    the next setup. `is_dirty` means that it is not what its setup made any more. `rows` are INSERTs
    to be loaded for the present call alone. `cancel_statement` and `cut_connection` are called from
    another thread: the first asks the server to end the statement, the second cuts the connection
    off.
    """

    errors: ClassVar[tuple[type[Exception], ...]]
    is_dirty: bool = False
    rows: Setup = ()

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

    def load_rows(self) -> None:
        """Run the INSERTs `rows`, which the end of the call undoes."""
        raise NotImplementedError

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

    @abstractmethod
    def close_session(self) -> None: ...


class DatabaseServer(ABC):
    """A session of an administrator on a server, who gives slots and takes them back.

    `lease` is the claim on a kept server, None for one by DSN.
    """

    version: str
    errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, admin: Any, lease: ServerLease | None) -> None:
        self._admin, self._lease = admin, lease
        self._claimed: dict[int, DatabaseSlot] = {}

    def claim_slot(self) -> DatabaseSlot:
        """A slot that nobody else has; raises ConnectionLost where the server has gone away and
        EnvironmentFailure where its user may not create one."""
        try:
            number = next(n for n in count(1) if n not in self._claimed and self.lock_slot(n))
            self.drop_slot(number)
            self._claimed[number] = slot = self.create_slot(number)
        except self.errors as error:
            raise self.explain_claim_failure(error) from None
        return slot

    def close(self) -> None:
        """Drop the claimed slots, and those of dead owners; safe to call twice."""
        for slot in self._claimed.values():
            slot.close_session()
        with suppress(*self.errors):  # a server that has gone holds nothing
            for number in self.list_slot_numbers():
                if number in self._claimed or self.lock_slot(number):
                    self.drop_slot(number)
        self._claimed.clear()
        with suppress(*self.errors):
            self._admin.close()
        if self._lease is not None:
            self._lease.close()

    @abstractmethod
    def lock_slot(self, number: int) -> bool:
        """Claim a slot's name for as long as this session lasts."""

    @abstractmethod
    def list_slot_numbers(self) -> list[int]: ...

    @abstractmethod
    def drop_slot(self, number: int) -> None: ...

    @abstractmethod
    def create_slot(self, number: int) -> DatabaseSlot: ...

    def can_load_rows(self, tables: Setup, statements: Sequence[str]) -> bool:
        """Whether rows that one call loads into a database of `tables` are gone when it ends, and
        its statements see them as if they were there before."""
        return False

    @abstractmethod
    def explain_claim_failure(self, error: Exception) -> Exception:
        """What to raise for an engine's error."""


#: Calls on a setup whose rows are loaded for each alone, before a slot is filled for good, which
#: costs as much as about so many loads; of many rows as much as two.
_LOADS, _LOADS_OF_MANY = 8, 1
_MANY_CHARACTERS, _MAX_LOADED_CHARACTERS = 20_000, 1_000_000
_MAX_COUNTED = 4096  # setups whose calls are counted


class DatabasePool:
    """The slots of one engine by the setup that they hold; not for use by several threads."""

    def __init__(self, claim_slot: Callable[[], DatabaseSlot]) -> None:
        self._claim_slot = claim_slot
        self._filled: OrderedDict[Setup, DatabaseSlot] = OrderedDict()
        self._empty: list[DatabaseSlot] = []
        self._loads: OrderedDict[int, int] = OrderedDict()

    def split_rarely_used(self, setup: Setup) -> tuple[Setup, Setup] | None:
        """The tables and the rows of a setup that has not been asked for often enough to fill a
        slot with it; None where it has, or no generated rows end it."""
        start = len(setup)
        while start and _is_generated_row_script(setup[start - 1]):
            start -= 1
        size = sum(map(len, setup[start:]))
        if start == len(setup) or size > _MAX_LOADED_CHARACTERS:
            return None
        key = hash(setup)
        loads = self._loads.pop(key, 0)
        if loads >= (_LOADS if size <= _MANY_CHARACTERS else _LOADS_OF_MANY):
            return None
        self._loads[key] = loads + 1
        if len(self._loads) > _MAX_COUNTED:
            self._loads.popitem(last=False)
        return setup[:start], setup[start:]

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


def _is_generated_row_script(script: str) -> bool:
    return isinstance(script, GeneratedScript) and not isinstance(script, SessionScript)
