"""The storage under the index: whole files, an honest cache, and errors that name the remedy."""

from __future__ import annotations

import os

import msgspec
import orjson
import pytest
from tinydb import TinyDB, where

from evalcore.errors import IndexFileError
from evalcore.store.tinydb_storage import AtomicStorage, KeyedDatabase, LazyDocument, file_signature

TABLES = {"runs": {"a": {"score": 1, "tags": ["x"]}}}


@pytest.fixture
def storage(tmp_path):
    return AtomicStorage(tmp_path / "index.json")


def test_a_missing_file_is_empty(storage):
    assert storage.read() is None
    assert file_signature(storage.path) == ""


def test_what_is_written_is_read_by_another(storage):
    storage.write(TABLES)
    assert AtomicStorage(storage.path).read() == TABLES
    assert orjson.loads(storage.path.read_bytes()) == TABLES


def test_what_is_read_may_be_changed_without_changing_the_cache(storage):
    storage.write(TABLES)
    for reader in (storage, AtomicStorage(storage.path)):
        for _ in range(2):
            tables = reader.read()
            assert tables == TABLES
            tables["runs"]["a"]["tags"].append("mine")
            tables["runs"].clear()


def test_what_was_written_may_be_changed_without_changing_the_cache(storage):
    tables = {"runs": {"a": {"tags": []}}}
    storage.write(tables)
    tables["runs"]["a"]["tags"].append("later")
    assert storage.read() == {"runs": {"a": {"tags": []}}}


def test_an_unchanged_file_is_read_once(storage, monkeypatch):
    AtomicStorage(storage.path).write(TABLES)
    storage.read()
    monkeypatch.setattr(type(storage.path), "open", lambda *_: pytest.fail("read again"))
    assert storage.read() == TABLES


def test_a_file_that_another_replaced_is_read_anew(storage):
    storage.write(TABLES)
    AtomicStorage(storage.path).write({"runs": {}})
    assert storage.read() == {"runs": {}}
    storage.path.unlink()
    assert storage.read() is None


@pytest.mark.parametrize("content", [b"", b'{"runs": {', b"[]", b'{"runs": 1}', b"\xff", b"{}{}"])
def test_an_unreadable_file_names_the_remedy(storage, content):
    storage.path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(IndexFileError, match=r"index\.json.*evalcore index rebuild"):
            storage.read()
    assert storage.path.read_bytes() == content


def test_a_failed_write_leaves_the_old_file_and_drops_the_cache(storage, monkeypatch):
    storage.write(TABLES)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            storage.write({"runs": {}})
    assert storage.read() == TABLES
    with pytest.raises(TypeError):
        storage.write({"runs": {"a": object()}})
    assert storage.read() == TABLES
    assert list(storage.path.parent.iterdir()) == [storage.path]


def test_sweeping_deletes_only_what_killed_writers_left(storage):
    storage.write(TABLES)
    leftover = storage.path.with_name(".index.json.a1b2")
    other = storage.path.with_name("other.json")
    leftover.write_bytes(b"half")
    other.write_bytes(b"{}")
    storage.remove_temporary_files()
    assert not leftover.exists()
    assert sorted(storage.path.parent.iterdir()) == [storage.path, other]


def test_tinydb_works_on_it(storage):
    database = TinyDB(storage=lambda: storage)
    database.insert_multiple({"n": n} for n in range(5))
    database.update({"n": 9}, where("n") == 0)
    database.remove(where("n") == 1)
    other = TinyDB(storage=lambda: AtomicStorage(storage.path))
    assert sorted(row["n"] for row in other) == [2, 3, 4, 9]
    assert other.get(where("n") == 9) == {"n": 9}


def test_documents_nobody_looked_into_are_written_as_they_were(storage):
    storage.path.write_bytes(b'{"runs":{"a":{"n" : 1.50},"b":{"n":2}}}')
    tables = storage.read()
    tables["runs"]["b"]["n"] = 3
    storage.write(tables)
    assert storage.path.read_bytes() == b'{"runs":{"a":{"n" : 1.50},"b":{"n":3}}}'


def test_a_document_behaves_as_the_dict_it_holds():
    document = LazyDocument(b'{"a":1,"b":[2]}')
    assert document == {"a": 1, "b": [2]}
    assert (list(document), len(document), document.get("c")) == (["a", "b"], 2, None)
    document["b"].append(3)
    document["c"] = 4
    del document["a"]
    assert msgspec.json.encode(document.to_encodable()) == b'{"b":[2,3],"c":4}'


@pytest.mark.parametrize("raw", [b"{", b"5", b"null", b'"text"', b"[1]"])
def test_a_broken_document_names_the_remedy(raw):
    with pytest.raises(IndexFileError, match="evalcore index rebuild"):
        len(LazyDocument(raw))


def test_keyed_tables_of_two_processes_do_not_number_documents(storage):
    first, second = (
        KeyedDatabase(storage=lambda: AtomicStorage(storage.path)).get_keyed_table("runs")
        for _ in range(2)
    )
    first.put("a", {"n": 1, "note": "old"})
    second.put("b", {"n": 2})
    first.put("a", {"n": 3})
    second.drop("b")
    second.drop("b")
    assert storage.read() == {"runs": {"a": {"n": 3}}}
