"""Databases of a few islands to which many rows lead, whose cells are drawn from few values.

Long statements filter, join and group so much that of rows drawn freely hardly one reaches their
result. Here most do: groups have several sizes, values come once in some and twice in others, and
the times of a group are hours, days, weeks and months apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.clocks import move_time
from evalcore.sqlkit.generate.database import Database, Row, drop_dangling_rows
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    fill_islands,
    fold_key,
    is_bound,
    is_taken,
    list_sole_keys,
    refers,
)
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import (
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

_ISLANDS, _ROWS = 3, 40
_ATTEMPTS = 8  # for each row, to draw one that keeps keys and checks
_DRAWN, _FIRST = 0.6, 0.5
_NULL = (0.1, 0.3)  # the second where something stands for NULLs
_HOURS = (1, 3, 24, 48, 7 * 24, 8 * 24, 30 * 24, 61 * 24)
_NUMBERS, _TIMES = ("integer", "decimal", "float"), ("date", "timestamp")
#: So many rows of the tables whose key others hold, and what is drawn for numbers, beside those
#: that the conditions ask for.
_FEW, _MANY = (1, 1, 2, 3, 8), tuple(range(1, 60))
_CROWDS = (
    ("a crowd of equals", 3, _FEW),
    ("a crowd of groups", 6, _FEW),
    ("a crowd", 14, _MANY),
    ("a crowd of few", 3, _MANY),
)


def generate_crowds(schema: Schema, hints: Hints, seed: int) -> Iterator[Database]:
    """Databases in which numbers repeat and others in which they hardly do, with few parents and
    with more."""
    for name, parents, numbers in _CROWDS:
        base = fill_islands(schema, hints, name, seed, _ISLANDS)
        crowd = _Crowd(schema, hints, base, numbers, random.Random(f"{seed}/{name}"))  # noqa: S311
        for table in sort_by_dependency(schema):
            crowd.add_rows(table, parents if table.name in crowd.parents else _ROWS)
        tables = {table.name: tuple(crowd.rows[table.name]) for table in schema.tables}
        yield drop_dangling_rows(schema, Database(name, tables))


class _Crowd:
    """The tables of one database, filled one after the other."""

    def __init__(
        self,
        schema: Schema,
        hints: Hints,
        base: Database,
        numbers: Sequence[int],
        rng: random.Random,
    ) -> None:
        self._schema, self._hints, self._numbers, self._rng = schema, hints, numbers, rng
        self.rows = {name: [*rows] for name, rows in base.tables.items()}
        self._targets = dict(_iter_targets(schema, hints))
        self.parents = {target for target, _ in self._targets.values()}

    def add_rows(self, table: Table, count: int) -> None:
        rows = self.rows[table.name]
        base = rows[:]
        if not base:
            return
        keeps_checks = compile_row_check(table, self._schema.dialect)
        names = [column.name.lower() for column in table.columns]
        keys = [[names.index(name.lower()) for name in key.columns] for key in table.keys]
        seen = [{fold_key(row, key) for row in rows} for key in keys]
        draws = [self._list_draws(table, n, base) for n in range(len(names))]
        for number in range(count * _ATTEMPTS):
            if len(rows) >= count:
                break
            row = self._draw_row(table, base, draws, number)
            new = [fold_key(row, key) for key in keys]
            if any(map(is_taken, new, seen)) or not keeps_checks(row):
                continue
            for cells, present in zip(new, seen, strict=True):
                present.add(cells)
            rows.append(row)
        if all(plain_name(f.table) != plain_name(table.name) for f in table.foreign):
            rows.reverse()  # a key that decides between tied rows is not the order they lie in

    def _draw_row(
        self, table: Table, base: Sequence[Row], draws: Sequence[Sequence[Any]], number: int
    ) -> Row:
        start = base[0 if self._rng.random() < _FIRST else self._rng.randrange(len(base))]
        names, sole = [column.name.lower() for column in table.columns], list_sole_keys(table)
        cells: list[Any] = []
        for n, column in enumerate(table.columns):
            fresh = {"integer": 200 + number, "text": f"c{number}"}.get(column.kind)
            is_free = names[n] in sole and not refers(table, column)
            if is_free and fresh is not None and build_fit_check(column)(fresh):
                cells.append(fresh)
            elif column.nullable and self._rng.random() < _NULL[names[n] in self._hints.replaced]:
                cells.append(None)
            elif draws[n] and self._rng.random() < _DRAWN:
                cells.append(self._rng.choice(draws[n]))
            else:
                cells.append(start[n])
        return tuple(cells)

    def _list_draws(self, table: Table, n: int, base: Sequence[Row]) -> list[Any]:
        """What the cells of a column are drawn from."""
        column = table.columns[n]
        name, own = column.name.lower(), [row[n] for row in base]
        fits = build_fit_check(column)
        if (table.name, n) in self._targets:
            target, key = self._targets[table.name, n]
            return [row[key] for row in self.rows[target] if row[key] is None or fits(row[key])]
        if name in self._hints.equated or is_bound(self._schema, table, column):
            return own
        pool = build_cell_pool(column, self._hints)
        cells = [*own, *pool.best, *pool.hits, *pool.hits, *pool.near]
        if column.kind in _NUMBERS and not column.choices:
            cells += self._numbers
        elif column.kind in _TIMES or name in self._hints.forms:
            kind = _TIMES[len(str(own[0])) > 10] if column.kind == "text" else column.kind
            near = (move_time(cell, sign * 24, kind) for cell in own for sign in (1, -1))
            far = (move_time(own[0], sign * hours, kind) for hours in _HOURS for sign in (1, -1))
            cells += [moved for moved in (*near, *far) if moved]
        elif name in self._hints.written:
            cells.append(self._hints.written[name])
        return [cell for cell in cells if cell is None or fits(cell)]


def _iter_targets(
    schema: Schema, hints: Hints
) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The columns that refer to a key of one column or are equated with one, each with that key."""
    tables = sort_by_dependency(schema)
    keys: dict[tuple[str, str], tuple[str, int]] = {}
    for table in tables:
        sole = list_sole_keys(table)
        for n, column in enumerate(table.columns):
            family = hints.equated.get(column.name.lower())
            if family and column.name.lower() in sole:
                keys.setdefault((family, column.kind), (table.name, n))
    for table in tables:
        names = [column.name.lower() for column in table.columns]
        for n, column in enumerate(table.columns):
            key = keys.get((hints.equated.get(names[n], ""), column.kind))
            if key is not None and key[0] != table.name and names[n] not in list_sole_keys(table):
                yield (table.name, n), key
        for foreign in table.foreign:
            target = schema.find_table(foreign.table)
            if target is not None and target is not table and len(foreign.columns) == 1:
                named = list_target_columns(target, foreign)[0].lower()
                index = [column.name.lower() for column in target.columns].index(named)
                yield (table.name, names.index(foreign.columns[0].lower())), (target.name, index)
