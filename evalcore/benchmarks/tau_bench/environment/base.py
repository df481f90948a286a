"""The tables that all episodes of a domain share: never changed, and hashed from what changed."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evalcore.benchmarks.tau_bench.environment.canonical import (
    canonical_text,
    pair_text,
    tuple_text,
)

Entity = dict[str, Any]
#: Table and id of an entity.
EntityKey = tuple[str, str]

_MAX_CACHED_HASHES = 20_000


class SharedTables:
    """Tables by name, entities by id, in the order of the data. Nobody may change them."""

    def __init__(self, tables: Mapping[str, Mapping[str, Entity]]) -> None:
        self.tables = tables
        self._names = sorted(tables)
        self._texts: dict[EntityKey, str] = {}
        self._hashes: dict[bytes, str] = {}

    def text(self, key: EntityKey) -> str | None:
        """The canonical text of an entity; None where there is none."""
        text = self._texts.get(key)
        if text is None:
            entity = self.tables[key[0]].get(key[1])
            if entity is None:
                return None
            text = self._texts[key] = canonical_text(entity)
        return text

    def hash(self, changes: Mapping[EntityKey, str]) -> str:
        """tau-bench's sha256, in hex, of the tables with some entities replaced or added.

        `changes` are their canonical texts. Equal changes are hashed once.
        """
        cache_key = hashlib.sha256(repr(sorted(changes.items())).encode()).digest()
        digest = self._hashes.get(cache_key)
        if digest is None:
            if len(self._hashes) >= _MAX_CACHED_HASHES:
                self._hashes.clear()
            digest = self._hashes[cache_key] = self._compute_digest(changes)
        return digest

    def _compute_digest(self, changes: Mapping[EntityKey, str]) -> str:
        """All tables before the first changed one are taken from a hash that stands at it."""
        first = min((self._names.index(table) for table, _ in changes), default=len(self._names))
        state = self._prefix_states[first].copy()
        for index in range(first, len(self._names)):
            name = self._names[index]
            own = {entity: text for (table, entity), text in changes.items() if table == name}
            state.update(self._format_separator(index) + self._encode_table(name, own))
        state.update(b",)" if len(self._names) == 1 else b")")
        digest: str = state.hexdigest()
        return digest

    def _encode_table(self, name: str, changes: Mapping[str, str]) -> bytes:
        if not changes:
            return self._encoded_tables[name]
        ids, pairs = list(self._sorted_ids[name]), list(self._pair_texts[name])
        for entity, text in changes.items():
            index = bisect_left(ids, entity)
            if index == len(ids) or ids[index] != entity:
                ids.insert(index, entity)
                pairs.insert(index, "")
            pairs[index] = pair_text(entity, text)
        return pair_text(name, tuple_text(pairs)).encode()

    @cached_property
    def _sorted_ids(self) -> dict[str, list[str]]:
        return {name: sorted(rows) for name, rows in self.tables.items()}

    @cached_property
    def _pair_texts(self) -> dict[str, list[str]]:
        return {
            name: [pair_text(entity, self.text((name, entity)) or "") for entity in ids]
            for name, ids in self._sorted_ids.items()
        }

    @cached_property
    def _encoded_tables(self) -> dict[str, bytes]:
        return {
            name: pair_text(name, tuple_text(pairs)).encode()
            for name, pairs in self._pair_texts.items()
        }

    @cached_property
    def _prefix_states(self) -> list[Any]:
        """The hash as it stands before each table, and after the last one."""
        state = hashlib.sha256()
        states = [state]
        for index, name in enumerate(self._names):
            state = state.copy()
            state.update(self._format_separator(index) + self._encoded_tables[name])
            states.append(state)
        return states

    @staticmethod
    def _format_separator(index: int) -> bytes:
        return b", " if index else b"("
