"""Where the rows of the index are: a TinyDB file, or a table of a PostgreSQL database.

Both hold a JSON document per run by its id, tell by a signature whether anything has changed, and
give one writer at a time the lock between its read and its write.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, unquote

import msgspec
from filelock import FileLock, Timeout

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import IndexFileError, MissingDependency, UsageError
from evalcore.i18n import Note
from evalcore.store.tinydb_storage import AtomicStorage, KeyedDatabase, LazyDocument, file_signature

if TYPE_CHECKING:
    import sqlalchemy as sa

RUNS = "runs"
_STORE_ID = ".index-id"
_CONNECT = {"connect_timeout": 5}
_SCHEMES = ("postgresql", "postgres")
#: As SQLAlchemy reads an address: a password may hold anything but @.
_ADDRESS = re.compile(
    r"[\w+]+://(?:[^:/]*(?::(?P<password>[^@]*))?@)?(?P<place>[^?]*)(?:\?(?P<options>.*))?", re.S
)


class IndexStore(Protocol):
    """The rows of an index; `title` names it in messages and never holds a password. Methods raise
    IndexFileError where the rows cannot be read or written."""

    title: str

    def signature(self) -> str:
        """Changes with every write by any process; "" where nothing was ever written."""
        ...

    def lock_rows(self, seconds: float) -> AbstractContextManager[None]:
        """Be the only writer; waits at most `seconds`. Taken again by the same thread it nests."""
        ...

    def read_rows(self) -> dict[str, bytes] | None:
        """The documents by run id, None where nothing was ever written."""
        ...

    def replace_rows(self, rows: Mapping[str, Any]) -> None: ...

    def change_rows(self, rows: Mapping[str, Any], removed: Iterable[str]) -> None:
        """Insert or replace some rows and remove others, in one write."""
        ...

    def set_aside(self) -> str:
        """Move away what cannot be read; returns where it is, "" where there was nothing."""
        ...


class FileStore:
    """A TinyDB file, with its lock beside it."""

    def __init__(self, path: Path) -> None:
        self.path, self.title = path, str(path)
        self._storage = AtomicStorage(path)
        self._database = KeyedDatabase(storage=lambda: self._storage)
        self._lock = FileLock(f"{path}.lock", timeout=60.0, poll_interval=0.005)

    def signature(self) -> str:
        return file_signature(self.path)

    @contextmanager
    def lock_rows(self, seconds: float) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=seconds)
        except Timeout:
            raise IndexFileError(
                Note("index_locked", path=self.path, seconds=f"{seconds:.0f}")
            ) from None
        except OSError as error:
            raise IndexFileError(
                Note("index_no_write", path=self.path, problem=error.strerror)
            ) from None
        try:
            if self._lock.lock_counter == 1:
                self._storage.remove_temporary_files()
            yield
        except OSError as error:
            raise IndexFileError(
                Note("index_unchanged", path=self.path, problem=error.strerror)
            ) from error
        finally:
            self._lock.release()

    def read_rows(self) -> dict[str, bytes] | None:
        tables = self._storage.read()
        if tables is None:
            return None
        documents: Mapping[str, LazyDocument] = tables.get(RUNS, {})
        rows = {key: document.raw for key, document in documents.items()}
        self._storage.clear_cache()  # what is needed of the file is in the snapshot
        return rows

    def replace_rows(self, rows: Mapping[str, Any]) -> None:
        self._storage.write({RUNS: dict(rows)})

    def change_rows(self, rows: Mapping[str, Any], removed: Iterable[str]) -> None:
        gone = tuple(removed)
        if len(rows) == 1 and not gone:
            [(run_id, document)] = rows.items()
            self._database.get_keyed_table(RUNS).put(run_id, document)
        elif not rows and len(gone) == 1:
            self._database.get_keyed_table(RUNS).drop(gone[0])
        else:
            tables = self._storage.read() or {}
            present = tables.setdefault(RUNS, {})
            for run_id in gone:
                present.pop(run_id, None)
            present.update(rows)
            self._storage.write(tables)

    def set_aside(self) -> str:
        """Move the file to the first free `.corrupt-<n>`, so that nothing is lost unseen."""
        if not file_signature(self.path):
            return ""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.corrupt-{number}")).exists():
            number += 1
        self.path.replace(aside)
        return aside.name


class PostgresStore:
    """Tables of a PostgreSQL database, which any number of machines may share.

    Rows belong to a data folder, which a file in it names: machines that mount one folder share its
    rows, those with folders of their own never see or remove each other's.
    """

    def __init__(self, url: str, runs: Path) -> None:
        self.title = describe_url(url)
        self._url, self._runs = url, runs
        self._name = ""
        self._held = threading.local()  # the connection of the thread that holds the lock
        self._opening = threading.Lock()
        self._opened: tuple[sa.Engine, dict[str, sa.Table]] | None = None

    def signature(self) -> str:
        versions = self._tables["versions"]
        with self._connect() as connection:
            query = versions.select().where(versions.c.store == self._find_name())
            row = connection.execute(query).first()
        return f"{row.mark}:{row.number}" if row else ""

    @contextmanager
    def lock_rows(self, seconds: float) -> Iterator[None]:
        """A lock of the database in one transaction, which ends with whoever holds it."""
        import sqlalchemy as sa

        if self._locked is not None:
            yield
            return
        number = int.from_bytes(
            blake2b(self._find_name(create=True).encode(), digest_size=8).digest(), signed=True
        )
        with self._connect() as connection:
            until = time.monotonic() + seconds
            attempt = sa.select(sa.func.pg_try_advisory_xact_lock(number))
            while not connection.execute(attempt).scalar():
                if time.monotonic() > until:
                    raise IndexFileError(
                        Note("index_locked", path=self.title, seconds=f"{seconds:.0f}")
                    )
                time.sleep(0.02)
            self._held.connection = connection
            try:
                yield
                connection.commit()
            finally:
                self._held.connection = None

    @property
    def _locked(self) -> sa.Connection | None:
        """The connection that holds the lock in this thread."""
        connection: sa.Connection | None = getattr(self._held, "connection", None)
        return connection

    @property
    def _tables(self) -> dict[str, sa.Table]:
        return self._open_database()[1]

    def _open_database(self) -> tuple[sa.Engine, dict[str, sa.Table]]:
        """Opened by whoever needs it first, and tried again while it cannot be reached."""
        with self._opening:
            if self._opened is None:
                self._opened = _open_engine(self._url)
                weakref.finalize(self, _dispose_engine, self._opened[0], os.getpid())
            return self._opened

    def read_rows(self) -> dict[str, bytes] | None:
        rows, name = self._tables["rows"], self._find_name()
        if not self.signature():
            return None
        with self._connect() as connection:
            query = rows.select().where(rows.c.store == name)
            return {row.run: row.header.encode() for row in connection.execute(query)}

    def replace_rows(self, rows: Mapping[str, Any]) -> None:
        table = self._tables["rows"]
        with self.lock_rows(60.0), self._connect() as connection:
            connection.execute(table.delete().where(table.c.store == self._find_name()))
            self._insert(connection, rows)
            self._raise_version(connection)

    def change_rows(self, rows: Mapping[str, Any], removed: Iterable[str]) -> None:
        table, gone = self._tables["rows"], [*removed, *rows]
        with self.lock_rows(60.0), self._connect() as connection:
            own = table.c.store == self._find_name()
            connection.execute(table.delete().where(own, table.c.run.in_(gone)))
            self._insert(connection, rows)
            self._raise_version(connection)

    def set_aside(self) -> str:
        return ""  # the rows are replaced; the run folders have all that they held

    def _insert(self, connection: sa.Connection, rows: Mapping[str, Any]) -> None:
        name = self._find_name()
        documents = [
            {"store": name, "run": run, "header": _encode_text(row)} for run, row in rows.items()
        ]
        if documents:
            connection.execute(self._tables["rows"].insert(), documents)

    def _raise_version(self, connection: sa.Connection) -> None:
        """Let every reader know; a store that was emptied by hand gets another mark."""
        versions = self._tables["versions"]
        own = versions.c.store == self._find_name()
        change = versions.update().where(own).values(number=versions.c.number + 1)
        if not connection.execute(change).rowcount:
            connection.execute(
                versions.insert().values(
                    store=self._find_name(), mark=secrets.token_hex(6), number=1
                )
            )

    def _find_name(self, *, create: bool = False) -> str:
        """What tells the folder of runs from others; made by the first who writes."""
        path = self._runs.parent / _STORE_ID
        if not self._name and create:
            fresh = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                fresh.write_text(secrets.token_hex(8), encoding="ascii")
                with suppress(FileExistsError):  # another was first: its name counts, whole
                    path.hardlink_to(fresh)
                fresh.unlink()
            except OSError as error:
                raise IndexFileError(
                    Note("index_no_write", path=path, problem=error.strerror)
                ) from None
        if not self._name:
            try:
                self._name = path.read_text(encoding="ascii")[:64]
            except OSError:
                return ""
        return self._name

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        """The connection that holds the lock in this thread, else a new one."""
        import sqlalchemy as sa

        try:
            if self._locked is not None:
                yield self._locked
                return
            with self._open_database()[0].connect() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise IndexFileError(
                f"{self.title}: {scrub_url(str(getattr(error, 'orig', error)), self._url)}"
            ) from None


def _encode_text(document: Any) -> str:
    if isinstance(document, LazyDocument):
        document = document.to_encodable()
    return msgspec.json.encode(document).decode()


def _open_engine(url: str) -> tuple[sa.Engine, dict[str, sa.Table]]:
    """The engine and the tables, which are made where there are none."""
    try:
        import psycopg  # noqa: F401
        import sqlalchemy as sa
    except ImportError:
        raise MissingDependency(Note("index_missing")) from None
    try:
        address = sa.make_url(url).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(
            address, pool_pre_ping=True, hide_parameters=True, connect_args=_CONNECT
        )
    except (sa.exc.ArgumentError, ValueError):
        raise UsageError(Note("index_url")) from None
    metadata = sa.MetaData()
    tables = {
        "rows": sa.Table(
            "evalboard_index",
            metadata,
            sa.Column("store", sa.Text, primary_key=True),
            sa.Column("run", sa.Text, primary_key=True),
            sa.Column("header", sa.Text, nullable=False),
        ),
        "versions": sa.Table(
            "evalboard_index_versions",
            metadata,
            sa.Column("store", sa.Text, primary_key=True),
            sa.Column("mark", sa.Text, nullable=False),
            sa.Column("number", sa.BigInteger, nullable=False),
        ),
    }
    try:
        with engine.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x45564142)))  # one maker
            metadata.create_all(connection)
    except sa.exc.SQLAlchemyError as error:
        message = scrub_url(str(getattr(error, "orig", error)), url)
        raise IndexFileError(f"{describe_url(url)}: {message}") from None
    return engine, tables


def _dispose_engine(engine: sa.Engine, pid: int) -> None:
    """Close the connections of a store that goes; a fork leaves them to the process they are of."""
    engine.dispose(close=pid == os.getpid())


def is_database_url(text: str) -> bool:
    return text.partition("://")[0].partition("+")[0] in _SCHEMES and "://" in text


def describe_url(url: str) -> str:
    """Host and database of an address, without user, password and options."""
    parts = _ADDRESS.match(url)
    return f"postgresql://{parts['place']}" if parts else "postgresql"


def scrub_url(text: str, url: str) -> str:
    """A message of a driver in one line, without the address and the secrets in it."""
    line = " ".join(text.split()).replace(url, describe_url(url))
    return scrub_secrets(line, _list_secrets(url))[:400]


def _list_secrets(url: str) -> list[str]:
    """The passwords in an address, as they are written there and as they are."""
    parts = _ADDRESS.match(url)
    if parts is None:
        return []
    options = parse_qsl(parts["options"] or "")
    written = parts["password"] or ""
    return [written, unquote(written), *(value for name, value in options if "pass" in name)]
