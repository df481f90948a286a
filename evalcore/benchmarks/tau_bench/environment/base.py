"""The tables that all episodes of a domain share: never changed, and hashed from what changed."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evalcore.benchmarks.tau_bench.environment.canonical import canonical, pair_text, tuple_text

Entity = dict[str, Any]
#: Table and id of an entity.
Key = tuple[str, str]

_REMEMBERED = 20_000


class Base:
    """Tables by name, entities by id, in the order of the data. Nobody may change them."""

    def __init__(self, tables: Mapping[str, Mapping[str, Entity]]) -> None:
        self.tables = tables
        self._names = sorted(tables)
        self._texts: dict[Key, str] = {}
        self._hashes: dict[bytes, str] = {}

    def text(self, key: Key) -> str | None:
        """The canonical text of an entity; None where there is none."""
        found = self._texts.get(key)
        if found is None:
            entity = self.tables[key[0]].get(key[1])
            if entity is None:
                return None
            found = self._texts[key] = canonical(entity)
        return found

    def hash(self, changes: Mapping[Key, str]) -> str:
        """tau-bench's sha256, in hex, of the tables with some entities replaced or added.

        `changes` are their canonical texts. Equal changes are hashed once.
        """
        memory = hashlib.sha256(repr(sorted(changes.items())).encode()).digest()
        found = self._hashes.get(memory)
        if found is None:
            if len(self._hashes) >= _REMEMBERED:
                self._hashes.clear()
            found = self._hashes[memory] = self._hash(changes)
        return found

    def _hash(self, changes: Mapping[Key, str]) -> str:
        """All tables before the first changed one are taken from a hash that stands at it."""
        first = min((self._names.index(table) for table, _ in changes), default=len(self._names))
        state = self._states[first].copy()
        for place in range(first, len(self._names)):
            name = self._names[place]
            own = {entity: text for (table, entity), text in changes.items() if table == name}
            state.update(self._separator(place) + self._table(name, own))
        state.update(b",)" if len(self._names) == 1 else b")")
        digest: str = state.hexdigest()
        return digest

    def _table(self, name: str, changes: Mapping[str, str]) -> bytes:
        if not changes:
            return self._whole[name]
        ids, pairs = list(self._ids[name]), list(self._pairs[name])
        for entity, text in changes.items():
            place = bisect_left(ids, entity)
            if place == len(ids) or ids[place] != entity:
                ids.insert(place, entity)
                pairs.insert(place, "")
            pairs[place] = pair_text(entity, text)
        return pair_text(name, tuple_text(pairs)).encode()

    @cached_property
    def _ids(self) -> dict[str, list[str]]:
        return {name: sorted(rows) for name, rows in self.tables.items()}

    @cached_property
    def _pairs(self) -> dict[str, list[str]]:
        return {
            name: [pair_text(entity, self.text((name, entity)) or "") for entity in ids]
            for name, ids in self._ids.items()
        }

    @cached_property
    def _whole(self) -> dict[str, bytes]:
        return {
            name: pair_text(name, tuple_text(pairs)).encode() for name, pairs in self._pairs.items()
        }

    @cached_property
    def _states(self) -> list[Any]:
        """The hash as it stands before each table, and after the last one."""
        state = hashlib.sha256()
        states = [state]
        for place, name in enumerate(self._names):
            state = state.copy()
            state.update(self._separator(place) + self._whole[name])
            states.append(state)
        return states

    @staticmethod
    def _separator(place: int) -> bytes:
        return b", " if place else b"("
