"""The database of one episode: its changes over tables that all episodes share, hashed as upstream.

The hash is of the text Python writes once every mapping is a sorted tuple of pairs: so the order of
lists counts, and 1, 1.0 and True are three different values.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from evalcore.records import Record

# A mapping becomes a tuple of its (key, value) pairs in the order of the keys, a list a tuple, the
# rest stays: so the order of lists counts, and 1, 1.0 and True are three different values.


def canonical_text(value: Any) -> str:
    """The text of JSON data. Raises RecursionError for data nested some hundred levels deep."""
    if isinstance(value, dict):
        return tuple_text([pair_text(key, canonical_text(value[key])) for key in sorted(value)])
    if isinstance(value, list):
        return tuple_text([canonical_text(item) for item in value])
    return repr(value)


def pair_text(key: str, text: str) -> str:
    return f"({key!r}, {text})"


def tuple_text(parts: Sequence[str]) -> str:
    """A tuple as Python writes it: a single part keeps its comma."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def clone_json(value: Any) -> Any:
    """A copy of JSON data that shares nothing that could be changed."""
    if isinstance(value, dict):
        return {key: clone_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clone_json(item) for item in value]
    return value


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
        """tau-bench's sha256, in hex, of the tables with some entities replaced or added. `changes`
        are their canonical texts. Equal changes are hashed once."""
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


#: A step into an entity: a key of a mapping or an index of a list.
PathStep = str | int

#: Stands in a difference for what is not there.
ABSENT = "(absent)"


class DatabaseDifference(Record, frozen=True):
    """The first place where two databases differ; `path` is empty where a whole entity does."""

    table: str
    id: str
    path: tuple[PathStep, ...]
    expected: Any
    actual: Any


class Database:
    """Tables of entities by id; an entity is copied when it is first edited. What `get` and `rows`
    give may be the shared base: change only what `edit` gave."""

    def __init__(self, tables: Mapping[str, Mapping[str, Entity]] | SharedTables) -> None:
        self._base = tables if isinstance(tables, SharedTables) else SharedTables(tables)
        self._own: dict[EntityKey, Entity] = {}
        self._touched: set[EntityKey] = set()

    def fork(self) -> Database:
        """An independent database in the same state, with nothing touched."""
        copy = Database(self._base)
        copy._own = {key: clone_json(entity) for key, entity in self._own.items()}
        return copy

    def get(self, table: str, entity: str) -> Entity | None:
        """An entity to read; None where there is none. Raises TypeError for an id that is a list
        or a mapping."""
        if self._own:
            own = self._own.get((table, entity))
            if own is not None:
                return own
        return self._base.tables[table].get(entity)

    def require_row(self, table: str, entity: str, problem: str) -> Entity:
        """As `get`; raises ValueError with the problem where there is none."""
        row = self.get(table, entity)
        if row is None:
            raise ValueError(problem)
        return row

    def rows(self, table: str) -> Iterator[tuple[str, Entity]]:
        """Ids and entities to read, in the order of the data, added ones last."""
        base = self._base.tables[table]
        for entity, value in base.items():
            yield entity, self._own.get((table, entity), value)
        for (name, entity), value in self._own.items():
            if name == table and entity not in base:
                yield entity, value

    def edit(self, table: str, entity: str) -> Entity:
        key = (table, entity)
        if key not in self._own:
            self._own[key] = clone_json(self._base.tables[table][entity])
        self._touched.add(key)
        return self._own[key]

    def put(self, table: str, entity: str, value: Entity) -> None:
        """Add an entity, or replace it."""
        self._own[table, entity] = clone_json(value)
        self._touched.add((table, entity))

    def pop_touched_keys(self) -> tuple[EntityKey, ...]:
        """What was edited or put since this was last asked, sorted."""
        keys = tuple(sorted(self._touched))
        self._touched.clear()
        return keys

    def list_changed_entities(self) -> dict[EntityKey, Entity]:
        """The entities that are no longer as in the base, as they are now."""
        return {key: self._own[key] for key in self._changed_texts()}

    def hash(self) -> str:
        """tau-bench's hash of the whole database: sha256 in hex of its canonical text."""
        return self._base.hash(self._changed_texts())

    def first_difference(self, other: Database) -> DatabaseDifference | None:
        """Where this database first departs from `other`, the expected one; None if nowhere."""
        mine, theirs = self._changed_texts(), other._changed_texts()
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                expected, actual = other.get(*key), self.get(*key)
                path, left, right = _locate_difference(
                    ABSENT if expected is None else expected, ABSENT if actual is None else actual
                )
                return DatabaseDifference(*key, path, left, right)
        return None

    def _changed_texts(self) -> dict[EntityKey, str]:
        texts = {key: canonical_text(self._own[key]) for key in sorted(self._own)}
        return {key: text for key, text in texts.items() if text != self._base.text(key)}


def _locate_difference(expected: Any, actual: Any) -> tuple[tuple[PathStep, ...], Any, Any]:
    """The path to the first difference of two values that differ, and what stands there."""
    pairs = _pair_children(expected, actual)
    for step, left, right in pairs:
        if canonical_text(left) != canonical_text(right):
            path, left, right = _locate_difference(left, right)
            return (step, *path), left, right
    return (), expected, actual


def _pair_children(expected: Any, actual: Any) -> list[tuple[PathStep, Any, Any]]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = sorted(expected.keys() | actual.keys())
        return [(key, expected.get(key, ABSENT), actual.get(key, ABSENT)) for key in keys]
    if isinstance(expected, list) and isinstance(actual, list):
        longest = max(len(expected), len(actual))
        return [
            (index, _item_at(expected, index), _item_at(actual, index)) for index in range(longest)
        ]
    return []


def _item_at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT
