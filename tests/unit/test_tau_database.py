"""The database of an episode: copied when written, hashed as upstream does, compared."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.benchmarks.tau_bench.environment import ABSENT, Database, DatabaseDifference
from evalcore.benchmarks.tau_bench.environment.database import (
    SharedTables,
    canonical_text,
    clone_json,
)

TABLES = {
    "birds": {"b": {"name": "Bee's", "legs": 2}, "a": {"legs": [1, 1.0, True, None]}},
    "ants": {"z": {"legs": 6, "of": {"y": [], "x": {}}}},
    "cats": {},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def frozen(value):
    """Upstream's rule, said plainly: sorted pairs for mappings, tuples for lists."""
    if isinstance(value, dict):
        return tuple((key, frozen(item)) for key, item in sorted(value.items()))
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def plain_hash(tables) -> str:
    return hashlib.sha256(str(frozen(tables)).encode()).hexdigest()


@given(JSON)
def test_the_canonical_text_is_that_of_sorted_tuples(value):
    assert canonical_text(value) == repr(frozen(value))


@given(JSON)
def test_a_clone_is_equal_and_apart(value):
    copy = clone_json(value)
    assert canonical_text(copy) == canonical_text(value)
    assert not isinstance(value, dict | list) or copy is not value


def test_the_hash_is_that_of_the_whole_data():
    assert Database(TABLES).hash() == plain_hash(TABLES)
    assert Database({"one": {"only": {"a": 1}}}).hash() == plain_hash({"one": {"only": {"a": 1}}})


@pytest.mark.parametrize("table", sorted(TABLES))
@pytest.mark.parametrize("entity", ["0", "aa", "z", "zz"])
def test_the_hash_follows_what_was_put_anywhere(table, entity):
    database, whole = Database(TABLES), clone_json(TABLES)
    database.put(table, entity, {"legs": 1.5})
    whole[table][entity] = {"legs": 1.5}
    assert database.hash() == plain_hash(whole)
    assert list(database.rows(table)) == list(whole[table].items())


def test_an_edit_changes_one_episode_only():
    first, second = Database(TABLES), Database(TABLES).fork()
    first = second.fork()
    first.edit("birds", "b")["legs"] = 3
    assert first.get("birds", "b")["legs"] == 3
    assert second.get("birds", "b") is TABLES["birds"]["b"]
    assert TABLES["birds"]["b"]["legs"] == 2
    assert first.list_changed_entities() == {("birds", "b"): {"name": "Bee's", "legs": 3}}
    assert second.list_changed_entities() == {}


def test_a_fork_leaves_its_origin_alone():
    database = Database(TABLES)
    database.edit("birds", "b")["legs"] = 3
    fork = database.fork()
    fork.edit("birds", "b")["legs"] = 4
    assert database.get("birds", "b")["legs"] == 3
    assert fork.pop_touched_keys() == (("birds", "b"),)


def test_what_was_touched_is_told_once_even_if_nothing_changed():
    database = Database(TABLES)
    database.edit("birds", "b")["legs"] = 2
    assert database.list_changed_entities() == {}
    assert database.hash() == plain_hash(TABLES)
    assert database.pop_touched_keys() == (("birds", "b"),)
    assert database.pop_touched_keys() == ()


def test_reading_what_is_not_there():
    database = Database(TABLES)
    assert database.get("birds", "nobody") is None
    with pytest.raises(KeyError):
        database.edit("birds", "nobody")
    with pytest.raises(TypeError, match="unhashable"):
        database.get("birds", [])


@pytest.mark.parametrize(
    ("edit", "path", "expected", "actual"),
    [
        (lambda bird: bird["legs"].append(5), ("legs", 4), ABSENT, 5),
        (lambda bird: bird["legs"].pop(), ("legs", 3), None, ABSENT),
        (lambda bird: bird["legs"].__setitem__(0, 1.0), ("legs", 0), 1, 1.0),
        (lambda bird: bird.update(name="x"), ("name",), ABSENT, "x"),
        (lambda bird: bird.update(legs=7), ("legs",), [1, 1.0, True, None], 7),
    ],
)
def test_the_first_difference_is_found_to_its_path(edit, path, expected, actual):
    database, other = Database(TABLES), Database(TABLES)
    edit(database.edit("birds", "a"))
    database.edit("birds", "b")["legs"] = 9
    first_difference = database.first_difference(other)
    assert first_difference == DatabaseDifference("birds", "a", path, expected, actual)
    assert type(first_difference.actual) is type(actual)
    assert database.hash() != other.hash()


def test_an_entity_that_only_one_side_has_differs_as_a_whole():
    database, other = Database(TABLES), Database(TABLES)
    other.put("cats", "c", {"legs": 4})
    assert database.first_difference(other) == DatabaseDifference(
        "cats", "c", (), {"legs": 4}, ABSENT
    )
    database.put("cats", "c", {"legs": 4})
    assert database.first_difference(other) is None
    assert database.hash() == other.hash()


def test_equal_changes_are_hashed_once(monkeypatch):
    rows = {str(number): {"text": "x" * 500} for number in range(4000)}
    database = Database({"rows": rows})
    database.edit("rows", "5")["text"] = "y"
    hashed, of_base = [], SharedTables._compute_digest
    monkeypatch.setattr(
        SharedTables,
        "_compute_digest",
        lambda *changes: hashed.append(changes) or of_base(*changes),
    )
    hashes = {fork.hash() for fork in (database.fork() for _ in range(1000))}
    assert len(hashes) == 1
    assert len(hashed) == 1
