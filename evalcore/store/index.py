"""The index of all runs: a TinyDB file of run headers, disposable by design.

The run folders are the truth. A missing index is rebuilt from them, an unreadable one is moved
aside and rebuilt, and any process may write at any time: each write holds a file lock from its read
to its replacement of the file, and each read looks whether the file is still the one it knows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from evalcore.errors import IndexFileError, RunFolderError
from evalcore.records import from_json
from evalcore.settings import Settings
from evalcore.store.atomic_storage import AtomicStorage, signature
from evalcore.store.headers import RunHeader, check_size, with_shared_texts
from evalcore.store.keyed_table import KeyedDatabase
from evalcore.store.lazy_document import LazyDocument
from evalcore.store.run_folder import RunFolder, folders
from evalcore.store.scan import ShippedRuns, newest_first, read_header, scan
from evalcore.store.snapshot import Snapshot

RUNS = "runs"
_LOCK_SECONDS = 60.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Snapshot:
    """What one version of the file holds: the hash of each document, and what it says."""

    signature: str
    hashes: dict[str, bytes]
    headers: dict[str, RunHeader]


_EMPTY = _Snapshot("", {}, {})


class Index:
    """The index file at `path` over the run folders in `roots`.

    `report` takes a line for people when the index repairs itself or skips a broken run folder.
    Every method raises IndexFileError when the file can be neither used nor rebuilt.
    """

    def __init__(
        self, path: Path, roots: Sequence[Path] = (), report: Callable[[str], None] = _log.warning
    ) -> None:
        self.path, self.roots, self._report = path, tuple(roots), report
        self._storage = AtomicStorage(path)
        self._database = KeyedDatabase(storage=lambda: self._storage)
        self._lock = FileLock(f"{path}.lock", timeout=_LOCK_SECONDS, poll_interval=0.005)
        self._snapshot = _EMPTY

    def signature(self) -> str:
        """Changes with every write by any process; empty while there is no file."""
        return signature(self.path)

    def headers(self) -> list[RunHeader]:
        """Every header, newest first."""
        return newest_first(self._current().headers.values())

    def get(self, run_id: str) -> RunHeader | None:
        return self._current().headers.get(run_id)

    def put(self, header: RunHeader) -> None:
        """Insert the header, or replace the one of its run."""
        check_size(header)
        document = msgspec.to_builtins(header)
        self._change(lambda: self._database.keyed(RUNS).put(header.run_id, document))

    def remove(self, run_id: str) -> None:
        """Forget a run; an unknown id is no error."""
        self._change(lambda: self._database.keyed(RUNS).drop(run_id))

    def rebuild(self, roots: Iterable[Path] | None = None) -> int:
        """Make the headers anew from the run folders (default: `self.roots`); returns their number.

        A broken folder is reported and skipped, a run without a summary is not finished and has no
        header yet.
        """
        with self._exclusive():
            return self._write(self.roots if roots is None else roots)

    def _write(self, roots: Iterable[Path]) -> int:
        headers = scan(roots, self._report)
        rows = {run_id: msgspec.to_builtins(header) for run_id, header in headers.items()}
        self._storage.write({RUNS: rows})
        return len(rows)

    def _change(self, change: Callable[[], None]) -> None:
        with self._exclusive():
            if not self.signature():
                self.rebuild()
            try:
                change()
            except IndexFileError as error:
                self._renew(error)
                change()

    def _current(self) -> _Snapshot:
        """The content of the file as it is now, repaired first if need be."""
        found = self.signature()
        if found and self._snapshot.signature == found:
            return self._snapshot
        if not found and not folders(self.roots):
            return _EMPTY  # looking at an empty store leaves no file behind
        try:
            snapshot = self._load()
        except IndexFileError:
            with self._exclusive():
                snapshot = self._repaired()
        self._snapshot = snapshot
        return snapshot

    def _repaired(self) -> _Snapshot:
        """Under the lock: another process may have repaired the file while this one waited."""
        try:
            return self._load()
        except IndexFileError as error:
            self._renew(error)
            return self._load()

    def _load(self) -> _Snapshot:
        found = self.signature()  # before the read: at worst the next call reads once more
        tables = self._storage.read()
        if tables is None:
            raise IndexFileError(f"{self.path} is missing")
        documents: Mapping[str, LazyDocument] = tables.get(RUNS, {})
        rows = {key: document.raw for key, document in documents.items()}
        self._storage.forget()  # what is needed of the file is in the snapshot
        hashes = {key: blake2b(row, digest_size=16).digest() for key, row in rows.items()}
        return _Snapshot(found, hashes, self._decoded(rows, hashes))

    def _decoded(
        self, rows: Mapping[str, bytes], hashes: Mapping[str, bytes]
    ) -> dict[str, RunHeader]:
        """Decodes what is new since the last snapshot: usually one run of many."""
        known, headers = self._snapshot.hashes, self._snapshot.headers
        try:
            return {
                key: headers[key] if known.get(key) == hashes[key] else _header(row)
                for key, row in rows.items()
            }
        except msgspec.MsgspecError as error:
            raise IndexFileError(f"{self.path}: a run header is broken ({error})") from None

    def _renew(self, error: IndexFileError) -> None:
        aside = self._set_aside()
        count = self._write(self.roots)
        moved = f"; the old file is {aside.name}" if aside else ""
        self._report(f"{error}; the index was rebuilt with {count} finished runs{moved}")

    def _set_aside(self) -> Path | None:
        """Move the file to the first free `.corrupt-<n>`, so that nothing is lost unseen."""
        if not self.signature():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.corrupt-{number}")).exists():
            number += 1
        self.path.replace(aside)
        return aside

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """The lock beside the file; taken again by the same thread it nests."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise IndexFileError(
                f"{self.path}: another process has held its lock for {_LOCK_SECONDS:.0f} s; "
                "end that process and try again"
            ) from None
        except OSError as error:
            raise IndexFileError(
                f"{self.path}: {error.strerror}; EVALBOARD_DATA names a folder that can be written"
            ) from None
        try:
            if self._lock.lock_counter == 1:
                self._storage.sweep()
            yield
        except OSError as error:
            raise IndexFileError(f"{self.path}: {error.strerror}; nothing was changed") from error
        finally:
            self._lock.release()


def _header(row: bytes) -> RunHeader:
    return with_shared_texts(from_json(RunHeader, row))


def open_index(settings: Settings) -> Index:
    """The index of the writable run folders, one per process and place."""
    return _open(settings.index_path, settings.runs_dir)


def load_headers(settings: Settings) -> Snapshot:
    """Every finished run, newest first: the writable index and the shipped runs.

    Where both hold a run id, the one that `run_folder.find` would open is given. Costs a look at
    the files while nothing changes, and then gives the very same snapshot.
    """
    place = (settings.index_path, settings.runs_dir, Path(settings.shipped))
    version = headers_signature(settings)  # before the read: at worst the next call reads once more
    shipped = _shipped(place[2] / "runs").headers()
    own = open_index(settings)
    twice = tuple(sorted(run for run in shipped if own.get(run) and _there(settings, run)))
    state, known = (version, twice), _snapshots.get(place)
    if known is None or known[0] != state:
        hidden = set(shipped).difference(twice)
        headers = shipped | {h.run_id: h for h in own.headers() if h.run_id not in hidden}
        known = _snapshots[place] = (state, Snapshot(newest_first(headers.values())))
    return known[1]


def _there(settings: Settings, run: str) -> bool:
    return (settings.runs_dir / run / "spec.json").is_file()


def headers_signature(settings: Settings) -> str:
    """Changes whenever `load_headers` would: a key for caches of what is made from headers."""
    shipped = _shipped(Path(settings.shipped) / "runs")
    return f"{open_index(settings).signature()}&{shipped.signature()}"


def record_run(settings: Settings, folder: RunFolder) -> RunHeader:
    """Put the header of a finished run into the index; raises RunFolderError without a summary."""
    header = read_header(folder)
    if header is None:
        raise RunFolderError(f"{folder.path} has no summary.json yet: the run is not finished")
    open_index(settings).put(header)
    return header


#: By place: its state, and the headers in it.
_snapshots: dict[tuple[Path, Path, Path], tuple[tuple[str, tuple[str, ...]], Snapshot]] = {}


@cache
def _open(path: Path, runs: Path) -> Index:
    return Index(path, (runs,))


@cache
def _shipped(root: Path) -> ShippedRuns:
    return ShippedRuns(root)
