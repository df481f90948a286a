"""Whether two statements that create tables create them with the same rules.

What a statement's own calls do not reach, rows of our own do: each is put into the table that the
reference made and into the one that the answer made, and both have to take it or to refuse it.
Which type a column has is left to the statements, as long as it takes the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from evalcore.sqlkit.engines import Engine, Execution
from evalcore.sqlkit.equivalence import Counterexample, Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.observations import build_select_all
from evalcore.sqlkit.generate import render_inserts
from evalcore.sqlkit.generate.definitions import (
    TableRows,
    build_table_rows,
    fill_parents,
    find_same_table,
    list_created_tables,
)
from evalcore.sqlkit.result_tables import ResultTable, compare_tables
from evalcore.sqlkit.row_matching import CellRules
from evalcore.sqlkit.schema import Schema, Table
from evalcore.sqlkit.syntax import read_definition

_PROFILE = "rows for a created table"


def compare_definitions(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, answer: str, verdict: Equivalence
) -> Equivalence:
    """The verdict on an answer that no database told from the reference, after the rows that the
    created tables take and the tables that are gone; as it was where the reference creates and
    drops none, or takes no row of ours."""
    defined = read_definition(question.reference, question.engine)
    for name in () if question.calls else defined.dropped:
        probes = (build_select_all(name, question.engine),)
        seen = engine.execute(question.build_tables(), answer, probes=probes)
        if seen.status == "ok":
            left = Counterexample(_PROFILE, {}, name, None, seen.probed[0], reason="no_rows")
            return Equivalence("different", 1, 1, counterexample=left)
    created = list_created_tables(schema, question.reference, question.engine)
    if not created:
        return verdict
    others = list_created_tables(schema, answer, question.engine)
    database = fill_parents(schema, created, question.seed)
    setup = (*question.build_tables(), *render_inserts(schema, database, question.engine))
    count, shown = verdict.databases, verdict.nonempty
    for table in created:
        other = find_same_table(others, table.name)
        rows = build_table_rows(table, other, database.tables[table.name], question.engine)
        insertion = _Insertion(engine, setup, table.name, question.reference, answer)
        for example in _iter_outcomes(insertion, rows, other) if rows is not None else ():
            if example is not None:
                return Equivalence("different", count + 1, shown + 1, counterexample=example)
            verdict = msgspec.structs.replace(verdict, databases=count + 1, nonempty=shown + 1)
    return verdict


class _Insertion:
    """Inserts rows into the table that the reference made, and into that of the answer."""

    def __init__(
        self, engine: Engine, setup: Sequence[str], table: str, reference: str, answer: str
    ) -> None:
        self._engine, self._setup, self._table = engine, setup, table
        self._statements = (reference, answer)

    def insert_rows(
        self, rows: Sequence[str], columns: Sequence[str] = ()
    ) -> tuple[Execution, Execution]:
        """What both say to the rows, with what the columns hold then, else the number of rows."""
        query = f"SELECT {', '.join(columns) or 'COUNT(*)'} FROM {self._table}"  # noqa: S608
        expected, actual = (
            self._engine.execute(self._setup, sql, probes=(*rows, query), script=True)
            for sql in self._statements
        )
        return expected, actual


def _iter_outcomes(
    insertion: _Insertion, rows: TableRows, other: Table | None
) -> Iterator[Counterexample | None]:
    """For each row the difference that it shows, None where it shows none."""
    expected, actual = insertion.insert_rows((rows.base,), rows.filled)
    if expected.status != "ok":
        return
    if actual.status != "ok" and (other is None or _has_other_kinds(rows, other)):
        return
    yield _find_difference(rows.base, expected, actual)
    for statements in rows.changed:
        yield _find_difference(statements[-1], *insertion.insert_rows(statements))


def _has_other_kinds(rows: TableRows, other: Table) -> bool:
    """Whether another definition has a column that must be given with another kind of values."""
    kinds = {column.name.lower(): column.kind for column in other.columns}
    return any(kinds.get(column.name.lower()) != column.kind for column in rows.required)


def _find_difference(
    statement: str, expected: Execution, actual: Execution
) -> Counterexample | None:
    states = {execution.stage for execution in (expected, actual) if execution.status != "ok"}
    if states - {"state"}:
        return None  # the statement itself failed, which is not what is asked here
    want, got = (_take_content(execution) for execution in (expected, actual))
    if want is None and got is None:
        return None
    if got is None:
        return Counterexample(
            _PROFILE, {}, statement, want, None, reason="failed", message=actual.message
        )
    if want is None:
        return Counterexample(_PROFILE, {}, statement, None, got, reason="no_rows")
    diff = compare_tables(want, got, rules=CellRules(exact=True))
    if diff.equal:
        return None
    return Counterexample(_PROFILE, {}, statement, want, got, diff, diff.reason)


def _take_content(execution: Execution) -> ResultTable | None:
    """What the table holds, each cell in the form that all types share; None where a row was
    refused."""
    if execution.status != "ok" or not execution.probed:
        return None
    table = execution.probed[-1]
    return msgspec.structs.replace(
        table, rows=tuple(tuple(map(_simplify_cell, row)) for row in table.rows), decimals=()
    )


def _simplify_cell(cell: object) -> object:
    if cell is None:
        return None
    if isinstance(cell, bool):
        return str(int(cell))
    text = str(cell).strip().lower()
    try:
        number = float(text)
    except ValueError:
        return {"true": "1", "false": "0"}.get(text, text.removesuffix(".0").replace(" ", ""))
    return str(int(number)) if number == int(number) else str(number)
