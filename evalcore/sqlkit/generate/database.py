"""The content of a database apart from any engine: permuted, written as INSERTs, made small."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.engines import GeneratedScript
from evalcore.sqlkit.schema import (
    Column,
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

# The content of a database, apart from any engine.

Row = tuple[Any, ...]


class Database(Record, frozen=True):
    """Rows per table, in the order of insertion, a cell per column of the schema.

    Cells are None, bool, int, float, Decimal or str; dates and times are ISO texts. `profile` names
    the kind of database that was aimed at.
    """

    profile: str
    tables: dict[str, tuple[Row, ...]]

    @property
    def row_count(self) -> int:
        return sum(map(len, self.tables.values()))


def permute_rows(database: Database) -> Database:
    """The same rows in another order: every second one backwards, then the others."""
    return Database(
        profile=database.profile,
        tables={
            name: (*rows[-1::-2], *rows[-2::-2]) if len(rows) > 2 else rows[::-1]
            for name, rows in database.tables.items()
        },
    )


def drop_dangling_rows(schema: Schema, database: Database) -> Database:
    """Without the rows whose reference leads nowhere, and without those that referred to them."""
    tables = dict(database.tables)
    before = -1
    while before != (before := sum(map(len, tables.values()))):
        for table in schema.tables:
            for foreign in table.foreign:
                target = schema.find_table(foreign.table)
                if target is None or table.name not in tables:
                    continue
                names = list_target_columns(target, foreign)
                present = set(_list_cells(target, tables.get(target.name, ()), names))
                rows = tables[table.name]
                references = _list_cells(table, rows, foreign.columns)
                tables[table.name] = tuple(
                    row
                    for row, cells in zip(rows, references, strict=True)
                    if None in cells or cells in present
                )
    return msgspec.structs.replace(database, tables=tables)


def order_own_references(schema: Schema, database: Database) -> Database:
    """Each row after the one of its own table that it refers to, else in the same order."""
    tables = dict(database.tables)
    for table in filter(refers_to_itself, schema.tables):
        foreign = next(f for f in table.foreign if plain_name(f.table) == plain_name(table.name))
        waiting = list(tables.get(table.name, ()))
        keys = _list_cells(table, waiting, list_target_columns(table, foreign))
        references = _list_cells(table, waiting, foreign.columns)
        pending = list(zip(waiting, keys, references, strict=True))
        done: dict[Row, None] = {}
        ordered: list[Row] = []
        while pending:
            ready = [p for p in pending if None in p[2] or p[2] == p[1] or p[2] in done]
            ready = ready or pending  # a circle
            ordered += [row for row, _, _ in ready]
            done.update((key, None) for _, key, _ in ready)
            pending = [p for p in pending if p[1] not in done]
        tables[table.name] = tuple(ordered)
    return msgspec.structs.replace(database, tables=tables)


def fill_empty_texts(schema: Schema, database: Database) -> Database:
    """The rows as a server keeps them to which a text without characters is NULL; where a column
    takes no NULL it holds a blank."""
    tables = dict(database.tables)
    for table in schema.tables:
        filling = [None if column.nullable else " " for column in table.columns]
        tables[table.name] = tuple(
            tuple(fill if cell == "" else cell for cell, fill in zip(row, filling, strict=True))
            for row in tables.get(table.name, ())
        )
    return msgspec.structs.replace(database, tables=tables)


def _list_cells(table: Table, rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    order = {column.name.lower(): n for n, column in enumerate(table.columns)}
    indexes = [order[name.lower()] for name in names if name.lower() in order]
    return [tuple(row[n] for n in indexes) for row in rows]


# A database as INSERT statements of a dialect.

_AT_ONCE = 500  # rows of a statement


def render_inserts(schema: Schema, database: Database, dialect: str) -> tuple[str, ...]:
    """Statements that fill the tables, those first that others refer to."""
    statements = []
    for table in sort_by_dependency(schema):
        rows = database.tables.get(table.name, ())
        indexes = [n for n, column in enumerate(table.columns) if not column.computed]
        names = ", ".join(_quote_column(table.columns[n], dialect) for n in indexes)
        for batch in _iter_batches(table, rows, dialect):
            values = ",\n".join(
                "("
                + ", ".join(_format_sql_cell(row[n], table.columns[n], dialect) for n in indexes)
                + ")"
                for row in batch
            )
            own = dialect == "postgres" and any(column.identity for column in table.columns)
            overriding = " OVERRIDING SYSTEM VALUE" if own else ""
            text = f"INSERT INTO {table.name} ({names}){overriding} VALUES\n{values}"
            statements.append(GeneratedScript(text))
    return tuple(statements)


def _iter_batches(table: Table, rows: Sequence[Row], dialect: str) -> Iterator[Sequence[Row]]:
    """The rows of one statement each. DuckDB looks for a row referred to before it has those of the
    same statement, so there none refers to another of its batch."""
    if dialect != "duckdb" or not refers_to_itself(table):
        yield from (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
        return
    own = [f for f in table.foreign if plain_name(f.table) == plain_name(table.name)]
    keys = [_list_cells(table, rows, list_target_columns(table, foreign)) for foreign in own]
    references = [_list_cells(table, rows, foreign.columns) for foreign in own]
    start, present = 0, [set[Row]() for _ in own]
    for index in range(len(rows)):
        if any(cells[index] in seen for cells, seen in zip(references, present, strict=True)):
            yield rows[start:index]
            start, present = index, [set() for _ in own]
        for cells, seen in zip(keys, present, strict=True):
            seen.add(cells[index])
    if rows:
        yield rows[start:]


def refers_to_itself(table: Table) -> bool:
    return any(plain_name(f.table) == plain_name(table.name) for f in table.foreign)


_FIRST_COPY = 1_000_000  # beyond what generated keys reach
_DIGITS = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(10))
_COUNTABLE = frozenset(("integer", "decimal", "float", "text"))


def render_copies(
    table: Table, row: Row, count: int, varied: Collection[str], dialect: str
) -> GeneratedScript | None:
    """A statement that adds so many copies of a row, which differ in their keys and in the `varied`
    columns (folded) that hold numbers or texts; None where a key cannot be made to differ."""
    numbered = _choose_numbered_columns(table, varied)
    if numbered is None:
        return None
    text = "CONCAT('k', n)" if dialect == "mysql" else "'k' || n"
    columns, values = [], []
    for column, cell in zip(table.columns, row, strict=True):
        if column.computed:
            continue
        columns.append(_quote_column(column, dialect))
        if column.name.lower() not in numbered:
            values.append(_format_sql_cell(cell, column, dialect))
        else:
            values.append(text if column.kind == "text" else f"{_FIRST_COPY} + n")
    powers = range(len(str(count)))
    number = " + ".join(f"{10**n} * d{n}.d" for n in powers)
    digits = " CROSS JOIN ".join(f"({_DIGITS}) d{n}" for n in powers)
    return GeneratedScript(
        f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT {', '.join(values)} "  # noqa: S608 - our own
        f"FROM (SELECT {number} AS n FROM {digits}) numbers WHERE n < {count}"
    )


def _choose_numbered_columns(table: Table, varied: Collection[str]) -> set[str] | None:
    """The columns, folded, in which copies differ: those `varied` and one of each key."""
    bound = {name.lower() for foreign in table.foreign for name in foreign.columns}
    free = {
        column.name.lower()
        for column in table.columns
        if column.kind in _COUNTABLE and not column.choices and column.name.lower() not in bound
    }
    numbered = free.intersection(varied)
    for key in table.keys:
        names = [name.lower() for name in key.columns]
        if numbered.isdisjoint(names):
            candidates = [name for name in names if name in free]
            if not candidates:
                return None
            numbered.add(candidates[0])
    return numbered


def _quote_column(column: Column, dialect: str) -> str:
    """As the DDL wrote it: engines fold bare names and keep quoted ones."""
    if not column.quoted:
        return column.name
    return f"`{column.name}`" if dialect == "mysql" else f'"{column.name}"'


def _format_sql_cell(value: object, column: Column, dialect: str) -> str:
    if value is None:
        return "NULL"
    if column.kind == "boolean" or isinstance(value, bool):
        truth = value if isinstance(value, int) else bool(value)
        numbered = dialect in ("mysql", "sqlite", "tsql", "oracle")
        return str(int(truth)) if numbered else str(bool(truth))
    if isinstance(value, int | float):
        return repr(value) if isfinite(value) else f"'{value}'"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if column.kind == "bytes":
        return f"'\\x{value}'" if dialect == "postgres" else f"X'{value}'"
    text = str(value).replace("'", "''")
    if dialect == "mysql":
        text = text.replace("\\", "\\\\")
    return f"'{text}'"


# A smaller database that still shows a difference (delta debugging, Zeller 1999).

_MAX_PROBES = 160


def shrink_database(
    schema: Schema, database: Database, still_differs: Callable[[Database], bool]
) -> Database:
    """Rows are taken away, table by table and with those that refer to them, as long as the
    difference stays and probes are left."""
    probes = _MAX_PROBES

    def probe_candidate(candidate: Database) -> bool:
        nonlocal probes
        probes -= 1
        return still_differs(candidate)

    smallest = database
    before: list[int] = []
    while _count_table_rows(smallest) != before and probes > 0:  # a table may hold another's rows
        before = _count_table_rows(smallest)
        for name in sorted(smallest.tables, key=lambda n: -len(smallest.tables[n])):
            smallest = _remove_rows(schema, smallest, name, probe_candidate, lambda: probes)
    return smallest


def _count_table_rows(database: Database) -> list[int]:
    return [len(rows) for rows in database.tables.values()]


def _remove_rows(
    schema: Schema,
    smallest: Database,
    name: str,
    probe_candidate: Callable[[Database], bool],
    count_remaining: Callable[[], int],
) -> Database:
    """Remove rows of one table until as few as possible still show the difference."""
    step = max(1, len(smallest.tables[name]) // 2)
    while smallest.tables[name] and count_remaining() > 0:
        shorter = _find_smaller(schema, smallest, name, step, probe_candidate, count_remaining)
        if shorter is not None:
            smallest = shorter
            step = min(step, max(1, len(smallest.tables[name]) // 2))
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return smallest


def _find_smaller(
    schema: Schema,
    database: Database,
    name: str,
    step: int,
    probe_candidate: Callable[[Database], bool],
    count_remaining: Callable[[], int],
) -> Database | None:
    rows = database.tables[name]
    for start in range(0, len(rows), step):
        if count_remaining() <= 0:
            return None
        fewer = {**database.tables, name: rows[:start] + rows[start + step :]}
        candidate = drop_dangling_rows(schema, msgspec.structs.replace(database, tables=fewer))
        if probe_candidate(candidate):
            return candidate
    return None
