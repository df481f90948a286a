"""Whether two statements that create tables create them with the same rules.

What a statement's own calls do not reach, rows of our own do: each is put into the table that the
reference made and into the one that the answer made, and both have to take it or to refuse it.
Which type a column has is left to the statements, as long as it takes the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from sqlglot import exp

from evalcore.catalog import engine_cards
from evalcore.sqlkit.engines import Engine, Execution
from evalcore.sqlkit.equivalence import Counterexample, Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.observations import build_select_all
from evalcore.sqlkit.generate import render_inserts
from evalcore.sqlkit.generate.definitions import (
    PADDED,
    TableRows,
    build_table_rows,
    fill_parents,
    find_same_table,
    list_defined_tables,
)
from evalcore.sqlkit.result_tables import ResultTable, compare_tables
from evalcore.sqlkit.row_matching import CellRules
from evalcore.sqlkit.schema import Schema, Table, plain_name, sort_by_dependency
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
    if defined.created and engine_cards()[question.engine].kind_query:
        other_kind = _find_other_kind(engine, question, plain_name(defined.created), answer)
        if other_kind is not None:
            return Equivalence("different", 1, 1, counterexample=other_kind)
    others = list_defined_tables(question.schema, answer, question.engine)
    created = list_defined_tables(question.schema, question.reference, question.engine) or others
    if not created:
        return verdict
    database = fill_parents(schema, created, question.seed)
    parents = {f.table for table in (*created, *others) for f in table.foreign}
    for table in reversed(sort_by_dependency(schema)):
        if plain_name(table.name) in set(map(plain_name, parents)):
            parents |= {foreign.table for foreign in table.foreign}
    parents = set(map(plain_name, parents)) - {plain_name(table.name) for table in created}
    filled = tuple(table for table in schema.tables if plain_name(table.name) in parents)
    rest = msgspec.structs.replace(schema, tables=filled)
    setup = (*question.build_tables(), *render_inserts(rest, database, question.engine))
    count, shown = verdict.databases, verdict.nonempty
    for table in created:
        other = find_same_table(others, table.name)
        rows = build_table_rows(table, other, database.tables[table.name], question.engine)
        if rows is None:
            continue
        if question.calls:  # what types hold is left to a conversion
            rows = msgspec.structs.replace(rows, typed=())
        insertion = _Insertion(engine, setup, table.name, question.reference, answer)
        for example in _iter_outcomes(insertion, rows, other):
            if example is not None:
                return Equivalence("different", count + 1, shown + 1, counterexample=example)
            count, shown = count + 1, shown + 1
        if schema.find_table(table.name) is not None:  # altered: is any row taken otherwise now?
            bare = _Insertion(engine, setup, table.name, question.reference, "SELECT 1")
            outcomes = _iter_outcomes(bare, msgspec.structs.replace(rows, typed=()), None)
            shown = shown if any(outcomes) else verdict.nonempty
        verdict = msgspec.structs.replace(verdict, databases=count, nonempty=shown)
    return verdict


def _find_other_kind(
    engine: Engine, question: EquivalenceQuestion, name: str, answer: str
) -> Counterexample | None:
    """What the catalogue says where an answer makes a view, or what a session ends, of a table that
    stays, or the other way round: they hold the same until the tables behind them change."""
    quoted = str(exp.Literal.string(name).sql(dialect=question.engine))
    query = engine_cards()[question.engine].kind_query.format(name=quoted)
    kinds = []
    for sql in (question.reference, answer):
        script = bool(question.calls)
        seen = engine.execute(question.build_tables(), sql, probes=(query,), script=script)
        if seen.status != "ok":
            return None
        kinds.append(seen.probed[0])
    diff = compare_tables(kinds[0], kinds[1])
    if diff.equal:
        return None
    return Counterexample(_PROFILE, {}, query, kinds[0], kinds[1], diff, "object_kind")


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
    for statement, column in rows.typed:
        yield _find_difference(statement, *insertion.insert_rows((statement,), (column,)))


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
    if text == PADDED:
        return text
    try:
        number = float(text)
    except ValueError:
        return {"true": "1", "false": "0"}.get(text, text.removesuffix(".0").replace(" ", ""))
    return str(int(number)) if number == int(number) else str(number)
