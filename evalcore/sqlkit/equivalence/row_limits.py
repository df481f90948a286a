"""Limits of rows that are larger than a result may be: whether one of them cuts anything off.

A result of ten thousand rows is cut by us, so that rows cannot show what a limit beyond that does.
One row is therefore repeated until there are more than the limit lets through, and the numbers of
rows are compared. Whether that can show anything is asked first with a small limit in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evalcore.records import Record
from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines.guard import split_script
from evalcore.sqlkit.equivalence import Counterexample, Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.answer_trials import TESTED_LIMITS
from evalcore.sqlkit.equivalence.observations import build_cell_rules, build_select_all
from evalcore.sqlkit.equivalence.trials import Trials
from evalcore.sqlkit.generate import Row, list_row_limits, read_compared_columns, render_copies
from evalcore.sqlkit.result_tables import ResultTable, compare_tables
from evalcore.sqlkit.schema import Table

#: From here on a limit stands for all rows to those who write it.
_ALL_ROWS = 2**31 - 1
_MAX_COPIES = 100_000
_SMALL, _MAX_SMALL = 20, 2_000  # rows that a limit is made to let through, beyond any other limit
_MAX_TRIALS, _MAX_ROWS = 5, 2  # that copies are tried on, and of each of their tables
_FEW = 20  # rows of which the numbers are compared too
_SHOWN = 20  # rows of a table in a counterexample


class _Growth(Record, frozen=True):
    """A database with a row to be repeated; `varied` are the columns that copies differ in, beside
    those of keys."""

    setup: tuple[str, ...]
    table: Table
    row: Row
    varied: frozenset[str]

    def build_setup(self, count: int, dialect: str) -> tuple[str, ...] | None:
        """The database with so many copies, None where a key allows none."""
        copies = render_copies(self.table, self.row, count, self.varied, dialect)
        return (*self.setup, copies) if copies else None


def compare_row_limits(
    open_engine: Callable[[], Engine],
    question: EquivalenceQuestion,
    prepared: Trials,
    answer: str,
    verdict: Equivalence,
) -> Equivalence:
    """The verdict on an answer that no database told from the reference, where one of the two has a
    limit that the other has not: different with a database of so many rows; undecided where the
    limit cuts something off and is too large for that; else as it was."""
    rules = build_cell_rules(question.engine, question.schema)
    least = TESTED_LIMITS.start if verdict.left_out else TESTED_LIMITS.stop
    for statement, limit in _iter_large_limits(question, answer, least):
        engine = open_engine()
        for growth in _iter_growths(engine, question, prepared, statement, limit):
            count = limit + _SMALL
            setup = None
            if growth is not None and count <= _MAX_COPIES:
                setup = growth.build_setup(count, question.engine)
            expected = _count_rows(engine, question, setup, question.reference)
            actual = _count_rows(engine, question, setup, answer)
            if setup is None or expected is None or actual is None:
                message = f"a limit of {limit:,} rows is more than could be tested"
                return Equivalence(
                    "undecided", verdict.databases, cause="row_limit", message=message
                )
            if not (diff := compare_tables(expected, actual, rules=rules)).equal:
                example = Counterexample(
                    profile=f"{count} rows to limit",
                    tables=_read_first_rows(engine, prepared, setup),
                    subject="COUNT(*)" if actual.columns == ("n",) else "",
                    expected=expected,
                    actual=actual,
                    diff=diff,
                    reason="row_count",
                )
                shown = verdict.nonempty + 1
                return Equivalence(
                    "different", verdict.databases + 1, shown, counterexample=example
                )
    return verdict


def _iter_large_limits(
    question: EquivalenceQuestion, answer: str, least: int
) -> Iterator[tuple[str, int]]:
    """Limits too large for rows to be compared that one statement alone has, with that one; the
    `least` is lower where a reference does not end on so many rows."""
    expected = list_row_limits(question.reference, question.engine)
    related = frozenset[int]().union(*(list_row_limits(*other) for other in question.related))
    answered = list_row_limits(answer, question.engine)
    for statement, limits in (
        (answer, answered - expected - related),
        (question.reference, expected - answered),
    ):
        for limit in sorted(limits):
            if least <= limit < _ALL_ROWS:
                yield statement, limit


def _iter_growths(
    engine: Engine, question: EquivalenceQuestion, prepared: Trials, statement: str, limit: int
) -> Iterator[_Growth | None]:
    """Databases on which copies of a row would be cut off by the limit, were it small; None where
    no rows can be counted, so that nothing is known."""
    others = list_row_limits(question.reference, engine.name) | list_row_limits(
        statement, engine.name
    )
    small = _SMALL + max((n for n in others if n < min(limit, _MAX_SMALL)), default=0)
    shortened = re.sub(rf"(?<![\w.]){limit}(?![\w.])", str(small), statement)
    is_counted = False
    for growth in _iter_candidates(question, prepared):
        setup = growth.build_setup(2 * small, question.engine)
        full = _count_rows(engine, question, setup, statement)
        is_counted = is_counted or full is not None
        if full is not None and full != _count_rows(engine, question, setup, shortened):
            yield growth
    if not is_counted:
        yield None


def _iter_candidates(question: EquivalenceQuestion, prepared: Trials) -> Iterator[_Growth]:
    compared = read_compared_columns(((question.reference, question.engine),))
    shown = [trial for trial in prepared.usable if trial.shows and trial.rows is not None]
    shown.sort(key=lambda trial: trial.rows.row_count if trial.rows else 0)
    for trial in shown[:_MAX_TRIALS]:
        for table in prepared.schema.tables:
            varied = {column.name.lower() for column in table.columns} - compared
            rows = trial.rows.tables.get(table.name, ()) if trial.rows else ()
            for row in rows[:_MAX_ROWS]:
                yield _Growth(trial.setup, table, row, frozenset())
                yield _Growth(trial.setup, table, row, frozenset(varied))


def _count_rows(
    engine: Engine, question: EquivalenceQuestion, setup: tuple[str, ...] | None, sql: str
) -> ResultTable | None:
    """How many rows a query gives, or the numbers in them where it gives few and nothing else; how
    many rows a change leaves in each table. None where it does not run."""
    statements = split_script(sql, question.engine)
    if setup is None or question.calls or not statements:
        return None
    if question.state_of:
        counts = [
            build_select_all(name, question.engine).replace("*", "COUNT(*)", 1)
            for name in question.state_of
        ]
        done = engine.execute(setup, sql, probes=counts)
        numbers = tuple(table.rows[0][0] for table in done.probed)
        return ResultTable(question.state_of, (numbers,)) if done.status == "ok" else None
    query = f"SELECT COUNT(*) AS n FROM ({statements[0].text}) q"  # noqa: S608 - guarded as any
    done = engine.execute(setup, query)
    if done.status != "ok" or done.table is None or done.table.rows[0][0] > _FEW:
        return done.table if done.status == "ok" else None
    rows = engine.execute(setup, statements[0].text).table
    is_number = rows is not None and all(
        cell is None or isinstance(cell, int | float) for row in rows.rows for cell in row
    )
    return (
        rows if is_number and not list_row_limits(question.reference, engine.name) else done.table
    )


def _read_first_rows(
    engine: Engine, prepared: Trials, setup: tuple[str, ...]
) -> dict[str, ResultTable]:
    """Some rows of each table; those of larger ones are marked as cut."""
    names = [table.name for table in prepared.schema.tables]
    queries = [f"{build_select_all(name, engine.name)} LIMIT {_SHOWN}" for name in names]
    done = engine.execute(setup, "SELECT 1", probes=queries)
    return {
        name: ResultTable(table.columns, table.rows, len(table.rows) == _SHOWN, table.decimals)
        for name, table in zip(names, done.probed, strict=False)
    }
