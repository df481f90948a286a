"""Sending results: every run that has ended, in each version once, and what else was made here.

A commit takes a few archives at a time, on top of the commit that was looked at: a kill in between
loses nothing, and whoever else commits meanwhile makes us look again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange.hub_store import archives, versions
from evalcore.exchange.hub_store.place import Place, exchange
from evalcore.exchange.hub_store.pull import pull
from evalcore.exchange.hub_store.repository import Changed, Head, Repository
from evalcore.exchange.hub_store.versions import EMPTY, EXTRAS, REMOVED, Shelf, run_of, subject_of
from evalcore.privacy import build_redactor
from evalcore.queries.gated import gated_cases
from evalcore.records import Record, utc_now
from evalcore.settings import Settings
from evalcore.store import hub_state, run_folder
from evalcore.store.run_folder import RunFolder

Say = Callable[[str], None]
_ENDED = ("done", "incomplete", "cancelled")
_AT_ONCE, _BYTES_AT_ONCE = 20, 256 << 20
_LOOKS = 5
_GATED = "holds text of a gated data set, and the repository is public: make it private"


class Pushed(Record, frozen=True):
    """Ids of runs: `sent`, `removed` (deleted here); `same` counts those that were there already.
    `extras` tells whether what is not a run went out; `held` why a run did not."""

    repo: str
    sent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: int = 0
    extras: bool = False
    held: dict[str, str] = {}


class _Wanted(Record, frozen=True):
    """What should be the newest version of a subject; no `files` where it was removed."""

    subject: str
    digest: str
    files: dict[str, Path] = {}


def push(
    settings: Settings, repo: str = "", runs: Sequence[str] = (), progress: Say = print
) -> Pushed:
    """Send the named runs, or everything that has changed; what is there already is not sent.

    A data folder that never took anything back does so first, so that what an earlier container
    left is not passed over. Raises UsageError where the Hub cannot be asked; nothing here changes.
    """
    repository = Repository(settings, repo)
    state = hub_state.read_hub_state(settings)
    if not runs and (state.repo != repository.name or not state.fetched_at):
        pull(settings, repository.name, progress=progress)
    with exchange(settings, repository.name) as place:
        head = repository.head(make=True)
        if head is None:
            raise UsageError(f"{repository.name} could not be made; make it on the Hub, private")
        pushing = _Pushing(settings, repository, place, progress)
        for _ in range(_LOOKS):
            try:
                told = pushing.all(head, runs)
                break
            except Changed:
                head = repository.head() or head
        else:
            raise UsageError(f"{repository.name} changes all the time; try again later")
        place.note(held=told.held, sent_at=utc_now())
    return told


class _Pushing:
    """One push under way."""

    def __init__(
        self, settings: Settings, repository: Repository, place: Place, progress: Say
    ) -> None:
        self._settings, self._repository = settings, repository
        self._place, self._progress = place, progress
        self._keys = (*build_redactor(settings).keys, repository.key.decode())
        self._sent: list[str] = []
        self._removed: list[str] = []

    def all(self, head: Head, runs: Sequence[str]) -> Pushed:
        """Bring the repository to what is here; raises Changed where it moves meanwhile."""
        shelves = versions.shelves(self._repository.versions(head), self._repository.key)
        held: dict[str, str] = {}
        same = 0
        batch: dict[str, Path] = {}
        with tempfile.TemporaryDirectory(prefix="evalcore-hub-") as scratch:
            for number, wanted in enumerate(self._wanted(head, shelves, runs, held)):
                shelf = shelves.get(wanted.subject, EMPTY)
                if shelf.newest is not None and shelf.newest.digest == wanted.digest:
                    known = (EXTRAS, *self._sent, *self._removed)
                    same += wanted.digest != REMOVED and wanted.subject not in known
                    continue
                try:
                    name, path = self._packed(wanted, shelf, Path(scratch) / str(number))
                except (UsageError, OSError) as error:
                    held[run_of(wanted.subject)] = str(error)
                    continue
                batch[name] = path
                if len(batch) >= _AT_ONCE or _size(batch) >= _BYTES_AT_ONCE:
                    head = self._commit(batch, head)
            if batch:
                self._commit(batch, head)
        return self._told(same, held)

    def _wanted(
        self, head: Head, shelves: Mapping[str, Shelf], runs: Sequence[str], held: dict[str, str]
    ) -> Iterator[_Wanted]:
        """What should be there, the runs first."""
        for folder in self._runs(runs):
            if head.public and _gated(folder):
                held[folder.run_id] = _GATED
                continue
            try:
                digest, files = self._place.digest(folder), archives.run_files(folder)
            except OSError as error:  # deleted meanwhile, or not to be read
                held[folder.run_id] = error.strerror or str(error)
                continue
            yield _Wanted(subject_of(folder.run_id), digest, files)
        if runs:
            return
        for path in sorted((self._settings.data_dir / "trash").glob("*/spec.json")):
            subject = subject_of(path.parent.name)
            here = (self._settings.runs_dir / path.parent.name).exists()
            if not here and shelves.get(subject, EMPTY).own:
                yield _Wanted(subject, REMOVED)
        if extra := archives.extra_files(self._settings, public=head.public):
            yield _Wanted(EXTRAS, versions.digest_of(EXTRAS, archives.hashes(extra)), extra)

    def _runs(self, runs: Sequence[str]) -> list[RunFolder]:
        """The named runs, else every one here that has ended. Raises UsageError for a named run
        that is unknown or has not ended."""
        root = self._settings.runs_dir
        if not runs:
            return [
                one for one in run_folder.list_run_folders([root]) if one.current_state() in _ENDED
            ]
        folders = [run_folder.find_run(run, [root]) for run in runs]
        for one in folders:
            if one.current_state() not in _ENDED:
                raise UsageError(f"run {one.run_id} has not ended; wait for it or resume it")
        return folders

    def _packed(self, wanted: _Wanted, shelf: Shelf, out: Path) -> tuple[str, Path]:
        """A new version by its name in the repository."""
        if wanted.digest == REMOVED:
            out.write_text("This run was deleted.\n", encoding="utf-8")
            digest = REMOVED
        else:
            digest = archives.pack(out, wanted.subject, wanted.files, self._keys)
        version = versions.sealed(wanted.subject, shelf.next_number, digest, self._repository.key)
        return version.path, out

    def _commit(self, batch: dict[str, Path], head: Head) -> Head:
        names = [one for one in map(versions.parse, batch) if one]
        self._progress(f"sending {', '.join(one.run_id for one in names)}")
        head = self._repository.commit(batch, head, f"Keep {len(names)} results")
        for one in names:
            (self._removed if one.digest == REMOVED else self._sent).append(one.subject)
        for path in batch.values():
            path.unlink()
        batch.clear()
        return head

    def _told(self, same: int, held: dict[str, str]) -> Pushed:
        return Pushed(
            self._repository.name,
            sent=tuple(run_of(one) for one in self._sent if one != EXTRAS),
            removed=tuple(map(run_of, self._removed)),
            same=same,
            extras=EXTRAS in self._sent,
            held=held,
        )


def _size(batch: Mapping[str, Path]) -> int:
    return sum(path.stat().st_size for path in batch.values())


def _gated(folder: RunFolder) -> bool:
    """Whether a run holds gated cases; one that cannot be read might."""
    try:
        return bool(gated_cases(folder))
    except EvalboardError:
        return True
