"""Databases on which plausible rewrites go wrong for what they lack or repeat: tables without
rows, rows that meet no condition, that come again, or that differ from another in one flag.

Each keeps the schema's constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.database import Database, Row, drop_dangling_rows
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    GOOD,
    RowGuard,
    fill_islands,
    fill_tables,
    fold_key,
    is_bound,
    list_key_indexes,
    replace_cells,
)
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import Schema, Table, plain_name

_NULLS = Profile("only nulls", rows=4, good=0.0, null=1.0, duplicate=0.0, domain=0.5)
_TWICE = msgspec.structs.replace(
    GOOD, name="each row again and again", rows=12, duplicate=0.7, altered=0.0
)
_UNMATCHED = Profile("no matches", rows=8, good=0.0, near=0.0, duplicate=0.0, dangling=0.5)
_SIBLINGS = msgspec.structs.replace(GOOD, name="siblings", rows=8, domain=0.3)
_SPELLINGS = ("x", "X", "x", "x ")
_MAX_SIBLINGS = 24  # rows that are added to a table
_ROWS_BESIDE_EMPTY = 20  # of which each column that may has a NULL
_NULL_BESIDE_EMPTY = 1.0  # in good rows, of which all are, two NULLs in five cells
_MAX_EMPTIED = 3  # tables that are emptied in turn
_MAX_LIMIT = 30  # rows that a limit lets through, of which the others hold more


def generate_sparse_databases(
    schema: Schema, hints: Hints, usage: Usage, seed: int
) -> Iterator[Database]:
    """Databases with no rows, without those of one table, of one row, with all that may be NULL,
    without a row that meets a condition, with every row repeated, with zeros for all numbers, with
    rows that differ in one flag, with keys below 0 or far apart, and with texts that differ in case
    or blanks alone."""
    yield Database("all empty", {table.name: () for table in schema.tables})
    used = [table for table in schema.tables if usage.mentions_table(plain_name(table.name))]
    yield fill_tables(schema, hints, _name(GOOD, "one row"), seed, lambda _: 1)
    limits = [count for count in hints.counts if 0 < count <= _MAX_LIMIT]
    size = max([GOOD.rows, *(limit + 2 for limit in limits)])
    if len(used) > 1:
        for emptied in used[:_MAX_EMPTIED]:
            name = f"{plain_name(emptied.name)} empty"
            profile = msgspec.structs.replace(GOOD, name=name, null=_NULL_BESIDE_EMPTY)
            rows = max(size, _ROWS_BESIDE_EMPTY)
            sizes = {table.name: rows for table in schema.tables} | {emptied.name: 0}
            yield fill_tables(schema, hints, profile, seed, sizes.__getitem__)
    yield fill_tables(schema, hints, _NULLS, seed, lambda _: _NULLS.rows)
    unconstrained = msgspec.structs.replace(hints, constants={})
    yield fill_tables(schema, unconstrained, _UNMATCHED, seed, lambda _: _UNMATCHED.rows)
    yield fill_tables(schema, hints, _TWICE, seed, lambda _: _TWICE.rows)
    yield _zero_numbers(schema, hints, fill_islands(schema, hints, "only zeros", seed, 3))
    yield _add_siblings(
        schema, hints, fill_tables(schema, hints, _SIBLINGS, seed, lambda _: _SIBLINGS.rows)
    )
    yield from _iter_renumbered(schema, hints, usage, seed)
    if spelled := _list_equated_texts(schema, hints):
        filled = fill_tables(schema, hints, _name(GOOD, "spellings"), seed, lambda _: 2 * GOOD.rows)
        yield _spell_alike(schema, filled, spelled)
    yield from _iter_respelled_keys(schema, hints, seed)


def _iter_respelled_keys(schema: Schema, hints: Hints, seed: int) -> Iterator[Database]:
    """The texts that a key is held against with a blank behind them, then in other letters: beside
    the text itself no such key has a place where a collation takes them for one."""
    keyed = [
        (table, n, [str(each.value) for each in constants if each.operator == "="])
        for table in schema.tables
        for n, column in enumerate(table.columns)
        if column.folds_case
        and any(column.name in key.columns for key in table.keys)
        and not is_bound(schema, table, column)
        and (constants := hints.constants.get(column.name.lower(), ()))
    ]
    names = {table.columns[n].name.lower() for table, n, _ in keyed}
    loose = {name: each for name, each in hints.constants.items() if name not in names}
    others = msgspec.structs.replace(hints, constants=loose)
    for name, respell in _RESPELLED.items() if keyed else ():
        tables = dict(fill_islands(schema, others, name, seed, GOOD.rows).tables)
        for table, n, words in keyed:
            rows, spelled = [*tables[table.name]], [*map(respell, words)]
            tables[table.name] = tuple(replace_cells(table, rows, n, spelled, schema.dialect))
        yield Database(name, tables)


_RESPELLED: dict[str, Callable[[str], str]] = {
    "padded keys": "{} ".format,
    "keys in other letters": str.swapcase,
}


def _iter_renumbered(schema: Schema, hints: Hints, usage: Usage, seed: int) -> Iterator[Database]:
    """Keys below 0, then keys far apart, with all that refers to them or is joined to them: other
    databases count theirs from 1, and arithmetic on such keys goes the same way in many a wrong
    rewrite. What the statements compare a key with stays."""
    numbered = _list_numbered_columns(schema, hints)
    if not any(
        usage.mentions_column(table.columns[n].name.lower())
        for table in schema.tables
        for n in numbered[table.name]
    ):
        return
    names = {t.columns[n].name.lower() for t in schema.tables for n in numbered[t.name]}
    stated = {constant.value for name in names for constant in hints.constants.get(name, ())}
    for name, ways in _RENUMBERED.items():
        profile = msgspec.structs.replace(GOOD, name=name, rows=_SPREAD_ROWS, duplicate=0.1)
        base = fill_tables(schema, hints, profile, seed, lambda _: _SPREAD_ROWS)
        for renumber in ways:
            tables = {
                table: tuple(
                    tuple(
                        renumber(cell)
                        if n in numbered[table]
                        and isinstance(cell, int)
                        and stated.isdisjoint((cell, renumber(cell)))
                        else cell
                        for n, cell in enumerate(row)
                    )
                    for row in rows
                )
                for table, rows in base.tables.items()
            }
            if all(
                _keeps_declarations(schema, table, tables[table.name]) for table in schema.tables
            ):
                yield Database(name, tables)
                break


_SPREAD_ROWS = 20
#: Ways to number anew, of which the first is taken that the declarations allow.
_RENUMBERED: dict[str, tuple[Callable[[int], int], ...]] = {
    "keys below 0": (lambda n: -n,),
    "keys far apart": (lambda n: n * 10_473 + n % 7, lambda n: n * 473 + n % 7),
}


def _list_numbered_columns(schema: Schema, hints: Hints) -> dict[str, set[int]]:
    """The columns of whole numbers, by table, that are keys, refer to some or are joined to one."""
    names = {
        name.lower()
        for table in schema.tables
        for columns in [each.columns for each in table.keys] + [f.columns for f in table.foreign]
        for name in columns
    }
    families = set(map(hints.find_family, names))
    return {
        table.name: {
            n
            for n, column in enumerate(table.columns)
            if column.kind == "integer"
            and not column.computed
            and not column.choices
            and hints.find_family(column.name) in families
        }
        for table in schema.tables
    }


def _keeps_declarations(schema: Schema, table: Table, rows: Sequence[Row]) -> bool:
    keeps_checks = compile_row_check(table, schema.dialect)
    fits = [build_fit_check(column) for column in table.columns]
    return all(
        all(fit(cell) for fit, cell in zip(fits, row, strict=True) if cell is not None)
        and keeps_checks(row)
        for row in rows
    )


def _list_equated_texts(schema: Schema, hints: Hints) -> list[tuple[Table, int]]:
    """The columns of free text that the statements equate with a column, each by its number."""
    return [
        (table, number)
        for table in schema.tables
        for number, column in enumerate(table.columns)
        if column.kind == "text"
        and column.name.lower() in hints.equated
        and not column.computed
        and not is_bound(schema, table, column)
        and not any(column.name in key.columns for key in table.keys)
    ]


def _spell_alike(
    schema: Schema, database: Database, spelled: Sequence[tuple[Table, int]]
) -> Database:
    """One word in all of some columns, so that rows which match otherwise differ in its case or in
    a blank alone."""
    tables = dict(database.tables)
    for shift, (table, number) in enumerate(spelled):
        rows = [*tables[table.name]]
        words = [_SPELLINGS[(n + shift) % 4] for n in range(len(rows))]
        tables[table.name] = tuple(replace_cells(table, rows, number, words, schema.dialect))
    return Database(database.profile, tables)


def _zero_numbers(schema: Schema, hints: Hints, database: Database) -> Database:
    """Zeros in all numbers that are neither keys nor joined, so that sums are 0 to divide by."""
    tables = dict(database.tables)
    for table in schema.tables:
        rows = [*tables[table.name]]
        keyed = {name.lower() for key in table.keys for name in key.columns}
        for n, column in enumerate(table.columns):
            joined = column.name.lower() in keyed | hints.equated.keys()
            if column.kind not in ("integer", "decimal", "float") or column.computed or joined:
                continue
            if not is_bound(schema, table, column):
                rows = replace_cells(table, rows, n, [0] * len(rows), schema.dialect)
        tables[table.name] = tuple(rows)
    return Database(database.profile, tables)


def _add_siblings(schema: Schema, hints: Hints, database: Database) -> Database:
    """Most rows again with one other value of a flag or category that the statements compare, so
    that whoever refers to the same row does so with both values, and others with one of them."""
    tables = dict(database.tables)
    for table in schema.tables:
        rows = [*tables[table.name]]
        guard, keys = RowGuard(table, rows, schema.dialect), list_key_indexes(table)
        for number, (column, value) in enumerate(_list_flag_cells(schema, table, hints)):
            sibling = _renew_keys(table, rows, number % _SIBLINGS.rows, keys)
            if sibling is None or sibling[column] == value:
                continue
            sibling[column] = value
            if guard.admit(sibling):
                rows.append(tuple(sibling))
        tables[table.name] = tuple(rows)
    return Database(_SIBLINGS.name, tables)


def generate_sibling_pairs(
    schema: Schema, hints: Hints, usage: Usage, seed: int
) -> Iterator[tuple[str, Database]]:
    """For each flag that the statements compare with two values a database of one row a table that
    all join, and a second one in its table with the other value; with the name of the flag."""
    base = fill_tables(schema, hints, _name(GOOD, "two of one parent"), seed, lambda _: 1)
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
        keys = list_key_indexes(table)
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
            yield table.columns[column].name.lower(), Database(base.profile, others | pair)


def generate_conflicts(
    schema: Schema, hints: Hints, seed: int, written: Collection[str]
) -> Iterator[Database]:
    """For `written` tables (folded) whose rows an INSERT may meet: rows that it meets nowhere, and
    rows each of which it meets in another key."""
    touched = [table for table in schema.tables if plain_name(table.name) in written]
    keyed = {name.lower() for table in touched for key in table.keys for name in key.columns}
    constants = {name: each for name, each in hints.constants.items() if name not in keyed}
    others = msgspec.structs.replace(hints, constants=constants)
    base = fill_tables(schema, others, _name(GOOD, "no conflicts"), seed, lambda _: 2 * GOOD.rows)
    free, apart, clash = dict(base.tables), dict(base.tables), False
    for table in touched:
        keys = list_key_indexes(table)
        pools = [build_cell_pool(column, hints).hits for column in table.columns]
        rows = [
            row
            for row in base.tables[table.name]
            if not any(row[n] in pools[n] for key in keys for n in key)
        ]
        free[table.name] = tuple(rows)
        met = [[n for n in key if pools[n]] for key in keys]
        for row, columns in zip(rows, met, strict=False):
            cells = (pools[n][0] if n in columns else cell for n, cell in enumerate(row))
            rows[rows.index(row)] = tuple(cells)
        apart[table.name] = tuple(rows)
        clash |= len(list(filter(None, met))) > 1
    yield drop_dangling_rows(schema, Database(base.profile, free))
    if clash:
        yield drop_dangling_rows(schema, Database("conflicts apart", apart))


def add_standing_rows(
    schema: Schema, database: Database, name: str, names: Sequence[str], rows: Sequence[Row]
) -> Database | None:
    """The database with every second row that a statement added to a table, whose columns came
    under `names`: keys that it computes stand in its way then. Of the rows only the keys and what
    is bound stay, other cells are those of former rows or NULL. None where it added none."""
    table = schema.find_table(name)
    positions = {column.lower(): n for n, column in enumerate(names)}
    before = database.tables.get(table.name, ()) if table else ()
    if table is None or not before or set(positions) != {c.name.lower() for c in table.columns}:
        return None
    order = [positions[column.name.lower()] for column in table.columns]
    added = _list_new_rows(table, before, [tuple(row[n] for n in order) for row in rows])
    bound = {n for n, column in enumerate(table.columns) if is_bound(schema, table, column)}
    bound |= {n for key in list_key_indexes(table) for n in key}
    free = {n for n, column in enumerate(table.columns) if column.nullable} - bound
    keeps_checks = compile_row_check(table, schema.dialect)
    standing: list[Row] = []
    for number, row in added[::2]:
        former = before[number % len(before)]
        cells = tuple(cell if n in bound else former[n] for n, cell in enumerate(row))
        emptied = (None if n in free and not (number + n) % 4 else c for n, c in enumerate(cells))
        standing.append(next(filter(keeps_checks, (tuple(emptied), cells)), row))
    tables = {**database.tables, table.name: (*before, *standing)}
    return Database("what it adds is there", tables) if standing else None


def _list_new_rows(
    table: Table, before: Sequence[Row], rows: Sequence[Row]
) -> list[tuple[int, Row]]:
    """Those of the rows whose keys are not there yet, each with its number."""
    keys = list_key_indexes(table)
    seen = [{_write_key(row, key) for row in before} for key in keys]
    new: list[tuple[int, Row]] = []
    for number, row in enumerate(rows):
        written = [_write_key(row, key) for key in keys]
        if not any(key in present for key, present in zip(written, seen, strict=True)):
            new.append((number, row))
            for key, present in zip(written, seen, strict=True):
                present.add(key)
    return new


def _write_key(row: Sequence[Any], key: Sequence[int]) -> tuple[str, ...]:
    """A key as the same text for an engine's cells and for ours."""
    return tuple(str(cell).casefold().rstrip() for cell in fold_key(row, key))


def _list_flag_cells(schema: Schema, table: Table, hints: Hints) -> list[tuple[int, Any]]:
    """The values of the columns that are compared with constants and neither joined nor a key, the
    columns in turn."""
    alone = {key.columns[0].lower() for key in table.keys if len(key.columns) == 1}
    cells: list[list[tuple[int, Any]]] = []
    for n, column in enumerate(table.columns):
        name = column.name.lower()
        if name not in hints.constants or name in hints.kindred or name in alone:
            continue
        if column.computed or is_bound(schema, table, column):
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


def _name(profile: Profile, name: str) -> Profile:
    return msgspec.structs.replace(profile, name=name)
