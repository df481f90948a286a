"""Rows by which two definitions of a table can be told apart: what they refuse and fill in.

A row that the definition takes is changed in one place: a NULL, a value at which a CHECK turns, a
key that comes again. Whether a server takes it then tells whether the rule is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.conditions import Constant
from evalcore.sqlkit.generate.database import Database, Row, render_inserts
from evalcore.sqlkit.generate.hints import Hints, parse_trees, read_hints
from evalcore.sqlkit.generate.islands import GOOD, fill_tables
from evalcore.sqlkit.generate.values import build_cell_pool
from evalcore.sqlkit.schema import Column, Key, Schema, Table, plain_name, read_schema

_MAX_VALUES = 16  # of a column that a CHECK bounds
#: The largest numbers of types, and how many there are: a CHECK may write out what a type says.
_BOUNDS = frozenset(
    2**bits + step for bits in (7, 8, 15, 16, 23, 24, 31, 32, 63) for step in (-1, 0)
)
_DEFINES = re.compile(r"\b(?:CREATE|ALTER)\b", re.I)


class TableRows(Record, frozen=True):
    """Statements that fill a created table. `base` is taken by the definition; the `filled` columns
    are those that it fills in with a constant. `changed` are as `base`, each changed in one place,
    and `required` the columns that all of them give. `typed` are rows with a value in a column, as
    (statement, column), at which its type or formula differs from that in the other definition."""

    table: str
    base: str
    filled: tuple[str, ...]
    changed: tuple[tuple[str, ...], ...]
    required: tuple[Column, ...]
    typed: tuple[tuple[str, str], ...] = ()


def read_altered_schema(ddl: Sequence[str], sql: str, dialect: str) -> Schema:
    """The tables of a schema with rows such as a statement that alters one of them allows."""
    before, after = read_schema(ddl, dialect), read_schema((*ddl, sql), dialect)
    tables = []
    for table in before.tables:
        altered = after.find_table(table.name) or table
        columns = tuple(altered.find_column(column.name) or column for column in table.columns)
        if not all(column.declared for column in columns):  # SQLite keeps in them what it is given
            held = read_hints(((sql, dialect),)).constants
            columns = tuple(_choose_kind(column, held) for column in columns)
        tables.append(msgspec.structs.replace(altered, name=table.name, columns=columns))
    return Schema(tuple(tables), dialect, before.unread)


def _choose_kind(column: Column, held: Mapping[str, Sequence[Constant]]) -> Column:
    """The column, for numbers where it has no type and is held against numbers alone."""
    values = [c.value for c in held.get(column.name.lower(), ()) if c.value is not None]
    is_number = bool(values) and all(isinstance(value, int | float) for value in values)
    if column.declared or not is_number:
        return column
    return msgspec.structs.replace(column, kind="decimal")


def list_defined_tables(ddl: Sequence[str], sql: str, dialect: str) -> tuple[Table, ...]:
    """The tables with columns that are read of a statement, or that it alters."""
    if not _DEFINES.search(sql):
        return ()
    before = read_schema(ddl, dialect)
    after = [_add_index_keys(t, sql, dialect) for t in read_schema((*ddl, sql), dialect).tables]
    return tuple(table for table in after if before.find_table(table.name) != table)


def _add_index_keys(table: Table, sql: str, dialect: str) -> Table:
    """The table with the columns of which a statement makes a unique index, though it be one of
    some rows or of expressions."""
    keys = [*table.keys]
    for tree in parse_trees(sql, dialect):
        index = tree.this if isinstance(tree, exp.Create) and tree.args.get("unique") else None
        parts = index.args.get("params") if isinstance(index, exp.Index) else None
        if index and parts and plain_name(index.args["table"].name) == plain_name(table.name):
            text = " ".join(column.sql(dialect) for column in parts.args["columns"])
            names = set(re.findall(r"\w+", text.lower()))
            keys.append(Key(tuple(c.name for c in table.columns if c.name.lower() in names)))
    return msgspec.structs.replace(table, keys=tuple(dict.fromkeys(keys)))


def fill_parents(schema: Schema, created: Sequence[Table], seed: int) -> Database:
    """Rows of all tables, those of created and altered ones as their definitions want them."""
    names = {plain_name(table.name) for table in created}
    others = [table for table in schema.tables if plain_name(table.name) not in names]
    whole = Schema((*others, *created), schema.dialect)
    hints = _read_checks(created, schema.dialect)
    return fill_tables(whole, hints, GOOD, seed, lambda _: GOOD.rows)


def build_table_rows(
    table: Table, other: Table | None, rows: Sequence[Row], dialect: str
) -> TableRows | None:
    """The rows of a created table, from those that `fill_parents` gave it, with the values at which
    the CHECKs of another definition of it turn; None where no row was found."""
    if len(rows) < 2:
        return None
    given = tuple(column for column in table.columns if _is_required(table, column))
    names = [column.name for column in table.columns]
    first, *others = (dict(zip(names, row, strict=True)) for row in rows)
    start = {column.name: first[column.name] for column in given}
    changed: list[tuple[str, ...]] = [
        (_render_row(table, {**start, **cells}, dialect),)
        for cells in _iter_changes(table, other, first, dialect)
    ]
    keys = (*table.keys, *(other.keys if other is not None else ()))
    both = msgspec.structs.replace(table, keys=tuple(dict.fromkeys(keys)))
    changed += _iter_repeats(both, start, first, others, dialect)
    base = _render_row(table, start, dialect)
    parents = {key.table for key in (*table.foreign, *(other.foreign if other is not None else ()))}
    changed += [(base, f"DELETE FROM {parent}") for parent in sorted(parents)]  # noqa: S608
    filled = tuple(_iter_filled_names(table, given, dialect))
    whole = {column.name: first[column.name] for column in table.columns if not column.identity}
    computed = [column.name for column in table.columns if column.computed]
    typed = [(_render_row(table, whole, dialect), name) for name in computed]
    typed += [
        (_render_row(table, {**start, column.name: value}, dialect), column.name)
        for column in table.columns
        if (twin := other.find_column(column.name) if other is not None else None) is not None
        and (column.identity or twin.declared != column.declared)
        for value in _list_type_edges(column, twin)
    ]
    return TableRows(table.name, base, filled, tuple(dict.fromkeys(changed)), given, tuple(typed))


#: A text that is another one where it was kept as a number.
PADDED = "007"


def _list_type_edges(*columns: Column) -> list[Any]:
    """Values that one type holds as they are and another does not."""
    if any(column.computed for column in columns):
        return []
    if any(column.identity for column in columns):
        return [77]  # which one may give and another may not
    values: list[Any] = []
    for column in columns:
        if column.kind == "text" and column.length:
            values.append("x" * (column.length + 1))
        elif column.kind in ("integer", "decimal", "float"):
            digits = (column.precision or 0) - (column.scale or 0)
            values += [10**digits, f"1.{'0' * (column.scale or 0)}5"]
            values += sorted(_BOUNDS) if column.kind == "integer" else []
        elif column.kind in ("date", "timestamp"):
            values.append("2024-02-29 13:45:10.123456")
    kinds = {column.kind for column in columns}
    if "text" in kinds and kinds & {"integer", "decimal", "float"}:
        values.append(PADDED)
    return list(dict.fromkeys(values))


def _iter_filled_names(table: Table, given: Sequence[Column], dialect: str) -> Iterator[str]:
    for column in table.columns:
        if column in given or column.identity or column.computed:
            continue
        if not column.default or _is_constant(column.default, dialect):
            yield column.name


def _read_checks(tables: Sequence[Table], dialect: str) -> Hints:
    return read_hints(
        (f"SELECT 1 FROM {table.name} WHERE {check}", dialect)  # noqa: S608 - read, never run
        for table in tables
        for check in table.checks
    )


def _is_required(table: Table, column: Column) -> bool:
    """Whether a row has to give a column, or refers by it."""
    if column.identity or column.computed:
        return False
    refers = any(column.name in foreign.columns for foreign in table.foreign)
    return not column.default and (not column.nullable or refers)


def _is_constant(text: str, dialect: str) -> bool:
    """Whether a default is the same at any time."""
    try:
        tree = sqlglot.parse_one(text, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return False
    plain = (
        *(exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Paren, exp.Cast, exp.DataType),
        *(exp.DataTypeParam, exp.Binary),
    )
    return all(isinstance(node, plain) for node in tree.walk())


def _iter_changes(
    table: Table, other: Table | None, first: Mapping[str, Any], dialect: str
) -> Iterator[dict[str, Any]]:
    """Cells to put into the row, in place of its own or beside them."""
    keyed = {name for key in table.keys for name in key.columns}
    for column in table.columns:
        numbered = column.identity or column.computed or column.declared.upper() == "TIMESTAMP"
        if not numbered and column.name not in keyed:
            yield {column.name: None}
    own = _read_checks((table,), dialect)
    added = _read_checks((other,), dialect) if other is not None else Hints()
    for column in table.columns:
        yield from ({column.name: value} for value in _list_checked(column, own, added))
    for check in (*table.checks, *(other.checks if other is not None else ())):
        named = [c.name for c in table.columns if _mentions(check, c.name, dialect)]
        for left, right in combinations([name for name in named if name in first], 2):
            yield {left: first[right], right: first[right]}
            yield {left: first[right], right: first[left]}


def _list_checked(column: Column, own: Hints, added: Hints) -> list[Any]:
    """Values at which the CHECKs of a column turn. The numbers that a server counts need none, so
    there only what the other definition says is looked at."""
    if column.computed or (column.identity and column.name.lower() not in added.constants):
        return []
    values = [*_list_values(column, own)]
    values += [value for value in _list_values(column, added) if value not in _BOUNDS]
    return list(dict.fromkeys(values))[:_MAX_VALUES]


def _mentions(check: str, name: str, dialect: str) -> bool:
    try:
        tree = sqlglot.parse_one(check, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return False
    return any(column.name.lower() == name.lower() for column in tree.find_all(exp.Column))


def _list_values(column: Column, hints: Hints) -> list[Any]:
    """Values that satisfy a CHECK of the column and such as just do not."""
    if column.name.lower() not in hints.constants:
        return []
    pool = build_cell_pool(msgspec.structs.replace(column, choices=(), identity=False), hints)
    return [*pool.hits[:_MAX_VALUES], *pool.near[:_MAX_VALUES]]


def _iter_repeats(
    table: Table,
    start: Iterable[str],
    first: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
    dialect: str,
) -> Iterator[tuple[str, ...]]:
    """Two rows each that have a key in common, or one column of it."""
    numbered = {column.name for column in table.columns if column.identity or column.computed}
    for key in table.keys:
        for names in dict.fromkeys((key.columns, key.columns[:1], key.columns[1:])):
            shared = {name: first[name] for name in names if name in first.keys() - numbered}
            keyed = {name: first[name] for name in key.columns if name in first.keys() - numbered}
            rest = {*start, *keyed} - {*names}
            for other in others if shared else ():
                own = {name: other[name] for name in rest}
                pair = ({**{name: first[name] for name in start}, **keyed}, {**own, **shared})
                yield tuple(_render_row(table, row, dialect) for row in pair)
        for values in _iter_alike_cells(table, key, first) if others and not key.primary else ():
            whole = ({**first, **values[0]}, {**others[0], **values[1]})
            rows = tuple({n: row[n] for n in row.keys() - numbered} for row in whole)
            yield tuple(_render_row(table, row, dialect) for row in rows)


def _iter_alike_cells(
    table: Table, key: Key, first: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Cells of a key that are the same, and texts that some indexes take for the same."""
    same = {name: first[name] for name in key.columns if name in first}
    yield same, same
    for column in table.columns:
        text = same.get(column.name)
        if column.kind == "text" and isinstance(text, str) and not column.choices:
            long = "k" * min(24, (column.length or 25) - 1)
            for one, other in (
                (text, text.swapcase()),
                (text, f"{text} "),
                (f"{long}a", f"{long}b"),
            ):
                yield {**same, column.name: one}, {**same, column.name: other}


def _render_row(table: Table, cells: Mapping[str, Any], dialect: str) -> str:
    """An INSERT of some columns."""
    columns, row = [], []
    for column in table.columns:
        if column.name not in cells or column.computed:
            continue
        value = cells[column.name]
        if value is not None and column.kind != "bytes":  # in quotes it fits any type
            value = str(int(value)) if isinstance(value, bool) else str(value)
            column = msgspec.structs.replace(column, kind="text")
        columns.append(column)
        row.append(value)
    if not columns:
        nothing = "() VALUES ()" if dialect == "mysql" else "DEFAULT VALUES"
        return f"INSERT INTO {table.name} {nothing}"
    single = Table(table.name, tuple(columns))
    rows = Database("", {table.name: (tuple(row),)})
    return str(render_inserts(Schema((single,), dialect), rows, dialect)[0])


def find_same_table(tables: Sequence[Table], name: str) -> Table | None:
    return next((table for table in tables if plain_name(table.name) == plain_name(name)), None)
