"""Running a statement and looking at everything that the question wants seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalcore.records import Record
from evalcore.sqlkit.compare import TableDiff, compare_tables
from evalcore.sqlkit.engines.base import Engine, Execution
from evalcore.sqlkit.equivalence.records import EquivalenceQuestion
from evalcore.sqlkit.table import ResultTable

_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Observation(Record, frozen=True):
    """What was seen: by name, the statement's rows ("") or what calls and tables gave."""

    execution: Execution
    tables: dict[str, ResultTable | None] = {}

    @property
    def ok(self) -> bool:
        return self.execution.status == "ok"

    @property
    def truncated(self) -> bool:
        return any(table.truncated for table in self.tables.values() if table)


class Difference(Record, frozen=True):
    """The first observation that is not the same; `diff` is None where one side has no rows."""

    subject: str
    expected: ResultTable | None
    actual: ResultTable | None
    diff: TableDiff | None


def observe_statement(
    engine: Engine, setup: Sequence[str], question: EquivalenceQuestion, sql: str
) -> Observation:
    """Run `sql` after `setup`, then the calls and the queries for the tables of the question."""
    looks = bool(question.calls or question.state_of)
    states = [build_select_all(table, question.engine) for table in question.state_of]
    done = engine.execute(
        setup, sql, probes=(*question.calls, *states), script=bool(question.calls)
    )
    if done.status != "ok":
        return Observation(execution=done)
    if not looks:
        return Observation(execution=done, tables={"": done.table})
    names = (*_number_calls(len(done.probed) - len(states)), *question.state_of)
    return Observation(execution=done, tables=dict(zip(names, done.probed, strict=True)))


def _number_calls(count: int) -> list[str]:
    return [f"call {number}" for number in range(1, count + 1)]


def build_select_all(table: str, dialect: str) -> str:
    """The query for all rows of a table, which may be qualified (`sales.orders`).

    A plain name is left bare, so that the engine folds its case as it did when it was created.
    """
    if _PLAIN.fullmatch(table):
        return f"SELECT * FROM {table}"  # noqa: S608 - a plain name
    mark = "`" if dialect == "mysql" else '"'
    return f"SELECT * FROM {mark}{table.strip(mark)}{mark}"  # noqa: S608 - quoted


def find_difference(expected: Observation, actual: Observation, ordered: bool) -> Difference | None:
    """The first thing seen that is not the same, None where all is; both ran."""
    for name, want in expected.tables.items():
        got = actual.tables.get(name)
        if want is None or got is None:
            if want is not got:
                return Difference(subject=name, expected=want, actual=got, diff=None)
            continue
        diff = compare_tables(want, got, ordered=ordered and name == "")
        if not diff.equal:
            return Difference(subject=name, expected=want, actual=got, diff=diff)
    if len(actual.tables) > len(expected.tables):
        name = next(name for name in actual.tables if name not in expected.tables)
        return Difference(subject=name, expected=None, actual=actual.tables[name], diff=None)
    return None
