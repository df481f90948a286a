"""Databases on which plausible rewrites go wrong: tables without rows, values at every edge.

Each keeps the schema's constraints. The values come from the types, from the constants of the
statements and from how they use a column (lengths that they cut at, paths into JSON, dates in
text); a row has one such value, and all else in it satisfies the conditions of the statements.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.generate.conditions import compile_checks
from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.edges import list_edge_cells, list_extreme_cells
from evalcore.sqlkit.generate.filler import Domains, Filler
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import (
    Column,
    ForeignKey,
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

_GOOD = Profile("", rows=5, good=1.0, near=0.0, null=0.0, duplicate=0.0, dangling=0.0, domain=0.5)
_NULLS = Profile("only nulls", rows=4, good=0.0, null=1.0, duplicate=0.0, domain=0.5)
_TWICE = msgspec.structs.replace(
    _GOOD, name="each row again and again", rows=12, duplicate=0.7, altered=0.0
)
_UNMATCHED = Profile("no matches", rows=8, good=0.0, near=0.0, duplicate=0.0, dangling=0.5)
_SIBLINGS = msgspec.structs.replace(_GOOD, name="siblings", rows=8, domain=0.3)
_MAX_SIBLINGS = 24  # rows that are added to a table
_MAX_EMPTIED = 3  # tables that are emptied in turn
_MAX_SAME = 8  # values that a column takes of others
_MAX_CELLS = 44  # of a column
_MAX_ROWS, _BASE_ROWS = 130, 6
_ROUNDS = 2  # rows for each edge, where there is room


class Edge(Record, frozen=True):
    """One cell to be put into a row: the table, its row and column, and the value."""

    table: str
    row: int
    column: int
    value: Any


class SameAs(Record, frozen=True):
    """In place of a value: that of another column of the row, so that a comparison of the two just
    holds or just does not; a day becomes a moment of it, and a moment its day. `form` is what a
    text becomes: with a blank at its end, or in the other case; a time is `hours` later."""

    column: int
    form: Literal["", "blank", "case"] = ""
    hours: int = 0

    def take_value(self, row: Row, column: Column) -> Any:
        value = row[self.column]
        if isinstance(value, str) and self.form:
            return f"{value} " if self.form == "blank" else value.swapcase()
        if value is None or column.kind not in _TIMES:
            return int(value) if column.kind == "integer" and value is not None else value
        if self.hours:
            return _move_time(str(value), self.hours, column.kind)
        return f"{str(value)[:10]} 08:00:00" if column.kind == "timestamp" else str(value)[:10]


def _move_time(value: str, hours: int, kind: str) -> str | None:
    try:
        moved = datetime.fromisoformat(value) + timedelta(hours=hours)
    except (ValueError, OverflowError):
        return None
    return str(moved.date()) if kind == "date" else str(moved)


_TIMES = ("date", "timestamp")
_COMPARABLE = (
    frozenset(_TIMES),
    frozenset(("integer", "decimal", "float")),
    frozenset(("text",)),
)


#: A table, the index of its column and a value (or `SameAs`) for one of its rows.
EdgeCell = tuple[str, int, Any]


class EdgeDatabase(Record, frozen=True):
    """Rows that satisfy the conditions, and the edges to be put into them."""

    base: Database
    edges: tuple[Edge, ...]

    def apply_edges(self, edges: Iterable[Edge]) -> Database:
        tables = {name: list(rows) for name, rows in self.base.tables.items()}
        for edge in edges:
            row = list(tables[edge.table][edge.row])
            row[edge.column] = edge.value
            tables[edge.table][edge.row] = tuple(row)
        return Database(
            profile=self.base.profile, tables={name: tuple(rows) for name, rows in tables.items()}
        )


def generate_sparse_databases(
    schema: Schema, hints: Hints, usage: Usage, seed: int
) -> Iterator[Database]:
    """Databases with no rows, without those of one table, of one row, with all that may be NULL,
    without a row that meets a condition, with every row repeated, and with rows that differ in one
    flag."""
    yield Database("all empty", {table.name: () for table in schema.tables})
    used = [table for table in schema.tables if usage.mentions_table(plain_name(table.name))]
    yield _fill_tables(schema, hints, _name(_GOOD, "one row"), seed, lambda _: 1)
    if len(used) > 1:
        for emptied in used[:_MAX_EMPTIED]:
            profile = _name(_GOOD, f"{plain_name(emptied.name)} empty")
            sizes = {table.name: _GOOD.rows for table in schema.tables} | {emptied.name: 0}
            yield _fill_tables(schema, hints, profile, seed, sizes.__getitem__)
    yield _fill_tables(schema, hints, _NULLS, seed, lambda _: _NULLS.rows)
    unconstrained = msgspec.structs.replace(hints, constants={})
    yield _fill_tables(schema, unconstrained, _UNMATCHED, seed, lambda _: _UNMATCHED.rows)
    yield _fill_tables(schema, hints, _TWICE, seed, lambda _: _TWICE.rows)
    yield _add_siblings(
        schema, hints, _fill_tables(schema, hints, _SIBLINGS, seed, lambda _: _SIBLINGS.rows)
    )


def _add_siblings(schema: Schema, hints: Hints, database: Database) -> Database:
    """Most rows again with one other value of a flag or category that the statements compare, so
    that whoever refers to the same row does so with both values, and others with one of them."""
    tables = dict(database.tables)
    for table in schema.tables:
        rows = [*tables[table.name]]
        checks = compile_checks(table.checks, schema.dialect)
        names = [column.name.lower() for column in table.columns]
        keys = [[names.index(name.lower()) for name in key.columns] for key in table.keys]
        seen = [{_fold_key(row, key) for row in rows} for key in keys]
        for number, (column, value) in enumerate(_list_flag_cells(schema, table, hints)):
            sibling = _renew_keys(table, rows, number % _SIBLINGS.rows, keys)
            if sibling is None or sibling[column] == value:
                continue
            sibling[column] = value
            if any(
                _is_taken(_fold_key(sibling, key), taken)
                for key, taken in zip(keys, seen, strict=True)
            ):
                continue
            if all(check(dict(zip(names, sibling, strict=True))) for check in checks):
                for key, taken in zip(keys, seen, strict=True):
                    taken.add(_fold_key(sibling, key))
                rows.append(tuple(sibling))
        tables[table.name] = tuple(rows)
    return Database(_SIBLINGS.name, tables)


def generate_sibling_pairs(
    schema: Schema, hints: Hints, usage: Usage, seed: int
) -> Iterator[tuple[str, Database]]:
    """For each flag that the statements compare with two values a database of one row a table that
    all join, and a second one in its table with the other value; with the name of the flag."""
    base = _fill_tables(schema, hints, _name(_GOOD, "two of one parent"), seed, lambda _: 1)
    joined: dict[tuple[str, str], Any] = {}
    tables: dict[str, list[Row]] = {}
    for table in schema.tables:
        tables[table.name] = [
            tuple(
                joined.setdefault((hints.find_family(column.name), column.kind), cell)
                if column.name.lower() in hints.kindred and cell is not None
                else cell
                for column, cell in zip(table.columns, row, strict=True)
            )
            for row in base.tables[table.name]
        ]
    for table in schema.tables:
        if not usage.mentions_table(plain_name(table.name)) or not tables[table.name]:
            continue
        names = [column.name.lower() for column in table.columns]
        keys = [[names.index(name.lower()) for name in key.columns] for key in table.keys]
        for column in dict.fromkeys(n for n, _ in _list_flag_cells(schema, table, hints)):
            values = build_cell_pool(table.columns[column], hints).hits[:2]
            first, second = tables[table.name][0], _renew_keys(table, tables[table.name], 0, keys)
            if len(values) < 2 or second is None:
                continue
            rows = [[*first], second]
            for row, value in zip(rows, values, strict=True):
                row[column] = value
            pair = {table.name: tuple(map(tuple, rows))}
            others = {name: tuple(single) for name, single in tables.items()}
            yield names[column], Database(base.profile, others | pair)


def _list_flag_cells(schema: Schema, table: Table, hints: Hints) -> list[tuple[int, Any]]:
    """The values of the columns that are compared with constants and neither joined nor a key, the
    columns in turn."""
    alone = {key.columns[0].lower() for key in table.keys if len(key.columns) == 1}
    cells: list[list[tuple[int, Any]]] = []
    for n, column in enumerate(table.columns):
        name = column.name.lower()
        if name not in hints.constants or name in hints.kindred or name in alone:
            continue
        if column.computed or _is_bound(schema, table, column):
            continue
        pool = build_cell_pool(column, hints)
        values = [
            *pool.hits[:4],
            *pool.near[:3],
            *pool.plain[:2],
            *([None] if column.nullable else []),
        ]
        cells.append([(n, value) for value in dict.fromkeys(values)])
    turns = zip_longest(*cells)
    return [cell for turn in turns for cell in turn if cell is not None][:_MAX_SIBLINGS]


def _renew_keys(
    table: Table, rows: Sequence[Row], index: int, keys: Sequence[Sequence[int]]
) -> list[Any] | None:
    """A row with new numbers or texts in its keys of one column, None where it has other ones."""
    if index >= len(rows):
        return None
    cells = [*rows[index]]
    for key in keys:
        if len(key) > 1:
            continue
        value, column = cells[key[0]], table.columns[key[0]]
        if isinstance(value, int) and column.kind in ("integer", "decimal"):
            cells[key[0]] = 100 + len(rows)
        elif isinstance(value, str) and column.kind == "text" and not column.choices:
            cells[key[0]] = f"s{len(rows)}"
        elif value is not None:
            return None
    fits = (build_fit_check(table.columns[key[0]])(cells[key[0]]) for key in keys if len(key) == 1)
    return cells if all(fits) else None


def generate_edge_databases(
    schema: Schema,
    hints: Hints,
    usage: Usage,
    seed: int,
    without: frozenset[EdgeCell] = frozenset(),
) -> Iterator[EdgeDatabase]:
    """Databases with the edges of every column that the statements mention, but those `without`,
    then those with the largest and the smallest numbers of their types, at which arithmetic may
    overflow."""
    cells = list_edge_cells_by_table(schema, hints, usage)
    yield _build_edge_database(
        "edges",
        schema,
        hints,
        seed,
        {
            name: [(n, value) for n, value in edges if (name, n, value) not in without]
            for name, edges in cells.items()
        },
    )
    for name, sign in (("largest numbers", 1), ("smallest numbers", -1)):
        database = _build_edge_database(
            name, schema, hints, seed, _list_extremes(schema, usage, sign)
        )
        if database.edges:
            yield database


def list_edge_cells_by_table(
    schema: Schema, hints: Hints, usage: Usage
) -> dict[str, list[tuple[int, Any]]]:
    """The edges that the statements give to the columns of each table, so many as there is room
    for."""
    return {
        table.name: [
            (n, value)
            for n in range(len(table.columns))
            for value in _list_cells(schema, table, n, hints, usage)
        ][:_MAX_ROWS]
        for table in schema.tables
    }


def _list_extremes(schema: Schema, usage: Usage, sign: int) -> dict[str, list[tuple[int, Any]]]:
    return {
        table.name: [
            (n, value)
            for n, column in enumerate(table.columns)
            if usage.mentions_column(column.name.lower()) and not _is_bound(schema, table, column)
            for value in list_extreme_cells(column, schema.dialect, sign)
        ]
        for table in schema.tables
    }


def _name(profile: Profile, name: str) -> Profile:
    return msgspec.structs.replace(profile, name=name)


def _is_bound(schema: Schema, table: Table, column: Column) -> bool:
    """Whether a column refers to another table or is referred to, so that its values must stay."""
    name = column.name.lower()
    if any(name in map(str.lower, foreign.columns) for foreign in table.foreign):
        return True
    return any(
        plain_name(foreign.table) == plain_name(table.name)
        and name in map(str.lower, list_target_columns(table, foreign))
        for other in schema.tables
        for foreign in other.foreign
    )


def _list_cells(
    schema: Schema, table: Table, index: int, hints: Hints, usage: Usage
) -> Sequence[Any]:
    column = table.columns[index]
    if column.computed or not usage.mentions_column(column.name.lower()):
        return ()
    edges: list[Any] = [None, None] if column.nullable else []
    if not _is_bound(schema, table, column):
        edges += [
            same
            for number, other in enumerate(table.columns)
            if number != index
            and usage.mentions_column(other.name.lower())
            and any({column.kind, other.kind} <= kinds for kinds in _COMPARABLE)
            for same in _list_same(number, column.kind, hints)
        ][:_MAX_SAME]
        edges += list_edge_cells(column, hints, usage, schema.dialect)[:_MAX_CELLS]
    return edges


def _list_same(number: int, kind: str, hints: Hints) -> list[SameAs]:
    """What a column may take of another: of times also those later by as much as the statements
    add, and by just over a day."""
    if kind == "text":
        return [SameAs(number), SameAs(number, "blank"), SameAs(number, "case")]
    if kind not in _TIMES:
        return [SameAs(number)]
    days = [length + step for length in hints.lengths[:2] for step in (0, 1, -1)]
    return [SameAs(number, hours=hours) for hours in (0, 25, *(24 * day for day in days))]


def _fill_tables(
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


def _build_edge_database(
    name: str,
    schema: Schema,
    hints: Hints,
    seed: int,
    cells_by_table: dict[str, list[tuple[int, Any]]],
) -> EdgeDatabase:
    edge_cells = {
        name: (cells * (_ROUNDS if len(cells) * _ROUNDS <= _MAX_ROWS else 1))[:_MAX_ROWS]
        for name, cells in cells_by_table.items()
    }
    # as many everywhere, so that each row with an edge can have a partner to itself
    size = _BASE_ROWS + max(map(len, edge_cells.values()), default=0)
    profile = msgspec.structs.replace(_GOOD, name=name, rows=12)
    base = _spread_references(schema, _fill_tables(schema, hints, profile, seed, lambda _: size))
    edges: list[Edge] = []
    for table in schema.tables:
        edges += _insert_edges(
            table, base.tables[table.name], edge_cells[table.name], schema.dialect
        )
    return EdgeDatabase(base, tuple(edges))


def _insert_edges(
    table: Table, rows: Sequence[Row], edge_cells: Sequence[tuple[int, Any]], dialect: str
) -> Iterator[Edge]:
    """Edges that keep the table's keys and checks, each in a row of its own."""
    names = [column.name.lower() for column in table.columns]
    checks = compile_checks(table.checks, dialect)
    keys = [[names.index(name.lower()) for name in key.columns] for key in table.keys]
    seen = [{_fold_key(row, key) for row in rows} for key in keys]
    free = iter(range(min(_BASE_ROWS, len(rows) // 2), len(rows)))
    for column, value in edge_cells:
        index = next(free, None)
        if index is None:
            return
        row = [*rows[index]]
        if isinstance(value, SameAs):
            value = value.take_value(rows[index], table.columns[column])
            if value is not None and not build_fit_check(table.columns[column])(value):
                continue
        row[column] = value
        mine = [(key, taken) for key, taken in zip(keys, seen, strict=True) if column in key]
        if any(_is_taken(_fold_key(row, key), taken) for key, taken in mine):
            continue
        if not all(check(dict(zip(names, row, strict=True))) for check in checks):
            continue
        for key, taken in mine:
            taken.add(_fold_key(row, key))
        yield Edge(table.name, index, column, value)


def _is_taken(cells: tuple[Any, ...], taken: set[tuple[Any, ...]]) -> bool:
    """Whether a key is there already; one with a NULL may come again."""
    return None not in cells and cells in taken


def _fold_key(row: Sequence[Any], key: Sequence[int]) -> tuple[Any, ...]:
    """What keeps keys apart under any collation that does not pad with blanks."""
    return tuple(
        unicodedata.normalize("NFKD", cell).casefold() if isinstance(cell, str) else cell
        for cell in (row[n] for n in key)
    )


def _spread_references(schema: Schema, database: Database) -> Database:
    """References led to all rows in turn, so that no row with an edge lacks a partner."""
    tables: dict[str, list[Row]] = {name: list(rows) for name, rows in database.tables.items()}
    for table in schema.tables:
        names = [column.name.lower() for column in table.columns]
        for foreign in table.foreign:
            target = schema.find_table(foreign.table)
            if target is None or target is table or len(foreign.columns) != 1:
                continue
            partners = _list_key_cells(target, tables[target.name], foreign)
            column = names.index(foreign.columns[0].lower())
            if partners:
                tables[table.name] = _lead_to(table, names, tables[table.name], column, partners)
    return msgspec.structs.replace(
        database, tables={name: tuple(rows) for name, rows in tables.items()}
    )


def _list_key_cells(target: Table, rows: Sequence[Row], foreign: ForeignKey) -> list[Any]:
    name = list_target_columns(target, foreign)[0].lower()
    index = next(n for n, column in enumerate(target.columns) if column.name.lower() == name)
    return [row[index] for row in rows]


def _lead_to(
    table: Table, names: Sequence[str], rows: Sequence[Row], column: int, partners: Sequence[Any]
) -> list[Row]:
    """The rows with their reference replaced, where the keys of the table allow all of it."""
    led = []
    for number, row in enumerate(rows):
        cells = [*row]
        if cells[column] is not None:
            cells[column] = partners[number % len(partners)]
        led.append(tuple(cells))
    for key in table.keys:
        indexes = [names.index(name.lower()) for name in key.columns]
        if len({tuple(row[n] for n in indexes) for row in led}) < len(led):
            return list(rows)
    return led


def split_edges(edges: Sequence[Edge]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Two halves, edges of one column together as far as that goes."""
    ordered = sorted(edges, key=lambda edge: (edge.table, edge.column))
    middle = len(ordered) // 2
    return tuple(ordered[:middle]), tuple(ordered[middle:])


__all__ = [
    "Edge",
    "EdgeCell",
    "EdgeDatabase",
    "generate_edge_databases",
    "generate_sibling_pairs",
    "generate_sparse_databases",
    "list_edge_cells_by_table",
    "split_edges",
]
