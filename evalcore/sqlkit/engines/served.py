"""An engine whose databases lie on a server: its slots, the statement's clock, the engine."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, ClassVar, TypeVar

import msgspec

from evalcore.sandbox.worker_process import Watchdog
from evalcore.sqlkit.engines import (
    Execution,
    Limits,
    QueryCost,
    Stage,
    StatementResult,
    Status,
    Work,
    split_generated_rows,
)
from evalcore.sqlkit.engines.guard import MAX_SQL_CHARACTERS, GuardedEngine, split_script
from evalcore.sqlkit.engines.local_server import ServerLease
from evalcore.sqlkit.result_tables import ResultTable

Setup = tuple[str, ...]
CAPACITY = 48


class ConnectionLost(Exception):
    """The server went away, of its own or with the statement that ran on it."""


class DatabaseSlot(ABC):
    """A database with a user who has rights in it alone, and a session of that user.

    Filling one costs a few milliseconds where creating one costs tens, so it is filled again for
    the next setup. `is_dirty` means that it is not what its setup made any more. `tables` are the
    scripts of the tables that a filled one holds, `rows` INSERTs to be loaded for the present call
    alone. `cancel_statement` and `cut_connection` are called from another thread: the first asks
    the server to end the statement, the second cuts the connection off.
    """

    errors: ClassVar[tuple[type[Exception], ...]]
    is_dirty: bool = False
    tables: Setup = ()
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
        """The word for an engine's error; raises ConnectionLost for one of the connection."""

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
        tables, rows = split_generated_rows(setup)
        size = sum(map(len, rows))
        if not rows or size > _MAX_LOADED_CHARACTERS:
            return None
        key = hash(setup)
        loads = self._loads.pop(key, 0)
        if loads >= (_LOADS if size <= _MANY_CHARACTERS else _LOADS_OF_MANY):
            return None
        self._loads[key] = loads + 1
        if len(self._loads) > _MAX_COUNTED:
            self._loads.popitem(last=False)
        return tables, rows

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


#: Seconds that the server's own limit gets to act first; then between two cancels; then to give up.
_GRACE, _AGAIN, _CANCELS = 0.1, 0.1, 4


def _stop_statement(slot: DatabaseSlot) -> Iterator[float]:
    """Cancel the statement of a slot, and cut its connection if that is ignored."""
    for _ in range(_CANCELS):
        slot.cancel_statement()
        yield _AGAIN
    slot.cut_connection()


_TIMEOUT_MESSAGE = "the statement was ended at its time limit"
Result = TypeVar("Result")


class _CallEnded(Exception):
    """A call that ended before its end."""

    def __init__(self, status: Status, message: str, stage: Stage) -> None:
        self.execution = Execution(status=status, message=message, stage=stage)


class ServedEngine(GuardedEngine):
    """An `Engine` whose databases are on a server, which `connect` opens on first use.

    A statement is guarded, gets the slot with its setup (filled now if there is none), runs under
    two clocks and is rolled back. What cannot be rolled back spoils the slot, which is refilled
    when needed. A server that has gone away is looked up once more with the next call.
    """

    def __init__(self, name: str, limits: Limits, connect: Callable[[], DatabaseServer]) -> None:
        self.name = name
        self.limits = limits
        self._connect = connect
        self._server: DatabaseServer | None = None
        self._pool: DatabasePool | None = None
        self._lock = threading.RLock()
        self._watchdog = Watchdog()

    @property
    def version(self) -> str:
        with self._lock:
            return self._ensure_open()[0].version

    def execute(
        self,
        setup: Sequence[str],
        sql: str,
        *,
        state_of: str | None = None,
        probes: Sequence[str] = (),
        script: bool = False,
    ) -> Execution:
        statements = (
            split_script(sql, self.name) if script and len(sql) <= MAX_SQL_CHARACTERS else None
        )
        texts = [statement.text for statement in statements] if statements else [sql]

        def execute_in_slot(slot: DatabaseSlot) -> Execution:
            probe_queries = [*probes, *([slot.build_table_query(state_of)] if state_of else ())]
            _begin_call(slot, [*texts, *probe_queries])
            if slot.rows:
                _run_slot_step(slot, "", "setup", lambda _: slot.load_rows())
            return self._run_statements(slot, texts, probe_queries, state_of is not None)

        loadable = None if state_of else (*texts, *probes)
        return self._run_in_setup(setup, sql, execute_in_slot, script=script, loadable=loadable)

    def execute_each(
        self,
        setups: Sequence[Sequence[str]],
        sql: str,
        *,
        probes: Sequence[str] = (),
        script: bool = False,
        eager: bool = False,
    ) -> Iterator[Execution]:
        for setup in setups:
            yield self.execute(setup, sql, probes=probes, script=script)

    def explain(self, setup: Sequence[str], sql: str) -> Execution:
        def explain_in_slot(slot: DatabaseSlot) -> Execution:
            _begin_call(slot, [sql])
            return Execution(
                status="ok", table=_run_slot_step(slot, sql, "statement", slot.explain_query)
            )

        return self._run_in_setup(setup, sql, explain_in_slot)

    def check_parse(self, text: str) -> Execution:
        def parse_in_slot(slot: DatabaseSlot) -> Execution:
            _run_slot_step(slot, text, "statement", slot.parse_statement)
            return Execution(status="ok")

        return self._call_with_retry((), parse_in_slot)

    def measure(self, setup: Sequence[str], sql: str) -> Work:
        costs = []

        def measure_in_slot(slot: DatabaseSlot) -> Execution:
            _begin_call(slot, [sql])
            costs.append(_run_slot_step(slot, sql, "statement", slot.measure_query))
            return Execution(status="ok")

        execution = self._run_in_setup(setup, sql, measure_in_slot)
        if execution.status != "ok":
            return Work(execution=execution)
        cost = costs[-1]
        return Work(execution, cost.unit, cost.amount, cost.plan, cost.visited)

    def close(self) -> None:
        with self._lock:
            server, self._server, self._pool = self._server, None, None
            if server is not None:
                server.close()

    def _run_in_setup(
        self,
        setup: Sequence[str],
        sql: str,
        run: Callable[[DatabaseSlot], Execution],
        *,
        script: bool = False,
        loadable: Sequence[str] | None = None,
    ) -> Execution:
        """Run a call under guard; `loadable` are all its statements if rows may be loaded for it
        alone."""
        return self.run_guarded(
            setup, sql, lambda: self._call_with_retry(tuple(setup), run, loadable), script=script
        )

    def _call_with_retry(
        self,
        setup: Setup,
        run: Callable[[DatabaseSlot], Execution],
        loadable: Sequence[str] | None = None,
    ) -> Execution:
        execution = Execution(
            status="crashed", message="the server closes the connection at each attempt"
        )
        with self._lock:
            start = time.perf_counter()
            for _ in range(2):
                try:
                    execution = self._call_once(setup, run, loadable)
                    break
                except ConnectionLost:
                    self.close()
            return msgspec.structs.replace(execution, elapsed=time.perf_counter() - start)

    def _call_once(
        self,
        setup: Setup,
        run: Callable[[DatabaseSlot], Execution],
        loadable: Sequence[str] | None = None,
    ) -> Execution:
        try:
            slot = self._ensure_open()[1].find_slot(setup)
            rows: Setup = ()
            if slot is None:
                setup, rows = self._split_setup(setup, loadable)
                slot = self._ensure_open()[1].find_slot(setup) or self._fill_slot(setup)
            slot.rows = rows
            try:
                return self._run_with_deadline(slot, "statement", run)
            finally:
                slot.rows = ()
                if self._pool is not None and slot.is_dirty:
                    self._pool.mark_dirty(setup)
        except _CallEnded as ended:
            return ended.execution

    def _split_setup(self, setup: Setup, statements: Sequence[str] | None) -> tuple[Setup, Setup]:
        """What a slot is filled with, and the rows that this call loads into it."""
        server, pool = self._ensure_open()
        parts = pool.split_rarely_used(setup) if statements is not None else None
        if parts is None or not server.can_load_rows(parts[0], statements or ()):
            return setup, ()
        return parts

    def _run_with_deadline(
        self, slot: DatabaseSlot, stage: Stage, run: Callable[[DatabaseSlot], Result]
    ) -> Result:
        """Run under the clock, as a statement might change the server's own; afterwards the session
        is as new: after the clock has acted a late cancel could still reach it."""
        steps = partial(_stop_statement, slot)
        watched = self._watchdog.watch_call(self.limits.seconds + _GRACE, steps)
        try:
            with watched as watch:
                return run(slot)
        except (_CallEnded, ConnectionLost) as ended:
            if watch.fired:
                at = ended.execution.stage if isinstance(ended, _CallEnded) else stage
                raise _CallEnded("timeout", _TIMEOUT_MESSAGE, at) from None
            raise
        finally:
            try:
                if watch.fired or slot.is_lost:
                    slot.renew_session()
                slot.end_call()
            except slot.errors:
                self.close()  # the server is gone: the next call looks for it anew

    def _ensure_open(self) -> tuple[DatabaseServer, DatabasePool]:
        if self._server is None or self._pool is None:
            self._server = self._connect()
            self._pool = DatabasePool(self._server.claim_slot)
        return self._server, self._pool

    def _fill_slot(self, setup: Setup) -> DatabaseSlot:
        _, pool = self._ensure_open()
        slot = pool.take_slot()
        slot.tables = () if slot.is_dirty else slot.tables
        slot.is_dirty = False

        def fill_from_setup(slot: DatabaseSlot) -> None:
            _run_slot_step(slot, "", "setup", lambda _: slot.fill(setup))

        try:
            self._run_with_deadline(slot, "setup", fill_from_setup)
        except _CallEnded:
            pool.put_empty(slot)
            raise
        pool.put_filled(setup, slot)
        return slot

    def _run_statements(
        self, slot: DatabaseSlot, texts: Sequence[str], probe_queries: Sequence[str], state: bool
    ) -> Execution:
        for number, text in enumerate(texts, 1):
            last = number == len(texts) and not probe_queries
            step = partial(slot.run_statement, last=last)
            last_result = _run_slot_step(slot, text, "statement", step)
        step = partial(slot.run_statement, last=False)
        probe_results = [_run_slot_step(slot, query, "state", step) for query in probe_queries]
        content = probe_results.pop() if state else None
        return Execution(
            status="ok",
            table=content.table if content else last_result.table,
            affected=last_result.affected,
            probed=tuple(table for result in probe_results for table in result.tables),
        )


def _begin_call(slot: DatabaseSlot, statements: Sequence[str]) -> None:
    try:
        slot.begin_call(statements)
    except slot.errors:
        raise ConnectionLost from None


def _run_slot_step(
    slot: DatabaseSlot, sql: str, stage: Stage, step: Callable[[str], Result]
) -> Result:
    """Do one step; raises _CallEnded with a name for what the engine says against it."""
    try:
        return step(sql)
    except slot.errors as error:
        if slot.is_lost:
            raise ConnectionLost from None
        status = slot.classify_error(error, sql)
        raise _CallEnded(status, slot.format_error(error), stage) from None
