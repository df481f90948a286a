"""Headers straight from run folders: what the index is rebuilt from, and the shipped runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from evalcore.errors import EvalboardError, RunFolderError
from evalcore.records import RunSpec, RunSummary
from evalcore.store.headers import RunHeader, build_run_header
from evalcore.store.journal import SAMPLES
from evalcore.store.run_folder import RunFolder, describe_os_error, is_file, is_run_id

_log = logging.getLogger(__name__)
#: The files whose change makes a header be read again; without the first there is none.
_SOURCES = ("summary.json", "spec.json", SAMPLES)


def sort_newest_first(headers: Iterable[RunHeader]) -> list[RunHeader]:
    return sorted(headers, key=lambda header: (header.created_at, header.run_id), reverse=True)


def compute_source_signature(folder: str) -> str:
    """Changes with every file that a header is made from or rests on; "" without a summary.

    Raises OSError where the folder cannot be looked into.
    """
    parts = []
    for name in _SOURCES:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - asked of thousands of runs
        except FileNotFoundError:
            if name == _SOURCES[0]:
                return ""
            parts.append("")
        else:
            parts.append(f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()


def read_header(folder: RunFolder) -> RunHeader | None:
    """The header of a run folder, None before it has a summary.

    Raises RunFolderError when a file is broken, and as `check_folder`.
    """
    try:
        # before the read: at worst it is read once more
        source = compute_source_signature(str(folder.path))
    except OSError as error:
        raise RunFolderError(f"{folder.path}: {describe_os_error(error)}") from None
    summary, spec = folder.read_summary(), folder.read_spec()
    if summary is None:
        return None
    check_folder(folder, spec, summary)
    return replace(build_run_header(spec, summary), source=source)


def check_folder(folder: RunFolder, spec: RunSpec, summary: RunSummary) -> None:
    """Raise RunFolderError where the files do not make a run that can stand on a board: they speak
    of another one, or the cases that were asked are gone, so that nothing could be shown of it."""
    if spec.run_id != folder.run_id:
        raise RunFolderError(f"{folder.path}: spec.json is of run {spec.run_id!r}")
    asked = spec.origin == "executed" and any(benchmark.samples for benchmark in spec.benchmarks)
    if asked and not is_file(folder.path / SAMPLES):
        raise RunFolderError(f"{folder.path}: {SAMPLES} is missing")


def scan_run_folders(roots: Iterable[Path], report: Callable[[str], None]) -> dict[str, RunHeader]:
    """The headers of all finished runs by run id; `report` takes a line per broken folder."""
    headers: dict[str, RunHeader] = {}
    for root in roots:
        headers = FolderComparison(root, report).find_changes({}).newer | headers
    return headers


class IndexChanges(NamedTuple):
    """What an index lacks: headers to enter by run id, and runs to leave out."""

    newer: dict[str, RunHeader]
    gone: frozenset[str]


class FolderComparison:
    """Run folders below `root` against the headers that an index has of them, again and again.

    A folder that cannot be read is left as it is, reported once, and read again when its files
    change.
    """

    def __init__(self, root: Path, report: Callable[[str], None] = _log.warning) -> None:
        self.root, self._report = root, report
        self._broken: dict[str, str] = {}

    def find_changes(
        self,
        headers: Mapping[str, RunHeader],
        loaded_headers: Mapping[str, RunHeader] = MappingProxyType({}),
    ) -> IndexChanges:
        """A look at three files a run, and a read of what is new and not among the headers
        `loaded_headers`.

        A root that cannot be read (not mounted, not made yet, not ours) changes nothing.
        """
        try:
            with os.scandir(self.root) as entries:
                names = [entry.name for entry in entries if is_run_id(entry.name)]
        except OSError as error:
            problem = f"{self.root}: {describe_os_error(error)}; check who may read it"
            if not isinstance(error, FileNotFoundError) and problem not in self._broken:
                self._broken[problem] = ""  # said once
                self._report(problem)
            return IndexChanges({}, frozenset())
        newer: dict[str, RunHeader] = {}
        whole: set[str] = set()
        broken: dict[str, str] = {}
        for name in names:
            path = f"{self.root}/{name}"
            indexed = headers.get(name)
            try:
                source = compute_source_signature(path)
                if source and (indexed is None or indexed.source != source):
                    if self._broken.get(name) == source:
                        broken[name] = source
                        continue
                    header = loaded_headers.get(name)
                    if header is None or header.source != source:
                        header = read_header(RunFolder(self.root / name))
                    if header is not None:
                        newer[name] = header
            except (EvalboardError, OSError) as error:
                ours = isinstance(error, EvalboardError)
                broken[name] = source if ours else describe_os_error(error)
                if self._broken.get(name) != broken[name]:
                    problem = str(error) if ours else f"{path}: {describe_os_error(error)}"
                    self._report(f"run folder skipped: {problem}")
                continue
            if source:
                whole.add(name)
        self._broken = broken
        return IndexChanges(newer, frozenset(headers).difference(whole))


class ShippedRuns:
    """The runs of a read-only root, each read again only when one of its files changes."""

    def __init__(self, root: Path, report: Callable[[str], None] = _log.warning) -> None:
        self._comparison = FolderComparison(root, report)
        self._headers: dict[str, RunHeader] = {}

    def headers(self) -> dict[str, RunHeader]:
        """Headers by run id, each marked `shipped`; the very same object while nothing changes."""
        if not self._comparison.root.exists():
            return {}
        newer, gone = self._comparison.find_changes(self._headers)
        if newer or gone:
            fresh = {name: replace(header, shipped=True) for name, header in newer.items()}
            older = {name: header for name, header in self._headers.items() if name not in gone}
            self._headers = older | fresh
        return self._headers

    def signature(self) -> str:
        """Changes when a run is added, removed or summed up anew."""
        return "|".join(
            f"{name}={header.source}" for name, header in sorted(self.headers().items())
        )
