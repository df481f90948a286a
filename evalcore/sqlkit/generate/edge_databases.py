"""Databases of values at which types and statements turn over, one to an island of joined rows.

An island is a row of each table that join each other and satisfy the conditions of the statements,
in queries inside them too; one cell of it has such a value, so that this value alone decides what
the island gives. The values come from the types, from the constants of the statements and from how
they use a column (lengths that they cut at, paths into JSON, dates in text). The constraints of
the schema hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.generate.balances import Balance, list_balance_changes
from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.clocks import move_time
from evalcore.sqlkit.generate.clusters import part_groups
from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.edges import list_edge_cells, list_extreme_cells
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    fill_islands,
    fold_key,
    is_bound,
    is_taken,
    list_key_indexes,
    refers,
    replace_cells,
)
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import Column, Schema, Table, plain_name

_MAX_SAME = 8  # values that a column takes of others
_MAX_CELLS = 44  # of a column
_AROUND = 5  # values about the one at which a balance turns
_MAX_REPEATED = 60  # cells of a table that has no room for all of them twice
_MAX_ROWS, _BASE_ROWS, _MAX_ISLANDS = 130, 6, 240


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
    hours: float = 0

    def take_value(self, row: Row, column: Column) -> Any:
        value = row[self.column]
        if isinstance(value, str) and self.form:
            return f"{value} " if self.form == "blank" else value.swapcase()
        if value is None or column.kind not in _TIMES:
            return int(value) if column.kind == "integer" and value is not None else value
        if self.hours:
            return move_time(str(value), self.hours, column.kind)
        return f"{str(value)[:10]} 08:00:00" if column.kind == "timestamp" else str(value)[:10]


_TIMES = ("date", "timestamp")
_HALF_A_MINUTE = 0.5 / 1440  # of a day
_COMPARABLE = (frozenset(_TIMES), frozenset(("integer", "decimal", "float")), frozenset(("text",)))


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


def generate_edge_databases(
    schema: Schema,
    hints: Hints,
    usage: Usage,
    seed: int,
    without: frozenset[EdgeCell] = frozenset(),
    balances: Sequence[Balance] = (),
) -> Iterator[EdgeDatabase]:
    """Databases with the edges of every column that the statements mention, but those `without`,
    and those at which `balances` turn, then those with the largest and the smallest numbers of
    their types, at which arithmetic may overflow."""
    cells = list_edge_cells_by_table(schema, hints, usage)
    yield _build_edge_database(
        "edges",
        schema,
        hints,
        seed,
        {name: _list_new_cells(name, edges, without) for name, edges in cells.items()},
        balances,
    )
    if hints.replaced and not without:
        yield _build_edges_beside_nulls(schema, hints, seed, cells)
    for name, sign in (("largest numbers", 1), ("smallest numbers", -1)):
        extremes = _list_extremes(schema, usage, sign)
        database = _build_edge_database(name, schema, hints, seed, extremes)
        if database.edges:  # a sum of two would be too large
            tables = {
                table.name: tuple(part_groups(schema, table, [*rows], hints, texts=True))
                for table in schema.tables
                for rows in (database.base.tables[table.name],)
            }
            yield EdgeDatabase(Database(name, tables), database.edges)


def _build_edges_beside_nulls(
    schema: Schema, hints: Hints, seed: int, cells: dict[str, list[tuple[int, Any]]]
) -> EdgeDatabase:
    """The edges where all other columns for whose NULLs the statements have something are NULL."""
    database = _build_edge_database("edges beside nulls", schema, hints, seed, cells)
    edges = tuple(edge for edge in database.edges if edge.value is not None)
    return EdgeDatabase(_empty_replaced(schema, hints, database.base), edges)


def _empty_replaced(schema: Schema, hints: Hints, database: Database) -> Database:
    """NULLs in all columns for whose NULLs the statements have something, so that this something
    meets the edges of the others."""
    tables = dict(database.tables)
    for table in schema.tables:
        keeps_checks = compile_row_check(table, schema.dialect)
        names = [column.name.lower() for column in table.columns]
        keyed = {name.lower() for key in table.keys for name in key.columns}
        emptied = {
            n
            for n, column in enumerate(table.columns)
            if names[n] in hints.replaced
            and column.nullable
            and not (column.computed or names[n] in keyed | hints.equated.keys())
            and not is_bound(schema, table, column)
        }
        rows = []
        for row in tables[table.name]:
            cells = tuple(None if n in emptied else cell for n, cell in enumerate(row))
            rows.append(cells if keeps_checks(cells) else row)
        tables[table.name] = tuple(rows)
    return msgspec.structs.replace(database, tables=tables)


def _list_new_cells(
    name: str, cells: list[tuple[int, Any]], without: frozenset[EdgeCell]
) -> list[tuple[int, Any]]:
    """The cells of a table that are new, and the NULLs of their columns: what takes the place of a
    NULL is held against the new values."""
    new = [(n, value) for n, value in cells if (name, n, value) not in without]
    columns = {n for n, _ in new}
    nulls = [(n, value) for n, value in cells if value is None and n in columns]
    return list(dict.fromkeys((*nulls, *new)))


def list_edge_cells_by_table(
    schema: Schema, hints: Hints, usage: Usage
) -> dict[str, list[tuple[int, Any]]]:
    """The edges that the statements give to the columns of each table, so many as there is room
    for."""
    return {
        table.name: [
            (n, value)
            for n in _list_by_use(table, hints)
            for value in _list_cells(schema, table, n, hints, usage)
        ][:_MAX_ROWS]
        for table in schema.tables
    }


def _list_by_use(table: Table, hints: Hints) -> list[int]:
    """The columns, those first that are compared with constants."""
    return sorted(
        range(len(table.columns)),
        key=lambda n: table.columns[n].name.lower() not in hints.constants,
    )


def _list_extremes(schema: Schema, usage: Usage, sign: int) -> dict[str, list[tuple[int, Any]]]:
    return {
        table.name: [
            (n, value)
            for n, column in enumerate(table.columns)
            if usage.mentions_column(column.name.lower()) and not is_bound(schema, table, column)
            for value in list_extreme_cells(column, schema.dialect, sign)
        ]
        for table in schema.tables
    }


def _list_cells(
    schema: Schema, table: Table, index: int, hints: Hints, usage: Usage
) -> Sequence[Any]:
    column = table.columns[index]
    if column.computed or not usage.mentions_column(column.name.lower()):
        return ()
    edges: list[Any] = [None, None] if column.nullable else []
    if not is_bound(schema, table, column):
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
    add, a day or half a minute more or less, and by just over a day."""
    if kind == "text":
        return [SameAs(number), SameAs(number, "blank"), SameAs(number, "case")]
    if kind not in _TIMES:
        return [SameAs(number)]
    days = [
        length + step * (1 if length >= 1 else _HALF_A_MINUTE)
        for length in hints.lengths[:2]
        for step in (0, 1, -1)
    ]
    years = [365 * n + n // 4 + more for n in hints.years[:2] for more in (0, 1)]
    return [SameAs(number, hours=hours) for hours in (0, 25, *(24 * day for day in years + days))]


def _build_edge_database(
    name: str,
    schema: Schema,
    hints: Hints,
    seed: int,
    cells_by_table: dict[str, list[tuple[int, Any]]],
    balances: Sequence[Balance] = (),
) -> EdgeDatabase:
    """The edges in islands of their own, twice where there is room; the second time without the
    rows of the tables in which the statements want to find nothing, but for the edge itself, and
    where no alternative of an OR or a UNION makes up for it."""
    edge_cells = {
        table.name: _repeat_cells(table, cells_by_table[table.name], hints)
        for table in schema.tables
    }
    islands = min(sum(map(len, edge_cells.values())), _MAX_ISLANDS)
    size = _BASE_ROWS + islands + _AROUND * len(balances)
    base = fill_islands(schema, hints, name, seed, size)
    owners: dict[str, list[int]] = {}  # the islands of a table's edges
    number = 0
    for table in schema.tables:
        count = len(edge_cells[table.name])
        owners[table.name] = [
            _BASE_ROWS + (number + n) % max(islands, 1) for n in range(min(count, islands))
        ]
        number += count
    again = {
        name: numbers[len(cells_by_table[name]) :] for name, numbers in owners.items() if numbers
    }
    base = _part_negated(schema, hints, _number_apart(schema, hints, base), again)
    base = _miss_alternatives(schema, hints, base, edge_cells, again)
    edges: list[Edge] = []
    for table in schema.tables:
        rows, numbers = base.tables[table.name], owners[table.name]
        edges += _insert_edges(table, rows, edge_cells[table.name], numbers, schema.dialect)
    edges += _list_balance_edges(schema, hints, base, balances, _BASE_ROWS + islands)
    return EdgeDatabase(base, tuple(edges))


def _list_balance_edges(
    schema: Schema, hints: Hints, base: Database, balances: Sequence[Balance], first: int
) -> Iterator[Edge]:
    """The values at which each balance turns, in islands of their own from the `first` on."""
    for number, balance in enumerate(balances):
        for turn in range(_AROUND):
            index = first + _AROUND * number + turn
            island = {name: rows[index] for name, rows in base.tables.items() if index < len(rows)}
            changes = list_balance_changes(schema, hints, balance, island)[turn : turn + 1]
            for name, column, value in changes[0] if changes else ():
                table = next(table for table in schema.tables if table.name == name)
                rows = base.tables[name]
                yield from _insert_edges(table, rows, [(column, value)], [index], schema.dialect)


def _repeat_cells(
    table: Table, cells: list[tuple[int, Any]], hints: Hints
) -> list[tuple[int, Any]]:
    """The cells twice, or where there is no room for that those twice that satisfy a condition or
    just miss one."""
    if 2 * len(cells) <= _MAX_ROWS:
        return 2 * cells
    pools = [build_cell_pool(column, hints) for column in table.columns]
    again = [(n, v) for n, v in cells if v in pools[n].hits or v in pools[n].near]
    return cells + again[:_MAX_REPEATED]


def _insert_edges(
    table: Table,
    rows: Sequence[Row],
    edge_cells: Sequence[tuple[int, Any]],
    numbers: Iterable[int],
    dialect: str,
) -> Iterator[Edge]:
    """Edges that keep the table's keys and checks, each in a row of its own, of these `numbers`."""
    keeps_checks = compile_row_check(table, dialect)
    keys = list_key_indexes(table)
    seen = [{fold_key(row, key) for row in rows} for key in keys]
    free = iter(numbers)
    for column, value in edge_cells:
        index = next(free, None)
        if index is None or index >= len(rows):
            return
        row = rows[index]
        if isinstance(value, SameAs):
            value = value.take_value(row, table.columns[column])
            if value is not None and not build_fit_check(table.columns[column])(value):
                continue
        row = (*row[:column], value, *row[column + 1 :])
        mine = [(key, taken) for key, taken in zip(keys, seen, strict=True) if column in key]
        if any(is_taken(fold_key(row, key), taken) for key, taken in mine):
            continue
        partner = None if keeps_checks(row) else _find_partner(table, row, column, keeps_checks)
        if partner is not None:
            yield Edge(table.name, index, partner, value)
        elif not keeps_checks(row):
            continue
        for key, taken in mine:
            taken.add(fold_key(row, key))
        yield Edge(table.name, index, column, value)


def _find_partner(
    table: Table, row: Row, column: int, keeps_checks: Callable[[Row], bool]
) -> int | None:
    """A column outside of keys that has to have the same value, such as the end of what starts."""
    keyed = {name.lower() for key in table.keys for name in key.columns}
    for n, other in enumerate(table.columns):
        if other.kind != table.columns[column].kind or other.computed:
            continue
        form = (*row[:n], row[column], *row[n + 1 :])
        if other.name.lower() not in keyed and not refers(table, other) and keeps_checks(form):
            return n
    return None


def _number_apart(schema: Schema, hints: Hints, database: Database) -> Database:
    """Other numbers in each island in the columns of a key of several that nothing else says: what
    is counted once must not hide an edge behind another island."""
    tables = dict(database.tables)
    for table in schema.tables:
        keyed = {n.lower() for key in table.keys if len(key.columns) > 1 for n in key.columns}
        for n, column in enumerate(table.columns):
            name = column.name.lower()
            is_said = name in hints.constants or name in hints.equated
            is_free = not is_said and not is_bound(schema, table, column)
            if name in keyed and column.kind == "integer" and is_free:
                numbers = range(1, len(tables[table.name]) + 1)
                rows = replace_cells(table, [*tables[table.name]], n, numbers, schema.dialect)
                tables[table.name] = tuple(rows)
    return msgspec.structs.replace(database, tables=tables)


def _part_negated(
    schema: Schema, hints: Hints, database: Database, islands: dict[str, list[int]]
) -> Database:
    """Rows of tables in which a statement wants to find nothing led out of these islands, which
    belong to the edges of other tables, to the first one."""
    tables = dict(database.tables)
    for table in schema.tables:
        rows = [*tables[table.name]]
        if plain_name(table.name) not in hints.negated or not rows:
            continue
        left = {n for name, numbers in islands.items() if name != table.name for n in numbers}
        for column, each in enumerate(table.columns):
            if each.name.lower() in hints.equated:
                first = rows[0][column]
                values = [first if n in left else None for n in range(len(rows))]
                rows = replace_cells(table, rows, column, values, schema.dialect)
        tables[table.name] = tuple(rows)
    return msgspec.structs.replace(database, tables=tables)


def _miss_alternatives(
    schema: Schema,
    hints: Hints,
    database: Database,
    edge_cells: dict[str, list[tuple[int, Any]]],
    islands: dict[str, list[int]],
) -> Database:
    """In each of these islands, cells that miss what other columns than that of the edge have to
    satisfy where its own does not."""
    edged: dict[int, str] = {}  # the columns of the edges by island
    for table in schema.tables:
        numbers = islands.get(table.name, [])
        cells = edge_cells[table.name][len(edge_cells[table.name]) - len(numbers) :]
        for number, (n, _) in zip(numbers, cells, strict=False):
            edged[number] = table.columns[n].name.lower()
    tables = dict(database.tables)
    for table in schema.tables:
        rows = [*tables[table.name]]
        for n, column in enumerate(table.columns):
            name = column.name.lower()
            pool = build_cell_pool(column, hints)
            miss = next((cell for cell in pool.near if cell not in pool.hits), None)
            if miss is None or name in hints.equated or is_bound(schema, table, column):
                continue
            values = [
                miss if (edged.get(number), name) in hints.alternatives else None
                for number in range(len(rows))
            ]
            rows = replace_cells(table, rows, n, values, schema.dialect)
        tables[table.name] = tuple(rows)
    return msgspec.structs.replace(database, tables=tables)


def split_edges(edges: Sequence[Edge]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Two halves, edges of one column together as far as that goes."""
    ordered = sorted(edges, key=lambda edge: (edge.table, edge.column))
    middle = len(ordered) // 2
    return tuple(ordered[:middle]), tuple(ordered[middle:])
