"""Databases of rows that repeat within a group, for what statements sum, average, count or rank.

A cluster is a row that its partners join, its copy under another key and a third that differs in
its numbers: their sum is not that of the distinct ones, the largest is not the sum, and the third
has another rank behind two that are tied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from evalcore.sqlkit.generate.balances import Balance, list_balance_changes
from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.clocks import move_time
from evalcore.sqlkit.generate.database import Database, Row, drop_dangling_rows
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    RowGuard,
    fill_islands,
    is_bound,
    iter_links_to_keys,
    list_key_indexes,
    replace_cells,
)
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import Column, Schema, Table, plain_name

_MAX_TABLES = 4  # that have clusters
_NUMBERS = ("integer", "decimal", "float")
_MAX_CONSTANT, _MAX_DAYS = 10**6, 400
_HOURS = (0, 2, -2)  # beside whole days between two times
Triple = tuple[Any, Any, Any]


def generate_clusters(schema: Schema, hints: Hints, usage: Usage, seed: int) -> Database | None:
    """Islands each of which has a cluster in one table; None where no table can hold any."""
    tables = [
        table
        for table in schema.tables
        if usage.mentions_table(plain_name(table.name)) and list_copied_keys(table) is not None
    ][-_MAX_TABLES:]
    if not tables:
        return None
    tables = [table for table in tables if not _has_partners(schema, table, hints)] or tables
    makers = (_keep_equal, _sum_above_constant, _sum_below_zero, *4 * (_keep_equal,))
    count = len(makers) * len(tables)
    base = fill_islands(schema, hints, "clusters", seed, count)
    filled = {name: list(rows) for name, rows in base.tables.items()}
    for table in tables:
        filled[table.name] = part_groups(schema, table, filled[table.name], hints)
    for number in range(count):
        table = tables[number % len(tables)]
        rows = filled[table.name]
        if number < len(rows):
            turn = number // len(tables)
            triples = _list_triples(schema, table, rows[number], hints, makers[turn])
            if turn % 2 or turn > 3:
                hours = _HOURS[turn - 4] if turn > 3 else None
                triples |= _list_earlier(schema, table, rows[number], hints, hours)
            rows[number] = _replace(rows[number], {n: triple[0] for n, triple in triples.items()})
            shown = _list_shown(schema, table, hints)
            numbers = add_members(table, rows, number, triples, shown, schema.dialect)
            _lead_bounds(schema, table, filled, number, numbers, hints, turn)
    for table in tables:  # a key that decides between tied rows is not the order they lie in
        if all(plain_name(f.table) != plain_name(table.name) for f in table.foreign):
            filled[table.name].reverse()
    return Database(base.profile, {name: tuple(rows) for name, rows in filled.items()})


def _has_partners(schema: Schema, table: Table, hints: Hints) -> bool:
    """Whether other rows lead to a row by its key: a copy under another would have no partners."""
    alone = {key.columns[0].lower() for key in table.keys if len(key.columns) == 1}
    referred = {plain_name(f.table) for t in schema.tables if t is not table for f in t.foreign}
    return plain_name(table.name) in referred or bool(alone & hints.equated.keys())


def part_groups(
    schema: Schema, table: Table, rows: list[Row], hints: Hints, *, texts: bool = False
) -> list[Row]:
    """The rows each in a group of its own, where a number that nothing else uses groups them, or a
    text where that is asked for."""
    for n, column in enumerate(table.columns):
        name = column.name.lower()
        used = name in hints.constants or name in hints.kindred or is_bound(schema, table, column)
        if name not in hints.grouped or used or column.choices:
            continue
        numbers = range(1, len(rows) + 1)
        if column.kind == "integer":
            rows = replace_cells(table, rows, n, numbers, schema.dialect)
        elif column.kind == "text" and texts:
            rows = replace_cells(table, rows, n, [f"g{k}" for k in numbers], schema.dialect)
    return rows


def list_copied_keys(table: Table) -> list[list[int]] | None:
    """The columns of each key; None where one alone leads to another table, so that a copy cannot
    have a new one, or is of a kind that is not counted on."""
    names = [column.name.lower() for column in table.columns]
    referring = {name.lower() for foreign in table.foreign for name in foreign.columns}
    keys = list_key_indexes(table)
    for key in keys:
        column = table.columns[key[0]]
        if len(key) == 1 and (column.kind not in ("integer", "text") or names[key[0]] in referring):
            return None
    return keys


def _list_triples(
    schema: Schema,
    table: Table,
    row: Row,
    hints: Hints,
    make: Callable[[Any, Sequence[int]], Triple],
) -> dict[int, Triple]:
    """The numbers of the three rows of a cluster, by column, where all fit."""
    keeps_checks = compile_row_check(table, schema.dialect)
    keyed = {name.lower() for key in table.keys for name in key.columns}
    keyed |= hints.equated.keys() | hints.grouped
    triples: dict[int, Triple] = {}
    for n, column in enumerate(table.columns):
        name = column.name.lower()
        if column.kind not in _NUMBERS or column.computed or name in keyed:
            continue
        if is_bound(schema, table, column) or isinstance(row[n], str):
            continue
        fits = build_fit_check(column)
        constants = [c.value for c in hints.constants.get(name, ()) if isinstance(c.value, int)]
        made = make(row[n], [c for c in constants if 0 < c < _MAX_CONSTANT])
        for triple in (made, _keep_equal(row[n], ()), (1, 1, 2)):
            rows = [_replace(row, {n: value}) for value in triple]
            if all(map(fits, triple)) and all(map(keeps_checks, rows)):
                triples[n] = triple
                break
    return triples


def _list_shown(schema: Schema, table: Table, hints: Hints) -> list[int]:
    """Columns of texts that are only shown, so that it does when one of two tied rows is taken for
    the other."""
    keyed = {name.lower() for key in table.keys for name in key.columns}
    used = {*keyed, *hints.constants, *hints.grouped, *hints.sorted, *hints.kindred}
    return [
        n
        for n, column in enumerate(table.columns)
        if column.kind == "text"
        and column.name.lower() not in used
        and not (column.choices or column.computed or is_bound(schema, table, column))
        and (column.length is None or column.length > 4)
    ]


def _list_earlier(
    schema: Schema, table: Table, row: Row, hints: Hints, hours: int | None
) -> dict[int, Triple]:
    """Times of which the third is the earliest, so that the group of two is not the first; all
    within the conditions, or the third as much earlier as statements ask for, and some `hours`."""
    names = [column.name.lower() for column in table.columns]
    keeps_checks = compile_row_check(table, schema.dialect)
    keyed = {name.lower() for key in table.keys for name in key.columns} | hints.equated.keys()
    triples: dict[int, Triple] = {}
    for n, column in enumerate(table.columns):
        if column.kind not in _TIMES or names[n] in keyed or column.computed:
            continue
        times = sorted(map(str, build_cell_pool(column, hints).best))
        if hours is not None:
            noon, kind = f"{str(row[n])[:10]} 12:00:00", column.kind
            days = [
                24 * d + hours * (1 if kind == "timestamp" else 12)
                for d in _list_lengths(column, hints)
            ]
            times = [t for back in (*days[:1], 0) if (t := move_time(noon, -back, kind))]
        kept = all(keeps_checks(_replace(row, {n: time})) for time in times)
        if kept and len(times) > 1 and not is_bound(schema, table, column):
            triples[n] = (times[-1], times[-1], times[0])
    return triples


def _list_lengths(column: Column, hints: Hints) -> list[float]:
    """The days that statements add to times, or hold a difference of these against."""
    values = [constant.value for constant in hints.constants.get(column.name.lower(), ())]
    return [*hints.lengths, *(n for n in values if isinstance(n, int) and 0 < n < _MAX_DAYS)]


def _keep_equal(value: Any, constants: Sequence[int]) -> Triple:
    start = 1 if value is None else value
    return start, start, start + 1


def _sum_below_zero(value: Any, constants: Sequence[int]) -> Triple:
    return -3, -3, 5


def _sum_above_constant(value: Any, constants: Sequence[int]) -> Triple:
    half = constants[0] // 2 + 1 if constants else 4
    return half, half, 0


def _replace(row: Row, cells: dict[int, Any]) -> Row:
    return tuple(cells.get(n, cell) for n, cell in enumerate(row))


def add_members(
    table: Table,
    rows: list[Row],
    number: int,
    triples: dict[int, Triple],
    shown: Sequence[int],
    dialect: str,
) -> dict[str, Triple]:
    """Add the copies of a row that keep the keys and the checks; the numbers by column that the
    whole cluster has then."""
    guard, count = RowGuard(table, rows, dialect), len(rows)
    for member in (1, 2):
        cells = {n: triple[member] for n, triple in triples.items()}
        cells |= {n: f"c{len(rows)}" for n in shown}
        for key in list_copied_keys(table) or ():
            n = key[-1]
            if len(key) > 1:
                cells[n] = rows[(number + member) % count][n]
            else:
                cells[n] = (
                    500 + len(rows) if table.columns[n].kind == "integer" else f"c{len(rows)}"
                )
        row = _replace(rows[number], cells)
        if not guard.admit(row):
            return {}
        rows.append(row)
    return {table.columns[n].name.lower(): triple for n, triple in triples.items()}


def _lead_bounds(
    schema: Schema,
    table: Table,
    filled: dict[str, list[Row]],
    number: int,
    triples: dict[str, Triple],
    hints: Hints,
    turn: int,
) -> None:
    """Put the sum, the largest or the mean of a cluster into the columns of its partners that the
    statements hold against what they make of it."""
    for bound, measured in hints.measured:
        if measured not in triples:
            continue
        if _find_number(table, measured) is None:
            continue
        triple = [Decimal(str(value)) for value in triples[measured]]
        total = sum(triple, Decimal(0))
        sums = (total, total, max(triple), *4 * (total / 3,))
        for other in schema.tables:
            index = _find_number(other, bound)
            rows = filled[other.name]
            if other is table or index is None or number >= len(rows):
                continue
            column = other.columns[index]
            if bound in hints.equated or is_bound(schema, other, column):
                continue
            value = _to_number(sums[turn], column)
            if build_fit_check(column)(value):
                rows[number] = _replace(rows[number], {index: value})


def _find_number(table: Table, name: str) -> int | None:
    for n, column in enumerate(table.columns):
        if column.name.lower() == name and column.kind in _NUMBERS and not column.computed:
            return n
    return None


def _to_number(value: Decimal, column: Column) -> Any:
    if column.kind == "integer":
        return int(value)
    return round(float(value), 2 if column.scale is None else column.scale)


# A database in which each comparison of several columns turns on a row that has a history: what
# asks also for others before it decides nothing on an island of single rows.

_AROUND = 5  # values about the one at which a balance turns
_TIMES = ("date", "timestamp")


def generate_histories(
    schema: Schema, hints: Hints, seed: int, balances: Sequence[Balance]
) -> Database | None:
    """Islands of all turns of the balances, with earlier copies of the rows that they compare; None
    where there are no balances, or none of these rows can be copied."""
    base = fill_islands(schema, hints, "histories", seed, _AROUND * len(balances))
    filled = {name: list(rows) for name, rows in base.tables.items()}
    copied = False
    for number, (balance, turn) in enumerate((b, n) for b in balances for n in range(_AROUND)):
        island = {name: rows[number] for name, rows in filled.items() if number < len(rows)}
        changes = list_balance_changes(schema, hints, balance, island)
        for name, column, value in changes[turn] if turn < len(changes) else ():
            table = next(table for table in schema.tables if table.name == name)
            rows, cells = filled[name][: number + 1], [None] * number + [value]
            filled[name][: number + 1] = replace_cells(table, rows, column, cells, schema.dialect)
        compared = {column.table for side in balance for column in side.find_all(exp.Column)}
        for table in schema.tables if turn < len(changes) else ():
            rows = filled[table.name]
            if plain_name(table.name) in compared and list_copied_keys(table) is not None:
                earlier = _list_days_before(schema, table, rows[number])
                copied |= bool(add_members(table, rows, number, earlier, (), schema.dialect))
    return (
        Database(base.profile, {n: tuple(rows) for n, rows in filled.items()}) if copied else None
    )


def _list_days_before(schema: Schema, table: Table, row: Row) -> dict[int, Triple]:
    """The times of a row, a day and two days earlier in its copies, where that fits."""
    names = [column.name.lower() for column in table.columns]
    keeps_checks = compile_row_check(table, schema.dialect)
    keyed = {name.lower() for key in table.keys for name in key.columns}
    triples: dict[int, Triple] = {}
    for n, column in enumerate(table.columns):
        if column.kind not in _TIMES or column.computed or names[n] in keyed or row[n] is None:
            continue
        values = [move_time(row[n], hours, column.kind) for hours in (0, -24, -48)]
        fits = all(map(build_fit_check(column), values)) and None not in values
        is_valid = fits and all(keeps_checks(_replace(row, {n: value})) for value in values)
        if is_valid and not is_bound(schema, table, column):
            triples[n] = (row[n], values[1], values[2])
    return triples


# A database in which rows differ in their keys alone, whatever tables they are computed from.

_HOURS_LATER = (0, 1 / 60, 1, 61 / 60, 2)  # of the rows of a table
_LARGE = (1_000, 100, 30)  # what is left of them after a quotient is cut is not nought


def generate_alike(schema: Schema, hints: Hints, seed: int) -> Database:
    """The first island again and again under other keys, with large numbers, the last time with
    smaller ones: what is made of the others is equal within a group, so that DISTINCT tells, a rank
    beside a row's number, and the rank of the last beside a dense one."""
    base = fill_islands(schema, hints, "alike", seed, len(_HOURS_LATER))
    tables: dict[str, tuple[Row, ...]] = {}
    linked: dict[str, set[int]] = {table.name: set() for table in schema.tables}
    for table, n, _, _ in iter_links_to_keys(schema, hints):
        linked[table.name].add(n)
    for table in schema.tables:
        rows = [*base.tables[table.name]]
        keys = list_key_indexes(table)
        made = [_enlarge_numbers(schema, table, rows[0], hints)] if rows else []
        guard = RowGuard(table, made, schema.dialect)
        for number, other in enumerate(rows[1:], 1):
            last = number == len(rows) - 1
            cells = _halve_changes(rows[0], made[0]) if last else [*made[0]]
            for n in linked[table.name]:  # two rows lead to each of two others, the last to a third
                cells[n] = rows[number // 2][n]
            for key in keys:
                _renew_key(schema, table, cells, key, other, number)
            if guard.admit(cells):
                made.append(tuple(cells))
        tables[table.name] = tuple(made)
    return drop_dangling_rows(schema, Database(base.profile, tables))


def _renew_key(
    schema: Schema, table: Table, cells: list[Any], key: list[int], other: Row, number: int
) -> None:
    """Give the last column of a key that is free its value in another row; a later time where the
    key has other columns beside it."""
    n = next((n for n in key[::-1] if not is_bound(schema, table, table.columns[n])), key[0])
    kind = table.columns[n].kind
    hours = 24 * number if kind == "date" else _HOURS_LATER[number]
    later = move_time(cells[n], hours, kind) if kind in _TIMES and key[1:] else None
    cells[n] = later or other[n]


def _halve_changes(before: Row, after: Row) -> list[Any]:
    """The row after a change of numbers, with each changed by half as much."""
    pairs = zip(before, after, strict=True)
    return [new if new == old or old is None else old + (new - old) // 2 for old, new in pairs]


def _enlarge_numbers(schema: Schema, table: Table, row: Row, hints: Hints) -> Row:
    """The row with large numbers where no condition is in the way."""
    keyed = {name.lower() for key in table.keys for name in key.columns} | hints.equated.keys()
    for n, column in enumerate(table.columns):
        constants = hints.constants.get(column.name.lower(), ())
        stated = [c for c in constants if c.operator not in ("about", "not null", "null")]
        if column.kind not in _NUMBERS or column.choices or column.name.lower() in keyed:
            continue
        if any(c.operator not in (">", ">=") for c in stated) or is_bound(schema, table, column):
            continue
        least = max((c.value for c in stated if isinstance(c.value, int)), default=0)
        for value in (least + large for large in _LARGE if not column.computed):
            (changed,) = replace_cells(table, [row], n, [value], schema.dialect)
            if changed != row:
                row = changed
                break
    return row
