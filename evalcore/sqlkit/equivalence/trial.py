"""The databases of a question, each with what the reference shows on it.

A database is kept only if the reference runs on it and shows the same on a twin with the same rows
in another physical order; where it does not, the question has no answer there. The order of rows is
asked for only where it is the same on the twin too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.engines.base import Engine
from evalcore.sqlkit.equivalence.observe import Observation, difference, observe, select_all
from evalcore.sqlkit.equivalence.records import Question
from evalcore.sqlkit.generate import Database, crowded, databases, inserts, permuted, row_limits
from evalcore.sqlkit.rewrite import on_another_engine, orders_rows, tie_breakers
from evalcore.sqlkit.schema import Schema, read_schema


class Trial(Record, frozen=True):
    """One database with what the reference shows on it.

    `rows` is None for a database made by hand, which cannot be shrunk; `shows` tells whether there
    was anything to see: a row, or a changed table.
    """

    profile: str
    setup: tuple[str, ...]
    expected: Observation
    ordered: bool
    shows: bool
    rows: Database | None = None


class Trials(Record, frozen=True):
    """All databases that can decide a question, and why the others cannot."""

    schema: Schema
    kept: tuple[Trial, ...]
    failed: int = 0
    unstable: int = 0
    message: str = ""


def prepare(engine: Engine, question: Question) -> Trials:
    """Generate the databases and run the reference on each and on its twin."""
    schema = read_schema(question.schema, question.engine)
    mined = ((question.reference, question.engine), *question.related)
    made = databases(schema, mined, seed=question.seed, count=question.count)
    by_hand = (_by_hand(number, script) for number, script in enumerate(question.data, 1))
    found = _gather(engine, question, schema, (*by_hand, *map(_generated, made)))
    if 2 * len(list(nonempty(found.kept))) >= question.count:
        return found
    made = databases(schema, mined, seed=question.seed + 2, count=question.count // 2, eager=True)
    added = _gather(engine, question, schema, map(_generated, made))
    return Trials(
        schema=schema,
        kept=found.kept + added.kept,
        failed=found.failed + added.failed,
        unstable=found.unstable + added.unstable,
        message=found.message or added.message,
    )


def more(
    engine: Engine, question: Question, schema: Schema, answer: str, count: int
) -> tuple[Trial, ...]:
    """Databases that also reach the constants of an answer, so that a wrong one shows."""
    mined = ((answer, question.engine), (question.reference, question.engine))
    made = databases(schema, mined, seed=question.seed + 1, count=count)
    return _gather(engine, question, schema, map(_generated, made)).kept


#: Limits that `choose` has no sizes for; beyond the larger one a result could not be compared.
_LIMITS = range(9, 2_001)
_MOST_LIMITS = 2
#: So many rows per row of a limit, tried one after another, and never more than these.
_CROWDS, _MOST_ROWS = (1.25, 4), 5_000


def beyond_limits(
    engine: Engine, question: Question, schema: Schema, answer: str
) -> tuple[Trial, ...]:
    """Databases on which the reference shows more rows than the answer's own limits let through.

    Only for limits that stand in none of the question's statements; where conditions let too few
    rows pass, there is none.
    """
    asked = ((question.reference, question.engine), *question.related)
    stated = frozenset().union(*(row_limits(sql, dialect) for sql, dialect in asked))
    limits = sorted(
        limit for limit in row_limits(answer, question.engine) - stated if limit in _LIMITS
    )
    kept: list[Trial] = []
    for limit in limits[-_MOST_LIMITS:]:
        for factor in _CROWDS:
            size = min(_MOST_ROWS, int(factor * limit) + 10)
            rows = crowded(schema, asked, seed=question.seed, rows=size)
            made = _gather(engine, question, schema, (_generated(rows),)).kept
            tables = [table for trial in made for table in trial.expected.tables.values() if table]
            if any(len(table.rows) > limit for table in tables):
                # too many rows to shrink: their number is what tells
                kept += [msgspec.structs.replace(trial, rows=None) for trial in made]
                break
            if not any(table.rows for table in tables):
                break  # more rows would pass no better
    return tuple(kept)


def setup_of(question: Question, schema: Schema, rows: Database) -> tuple[str, ...]:
    return (*question.schema, *inserts(schema, rows, question.engine))


def twin_of(question: Question, schema: Schema, rows: Database) -> tuple[str, ...]:
    """The same rows, lying in another order even where the engine would keep them by their key."""
    setup = setup_of(question, schema, permuted(rows))
    if question.state_of or question.calls:
        return setup
    if question.engine == "sqlite":
        return tuple(_ROWID.sub("INT PRIMARY KEY", text) for text in setup)
    if question.engine == "mysql":
        return tuple(map(on_another_engine, setup))
    return setup


#: What makes SQLite keep rows by key; with INT it is a key like any other.
_ROWID = re.compile(r"\bINTEGER(\s+NOT\s+NULL)?\s+PRIMARY\s+KEY(\s+AUTOINCREMENT)?", re.I)
_Source = tuple[str, Database | None, tuple[str, ...]]


def _by_hand(number: int, script: tuple[str, ...]) -> _Source:
    return f"by hand {number}", None, script


def _generated(database: Database) -> _Source:
    return database.profile, database, ()


def _gather(
    engine: Engine, question: Question, schema: Schema, sources: Iterable[_Source]
) -> Trials:
    kept: list[Trial] = []
    failed, unstable, message = 0, 0, ""
    for profile, rows, script in sources:
        setup = (*question.schema, *script) if rows is None else setup_of(question, schema, rows)
        seen = observe(engine, setup, question, question.reference)
        if not seen.ok or seen.truncated:
            failed += 1
            message = message or seen.execution.message or "the result is too large"
            continue
        ordered = is_ordered(engine, question, schema, rows, seen)
        if ordered is None:
            unstable += 1
            continue
        shows = _shows(engine, question, setup, seen)
        kept.append(Trial(profile, setup, seen, ordered, shows, rows))
    return Trials(schema, tuple(kept), failed, unstable, message)


def is_ordered(
    engine: Engine, question: Question, schema: Schema, rows: Database | None, seen: Observation
) -> bool | None:
    """Whether the order of rows is the reference's own on this database; None if even the rows
    depend on ties or on how they happen to lie."""
    setup = setup_of(question, schema, rows) if rows is not None else ()
    again = None
    if rows is not None:
        twin = twin_of(question, schema, rows)
        again = observe(engine, twin, question, question.reference)
        if not again.ok or difference(seen, again, ordered=False):
            return None
    wanted = question.ordered
    if wanted is None:
        wanted = orders_rows(question.reference, question.engine)
    if again is None:
        return wanted
    wanted = wanted and difference(seen, again, ordered=True) is None
    width = len(table.columns) if (table := seen.tables.get("")) else 0
    broken = [
        tried
        for sql in tie_breakers(question.reference, question.engine, width)
        if (tried := observe(engine, setup, question, sql)).ok
    ]
    if any(difference(seen, tried, ordered=False) for tried in broken):
        return None
    return wanted and not any(difference(seen, tried, ordered=True) for tried in broken)


def _shows(engine: Engine, question: Question, setup: Sequence[str], seen: Observation) -> bool:
    """A query shows a row; a change makes a table other than it was."""
    if not question.state_of or question.calls:
        return any(table and table.rows for table in seen.tables.values())
    before = engine.execute(
        setup,
        "SELECT 1",
        probes=[select_all(table, question.engine) for table in question.state_of],
    )
    was = Observation(
        execution=before, tables=dict(zip(question.state_of, before.probed, strict=False))
    )
    return difference(was, seen, ordered=False) is not None


def nonempty(trials: Iterable[Trial]) -> Iterator[Trial]:
    return (trial for trial in trials if trial.shows)
