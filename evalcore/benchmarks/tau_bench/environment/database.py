"""The database of one episode: what it changed, over a base that all episodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalcore.benchmarks.tau_bench.environment.base import Entity, EntityKey, SharedTables
from evalcore.benchmarks.tau_bench.environment.canonical import canonical_text, clone_json
from evalcore.records import Record

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
    """Tables of entities by id; an entity is copied when it is first edited.

    What `get` and `rows` give may be the shared base: change only what `edit` gave.
    """

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

    def rows(self, table: str) -> Iterator[tuple[str, Entity]]:
        """Ids and entities to read, in the order of the data, added ones last."""
        base = self._base.tables[table]
        for entity, value in base.items():
            yield entity, self._own.get((table, entity), value)
        for (name, entity), value in self._own.items():
            if name == table and entity not in base:
                yield entity, value

    def edit(self, table: str, entity: str) -> Entity:
        """An entity to change. Raises KeyError where there is none."""
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

    def has_same_state(self, other: Database) -> bool:
        """Whether both, over one base, are in the same state: as equal hashes say, but faster."""
        return self._changed_texts() == other._changed_texts()

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
