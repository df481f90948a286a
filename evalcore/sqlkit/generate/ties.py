"""Databases in which what is sorted by is tied, or a value is what a statement writes for another.

Where rows are tied only the last columns of an ORDER BY tell them apart, and where a table holds
the word for a total, a total looks like one of its rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    GOOD,
    fill_islands,
    fill_tables,
    is_bound,
    replace_cells,
)
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.schema import Column, Schema, Table, plain_name

#: The profile of the first; it needs no index, which would sort the tied rows by itself.
TIED = "all tied"
_MAX_LIMIT = 30  # rows that a limit lets through beside which ties are made
_BEYOND = 3  # tied rows more than the limit
_LEAST = 5  # rows that are tied where there is no limit
_REPLACED = msgspec.structs.replace(
    GOOD, name="replaced values", rows=4, duplicate=0.5, altered=0.0
)


def generate_tie_databases(
    schema: Schema, hints: Hints, usage: Usage, seed: int
) -> Iterator[Database]:
    """Islands in two groups that are tied in all that is sorted by, each larger than any limit, and
    lie in an order of their own; then one whose texts are those that stand for others."""
    limits = [count for count in hints.counts if 0 < count <= _MAX_LIMIT]
    size = max([_LEAST, *(limit + _BEYOND for limit in limits)])
    base = fill_islands(schema, hints, TIED, seed, 2 * size)
    tables: dict[str, tuple[Row, ...]] = {}
    for table in schema.tables:
        rows = _tie_rows(schema, table, [*base.tables[table.name]], size, hints)
        if plain_name(table.name) in hints.negated and not _is_referred(schema, table):
            rows = rows[: size // 3]  # beside the other rows nothing is to be found
        if all(plain_name(f.table) != plain_name(table.name) for f in table.foreign):
            random.Random(f"{seed}/{table.name}").shuffle(rows)  # noqa: S311
        tables[table.name] = tuple(rows)
    if hints.sorted:
        yield Database(base.profile, tables)
    yield from _generate_replaced(schema, hints, usage, seed)


def _tie_rows(schema: Schema, table: Table, rows: list[Row], size: int, hints: Hints) -> list[Row]:
    """The rows in two groups, each with one value in every column that something sorts by."""
    for n, column in enumerate(table.columns):
        if column.name.lower() not in hints.sorted or not _is_free(schema, table, column, hints):
            continue
        values = sorted({row[n] for row in rows if row[n] is not None}, key=str)
        if values:
            cells = [values[0]] * size + [values[-1]] * (len(rows) - size)
            rows = replace_cells(table, rows, n, cells, schema.dialect)
    return rows


def _generate_replaced(schema: Schema, hints: Hints, usage: Usage, seed: int) -> Iterator[Database]:
    """Rows that hold nothing but the words which a CASE or COALESCE writes in place of a value."""
    base = fill_tables(schema, hints, _REPLACED, seed, lambda _: _REPLACED.rows)
    tables = dict(base.tables)
    found = False
    for table in schema.tables:
        rows = [*tables[table.name]]
        for n, column in enumerate(table.columns):
            word = hints.written.get(column.name.lower())
            if (
                word is None
                or column.kind != "text"
                or not usage.mentions_table(plain_name(table.name))
            ):
                continue
            if _is_free(schema, table, column, hints):
                rows = replace_cells(table, rows, n, [word] * len(rows), schema.dialect)
                found = found or any(row[n] == word for row in rows)
        tables[table.name] = tuple(rows)
    if found:
        yield Database(base.profile, tables)


def _is_referred(schema: Schema, table: Table) -> bool:
    name = plain_name(table.name)
    return any(plain_name(f.table) == name for other in schema.tables for f in other.foreign)


def _is_free(schema: Schema, table: Table, column: Column, hints: Hints) -> bool:
    """Whether a column may hold one value in many rows that all join as before."""
    name = column.name.lower()
    keyed = any((column.name,) == key.columns for key in table.keys)
    return not (
        keyed or column.computed or name in hints.equated or is_bound(schema, table, column)
    )
