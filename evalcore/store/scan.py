"""Headers straight from run folders: what the index is rebuilt from, and the shipped runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from evalcore.errors import EvalboardError, RunFolderError
from evalcore.store.atomic_storage import signature
from evalcore.store.headers import RunHeader, header_of
from evalcore.store.run_folder import RunFolder, folders

_log = logging.getLogger(__name__)


def newest_first(headers: Iterable[RunHeader]) -> list[RunHeader]:
    return sorted(headers, key=lambda header: (header.created_at, header.run_id), reverse=True)


def read_header(folder: RunFolder) -> RunHeader | None:
    """The header of a run folder, None before it has a summary.

    Raises RunFolderError when a file is broken or speaks of another run than its folder.
    """
    summary, spec = folder.summary(), folder.spec()
    if spec.run_id != folder.run_id:
        raise RunFolderError(f"{folder.path}: spec.json is of run {spec.run_id!r}")
    return None if summary is None else header_of(spec, summary)


def scan(roots: Iterable[Path], report: Callable[[str], None]) -> dict[str, RunHeader]:
    """The headers of all finished runs by run id; `report` takes a line per broken folder."""
    headers: dict[str, RunHeader] = {}
    for folder in folders(roots):
        try:
            header = read_header(folder)
        except EvalboardError as error:
            report(f"run folder skipped: {error}")
            continue
        if header is not None:
            headers[header.run_id] = header
    return headers


class ShippedRuns:
    """The runs of a read-only root, read again only when one of its summaries changes."""

    def __init__(self, root: Path, report: Callable[[str], None] = _log.warning) -> None:
        self.root, self._report = root, report
        self._known: tuple[str, dict[str, RunHeader]] | None = None

    def signature(self) -> str:
        """Changes when a run is added, removed or summed up anew; one look per folder."""
        if not self.root.is_dir():
            return ""
        with os.scandir(self.root) as entries:
            names = sorted(entry.name for entry in entries)
        return "|".join(f"{name}={signature(self.root / name / 'summary.json')}" for name in names)

    def headers(self) -> dict[str, RunHeader]:
        """Headers by run id, each marked `shipped`."""
        found = self.signature()
        if self._known is None or self._known[0] != found:
            headers = {
                run_id: msgspec.structs.replace(header, shipped=True)
                for run_id, header in scan((self.root,), self._report).items()
            }
            self._known = (found, headers)
        return self._known[1]
