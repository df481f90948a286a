"""Fill one table: rows that keep its keys, references and checks, drawn as the profile says.

A reference to the table's own key leads to an earlier row, so that hierarchies have no cycles.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from evalcore.sqlkit.generate.checks import compile_checks, iter_variants, solve_checks
from evalcore.sqlkit.generate.database import Row
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.generate.values import (
    Cell,
    Pool,
    build_cell_pool,
    build_fit_check,
    extend_values,
)
from evalcore.sqlkit.schema import Column, ForeignKey, Schema, Table, list_target_columns


class Domains:
    """The values that the columns of a family share, so that joins find partners."""

    def __init__(self, schema: Schema, hints: Hints, profile: Profile) -> None:
        self._hints, self._profile = hints, profile
        members: dict[str, list[Column]] = {}
        for table in schema.tables:
            for column in table.columns:
                members.setdefault(hints.find_family(column.name), []).append(column)
        self._members = members
        self._shared_values: dict[tuple[str, str], tuple[Cell, ...]] = {}

    def is_joined(self, column: Column) -> bool:
        return column.name.lower() in self._hints.kindred

    def select_shared_values(self, column: Column, pools: Pool) -> tuple[Cell, ...]:
        """The shared values as cells of this column's kind."""
        family = self._hints.find_family(column.name)
        key = (family, column.kind)
        if key not in self._shared_values:
            size = max(3, int(self._profile.rows * self._profile.domain))
            base: Iterable[Cell] = ()
            kinds = {member.kind for member in self._members.get(family, ())}
            if column.kind == "text" and kinds & {"integer", "decimal"}:
                base = [str(number) for number in range(1, size + 1)]
            forms = self._hints.forms.get(column.name.lower()) if column.kind == "text" else None
            if forms and forms.holds_days:
                base = forms.format_moments(islice(extend_values((), "date"), size))
            if column.kind == "timestamp" and "date" in kinds:  # days that the others hold
                base = [f"{day} 00:00:00" for day in islice(extend_values((), "date"), size // 2)]
            first_values = (*pools.hits[:4], *pools.near[:2], *base)
            self._shared_values[key] = tuple(islice(extend_values(first_values, column.kind), size))
        return self._shared_values[key]


_ATTEMPTS = 12  # to find a row that keeps keys and checks
_GROUPED = 0.35  # of the others join the group of an earlier row
_MAX_BELOW = 300
_MAX_CELL_VALUES = 6_000
_MAX_ALLOWED = 60  # cells of a column that a check bounds


def fold_text(value: Cell) -> Cell:
    """What keeps values apart under any collation, be it one that pads with blanks."""
    if not isinstance(value, str) or value.isascii():
        return value.casefold().rstrip(" ") if isinstance(value, str) else value
    letters = unicodedata.normalize("NFKD", value)
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return kept.casefold().rstrip(" ")


def _without_case_or_sign(value: Cell) -> Cell:
    """What keeps values apart under any collation and under ABS."""
    if isinstance(value, str):
        return value.casefold().rstrip()
    return abs(value) if isinstance(value, int | float) else value


class _NoParent(Exception):
    """A row must refer to a table that holds nothing."""


class Filler:
    """Fills one table of one database."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        hints: Hints,
        profile: Profile,
        rng: random.Random,
        domains: Domains,
        filled: dict[str, list[Row]],
    ) -> None:
        self.schema, self.table, self.hints = schema, table, hints
        self.profile, self.rng, self.domains, self.filled = profile, rng, domains, filled
        self.columns = table.columns
        self.fold = fold_text if schema.dialect == "mysql" else lambda value: value
        self.positions = {column.name.lower(): n for n, column in enumerate(table.columns)}
        self.checks = compile_checks(table.checks, schema.dialect)
        self.certain_checks = compile_checks(table.checks, schema.dialect, unclear=False)
        self.narrowed: set[str] = set()  # columns most cells of which a check refuses
        self.pools = [
            self._filter_by_checks(column, build_cell_pool(column, hints))
            for column in table.columns
        ]
        self.alone = self._find_unique_columns()
        self.fresh = {
            position: self._new_values(position, self.pools[position].hits)
            for position in self.alone
        }
        self.common = {position: self._new_values(position, ()) for position in self.alone}
        bound = self.alone | {
            position for position in self.positions.values() if self._is_foreign(position)
        }
        self.loose = [position for position in range(len(self.columns)) if position not in bound]
        self.misses = [position for position in self.loose if self.pools[position].near]
        self.shared = [] if profile.wide else self._find_group_columns()
        self.used: dict[int, set[Cell]] = {position: set() for position in self.alone}
        self.wide = [self._many_values(n) for n in range(len(self.columns) if profile.wide else 0)]
        self.seen: list[set[Row]] = [set() for _ in table.keys]
        self.made: list[Row] = []

    def generate_rows(self, count: int) -> Iterator[Row]:
        self.filled[self.table.name] = self.made
        for _ in range(count):
            row = self._generate_row()
            if row is not None:
                self.made.append(row)
        return iter(list(self.made))

    def _filter_by_checks(self, column: Column, candidates: Pool) -> Pool:
        """Without what a check on this column alone refuses."""

        def passes_checks(cell: Cell, certain: bool = False) -> bool:
            checks = self.certain_checks if certain else self.checks
            return all(check({column.name.lower(): cell}) for check in checks)

        hits, near, plain, best = (
            tuple(filter(passes_checks, cells))
            for cells in (candidates.hits, candidates.near, candidates.plain, candidates.best)
        )
        if len(plain) < len(candidates.plain) and not column.choices:
            fits = build_fit_check(column)
            cells = iter_variants(candidates.all_cells, column.kind, self.table.checks)
            allowed = (cell for cell in cells if fits(cell) and passes_checks(cell, True))
            plain = tuple(islice(dict.fromkeys((*plain, *allowed)), _MAX_ALLOWED))
            self.narrowed.add(column.name.lower())
        plain = plain or hits or near or candidates.plain
        return Pool(hits, near, plain, best or hits, candidates.absent and column.nullable)

    def _find_unique_columns(self) -> set[int]:
        """Columns that must be unique, or shall be because something orders them."""
        positions = {
            self.positions[key.columns[0].lower()]
            for key in self.table.keys
            if len(key.columns) == 1 and key.columns[0].lower() in self.positions
        }
        if self.profile.distinct:
            positions |= {
                self.positions[name]
                for name in self.hints.sorted
                if name in self.positions and self.columns[self.positions[name]].kind != "boolean"
            }
        return positions

    def _find_group_columns(self) -> list[int]:
        """Columns that rows are grouped by, which the rows of a group have in common."""
        single = {f.columns[0].lower() for f in self.table.foreign if len(f.columns) == 1}
        keys = {key.columns[0].lower() for key in self.table.keys if len(key.columns) == 1}
        return [
            position
            for name, position in self.positions.items()
            if name in self.hints.grouped and (position in self.loose or name in single - keys)
        ]

    def _new_values(self, position: int, first: Sequence[Cell]) -> Iterator[Cell]:
        """Ever new values in an order of chance: `first`, those of the family, others.

        Of those of a family some are passed over, or two tables would hold the same keys.
        """
        column, pools = self.columns[position], self.pools[position]
        primary = any(k.primary and column.name in k.columns for k in self.table.keys)
        shared = self.domains.is_joined(column) or primary
        narrowed = column.name.lower() in self.narrowed
        others = list(pools.all_cells if narrowed or not shared else ())
        others += self.domains.select_shared_values(column, pools) if shared else ()
        begin = list(first)
        self.rng.shuffle(begin)
        self.rng.shuffle(others)
        required = set(begin)
        missed = self.profile.dangling if shared else 0.0
        values = extend_values((*begin, *self._list_below(column), *others), column.kind)
        return (v for v in values if v in required or self.rng.random() >= missed)

    def _list_below(self, column: Column) -> Sequence[Cell]:
        """Where statements want whole numbers below some, as in `id < 5`, many of them:
        counting from 1 few would pass."""
        constants = self.hints.constants.get(column.name.lower(), ())
        bounds = [c.value for c in constants if c.operator in ("<", "<=")]
        others = any(c.operator in (">", ">=", "=") for c in constants)
        top = bounds[0] if self.profile.strict and bounds and not others else None
        if not isinstance(top, int) or column.kind not in ("integer", "decimal", "float"):
            return ()
        return range(top, top - _MAX_BELOW, -1)

    def _many_values(self, position: int) -> list[Cell]:
        """For plans: from two values to nearly one a row, fixed by the place of the column."""
        column = self.columns[position]
        if column.kind == "text" and column.name.lower() in self.hints.forms:
            return list(self.pools[position].plain)
        share = (2, 12, 150, 0)[position % 4]
        size = min(share or self.profile.rows // 2, _MAX_CELL_VALUES)
        many = filter(build_fit_check(column), islice(extend_values((), column.kind), size))
        return list(many) or list(self.pools[position].plain)

    def _generate_row(self) -> Row | None:
        for _ in range(_ATTEMPTS):
            try:
                cells = self._generate_cells()
            except _NoParent:
                return None
            named = {name: cells[position] for name, position in self.positions.items()}
            keys = [
                tuple(self.fold(named.get(name.lower())) for name in key.columns)
                for key in self.table.keys
            ]
            taken = any(
                None not in key and key in seen for key, seen in zip(keys, self.seen, strict=True)
            )
            if not taken and not all(check(named) for check in self.checks):
                named |= solve_checks(self.table.checks, named, self.schema.dialect)
                cells = [named[name] for name in self.positions]
                taken = not all(check(named) for check in self.checks)
            if taken:
                continue
            for key, seen in zip(keys, self.seen, strict=True):
                seen.add(key)
            return tuple(cells)
        return None

    def _generate_cells(self) -> list[Cell]:
        good = self.rng.random() < self.profile.good
        if self.made and self.rng.random() < self.profile.duplicate:
            cells = list(self.rng.choice(self.made))
            if self.rng.random() < self.profile.altered:
                self._alter_cell(cells)
        else:
            cells = [self._generate_cell(position, good) for position in range(len(self.columns))]
            if good and self.misses and self.rng.random() < self.profile.near:
                self._miss_condition(cells)
            for foreign in self.table.foreign:
                self._set_reference(cells, foreign)
            if self.made and self.shared and self.rng.random() < _GROUPED:
                group = self.rng.choice(self.made)
                for position in self.shared:
                    cells[position] = group[position]
        for position in self.alone:
            if not self._is_foreign(position):
                cells[position] = self._take_unique_value(position, good)
        return cells

    def _miss_condition(self, cells: list[Cell]) -> None:
        """One condition just missed where all others hold tells most about that one."""
        position = self.rng.choice(self.misses)
        cells[position] = self.rng.choice(self.pools[position].near)

    def _alter_cell(self, cells: list[Cell]) -> None:
        """A repeated row that differs in one place, such as within a group."""
        if self.loose:
            position = self.rng.choice(self.loose)
            cells[position] = self._generate_cell(position, self.rng.random() < self.profile.good)

    def _take_unique_value(self, position: int, good: bool) -> Cell:
        """A value that the column does not hold yet, in a distinct profile not even nearly."""
        fits = build_fit_check(self.columns[position])
        for value in self.fresh[position] if good else self.common[position]:
            key = _without_case_or_sign(value) if self.profile.distinct else self.fold(value)
            if key not in self.used[position] and fits(value):
                self.used[position].add(key)
                return value
        return (
            None
            if self.columns[position].nullable
            else self.rng.choice(self.pools[position].all_cells)
        )

    def _is_foreign(self, position: int) -> bool:
        name = self.columns[position].name.lower()
        return any(name in (c.lower() for c in f.columns) for f in self.table.foreign) and not any(
            key.columns == (self.columns[position].name,) for key in self.table.keys
        )

    def _generate_cell(self, position: int, good: bool) -> Cell:
        column, pools = self.columns[position], self.pools[position]
        chance = self.rng.random()
        if column.nullable and chance < self.profile.null * (0.4 if good else 1.0):
            return None
        if self.domains.is_joined(column) and column.kind not in ("boolean", "bytes", "json"):
            return self._joined_cell(column, pools, good)
        if good and self.profile.strict and (pools.best or pools.absent):
            absent = column.nullable and pools.absent and self.rng.random() < 0.5
            return self.rng.choice(pools.best) if pools.best and not absent else None
        if good and pools.hits:
            return self.rng.choice(pools.hits)
        if pools.near and self.rng.random() < self.profile.near:
            return self.rng.choice(pools.near)
        if self.profile.wide and not column.choices and column.kind != "boolean":
            return self.rng.choice(self.wide[position])
        return self.rng.choice(pools.all_cells if not good else pools.plain)

    def _joined_cell(self, column: Column, pools: Pool, good: bool) -> Cell:
        own = self._own_key(column)
        if own is not None and self.made and self.rng.random() < 0.8:
            return self.rng.choice(self.made)[own]  # a hierarchy over rows made before
        if good and pools.hits and self.rng.random() < 0.5:
            return self.rng.choice(pools.hits)
        if self.rng.random() < self.profile.dangling:
            return self.rng.choice(pools.all_cells)
        return self.rng.choice(self.domains.select_shared_values(column, pools) or pools.all_cells)

    def _own_key(self, column: Column) -> int | None:
        """The place of this table's key, where the column is joined to it and is another one."""
        for key in self.table.keys:
            if len(key.columns) == 1 and key.columns[0] != column.name:
                same = self.hints.find_family(key.columns[0]) == self.hints.find_family(column.name)
                target = self.positions.get(key.columns[0].lower())
                if same and target is not None and self.columns[target].kind == column.kind:
                    return target
        return None

    def _set_reference(self, cells: list[Cell], foreign: ForeignKey) -> None:
        """Put the key of an existing row into the columns of a reference."""
        target = self.schema.find_table(foreign.table)
        positions = [
            self.positions[name.lower()]
            for name in foreign.columns
            if name.lower() in self.positions
        ]
        if target is None or not positions:
            return
        rows = self.filled.get(target.name, [])
        nullable = all(self.columns[position].nullable for position in positions)
        if nullable and (
            not rows or self.rng.random() < max(self.profile.null, 0.15 * (target is self.table))
        ):
            values: Sequence[Any] = [None] * len(positions)
        elif not rows:
            if target is not self.table:
                raise _NoParent
            values = [
                cells[self.positions[name.lower()]] for name in list_target_columns(target, foreign)
            ]
        else:
            row = self.rng.choice(rows)
            order = {column.name.lower(): n for n, column in enumerate(target.columns)}
            values = [row[order[name.lower()]] for name in list_target_columns(target, foreign)]
        for position, value in zip(positions, values, strict=False):
            cells[position] = value
