"""Where an import prepares its runs: all of them come into the store, or none does. Files that runs
share are on the disk once."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record, to_json
from evalcore.settings import Settings
from evalcore.store import run_folder as published_file
from evalcore.store.headers import read_header
from evalcore.store.index import open_index, record_run
from evalcore.store.run_folder import Published, RunFolder, list_run_folders, write_atomic

# Files by the hash of their content: what many imported runs share is on the disk once.


class BlobStore:
    """Keeps new files in `folder`; `existing` are files that lie elsewhere, by digest."""

    def __init__(self, folder: Path, existing: Mapping[str, Path]) -> None:
        self._folder = folder
        self._paths = dict(existing)

    def put(self, content: bytes) -> str:
        """The digest by which the content is found again."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._paths:
            self._paths[digest] = self._folder / digest
            write_atomic(self._paths[digest], content)
        return digest

    def get(self, digest: str) -> bytes:
        return self._paths[digest].read_bytes()

    def link(self, digest: str, path: Path) -> None:
        """Make the file appear at `path`; a copy where the file system knows no links. Journals of
        an import are never written to again, so that sharing them is safe."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self._paths[digest], path)
        except OSError:
            shutil.copyfile(self._paths[digest], path)


# A failure while the finished folders are moved moves them back. A kill can leave some of them
# out; each that is there is whole, and the next import adds the rest.

_FORMER = "old-"  # a run that is being replaced
ImportOutcome = Literal["created", "replaced", "unchanged"]


class ImportedScore(Record, frozen=True):
    """A claim and how it comes about; `reading` is empty for a bare claim."""

    run: str
    capability: str
    claimed: float | None
    recomputed: float | None
    reading: str


@dataclass
class ImportResult:
    """What an import did: run ids by what became of them, every score, counts of flags by kind,
    and what could not be taken."""

    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    scores: list[ImportedScore] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    @property
    def reading_counts(self) -> Counter[str]:
        """How many claims come about by each reading; bare claims are no part of it."""
        return Counter(score.reading for score in self.scores if score.reading)

    def record_run(self, became: ImportOutcome, run_id: str, published: Published) -> None:
        getattr(self, became).append(run_id)
        self.flags.update(f.kind for score in published.scores.values() for f in score.flags)


def list_import_results(done: ImportResult) -> list[str]:
    """What became of the runs, how the claims come about, and the flags, in lines."""
    created, replaced, unchanged = len(done.created), len(done.replaced), len(done.unchanged)
    lines: list[str] = [
        Note("import_runs", created=created, replaced=replaced, unchanged=unchanged)
    ]
    claims, flags = (
        ", ".join(f"{count} {name}" for name, count in counts.most_common())
        for counts in (done.reading_counts, done.flags)
    )
    lines += [Note("import_claims", counts=claims)] if claims else []
    lines += [Note("import_flags", counts=flags)] if flags else []
    return [*lines, *(Note("import_left_out", problem=line) for line in done.skipped)]


class ImportStage:
    """Runs in preparation below `folder`; `blobs` holds the files that they are made of."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._outcomes: dict[str, ImportOutcome] = {}
        self.blobs = BlobStore(folder / "shelf", _find_existing_blobs(settings))

    def prepare_run(self, run_id: str, published: Published) -> ImportOutcome:
        """Prepare a run; raises UsageError if a run of that id exists and is not an import."""
        if run_id in self._outcomes:
            raise UsageError(Note("import_same_run", month=published.month, run=run_id))
        folder = RunFolder(self._settings.runs_dir / run_id)
        exists = folder.path.exists()
        if exists and folder.read_spec().origin != "imported":
            raise UsageError(Note("import_not_import", run=run_id))
        if exists and to_json(published_file.read_published(folder)) == to_json(published):
            self._outcomes[run_id] = "unchanged"
            return "unchanged"
        prepared = RunFolder(self._folder / "runs" / run_id)
        for name, digest in published.files.items():
            self.blobs.link(digest, prepared.path / name)
        published_file.write_published(prepared, published)
        self._outcomes[run_id] = "replaced" if exists else "created"
        return self._outcomes[run_id]

    def commit(self) -> None:
        """Move every prepared run to its place and into the index; where that fails, none stays."""
        indexed = {header.run_id for header in open_index(self._settings).headers()}
        moving = [run_id for run_id, became in self._outcomes.items() if became != "unchanged"]
        for run_id in moving:
            read_header(RunFolder(self._folder / "runs" / run_id))  # raises before anything moves
        moved: list[str] = []
        try:
            for run_id in moving:
                moved.append(run_id)
                self._move_run(run_id)
            for run_id in self._outcomes:
                if run_id in moved or run_id not in indexed:
                    record_run(self._settings, RunFolder(self._settings.runs_dir / run_id))
        except BaseException:
            for run_id in moved:
                self._move_back(run_id)
            raise

    def _move_run(self, run_id: str) -> None:
        """Put a prepared run in its place, the former one aside."""
        target = self._settings.runs_dir / run_id
        if target.exists():
            target.rename(self._folder / f"{_FORMER}{run_id}")
        (self._folder / "runs" / run_id).rename(target)

    def _move_back(self, run_id: str) -> None:
        """Undo `_move_run` as far as it went, in the index as well."""
        target, former = self._settings.runs_dir / run_id, self._folder / f"{_FORMER}{run_id}"
        with suppress(OSError, EvalboardError):
            if not (self._folder / "runs" / run_id).exists():
                target.rename(self._folder / "runs" / run_id)
            if former.exists():
                former.rename(target)
                record_run(self._settings, RunFolder(target))
            elif not target.exists():
                open_index(self._settings).remove(run_id)


@contextmanager
def open_import_stage(settings: Settings) -> Iterator[ImportStage]:
    """A stage that is gone afterwards; raises UsageError while another import has it."""
    folder = settings.runs_dir / ".importing"
    settings.runs_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.index_path.with_name("import.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(Note("import_busy")) from None
    try:
        _clear_interrupted(folder, settings.runs_dir)
        yield ImportStage(folder, settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _clear_interrupted(folder: Path, runs: Path) -> None:
    """Remove what an import left that was killed; a run that it was replacing goes back."""
    for former in folder.glob(f"{_FORMER}*"):
        target = runs / former.name.removeprefix(_FORMER)
        if not target.exists():
            former.rename(target)
    shutil.rmtree(folder, ignore_errors=True)


def _find_existing_blobs(settings: Settings) -> Mapping[str, Path]:
    paths: dict[str, Path] = {}
    for folder in list_run_folders((settings.runs_dir,)):
        try:
            published = published_file.read_published(folder)
        except EvalboardError:  # another run's damage is no reason to refuse this one
            continue
        for name, digest in (published.files if published else {}).items():
            if (folder.path / name).is_file():
                paths.setdefault(digest, folder.path / name)
    return paths
