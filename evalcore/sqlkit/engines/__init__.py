"""What every SQL engine does: run a statement in a fresh database, show its plan, check its syntax.

Used as

    with open_engine("sqlite") as engine:
        execution = engine.execute(["CREATE TABLE t (a INT)"], "SELECT count(*) FROM t")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self

from evalcore.records import Record
from evalcore.sqlkit.result_tables import ResultTable

Status = Literal["ok", "syntax_error", "error", "forbidden", "timeout", "memory", "crashed"]
Stage = Literal["setup", "statement", "state"]


class GeneratedScript(str):
    """One statement of our own making for a setup, such as INSERTs of generated rows: it is not
    looked through before it runs, which for many rows takes longer than to run it."""

    __slots__ = ()


class SessionScript(GeneratedScript):
    """A statement of our own with which each session on a setup begins, such as the search path
    that makes a server stand in for another product."""

    __slots__ = ()


def split_generated_rows(setup: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A setup without the generated rows at its end, and these."""
    start = len(setup)
    while start and type(setup[start - 1]) is GeneratedScript:
        start -= 1
    return tuple(setup[:start]), tuple(setup[start:])


class Limits(Record, frozen=True):
    """What one call may use: wall-clock seconds, memory in MB, and result rows and bytes.

    A result over `rows` or `bytes` is cut and marked truncated; the rest ends the statement.
    """

    seconds: float = 5.0
    memory_mb: int = 512
    rows: int = 10_000
    bytes: int = 4_000_000


class Execution(Record, frozen=True):
    """How a statement ended.

    `status` other than ok: syntax_error (the parser refused it), error (any other error of the
    engine), forbidden (against the rules of the sandbox), timeout, memory (the limits), crashed
    (the engine's process died of it). `stage` tells where: in the setup, in the statement, or in
    reading the table asked for by `state_of`. `table` is None where the statement yields no rows;
    `affected` counts the rows it changed; `probed` holds a table per probe that yields rows.
    `elapsed` is in seconds, without starting the process.
    """

    status: Status
    message: str = ""
    stage: Stage = "statement"
    table: ResultTable | None = None
    affected: int | None = None
    probed: tuple[ResultTable, ...] = ()
    elapsed: float = 0.0


class Work(Record, frozen=True):
    """What a statement cost, by a counter that is the same at every repetition.

    `unit` names the counter: vm_steps (SQLite), rows (operators' rows in DuckDB, Handler_read* in
    MariaDB), or pages (buffers touched in PostgreSQL). `plan` is the engine's own text, a line a
    step. `visited` counts the rows that all operators looked at, in servers alone, whose counter
    overlooks rows kept in a buffer or a materialized CTE; 0 elsewhere. `execution` says how the
    statement ended; the rest is empty unless it is ok.
    """

    execution: Execution
    unit: str = ""
    amount: int = 0
    plan: tuple[str, ...] = ()
    visited: int = 0


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


class Engine(Protocol):
    """One kind of database. Synchronous and usable from several threads (calls queue).

    Hostile SQL is reported as a status; EnvironmentFailure is raised only if the engine's process
    cannot start at all.
    """

    name: str

    @property
    def version(self) -> str:
        """The engine's own version."""

    def execute(
        self,
        setup: Sequence[str],
        sql: str,
        *,
        state_of: str | None = None,
        probes: Sequence[str] = (),
        script: bool = False,
    ) -> Execution:
        """Run `sql`, one statement, in a database that holds what the scripts of `setup` made.

        With `state_of` the table is that table's content afterwards, not the statement's rows.
        `probes` are our own statements (calls of a procedure, queries) run after it, each as one
        more stage "state"; `script` lets `sql` hold several statements. Nothing of a call is seen
        by the next one; a database may be kept prepared for the same `setup`.
        """

    def execute_each(
        self,
        setups: Sequence[Sequence[str]],
        sql: str,
        *,
        probes: Sequence[str] = (),
        script: bool = False,
        eager: bool = False,
    ) -> Iterator[Execution]:
        """`execute` on one setup after the other, for as long as results are taken.

        Some may run before they are asked for; with `eager` as many as one request can hold.
        """

    def explain(self, setup: Sequence[str], sql: str) -> Execution:
        """The plan: SQLite rows of (id, parent, detail), DuckDB one of (key, text)."""

    def check_syntax(self, sql: str) -> Execution:
        """ok or syntax_error, without running anything.

        Errors of meaning (an unknown table, column or function) are ok.
        """

    def measure(self, setup: Sequence[str], sql: str) -> Work:
        """Run a query and count what it read, with the plan; repeatable for the same `setup`."""

    def close(self) -> None:
        """End the process; safe to call twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
