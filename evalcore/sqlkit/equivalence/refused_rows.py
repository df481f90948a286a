"""Rows that an engine refuses, found by asking it: what a CHECK, or a unique index of some rows or
of an expression, says of a row need not be known elsewhere.

All rows of a database go into copies of its tables that have no constraints; there the engine tells
which of them break one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.generate import Database, fill_empty_texts, render_inserts
from evalcore.sqlkit.generate.database import drop_dangling_rows
from evalcore.sqlkit.schema import Column, Schema, Table

_NUMBER = "row_number_"


def drop_refused_rows(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, database: Database
) -> Database | None:
    """The database without rows that break a constraint, and without those that refer to them; None
    where the engine finds none, or cannot tell."""
    database = fill_empty_texts(schema, database) if question.empty_is_null else database
    copied = {
        f"checked_rows_{n}": table
        for n, table in enumerate(schema.tables)
        if (table.checks or table.unique_indexes) and database.tables.get(table.name)
    }
    probes = [(table.name, p) for name, table in copied.items() for p in _iter_probes(name, table)]
    setup = (*question.build_tables(), *_iter_copies(copied, database, question.engine))
    done = engine.execute(setup, "SELECT 1", probes=[probe for _, probe in probes])
    refused: dict[str, set[int]] = {}
    for (name, _), result in zip(probes, done.probed, strict=False):
        refused.setdefault(name, set()).update(row[0] for row in result.rows)
    if not any(refused.values()):
        return None
    left = {
        name: tuple(row for n, row in enumerate(rows) if n not in refused.get(name, ()))
        for name, rows in database.tables.items()
    }
    return drop_dangling_rows(schema, Database(database.profile, left))


def _iter_copies(copied: Mapping[str, Table], database: Database, dialect: str) -> Iterator[str]:
    """Statements that make the copies, by their names, and fill them with numbered rows."""
    for name, table in copied.items():
        yield f"CREATE TABLE {name} AS SELECT 0 AS {_NUMBER}, t.* FROM {table.name} t WHERE 1 = 0"  # noqa: S608
        copy = Table(name, (Column(_NUMBER, "integer"), *table.columns))
        rows = tuple((n, *row) for n, row in enumerate(database.tables[table.name]))
        yield from render_inserts(Schema((copy,), dialect), Database("", {name: rows}), dialect)


def _iter_probes(name: str, table: Table) -> Iterator[str]:
    """Queries for the numbers of the rows that break a constraint of the table whose rows `name`
    holds; of rows that are one to an index all but the first."""
    for check in table.checks:
        yield f"SELECT {_NUMBER} FROM {name} WHERE NOT ({check})"  # noqa: S608 - of the schema
    for index in table.unique_indexes:
        parts = ", ".join(index.expressions)
        conditions = [f"({part}) IS NOT NULL" for part in index.expressions]
        where = " AND ".join([*conditions, f"({index.where or '1 = 1'})"])
        yield (
            f"SELECT {_NUMBER} FROM (SELECT {_NUMBER}, ROW_NUMBER() OVER (PARTITION BY {parts} "  # noqa: S608
            f"ORDER BY {_NUMBER}) AS nth FROM {name} WHERE {where}) numbered WHERE nth > 1"
        )
