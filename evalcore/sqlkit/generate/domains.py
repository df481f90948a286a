"""The values that the columns of one family share, so that joins find partners."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.generate.values import Cell, Pool, extend_values
from evalcore.sqlkit.schema import Column, Schema


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
            first_values = (*pools.hits[:4], *pools.near[:2], *base)
            self._shared_values[key] = tuple(islice(extend_values(first_values, column.kind), size))
        return self._shared_values[key]
