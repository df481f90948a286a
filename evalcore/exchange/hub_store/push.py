"""Sending results: every run that has ended, in each version once, and what else was made here.

A commit takes a few archives at a time, on top of the commit that was looked at: a kill in between
loses nothing, and whoever else commits meanwhile makes us look again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evalcore.access.redaction import build_redactor
from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange.hub_store import archives
from evalcore.exchange.hub_store.archives import (
    EMPTY,
    EXTRAS,
    REMOVED,
    SyncSession,
    VersionHistory,
    open_sync_session,
    run_of,
    subject_of,
)
from evalcore.exchange.hub_store.pull import pull_results
from evalcore.exchange.hub_store.repository import HubRepository, RepositoryChanged, RepositoryHead
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record, utc_now
from evalcore.settings import Settings
from evalcore.store import hub_state, run_folder
from evalcore.store.run_folder import RunFolder
from evalcore.views.cases import gated_cases

_ENDED = ("done", "incomplete", "cancelled")
_AT_ONCE, _BYTES_AT_ONCE = 20, 256 << 20
_LOOKS = 5
_GATED = "contains text of a gated dataset, and the repository is public: make it private"


class PushResult(Record, frozen=True):
    """Ids of runs: `sent`, `removed` (deleted here); `same` counts those that were there already.
    `extras` tells whether what is not a run went out; `held` why a run did not."""

    repo: str
    sent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: int = 0
    extras: bool = False
    held: dict[str, str] = {}


class _PendingVersion(Record, frozen=True):
    """What should be the newest version of a subject; no `files` where it was removed."""

    subject: str
    digest: str
    files: dict[str, Path] = {}


def push_results(
    settings: Settings, repo: str = "", runs: Sequence[str] = (), progress: ProgressCallback = print
) -> PushResult:
    """Send the named runs, or everything that has changed; what is there already is not sent.

    A data folder that never took anything back does so first, so that what an earlier container
    left is not passed over. Raises UsageError where the Hub cannot be asked; nothing here changes.
    """
    repository = HubRepository(settings, repo)
    state = hub_state.read_hub_state(settings)
    if not runs and (state.repo != repository.name or not state.fetched_at):
        pull_results(settings, repository.name, progress=progress)
    with open_sync_session(settings, repository.name) as session:
        head = repository.fetch_head(make=True)
        if head is None:
            raise UsageError(Note("hub_not_made", name=repository.name))
        pushing = _PushOperation(settings, repository, session, progress)
        for _ in range(_LOOKS):
            try:
                result = pushing.push_all(head, runs)
                break
            except RepositoryChanged:
                head = repository.fetch_head() or head
        else:
            raise UsageError(Note("hub_changing", name=repository.name))
        session.save_state(held=result.held, sent_at=utc_now())
    return result


class _PushOperation:
    """One push under way."""

    def __init__(
        self,
        settings: Settings,
        repository: HubRepository,
        session: SyncSession,
        progress: ProgressCallback,
    ) -> None:
        self._settings, self._repository = settings, repository
        self._session, self._progress = session, progress
        self._keys = (*build_redactor(settings).keys, repository.key.decode())
        self._sent: list[str] = []
        self._removed: list[str] = []

    def push_all(self, head: RepositoryHead, runs: Sequence[str]) -> PushResult:
        """Bring the repository to what is here; raises Changed where it moves meanwhile."""
        histories = archives.group_versions(
            self._repository.list_versions(head), self._repository.key
        )
        held: dict[str, str] = {}
        same = 0
        batch: dict[str, Path] = {}
        with tempfile.TemporaryDirectory(prefix="evalcore-hub-") as scratch:
            for number, pending in enumerate(self._iter_pending(head, histories, runs, held)):
                history = histories.get(pending.subject, EMPTY)
                if history.newest_own is not None and history.newest_own.digest == pending.digest:
                    pushed_subjects = (EXTRAS, *self._sent, *self._removed)
                    same += pending.digest != REMOVED and pending.subject not in pushed_subjects
                    continue
                try:
                    name, path = self._pack_version(pending, history, Path(scratch) / str(number))
                except (UsageError, OSError) as error:
                    held[run_of(pending.subject)] = str(error)
                    continue
                batch[name] = path
                size = sum(file.stat().st_size for file in batch.values())
                if len(batch) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
                    head = self._commit_batch(batch, head)
            if batch:
                self._commit_batch(batch, head)
        return self._build_result(same, held)

    def _iter_pending(
        self,
        head: RepositoryHead,
        histories: Mapping[str, VersionHistory],
        runs: Sequence[str],
        held: dict[str, str],
    ) -> Iterator[_PendingVersion]:
        """What should be there, the runs first."""
        for folder in self._select_ended_runs(runs):
            if head.public and _may_hold_gated(folder):
                held[folder.run_id] = _GATED
                continue
            try:
                digest = self._session.compute_run_digest(folder)
                files = archives.list_run_files(folder)
            except OSError as error:  # deleted meanwhile, or not to be read
                held[folder.run_id] = error.strerror or str(error)
                continue
            yield _PendingVersion(subject_of(folder.run_id), digest, files)
        if runs:
            return
        for path in sorted((self._settings.data_dir / "trash").glob("*/spec.json")):
            subject = subject_of(path.parent.name)
            here = (self._settings.runs_dir / path.parent.name).exists()
            if not here and histories.get(subject, EMPTY).own:
                yield _PendingVersion(subject, REMOVED)
        if extra := archives.list_extra_files(self._settings, public=head.public):
            yield _PendingVersion(
                EXTRAS, archives.digest_of(EXTRAS, archives.hash_files(extra)), extra
            )

    def _select_ended_runs(self, runs: Sequence[str]) -> list[RunFolder]:
        """The named runs, else every one here that has ended. Raises UsageError for a named run
        that is unknown or has not ended."""
        root = self._settings.runs_dir
        if not runs:
            everything = run_folder.list_run_folders([root])
            return [folder for folder in everything if folder.current_state() in _ENDED]
        folders = [run_folder.find_run(run, [root]) for run in runs]
        for folder in folders:
            if folder.current_state() not in _ENDED:
                raise UsageError(Note("run_not_ended", run=folder.run_id))
        return folders

    def _pack_version(
        self, pending: _PendingVersion, history: VersionHistory, out: Path
    ) -> tuple[str, Path]:
        if pending.digest == REMOVED:
            out.write_text("This run was deleted.\n", encoding="utf-8")
            digest = REMOVED
        else:
            digest = archives.pack_archive(out, pending.subject, pending.files, self._keys)
        version = archives.seal_version(
            pending.subject, history.next_number, digest, self._repository.key
        )
        return version.path, out

    def _commit_batch(self, batch: dict[str, Path], head: RepositoryHead) -> RepositoryHead:
        batch_versions = [version for version in map(archives.parse_version_path, batch) if version]
        names = ", ".join(version.run_id for version in batch_versions)
        self._progress(Note("hub_sending", names=names))
        head = self._repository.commit_files(batch, head, f"Keep {len(batch_versions)} results")
        for version in batch_versions:
            (self._removed if version.digest == REMOVED else self._sent).append(version.subject)
        for path in batch.values():
            path.unlink()
        batch.clear()
        return head

    def _build_result(self, same: int, held: dict[str, str]) -> PushResult:
        return PushResult(
            self._repository.name,
            sent=tuple(run_of(subject) for subject in self._sent if subject != EXTRAS),
            removed=tuple(map(run_of, self._removed)),
            same=same,
            extras=EXTRAS in self._sent,
            held=held,
        )


def _may_hold_gated(folder: RunFolder) -> bool:
    """Whether a run holds gated cases; one that cannot be read might."""
    try:
        return bool(gated_cases(folder))
    except EvalboardError:
        return True
