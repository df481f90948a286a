"""The index of all runs: run headers in a TinyDB file or a database, disposable by design.

The run folders are the truth, and whoever reads the index compares it with them: what a worker that
was killed did not enter is entered, what was deleted leaves. A missing index is made from them, an
unreadable one is moved aside first, and where the file cannot be written (a read-only folder, a
lock that is not given back) the headers are right all the same, in memory.

Any process may write at any time: each write holds a file lock from its read to its replacement of
the file, and each read looks whether the file is still the one it knows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from evalcore.errors import IndexFileError, RunFolderError, UsageError
from evalcore.i18n import Note
from evalcore.records import from_json
from evalcore.settings import Settings
from evalcore.store.headers import (
    FolderComparison,
    HeaderSnapshot,
    IndexChanges,
    RunHeader,
    ShippedRuns,
    check_size,
    intern_header_texts,
    mask_header,
    read_header,
    scan_run_folders,
    sort_newest_first,
)
from evalcore.store.index_stores import FileStore, IndexStore, PostgresStore, is_database_url
from evalcore.store.run_folder import RunFolder, is_file

_LOCK_SECONDS = 60.0
_MENDING_LOCK_SECONDS = 1.0  # whoever only reads does not wait long: memory serves as well
_LOOK_SECONDS = 2.0  # between two comparisons with the run folders
_LOOK_SHARE = 0.02  # of the time, at most, is spent on them
_MEND_AGAIN = 30.0  # seconds after which a file that could not be written is tried again
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _IndexSnapshot:
    """What one version of the file holds: the hash of each document, and what it says. `headers`
    may be ahead of the file, whose `signature` then tells by how much."""

    signature: str
    hashes: dict[str, bytes]
    headers: dict[str, RunHeader]


_EMPTY = _IndexSnapshot("", {}, {})


class Index:
    """The index over the run folders in `roots`: the file at `path`, or another `store`.

    `report` takes a line for people when the index repairs itself or skips a broken run folder.
    Every method raises IndexFileError when the file can be neither used nor rebuilt.
    """

    def __init__(
        self,
        path: Path,
        roots: Sequence[Path] = (),
        report: Callable[[str], None] = _log.warning,
        store: IndexStore | None = None,
    ) -> None:
        reported: dict[str, None] = {}

        def report_once(line: str) -> None:
            if line not in reported:
                reported[line] = None
                report(line)

        self.path, self.roots, self._report = path, tuple(roots), report_once
        self._store = store or FileStore(path)
        self._snapshot = _EMPTY  # as it is in the file
        self._shown = _EMPTY  # as it is in the run folders
        self._comparisons = tuple(FolderComparison(root, report_once) for root in self.roots)
        self._looking = threading.Lock()
        self._seen: tuple[Any, ...] = ()
        self._next_look = self._next_mending = 0.0

    def signature(self) -> str:
        """Changes with every change of a header that any process makes; empty without any."""
        return self._refresh_snapshot().signature

    def headers(self) -> list[RunHeader]:
        """Every header, newest first."""
        return sort_newest_first(self._refresh_snapshot().headers.values())

    def get(self, run_id: str) -> RunHeader | None:
        return self._refresh_snapshot().headers.get(run_id)

    def is_readable(self) -> bool:
        """Whether the file can be read, after an attempt to mend it; a missing one can."""
        self._refresh_snapshot()
        with self._looking:
            try:
                self._load_snapshot()
            except IndexFileError:
                return False
        return True

    def put(self, header: RunHeader) -> None:
        """Insert the header, or replace the one of its run."""
        check_size(header)
        document = msgspec.to_builtins(header)
        self._apply_change({header.run_id: document}, ())

    def remove(self, run_id: str) -> None:
        """Forget a run; an unknown id is no error."""
        self._apply_change({}, (run_id,))

    def rebuild(self, roots: Iterable[Path] | None = None) -> int:
        """Make the headers anew from the run folders (default: `self.roots`); returns their number.

        A broken folder is reported and skipped, a run without a summary is not finished and has no
        header yet.
        """
        with self._store.lock_rows(_LOCK_SECONDS):
            return self._write_all_headers(self.roots if roots is None else roots)

    def _write_all_headers(self, roots: Iterable[Path]) -> int:
        headers = scan_run_folders(roots, self._report)
        rows = {run_id: msgspec.to_builtins(header) for run_id, header in headers.items()}
        self._store.replace_rows(rows)
        return len(rows)

    def _apply_change(self, rows: Mapping[str, Any], removed: Sequence[str]) -> None:
        with self._store.lock_rows(_LOCK_SECONDS):
            if not self._store.signature():
                self.rebuild()
            try:
                self._store.change_rows(rows, removed)
            except IndexFileError as error:
                self._rebuild_damaged_file(error)
                self._store.change_rows(rows, removed)

    def _refresh_snapshot(self) -> _IndexSnapshot:
        """The headers as the run folders have them, which the file is made to follow. Costs a look
        at the file and the roots; every two seconds one at each folder too."""
        with self._looking:
            seen = (self._read_signature(), *map(read_root_mtime, self.roots))
            began = time.monotonic()
            if seen != self._seen or began >= self._next_look:
                self._shown = self._compare_with_folders()
                self._seen = (self._snapshot.signature or seen[0], *seen[1:])
                ended = time.monotonic()
                self._next_look = ended + max(_LOOK_SECONDS, (ended - began) / _LOOK_SHARE)
            return self._shown

    def _read_signature(self) -> str:
        """The signature of the rows; a database that cannot be reached has its own."""
        try:
            return self._store.signature()
        except IndexFileError:
            return "unreadable"

    def _compare_with_folders(self) -> _IndexSnapshot:
        problem: IndexFileError | None = None
        try:
            self._snapshot = self._load_snapshot()
        except IndexFileError as error:
            problem, self._snapshot = error, _EMPTY
        changes = self._collect_changes()
        if not (problem or changes.newer or changes.gone):
            return self._snapshot
        if time.monotonic() >= self._next_mending:
            try:
                self._snapshot = self._repair_file(changes.newer)
                return self._snapshot
            except IndexFileError as error:
                self._report(f"{error}; the runs are read from their folders until then")
                self._next_mending = time.monotonic() + _MEND_AGAIN
        return self._build_unsaved_snapshot(changes)

    def _repair_file(self, loaded_headers: Mapping[str, RunHeader]) -> _IndexSnapshot:
        """Under the lock: another process may have mended the file while this one waited.
        `loaded_headers` are headers that need not be read again."""
        with self._store.lock_rows(_MENDING_LOCK_SECONDS):
            try:
                self._snapshot = self._load_snapshot()
            except IndexFileError as error:
                self._rebuild_damaged_file(error)
                return self._load_snapshot()
            changes = self._collect_changes(loaded_headers)
            if changes.newer or changes.gone:
                rows = {name: msgspec.to_builtins(h) for name, h in changes.newer.items()}
                self._store.change_rows(rows, changes.gone)
                if self._snapshot is _EMPTY:
                    title = self._store.title
                    self._report(f"{title} was missing; rebuilt with {len(rows)} finished runs")
            return self._load_snapshot()

    def _collect_changes(
        self, loaded_headers: Mapping[str, RunHeader] = MappingProxyType({})
    ) -> IndexChanges:
        """What the file lacks of the folders; of one that stands in two roots the first counts."""
        newer: dict[str, RunHeader] = {}
        gone = frozenset(self._snapshot.headers) if self._comparisons else frozenset()
        for comparison in self._comparisons:
            changes = comparison.find_changes(self._snapshot.headers, loaded_headers)
            newer = changes.newer | newer
            gone &= changes.gone
        return IndexChanges(newer, gone)

    def _build_unsaved_snapshot(self, changes: IndexChanges) -> _IndexSnapshot:
        """Build the snapshot that the index file would hold if it could be written."""
        headers = {
            name: header
            for name, header in self._snapshot.headers.items()
            if name not in changes.gone
        } | changes.newer
        digest = blake2b(digest_size=8)
        for name, header in sorted(headers.items()):
            digest.update(f"{name}={header.source}\n".encode())
        return _IndexSnapshot(f"{self._snapshot.signature}+{digest.hexdigest()}", {}, headers)

    def _load_snapshot(self) -> _IndexSnapshot:
        # before the read: at worst the next call reads once more
        current_signature = self._store.signature()
        if current_signature == self._snapshot.signature:
            return self._snapshot
        rows = self._store.read_rows()
        if rows is None:
            return _EMPTY
        hashes = {key: blake2b(row, digest_size=16).digest() for key, row in rows.items()}
        return _IndexSnapshot(current_signature, hashes, self._decode_headers(rows, hashes))

    def _decode_headers(
        self, rows: Mapping[str, bytes], hashes: Mapping[str, bytes]
    ) -> dict[str, RunHeader]:
        """Decodes what is new since the last snapshot: usually one run of many."""
        old_hashes, headers = self._snapshot.hashes, self._snapshot.headers
        try:
            return {
                key: headers[key] if old_hashes.get(key) == hashes[key] else _decode_header(row)
                for key, row in rows.items()
            }
        except msgspec.MsgspecError as error:
            raise IndexFileError(
                Note("index_header", path=self._store.title, problem=error)
            ) from None

    def _rebuild_damaged_file(self, error: IndexFileError) -> None:
        aside = self._store.set_aside()
        count = self._write_all_headers(self.roots)
        moved = f"; the old file is {aside}" if aside else ""
        self._report(f"{error}; the index was rebuilt with {count} finished runs{moved}")


def read_root_mtime(root: Path) -> int:
    """When a run was added to a root or removed from it last (ns); 0 where it cannot be seen."""
    try:
        return root.stat().st_mtime_ns
    except OSError:
        return 0


def _decode_header(row: bytes) -> RunHeader:
    return intern_header_texts(from_json(RunHeader, row))


def open_index(settings: Settings) -> Index:
    """The index of the writable run folders, one per process and place."""
    return _open_cached_index(settings.index_path, settings.runs_dir, settings.index)


def load_headers(settings: Settings) -> HeaderSnapshot:
    """Every finished run, newest first: the writable index and the shipped runs.

    Targets that are named by a path have their masked names (`privacy.mask_target`): from here on
    pages, API, site and exports know no other. Where both hold a run id, the one that
    `run_folder.find` would open is given. Costs a look at
    the files while nothing changes, and then gives the very same snapshot.
    """
    paths = (settings.index_path, settings.runs_dir, Path(settings.shipped))
    version = headers_signature(settings)  # before the read: at worst the next call reads once more
    shipped = _open_shipped_runs(paths[2] / "runs").headers()
    own = open_index(settings)
    twice = tuple(sorted(run for run in shipped if own.get(run) and _has_run_spec(settings, run)))
    state, cached = (version, twice), _snapshots.get(paths)
    if cached is None or cached[0] != state:
        hidden = set(shipped).difference(twice)
        headers = shipped | {h.run_id: h for h in own.headers() if h.run_id not in hidden}
        masked = map(mask_header, headers.values())
        cached = _snapshots[paths] = (state, HeaderSnapshot(sort_newest_first(masked)))
    return cached[1]


def _has_run_spec(settings: Settings, run: str) -> bool:
    return is_file(settings.runs_dir / run / "spec.json")


def headers_signature(settings: Settings) -> str:
    """Return a value that changes whenever `load_headers` would: a cache key for derived data."""
    shipped = _open_shipped_runs(Path(settings.shipped) / "runs")
    return f"{open_index(settings).signature()}&{shipped.signature()}"


def record_run(settings: Settings, folder: RunFolder) -> RunHeader:
    """Put the header of a finished run into the index; raises RunFolderError without a summary."""
    header = read_header(folder)
    if header is None:
        raise RunFolderError(Note("run_unfinished", path=folder.path))
    open_index(settings).put(header)
    return header


#: By place: its state, and the headers in it.
_snapshots: dict[tuple[Path, Path, Path], tuple[tuple[str, tuple[str, ...]], HeaderSnapshot]] = {}


@cache
def _open_cached_index(path: Path, runs: Path, url: str) -> Index:
    if url and not is_database_url(url):
        raise UsageError(Note("index_url"))
    return Index(path, (runs,), store=PostgresStore(url, runs) if url else None)


@cache
def _open_shipped_runs(root: Path) -> ShippedRuns:
    return ShippedRuns(root)
