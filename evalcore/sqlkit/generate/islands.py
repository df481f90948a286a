"""Islands: a row of each table that join each other and satisfy the conditions of the statements.

The n-th rows of all tables are an island, so that what is changed in one of them alone decides what
the statements make of the island. The constraints of the schema hold.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.filler import Domains, Filler, fold_text
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.generate.values import build_fit_check
from evalcore.sqlkit.schema import (
    Column,
    ForeignKey,
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

GOOD = Profile(
    "", rows=5, good=1.0, near=0.0, null=0.0, duplicate=0.0, dangling=0.0, domain=0.5, strict=True
)


def fill_tables(
    schema: Schema, hints: Hints, profile: Profile, seed: int, count_rows: Callable[[str], int]
) -> Database:
    rng = random.Random(f"{seed}/{profile.name}")  # noqa: S311
    filled: dict[str, list[Row]] = {}
    domains = Domains(schema, hints, profile)
    for table in sort_by_dependency(schema):
        filler = Filler(schema, table, hints, profile, rng, domains, filled)
        filled[table.name] = list(filler.generate_rows(count_rows(table.name)))
    return Database(
        profile.name, {table.name: tuple(filled[table.name]) for table in schema.tables}
    )


def fill_islands(schema: Schema, hints: Hints, name: str, seed: int, count: int) -> Database:
    """So many rows in each table, of which the n-th join each other and satisfy the conditions."""
    profile = msgspec.structs.replace(GOOD, name=name, rows=12)
    base = fill_tables(schema, hints, profile, seed, lambda _: count)
    return _join_islands(schema, hints, _spread_references(schema, base))


def _spread_references(schema: Schema, database: Database) -> Database:
    """References led to all rows in turn, so that no row with an edge lacks a partner."""
    tables: dict[str, list[Row]] = {name: list(rows) for name, rows in database.tables.items()}
    for table in schema.tables:
        names = [column.name.lower() for column in table.columns]
        for foreign in table.foreign:
            target = schema.find_table(foreign.table)
            if target is None or target is table:
                continue
            partners = _list_key_cells(target, tables[target.name], foreign)
            columns = [names.index(name.lower()) for name in foreign.columns]
            if partners:
                rows = tables[table.name]
                tables[table.name] = _lead_to(table, rows, columns, partners, schema.dialect)
    return msgspec.structs.replace(
        database, tables={name: tuple(rows) for name, rows in tables.items()}
    )


def _join_islands(schema: Schema, hints: Hints, database: Database) -> Database:
    """The n-th rows of all tables joined where statements equate their columns and no reference
    leads elsewhere; of a table that has several of a family only its key takes part, and the others
    lead to the keys that they are joined to."""
    tables: dict[str, list[Row]] = {name: list(rows) for name, rows in database.tables.items()}

    def lead(table: Table, position: int, values: list[Any]) -> None:
        rows = tables[table.name]
        tables[table.name] = replace_cells(table, rows, position, values, schema.dialect)

    for joined in _list_families(schema, hints):
        source, index, _ = min(joined, key=lambda member: not member[2])
        values = [row[index] for row in tables[source.name]]
        seen = {source.name}
        for table, position, _ in joined:
            if table.name not in seen and not refers(table, table.columns[position]):
                lead(table, position, values)
            seen.add(table.name)
    for table, position, target, key in iter_links_to_keys(schema, hints):
        lead(table, position, [row[key] for row in tables[target.name]])
    return msgspec.structs.replace(
        database, tables={name: tuple(rows) for name, rows in tables.items()}
    )


def _list_families(schema: Schema, hints: Hints) -> list[list[tuple[Table, int, bool]]]:
    """The columns of a kind that statements equate: the table, the column, whether it is a key."""
    members: dict[tuple[str, str], list[tuple[Table, int, bool]]] = {}
    for table in sort_by_dependency(schema):
        alone = list_sole_keys(table)
        for n, column in enumerate(table.columns):
            family = hints.equated.get(column.name.lower())
            if family is not None and not column.computed:
                member = (table, n, column.name.lower() in alone)
                members.setdefault((family, column.kind), []).append(member)
    return list(members.values())


def iter_links_to_keys(schema: Schema, hints: Hints) -> Iterator[tuple[Table, int, Table, int]]:
    """The columns that statements join to the only column of another table's key and that are
    neither declared to refer nor a key: the table, its column, the other table, its column."""
    by_name = {plain_name(table.name): table for table in schema.tables}
    for (name, column), (other, key) in hints.links:
        table, target = by_name.get(name), by_name.get(other)
        if table is None or target is None or key not in list_sole_keys(target):
            continue
        names = [each.name.lower() for each in table.columns]
        if column not in names or column in list_sole_keys(table):
            continue
        position = names.index(column)
        if not refers(table, table.columns[position]):
            keys = [each.name.lower() for each in target.columns]
            yield table, position, target, keys.index(key)


def list_sole_keys(table: Table) -> set[str]:
    return {key.columns[0].lower() for key in table.keys if len(key.columns) == 1}


def refers(table: Table, column: Column) -> bool:
    name = column.name.lower()
    return any(name in map(str.lower, foreign.columns) for foreign in table.foreign)


def replace_cells(
    table: Table, rows: list[Row], column: int, values: Sequence[Any], dialect: str
) -> list[Row]:
    """The rows with these values in a column where they fit it and keep the checks; unchanged where
    there is none or a key would repeat."""
    keeps_checks = compile_row_check(table, dialect)
    fits = build_fit_check(table.columns[column])
    keys = [key for key in list_key_indexes(table) if column in key]
    seen = [{fold_key(row, key) for row in rows} for key in keys]
    replaced = []
    for row, value in zip(rows, values, strict=False):
        cells = (*row[:column], value, *row[column + 1 :])
        new = [fold_key(cells, key) for key in keys]
        taken = any(cell in present for cell, present in zip(new, seen, strict=True))
        if value is None or taken or not fits(value) or not keeps_checks(cells):
            replaced.append(row)
            continue
        for cell, present in zip(new, seen, strict=True):
            present.add(cell)
        replaced.append(cells)
    return replaced + list(rows[len(replaced) :])


def _list_key_cells(target: Table, rows: Sequence[Row], foreign: ForeignKey) -> list[Row]:
    names = [column.name.lower() for column in target.columns]
    indexes = [names.index(name.lower()) for name in list_target_columns(target, foreign)]
    return [tuple(row[n] for n in indexes) for row in rows]


def _lead_to(
    table: Table, rows: Sequence[Row], columns: Sequence[int], partners: Sequence[Row], dialect: str
) -> list[Row]:
    """The rows with their reference replaced, where the keys of the table allow all of it; where a
    check forbids the partner in turn, as `home <> guest` does, by one of the next."""
    keeps_checks = compile_row_check(table, dialect)
    led = []
    for number, row in enumerate(rows):
        start = number % len(partners)
        turn = (*partners[start:], *partners[:start])
        forms = (
            tuple(dict(zip(columns, cells, strict=True)).get(n, cell) for n, cell in enumerate(row))
            for cells in turn
        )
        is_null = any(row[n] is None for n in columns)
        led.append(row if is_null else next(filter(keeps_checks, forms), row))
    for indexes in list_key_indexes(table):
        if len({tuple(row[n] for n in indexes) for row in led}) < len(led):
            return list(rows)
    return led


def is_bound(schema: Schema, table: Table, column: Column) -> bool:
    """Whether a column refers to another table or is referred to, so that its values must stay."""
    name = column.name.lower()
    if refers(table, column):
        return True
    return any(
        plain_name(foreign.table) == plain_name(table.name)
        and name in map(str.lower, list_target_columns(table, foreign))
        for other in schema.tables
        for foreign in other.foreign
    )


def list_key_indexes(table: Table) -> list[list[int]]:
    """The columns of each key, by their numbers."""
    names = [column.name.lower() for column in table.columns]
    return [[names.index(name.lower()) for name in key.columns] for key in table.keys]


class RowGuard:
    """Admits new rows of a table that keep its checks and repeat none of its keys."""

    def __init__(self, table: Table, rows: Iterable[Sequence[Any]], dialect: str) -> None:
        self._keys = list_key_indexes(table)
        self._seen = [{fold_key(row, key) for row in rows} for key in self._keys]
        self._keeps_checks = compile_row_check(table, dialect)

    def admit(self, row: Sequence[Any]) -> bool:
        """Whether a row may join those that are there, of which it is one then."""
        new = [fold_key(row, key) for key in self._keys]
        if any(map(is_taken, new, self._seen)) or not self._keeps_checks(row):
            return False
        for cells, present in zip(new, self._seen, strict=True):
            present.add(cells)
        return True


def is_taken(cells: tuple[Any, ...], taken: set[tuple[Any, ...]]) -> bool:
    """Whether a key is there already; one with a NULL may come again."""
    return None not in cells and cells in taken


def fold_key(row: Sequence[Any], key: Sequence[int]) -> tuple[Any, ...]:
    """What keeps keys apart under any collation that does not pad with blanks."""
    return tuple(fold_text(row[n]) for n in key)
