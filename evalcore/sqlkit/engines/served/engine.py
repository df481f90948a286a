"""An `Engine` whose databases lie on a server; the same for every kind of server.

A statement is guarded, gets the slot that holds its setup (filled now if none does), runs under two
clocks, and is undone. What cannot be undone spoils the slot, which is filled anew when needed. A
server that has gone away is looked for once more with the next call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from evalcore.closing import Closing
from evalcore.sqlkit.engines.base import Execution, Limits, Stage, Status, Work
from evalcore.sqlkit.engines.guard import MOST_CHARACTERS, inspect, inspect_answer
from evalcore.sqlkit.engines.script import split
from evalcore.sqlkit.engines.served.slots import Found, Gone, Server, Setup, Slot, Slots
from evalcore.sqlkit.engines.served.watch import Watch

_NO_STATEMENT = Execution(status="syntax_error", message="there is no statement")
_OVERDUE = "the statement was ended at its time limit"
Result = TypeVar("Result")


class _Ended(Exception):
    """A call that ended before its end."""

    def __init__(self, status: Status, message: str, stage: Stage) -> None:
        self.execution = Execution(status=status, message=message, stage=stage)


class ServedEngine(Closing):
    """See `base.Engine` for the methods. `connect` opens the server, at the first use."""

    def __init__(self, name: str, limits: Limits, connect: Callable[[], Server]) -> None:
        self.name = name
        self.limits = limits
        self._connect = connect
        self._server: Server | None = None
        self._slots: Slots | None = None
        self._lock = threading.RLock()

    @property
    def version(self) -> str:
        with self._lock:
            return self._opened()[0].version

    def execute(
        self,
        setup: Sequence[str],
        sql: str,
        *,
        state_of: str | None = None,
        probes: Sequence[str] = (),
        script: bool = False,
    ) -> Execution:
        statements = split(sql, self.name) if script and len(sql) <= MOST_CHARACTERS else None
        texts = [statement.text for statement in statements] if statements else [sql]

        def run(slot: Slot) -> Execution:
            looks = [*probes, *([slot.content_of(state_of)] if state_of else ())]
            _begin(slot, [*texts, *looks])
            return self._observe(slot, texts, looks, state_of is not None)

        return self._guarded(setup, sql, run, script=script)

    def explain(self, setup: Sequence[str], sql: str) -> Execution:
        def run(slot: Slot) -> Execution:
            _begin(slot, [sql])
            return Execution(status="ok", table=_named(slot, sql, "statement", slot.explain))

        return self._guarded(setup, sql, run)

    def check_syntax(self, sql: str) -> Execution:
        if inspect(sql, self.name).statements == 0:
            return _NO_STATEMENT
        return self._parsed([sql])

    def measure(self, setup: Sequence[str], sql: str) -> Work:
        costs = []

        def run(slot: Slot) -> Execution:
            _begin(slot, [sql])
            costs.append(_named(slot, sql, "statement", slot.measure))
            return Execution(status="ok")

        execution = self._guarded(setup, sql, run)
        if execution.status != "ok":
            return Work(execution=execution)
        return Work(execution, costs[-1].unit, costs[-1].amount, costs[-1].plan)

    def close(self) -> None:
        with self._lock:
            server, self._server, self._slots = self._server, None, None
            if server is not None:
                server.close()

    def _guarded(
        self,
        setup: Sequence[str],
        sql: str,
        run: Callable[[Slot], Execution],
        *,
        script: bool = False,
    ) -> Execution:
        for text in setup:
            if refusal := inspect(text, self.name).refusal:
                return self._refused(text, refusal, "setup")
        found = inspect_answer(sql, self.name, script=script)
        if found.statements == 0:
            return _NO_STATEMENT
        if found.refusal:
            return self._refused(sql, found.refusal, "statement")
        return self._call(tuple(setup), run)

    def _refused(self, text: str, reason: str, stage: Stage) -> Execution:
        """Forbidden, unless the engine's parser cannot read it either."""
        forbidden = Execution(status="forbidden", message=reason, stage=stage)
        if len(text) > MOST_CHARACTERS:
            return forbidden
        parsed = self._parsed([text])
        if parsed.status == "ok":
            return forbidden
        return msgspec.structs.replace(parsed, stage=stage)

    def _parsed(self, texts: Sequence[str]) -> Execution:
        def run(slot: Slot) -> Execution:
            for text in texts:
                _named(slot, text, "statement", slot.parse)
            return Execution(status="ok")

        return self._call((), run)

    def _call(self, setup: Setup, run: Callable[[Slot], Execution]) -> Execution:
        with self._lock:
            start = time.perf_counter()
            try:
                execution = self._once(setup, run)
            except Gone:
                self.close()
                execution = self._again(setup, run)
            elapsed = time.perf_counter() - start
            return msgspec.structs.replace(execution, elapsed=elapsed)

    def _again(self, setup: Setup, run: Callable[[Slot], Execution]) -> Execution:
        try:
            return self._once(setup, run)
        except Gone:
            self.close()
            return Execution(status="crashed", message="the server goes away at each attempt")

    def _once(self, setup: Setup, run: Callable[[Slot], Execution]) -> Execution:
        try:
            return self._run_in(self._ready(setup), setup, run)
        except _Ended as ended:
            return ended.execution

    def _run_in(self, slot: Slot, setup: Setup, run: Callable[[Slot], Execution]) -> Execution:
        try:
            return self._watched(slot, "statement", run)
        finally:
            if self._slots is not None and slot.spoiled:
                self._slots.spoil(setup)

    def _watched(self, slot: Slot, stage: Stage, run: Callable[[Slot], Result]) -> Result:
        """Run under the clock; afterwards the session is as new."""
        watch = Watch(slot, self.limits.seconds)
        try:
            with watch:
                return run(slot)
        except (_Ended, Gone) as ended:
            if watch.fired:
                at = ended.execution.stage if isinstance(ended, _Ended) else stage
                raise _Ended("timeout", _OVERDUE, at) from None
            raise
        finally:
            self._settle(slot, watch.fired)

    def _settle(self, slot: Slot, fired: bool) -> None:
        try:
            if fired or slot.lost:
                slot.renew()
            slot.end()
        except slot.errors:
            self.close()  # the server is gone: the next call looks for it anew

    def _opened(self) -> tuple[Server, Slots]:
        if self._server is None or self._slots is None:
            self._server = self._connect()
            self._slots = Slots(self._server.claim)
        return self._server, self._slots

    def _ready(self, setup: Setup) -> Slot:
        """The slot that holds a setup; raises _Ended where it cannot be filled with it."""
        return self._opened()[1].find(setup) or self._fill(setup)

    def _fill(self, setup: Setup) -> Slot:
        _, slots = self._opened()
        slot = slots.take()
        slot.spoiled = False

        def fill(slot: Slot) -> None:
            try:
                slot.fill(setup)
            except slot.errors as error:
                if slot.lost:
                    raise Gone from None
                raise _Ended(slot.status_of(error, ""), slot.message_of(error), "setup") from None

        try:
            self._watched(slot, "setup", fill)
        except _Ended:
            slots.put_empty(slot)
            raise
        slots.put(setup, slot)
        return slot

    def _observe(
        self, slot: Slot, texts: Sequence[str], looks: Sequence[str], state: bool
    ) -> Execution:
        for number, text in enumerate(texts, 1):
            last = number == len(texts) and not looks

            def statement(sql: str, last: bool = last) -> Found:
                return slot.run(sql, last=last)

            found = _named(slot, text, "statement", statement)
        seen = [
            _named(slot, look, "state", lambda sql: slot.run(sql, last=False)) for look in looks
        ]
        content = seen.pop() if state else None
        return Execution(
            status="ok",
            table=content.table if content else found.table,
            affected=found.affected,
            probed=tuple(table for one in seen for table in one.tables),
        )


def _begin(slot: Slot, statements: Sequence[str]) -> None:
    try:
        slot.begin(statements)
    except slot.errors:
        raise Gone from None


def _named(slot: Slot, sql: str, stage: Stage, step: Callable[[str], Result]) -> Result:
    """Do one step; raises _Ended with a name for what the engine says against it."""
    try:
        return step(sql)
    except slot.errors as error:
        if slot.lost:
            raise Gone from None
        raise _Ended(slot.status_of(error, sql), slot.message_of(error), stage) from None
