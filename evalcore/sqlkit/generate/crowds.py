"""Databases of a few islands to which many rows lead, whose cells are drawn from few values.

Long statements filter, join and group so much that of rows drawn freely hardly one reaches their
result. Here most do: groups have several sizes, values come once in some and twice in others, and
the times of a group are hours, days, weeks and months apart.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from evalcore.records import Record
from evalcore.sqlkit.generate.checks import compile_checks, compile_row_check
from evalcore.sqlkit.generate.clocks import list_anniversaries, list_month_ends, move_time
from evalcore.sqlkit.generate.database import Database, Row, drop_dangling_rows
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import (
    RowGuard,
    fill_islands,
    is_bound,
    list_sole_keys,
    refers,
)
from evalcore.sqlkit.generate.text_forms import TextForms
from evalcore.sqlkit.generate.values import build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import (
    Column,
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

_ISLANDS = 3
_ATTEMPTS = 8  # for each row, to draw one that keeps keys and checks
_DRAWN, _FIRST = 0.6, 0.5
_NULL = (0.1, 0.3)  # the second where something stands for NULLs or they are asked for
_NUMBERS, _TIMES = ("integer", "decimal", "float"), ("date", "timestamp")
#: What is drawn for numbers, and the hours between times, beside what the conditions ask for.
_FEW, _MANY = (1, 1, 2, 3, 5, 7, 8), tuple(range(1, 60))
_FEWEST = (1, 1, 1, 2)
_FEWER = (1, 1, 1, 2, 2, 3) * 2 + (5, 7)
_ODD = (1, 3, 5, 7) * 3  # two of them are often 8 together, an eighth of which is rounded
_SPREAD = tuple(sign * n for n in (1, 3, 24, 48, 168, 192, 720, 1464) for sign in (1, -1))
_A_DAY, _MAX_DAYS = "2024-02-10", 400
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DAYS = tuple(range(-24, 8 * 24, 24))
#: From the 31st of January to the ends of other months, and to days that follow or lie between.
_MONTH_ENDS = tuple(24 * days for days in (0, 28, 15, 29, 59, 60, 89, -31))


class _Kind(Record, frozen=True):
    """How many rows have the tables whose key others hold, those of them that hold that of another
    besides, and all others; what is drawn for their numbers and times; whether no key or number is
    likelier than others; the day that its times are about, where no condition asks for one."""

    name: str
    parents: int
    middle: int
    children: int
    numbers: tuple[int, ...]
    hours: tuple[int, ...] = _SPREAD
    even: bool = False
    day: str = ""

    @property
    def is_dense(self) -> bool:
        """Whether times lie about one only, at the hours that the kind names."""
        return self.hours is not _SPREAD


_KINDS = (
    _Kind("a crowd of equals", 3, 3, 40, _FEW),
    _Kind("a crowd of groups", 6, 6, 40, _FEW),
    _Kind("a crowd", 14, 14, 40, _MANY),
    _Kind("a crowd of few", 3, 3, 40, _MANY),
    _Kind("a crowd of pairs", 3, 14, 24, _FEWER, even=True),
    _Kind("a crowd of equal pairs", 3, 14, 14, _FEWEST, even=True),
    _Kind("a crowd of couples", 14, 14, 24, _ODD, _DAYS, even=True),
    _Kind("a crowd of couples again", 14, 14, 24, _ODD, _DAYS, even=True),
    _Kind("a crowd in a row", 6, 8, 40, _FEWER, _DAYS, even=True),
    _Kind("a crowd in a row again", 3, 8, 32, _FEWER, _DAYS, even=True),
    _Kind("a crowd at month ends", 6, 8, 24, _FEWER, _MONTH_ENDS, even=True, day="2025-01-31"),
)
#: For statements that tell ages: a day that comes later in a leap year than in others.
_AGED = _Kind("a crowd at birthdays", 6, 8, 24, _FEWER, _MONTH_ENDS, even=True, day="2024-07-01")


def generate_crowds(
    schema: Schema, hints: Hints, seed: int, *, even: bool = False
) -> Iterator[Database]:
    """Databases in which numbers repeat and others in which they hardly do, with few parents and
    with more; only those of `even` ones, if asked for."""
    kinds = (*_KINDS, *([_AGED] if hints.years else []))
    for kind in (kind for kind in kinds if kind.even or not even):
        base = fill_islands(schema, hints, kind.name, seed, _ISLANDS)
        crowd = _Crowd(schema, hints, base, kind, random.Random(f"{seed}/{kind.name}"))  # noqa: S311
        for table in sorted(sort_by_dependency(schema), key=crowd.holds_other_keys):
            crowd.add_rows(table)
        tables = {table.name: tuple(crowd.rows[table.name]) for table in schema.tables}
        yield drop_dangling_rows(schema, Database(kind.name, tables))


class _Crowd:
    """The tables of one database, filled one after the other."""

    def __init__(
        self, schema: Schema, hints: Hints, base: Database, kind: _Kind, rng: random.Random
    ) -> None:
        self._schema, self._hints, self._kind, self._rng = schema, hints, kind, rng
        self.rows = {name: [*rows] for name, rows in base.tables.items()}
        self._targets = dict(_iter_targets(schema, hints))
        columns = {column.name.lower() for table in schema.tables for column in table.columns}
        self._families = Counter(each for name, each in hints.equated.items() if name in columns)
        self._often_null = hints.replaced | {
            name
            for name, constants in hints.constants.items()
            if any(constant.operator == "null" for constant in constants)
        }
        self._align_times()

    def _align_times(self) -> None:
        """Lead the times for which nothing is asked to a day that is asked for elsewhere: those of
        several tables are held against each other."""
        pools = {
            (table.name, n): build_cell_pool(column, self._hints)
            for table in self._schema.tables
            for n, column in enumerate(table.columns)
            if self._holds_days(column) and not is_bound(self._schema, table, column)
        }
        days = [str(cell)[:10] for pool in pools.values() for cell in pool.best]
        day = self._kind.day or next(filter(_DAY.fullmatch, days), _A_DAY)
        for table in self._schema.tables:
            keeps_checks = compile_row_check(table, self._schema.dialect)
            loose = {
                n
                for (name, n), pool in pools.items()
                if name == table.name and (self._kind.day or not pool.hits)
            }
            for number, row in enumerate(self.rows[table.name]):
                moved = tuple(
                    self._move_to(day, table.columns[n], cell) if n in loose and cell else cell
                    for n, cell in enumerate(row)
                )
                if keeps_checks(moved):
                    self.rows[table.name][number] = moved

    def _get_forms(self, column: Column) -> TextForms | None:
        return self._hints.forms.get(column.name.lower()) if column.kind == "text" else None

    def _holds_days(self, column: Column) -> bool:
        forms = self._get_forms(column)
        return column.kind in _TIMES or (forms is not None and forms.holds_days)

    def _move_to(self, day: str, column: Column, cell: Any) -> str:
        forms = self._get_forms(column)
        if forms is not None and "%" in forms.forms[0]:
            return forms.format_moments([day])[0]
        return day + str(cell)[10:]

    def holds_other_keys(self, table: Table) -> bool:
        """Whether a column of the table holds keys of another, which must be there before."""
        return any(name == table.name for name, _ in self._targets)

    def _count_rows(self, table: Table) -> int:
        if all(target != table.name for target, _ in self._targets.values()):
            return self._kind.children
        return self._kind.middle if self.holds_other_keys(table) else self._kind.parents

    def add_rows(self, table: Table) -> None:
        rows, count = self.rows[table.name], self._count_rows(table)
        base = rows[:]
        if not base:
            return
        if self._kind.even and count == self._kind.children:
            rows.clear()  # what satisfies the conditions is often far above all others
        guard = RowGuard(table, rows, self._schema.dialect)
        draws = [self._list_draws(table, n, base) for n in range(len(table.columns))]
        for number in range(count * _ATTEMPTS):
            if len(rows) >= count:
                break
            row = self._draw_row(table, base, draws, number)
            if guard.admit(row):
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
            elif column.nullable and self._rng.random() < _NULL[names[n] in self._often_null]:
                cells.append(None)
            elif draws[n] and (
                (self._kind.even and ((table.name, n) in self._targets or column.kind in _NUMBERS))
                or (self._kind.is_dense and self._holds_days(column))
                or (self._kind.even and names[n] in self._hints.combined)
                or start[n] is None
                or self._rng.random() < _DRAWN
            ):
                cells.append(self._rng.choice(draws[n]))
            else:
                cells.append(start[n])
        return tuple(cells)

    def _list_draws(self, table: Table, n: int, base: Sequence[Row]) -> list[Any]:
        """What the cells of a column are drawn from."""
        column = table.columns[n]
        name, own = column.name.lower(), [row[n] for row in base if row[n] is not None]
        fits = build_fit_check(column)
        if (table.name, n) in self._targets:
            target, key = self._targets[table.name, n]
            return [row[key] for row in self.rows[target] if row[key] is None or fits(row[key])]
        is_joined = self._families[self._hints.equated.get(name, "")] > 1
        if is_joined or is_bound(self._schema, table, column):
            return [*own, *(str(cell).swapcase() for cell in own if column.folds_case and cell)]
        pool = build_cell_pool(column, self._hints)
        near = self._rng.sample(pool.near, min(len(pool.near), max(2, len(pool.hits))))
        cells = [*own, *pool.best, *pool.hits, *pool.hits, *near]
        if name in self._hints.combined and column.kind == "text" and not column.choices:
            cells = own[:1] if self._kind.even else cells
            return [*cells, *filter(fits, ["1", f"1{self._hints.combined[name]}1"] * 3)]
        if column.kind in _NUMBERS and not column.choices:
            if self._kind.even:
                cells = self._rng.sample(cells, min(len(cells), len(self._kind.numbers) // 5))
            cells += self._kind.numbers
        elif self._holds_days(column):
            cells = self._add_times(column, own, cells)
        elif column.kind == "text" and not column.choices:
            cells += self._list_words(name, own)
        checks = compile_checks(table.checks, self._schema.dialect)
        return [
            cell
            for cell in cells
            if cell is None or (fits(cell) and all(check({name: cell}) for check in checks))
        ]

    def _list_words(self, name: str, own: Sequence[Any]) -> list[Any]:
        if name in self._hints.written:
            return [self._hints.written[name]]
        if name in self._hints.documents or name in self._hints.forms:
            return []
        word = next((cell for cell in own if cell and cell.swapcase() != cell), "ash")
        return [word, word.swapcase()]  # one text to some collations

    def _add_times(self, column: Column, own: Sequence[Any], cells: list[Any]) -> list[Any]:
        """The cells with times about the first, or those alone where they shall be dense."""
        name, forms = column.name.lower(), self._get_forms(column)
        written = forms is not None and "%" in forms.forms[0]
        start = own if own and not written else [self._kind.day or _A_DAY]
        kind = _TIMES[len(str(start[0])) > 10] if forms else column.kind
        times: list[Any] = [time for time in self._list_times(name, start, kind) if time]
        if forms is not None and written:
            times = [*forms.format_moments(times)]
        if column.kind == "timestamp":
            times += [f"{cell}.4" for cell in cells if str(cell).endswith(":59")]
        return [*own[:1], *times] if self._kind.is_dense else [*cells, *times]

    def _list_times(self, name: str, own: Sequence[Any], kind: str) -> list[str | None]:
        """Times about those of the islands, and as far from them as statements say: their numbers
        may mean years, days, hours, minutes or seconds."""
        if self._kind.day and self._hints.years:
            return list_anniversaries(own[0], self._hints.years[:2], kind)
        times = [move_time(own[0], hours, kind) for hours in self._kind.hours]
        if not self._kind.is_dense:
            times += [move_time(cell, sign * 24, kind) for cell in own for sign in (1, -1)]
            times += list_month_ends(own[0], kind)
        if not self._kind.even:
            return times
        values = [c.value for c in self._hints.constants.get(name, ())]
        numbers = [n for n in values if isinstance(n, int) and n > 1][:2]
        days = [n + more for n in self._hints.lengths[:2] for more in (0, 1)]
        days += [n for n in numbers if n < _MAX_DAYS]
        hours = [n / size + more for n in numbers for size in (1, 60, 3600) for more in (0, 0.005)]
        hours += [sign * 24 * n for n in days for sign in (1, -1)]
        return times + [move_time(own[0], n, kind) for n in hours if n < 24 * _MAX_DAYS]


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
