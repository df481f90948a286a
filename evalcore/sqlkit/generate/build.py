"""Filling the tables of one database, by its profile and by what the statements hint at.

Everything is drawn from one seeded generator in a fixed order, so equal arguments give equal
databases on every machine. Tables that others refer to are filled first; a reference to a table's
own key leads to an earlier row, so that hierarchies have no cycles.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from evalcore.sqlkit.generate.checks import conditions
from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.hints import Hints, read_hints
from evalcore.sqlkit.generate.profiles import SCALED, Profile, choose, made_eager
from evalcore.sqlkit.generate.values import Cell, Pool, extended, fitting, pool
from evalcore.sqlkit.schema import Column, ForeignKey, Schema, Table, in_order, plain_name

_ATTEMPTS = 12  # to find a row that keeps keys and checks
_MOST_VALUES = 6_000


def databases(
    schema: Schema,
    statements: Sequence[tuple[str, str]],
    *,
    seed: int,
    count: int = 16,
    eager: bool = False,
) -> tuple[Database, ...]:
    """`count` databases of different profiles; `statements` are (sql, dialect) to mine.

    With `eager` nearly every row satisfies some condition: for statements with so many conditions
    that else hardly a row would pass them all.
    """
    hints = read_hints((*statements, *_checks_of(schema)))
    profiles = choose(hints.counts, count, ranked=hints.ranked)
    return tuple(
        _database(schema, hints, profile, random.Random(f"{seed}/{number}"))  # noqa: S311
        for number, profile in enumerate(map(made_eager, profiles) if eager else profiles)
    )


def scaled(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int, rows: int = 4000
) -> Database:
    """One large database with rare and frequent values, on which plans and work can be told."""
    profile = msgspec.structs.replace(SCALED, rows=rows)
    hints = read_hints((*statements, *_checks_of(schema)))
    return _database(schema, hints, profile, random.Random(f"{seed}/scaled"))  # noqa: S311


def _checks_of(schema: Schema) -> Iterator[tuple[str, str]]:
    """CHECK conditions as queries, so that what they allow is among the values."""
    for table in schema.tables:
        for check in table.checks:
            yield f"SELECT 1 FROM {table.name} WHERE {check}", schema.dialect  # noqa: S608


def _database(schema: Schema, hints: Hints, profile: Profile, rng: random.Random) -> Database:
    filled: dict[str, list[Row]] = {}
    domains = _Domains(schema, hints, profile)
    referred = {
        plain_name(foreign.table)
        for table in schema.tables
        for foreign in table.foreign
        if plain_name(foreign.table) != plain_name(table.name)
    }
    for number, table in enumerate(in_order(schema)):
        rows = profile.rows
        if plain_name(table.name) in referred:
            rows = max(2, int(rows * (0.1 if profile.wide else min(0.6, profile.domain))))
        if profile.empty and number % profile.empty == profile.empty - 1:
            rows = 0
        filled[table.name] = list(
            _Filler(schema, table, hints, profile, rng, domains, filled).rows(rows)
        )
    return Database(
        profile=profile.name,
        tables={table.name: tuple(filled[table.name]) for table in schema.tables},
    )


def _without_case_or_sign(value: Cell) -> Cell:
    """What keeps values apart under any collation and under ABS."""
    if isinstance(value, str):
        return value.casefold().rstrip()
    return abs(value) if isinstance(value, int | float) else value


class _Domains:
    """The values that the columns of a family share, so that joins find partners."""

    def __init__(self, schema: Schema, hints: Hints, profile: Profile) -> None:
        self._hints, self._profile = hints, profile
        members: dict[str, list[Column]] = {}
        for table in schema.tables:
            for column in table.columns:
                members.setdefault(hints.family(column.name), []).append(column)
        self._members = members
        self._known: dict[tuple[str, str], tuple[Cell, ...]] = {}

    def joined(self, column: Column) -> bool:
        return column.name.lower() in self._hints.kindred

    def of(self, column: Column, pools: Pool) -> tuple[Cell, ...]:
        """The shared values as cells of this column's kind."""
        family = self._hints.family(column.name)
        key = (family, column.kind)
        if key not in self._known:
            size = max(3, int(self._profile.rows * self._profile.domain))
            base: Iterable[Cell] = ()
            kinds = {member.kind for member in self._members.get(family, ())}
            if column.kind == "text" and kinds & {"integer", "decimal"}:
                base = [str(number) for number in range(1, size + 1)]
            told = (*pools.hits[:4], *base)
            self._known[key] = tuple(islice(extended(told, column.kind), size))
        return self._known[key]


class _NoParent(Exception):
    """A row must refer to a table that holds nothing."""


class _Filler:
    """Fills one table of one database."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        hints: Hints,
        profile: Profile,
        rng: random.Random,
        domains: _Domains,
        filled: dict[str, list[Row]],
    ) -> None:
        self.schema, self.table, self.hints = schema, table, hints
        self.profile, self.rng, self.domains, self.filled = profile, rng, domains, filled
        self.columns = table.columns
        self.places = {column.name.lower(): n for n, column in enumerate(table.columns)}
        self.checks = conditions(table.checks, schema.dialect)
        self.pools = [self._allowed(column, pool(column, hints)) for column in table.columns]
        self.alone = self._unique_alone()
        self.fresh = {
            place: self._new_values(place, self.pools[place].hits) for place in self.alone
        }
        self.common = {place: self._new_values(place, ()) for place in self.alone}
        self.used: dict[int, set[Cell]] = {place: set() for place in self.alone}
        self.wide = [self._many_values(n) for n in range(len(self.columns) if profile.wide else 0)]
        self.seen: list[set[Row]] = [set() for _ in table.keys]
        self.made: list[Row] = []

    def rows(self, count: int) -> Iterator[Row]:
        self.filled[self.table.name] = self.made
        for _ in range(count):
            row = self._row()
            if row is not None:
                self.made.append(row)
        return iter(list(self.made))

    def _allowed(self, column: Column, found: Pool) -> Pool:
        """Without what a check on this column alone refuses."""

        def passes(cell: Cell) -> bool:
            return all(check({column.name.lower(): cell}) for check in self.checks)

        hits, near, plain = (
            tuple(filter(passes, cells)) for cells in (found.hits, found.near, found.plain)
        )
        return Pool(hits=hits, near=near, plain=plain or hits or near or found.plain)

    def _unique_alone(self) -> set[int]:
        """Columns that must be unique, or shall be because something orders them."""
        places = {
            self.places[key.columns[0].lower()]
            for key in self.table.keys
            if len(key.columns) == 1 and key.columns[0].lower() in self.places
        }
        if self.profile.distinct:
            places |= {
                self.places[name]
                for name in self.hints.sorted
                if name in self.places and self.columns[self.places[name]].kind != "boolean"
            }
        return places

    def _new_values(self, place: int, first: Sequence[Cell]) -> Iterator[Cell]:
        """Ever new values in an order of chance: `first`, those of the family, others."""
        column, pools = self.columns[place], self.pools[place]
        primary = any(k.primary and column.name in k.columns for k in self.table.keys)
        shared = self.domains.joined(column) or primary
        others = list(self.domains.of(column, pools) if shared else pools.all)
        begin = list(first)
        self.rng.shuffle(begin)
        self.rng.shuffle(others)
        return iter(extended((*begin, *others), column.kind))

    def _many_values(self, place: int) -> list[Cell]:
        """For plans: from two values to nearly one a row, fixed by the place of the column."""
        column = self.columns[place]
        share = (2, 12, 150, 0)[place % 4]
        size = min(share or self.profile.rows // 2, _MOST_VALUES)
        many = filter(fitting(column), islice(extended((), column.kind), size))
        return list(many) or list(self.pools[place].plain)

    def _row(self) -> Row | None:
        for _ in range(_ATTEMPTS):
            try:
                cells = self._cells()
            except _NoParent:
                return None
            named = {name: cells[place] for name, place in self.places.items()}
            keys = [
                tuple(named.get(name.lower()) for name in key.columns) for key in self.table.keys
            ]
            taken = any(
                None not in key and key in seen for key, seen in zip(keys, self.seen, strict=True)
            )
            if taken or not all(check(named) for check in self.checks):
                continue
            for key, seen in zip(keys, self.seen, strict=True):
                seen.add(key)
            return tuple(cells)
        return None

    def _cells(self) -> list[Cell]:
        good = self.rng.random() < self.profile.good
        if self.made and self.rng.random() < self.profile.duplicate:
            cells = list(self.rng.choice(self.made))
        else:
            cells = [self._cell(place, good) for place in range(len(self.columns))]
            for foreign in self.table.foreign:
                self._refer(cells, foreign)
        for place in self.alone:
            if not self._is_foreign(place):
                cells[place] = self._fresh(place, good)
        return cells

    def _fresh(self, place: int, good: bool) -> Cell:
        """A value that the column does not hold yet, in a distinct profile not even nearly."""
        fits = fitting(self.columns[place])
        for value in self.fresh[place] if good else self.common[place]:
            key = _without_case_or_sign(value) if self.profile.distinct else value
            if key not in self.used[place] and fits(value):
                self.used[place].add(key)
                return value
        return None if self.columns[place].nullable else self.rng.choice(self.pools[place].all)

    def _is_foreign(self, place: int) -> bool:
        name = self.columns[place].name.lower()
        return any(name in (c.lower() for c in f.columns) for f in self.table.foreign) and not any(
            key.columns == (self.columns[place].name,) for key in self.table.keys
        )

    def _cell(self, place: int, good: bool) -> Cell:
        column, pools = self.columns[place], self.pools[place]
        chance = self.rng.random()
        if column.nullable and chance < self.profile.null * (0.4 if good else 1.0):
            return None
        if self.domains.joined(column) and column.kind not in ("boolean", "bytes", "json"):
            return self._joined_cell(column, pools, good)
        if good and pools.hits:
            return self.rng.choice(pools.hits)
        if pools.near and self.rng.random() < self.profile.near:
            return self.rng.choice(pools.near)
        if self.profile.wide and not column.choices and column.kind != "boolean":
            return self.rng.choice(self.wide[place])
        return self.rng.choice(pools.all if not good else pools.plain)

    def _joined_cell(self, column: Column, pools: Pool, good: bool) -> Cell:
        own = self._own_key(column)
        if own is not None and self.made and self.rng.random() < 0.8:
            return self.rng.choice(self.made)[own]  # a hierarchy over rows made before
        if good and pools.hits and self.rng.random() < 0.5:
            return self.rng.choice(pools.hits)
        if self.rng.random() < self.profile.dangling:
            return self.rng.choice(pools.all)
        return self.rng.choice(self.domains.of(column, pools))

    def _own_key(self, column: Column) -> int | None:
        """The place of this table's key, where the column is joined to it and is another one."""
        for key in self.table.keys:
            if len(key.columns) == 1 and key.columns[0] != column.name:
                same = self.hints.family(key.columns[0]) == self.hints.family(column.name)
                target = self.places.get(key.columns[0].lower())
                if same and target is not None and self.columns[target].kind == column.kind:
                    return target
        return None

    def _refer(self, cells: list[Cell], foreign: ForeignKey) -> None:
        """Put the key of an existing row into the columns of a reference."""
        target = self.schema.table(foreign.table)
        places = [
            self.places[name.lower()] for name in foreign.columns if name.lower() in self.places
        ]
        if target is None or not places:
            return
        rows = self.filled.get(target.name, [])
        nullable = all(self.columns[place].nullable for place in places)
        if nullable and (
            not rows or self.rng.random() < max(self.profile.null, 0.15 * (target is self.table))
        ):
            values: Sequence[Any] = [None] * len(places)
        elif not rows:
            if target is not self.table:
                raise _NoParent
            values = [cells[self.places[name.lower()]] for name in self._targets(target, foreign)]
        else:
            row = self.rng.choice(rows)
            order = {column.name.lower(): n for n, column in enumerate(target.columns)}
            values = [row[order[name.lower()]] for name in self._targets(target, foreign)]
        for place, value in zip(places, values, strict=False):
            cells[place] = value

    def _targets(self, target: Table, foreign: ForeignKey) -> tuple[str, ...]:
        if foreign.target_columns:
            return foreign.target_columns
        primary = [key.columns for key in target.keys if key.primary]
        return primary[0] if primary else (target.columns[0].name,)
