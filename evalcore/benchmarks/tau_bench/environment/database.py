"""The database of one episode: what it changed, over a base that all episodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalcore.benchmarks.tau_bench.environment.base import Base, Entity, Key
from evalcore.benchmarks.tau_bench.environment.canonical import canonical, clone
from evalcore.records import Record

#: A step into an entity: a key of a mapping or an index of a list.
Step = str | int

#: Stands in a difference for what is not there.
ABSENT = "(absent)"


class Difference(Record, frozen=True):
    """The first place where two databases differ; `path` is empty where a whole entity does."""

    table: str
    id: str
    path: tuple[Step, ...]
    expected: Any
    actual: Any


class Database:
    """Tables of entities by id; an entity is copied when it is first edited.

    What `get` and `rows` give may be the shared base: change only what `edit` gave.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Entity]] | Base) -> None:
        self._base = tables if isinstance(tables, Base) else Base(tables)
        self._own: dict[Key, Entity] = {}
        self._touched: set[Key] = set()

    def fork(self) -> Database:
        """An independent database in the same state, with nothing touched."""
        copy = Database(self._base)
        copy._own = {key: clone(entity) for key, entity in self._own.items()}
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
            self._own[key] = clone(self._base.tables[table][entity])
        self._touched.add(key)
        return self._own[key]

    def put(self, table: str, entity: str, value: Entity) -> None:
        """Add an entity, or replace it."""
        self._own[table, entity] = clone(value)
        self._touched.add((table, entity))

    def touched(self) -> tuple[Key, ...]:
        """What was edited or put since this was last asked, sorted."""
        found = tuple(sorted(self._touched))
        self._touched.clear()
        return found

    def changed(self) -> dict[Key, Entity]:
        """The entities that are no longer as in the base, as they are now."""
        return {key: self._own[key] for key in self._changes()}

    def hash(self) -> str:
        """tau-bench's hash of the whole database: sha256 in hex of its canonical text."""
        return self._base.hash(self._changes())

    def same(self, other: Database) -> bool:
        """Whether both, over one base, are in the same state: as equal hashes say, but faster."""
        return self._changes() == other._changes()

    def first_difference(self, other: Database) -> Difference | None:
        """Where this database first departs from `other`, the expected one; None if nowhere."""
        mine, theirs = self._changes(), other._changes()
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                expected, actual = other.get(*key), self.get(*key)
                path, left, right = _apart(
                    ABSENT if expected is None else expected, ABSENT if actual is None else actual
                )
                return Difference(*key, path, left, right)
        return None

    def _changes(self) -> dict[Key, str]:
        texts = {key: canonical(self._own[key]) for key in sorted(self._own)}
        return {key: text for key, text in texts.items() if text != self._base.text(key)}


def _apart(expected: Any, actual: Any) -> tuple[tuple[Step, ...], Any, Any]:
    """The path to the first difference of two values that differ, and what stands there."""
    pairs = _children(expected, actual)
    for step, left, right in pairs:
        if canonical(left) != canonical(right):
            path, left, right = _apart(left, right)
            return (step, *path), left, right
    return (), expected, actual


def _children(expected: Any, actual: Any) -> list[tuple[Step, Any, Any]]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = sorted(expected.keys() | actual.keys())
        return [(key, expected.get(key, ABSENT), actual.get(key, ABSENT)) for key in keys]
    if isinstance(expected, list) and isinstance(actual, list):
        longest = max(len(expected), len(actual))
        return [(place, _at(expected, place), _at(actual, place)) for place in range(longest)]
    return []


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else ABSENT
