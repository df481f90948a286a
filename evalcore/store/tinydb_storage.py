"""TinyDB on large files: atomic writes, documents decoded when they are read, tables by key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, cast

import msgspec
from tinydb import TinyDB
from tinydb.storages import Storage
from tinydb.table import Table

from evalcore.errors import IndexFileError
from evalcore.i18n import Note
from evalcore.store.run_folder import write_atomic

# A stored document that is parsed only when somebody looks into it.
# A change of the index touches one document of thousands. The others go from the old file to the
# new one as the bytes they are, which costs a copy instead of a parse and an encoding.


class LazyDocument(MutableMapping[str, Any]):
    """JSON object text, and from the first look on the dict made of it; never shared."""

    __slots__ = ("_fields", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._fields: dict[str, Any] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The parsed document; raises IndexFileError when it is not an object."""
        if self._fields is None:
            try:
                self._fields = dict(msgspec.json.decode(self.raw))
            except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
                raise IndexFileError(Note("index_broken", problem=error)) from None
        return self._fields

    def to_encodable(self) -> msgspec.Raw | dict[str, Any]:
        """What msgspec writes for it: the same bytes if nobody looked, else the dict as it is."""
        return msgspec.Raw(self.raw) if self._fields is None else self._fields

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.fields[name] = value

    def __delitem__(self, name: str) -> None:
        del self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


# TinyDB tables whose documents are found by keys of ours instead of running numbers.
# TinyDB numbers documents by a counter that it keeps in memory, so two processes give one number
# to two documents. A run id or a target key cannot collide.


class KeyedTable(Table):
    """A table with text keys; each method is one read and one write of the storage."""

    document_id_class = str  # type: ignore[assignment]

    def put(self, key: str, document: Mapping[str, Any]) -> None:
        """Insert the document, or replace the one of that key as a whole."""
        self._update_table(lambda rows: rows.update({key: document}))  # type: ignore[dict-item]

    def drop(self, key: str) -> None:
        """Remove the document of that key, if there is one."""
        self._update_table(lambda rows: rows.pop(key, None))  # type: ignore[call-overload]


class KeyedDatabase(TinyDB):
    """A TinyDB whose tables are `KeyedTable`s."""

    table_class = KeyedTable

    def get_keyed_table(self, name: str) -> KeyedTable:
        return cast(KeyedTable, self.table(name))


# A TinyDB storage that a kill or a second writer cannot leave unreadable.
# TinyDB's own JSON storage writes over the old content in place, so a process killed in between
# leaves half of each. Here a write goes to a temporary file that replaces the old one as a whole,
# and a read is served from memory while the file on disk is still the one that was read.

#: Table name -> document key -> document: LazyDocument when read, any plain mapping when written.
Tables = dict[str, dict[str, Any]]


def file_signature(path: Path) -> str:
    """Inode, modification time and size of a file, which a replaced file never shares; '' if none.
    Raises IndexFileError where the file may not be looked at."""
    try:
        return _format_stat_signature(path.stat())
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise IndexFileError(Note("index_no_read", path=path, problem=error.strerror)) from None


def _format_stat_signature(status: os.stat_result) -> str:
    return f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"


class AtomicStorage(Storage):
    """Tables of documents in one JSON file; the caller locks around a read and its write.

    The cache holds bytes and not parsed tables, because TinyDB changes in place what it is given:
    every read hands out documents of its own, parsed when they are looked into.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._cached: tuple[str, bytes] | None = None

    def read(self) -> Tables | None:
        """Read all tables; None without a file. Raises IndexFileError if it cannot be parsed."""
        content = self._read_content()
        if content is None:
            return None
        try:
            tables = _split.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._build_read_error(f"not an object of tables ({error})") from None
        return {
            name: {key: LazyDocument(bytes(document)) for key, document in table.items()}
            for name, table in tables.items()
        }

    def write(self, data: Tables) -> None:
        """Replace the file; once this returns, the new content survives a power cut as well."""
        try:
            content = msgspec.json.encode(data, enc_hook=_to_encodable)
            write_atomic(self.path, content)
            _sync_folder(self.path.parent)
            self._cached = (file_signature(self.path), content)
        except BaseException:
            self._cached = None
            raise

    def clear_cache(self) -> None:
        """Let go of the content that is kept for the next read: that one reads the file."""
        self._cached = None

    def remove_temporary_files(self) -> None:
        """Delete temporary files that killed writers left; only while no other writer can live."""
        for leftover in self.path.parent.glob(f".{self.path.name}.*"):
            leftover.unlink(missing_ok=True)

    def _read_content(self) -> bytes | None:
        if self._cached is not None and self._cached[0] == file_signature(self.path):
            return self._cached[1]
        self._cached = None
        try:
            with self.path.open("rb") as file:
                current_signature = _format_stat_signature(os.fstat(file.fileno()))
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._build_read_error(str(error.strerror)) from None
        self._cached = (current_signature, content)
        return content

    def _build_read_error(self, problem: str) -> IndexFileError:
        self._cached = None
        return IndexFileError(Note("index_damaged", path=self.path, problem=problem))


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable: the file's own fsync does not cover its name."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _to_encodable(value: Any) -> Any:
    if isinstance(value, LazyDocument):
        return value.to_encodable()
    raise TypeError(f"{type(value).__name__} is not plain JSON data")


_split = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]])
