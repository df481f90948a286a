"""Taking results back: what the repository holds and this data folder does not.

Nothing here is overwritten but a run that the repository knows in a newer version, and only where
the repository holds what is here too. Only what bears the seal of this installation becomes a run
that was run here; archives of others are not even opened, unless asked for, and then they come in
as any bundle does: scored again, with a level. What holds expected answers that an engine
contradicts is refused, and everything else comes.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from evalcore.errors import EvalboardError, IndexFileError, RunFolderError, UsageError
from evalcore.exchange.bundle.importer import GoldCheck
from evalcore.exchange.hub_store import archives
from evalcore.exchange.hub_store.archives import (
    EXTRAS,
    REMOVED,
    RUNS,
    ArchiveVersion,
    SyncSession,
    VersionHistory,
    open_sync_session,
)
from evalcore.exchange.hub_store.repository import HubRepository, HubUnreachable, RepositoryHead
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record, utc_now
from evalcore.settings import Settings
from evalcore.store import headers
from evalcore.store.index import record_run
from evalcore.store.run_folder import RunFolder
from evalcore.store.tinydb_storage import AtomicStorage
from evalcore.target_cards import FILE as CARDS
from evalcore.target_cards import TABLE, read_cards

# What comes back besides runs: a file that is missing here, a card that nobody wrote here.

_LOCK_SECONDS = 10.0


def merge_extras(folder: Path, settings: Settings) -> list[str]:
    """Move what is missing here from an unpacked folder into the data folder; return the names.

    Existing files never change, and nothing is left behind if moving fails. Raises UsageError for
    cards that cannot be read.
    """
    added: list[str] = []
    try:
        for path in sorted(candidate for candidate in folder.rglob("*") if candidate.is_file()):
            name = path.relative_to(folder).as_posix()
            target = settings.data_dir / name
            if name != CARDS and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                added.append(name)
                os.replace(path, target)  # noqa: PTH105  (within one file system)
        if (cards := folder / CARDS).is_file():
            added += [CARDS] if _merge_cards(cards, settings.data_dir / CARDS) else []
    except BaseException:
        for name in added:
            (settings.data_dir / name).unlink(missing_ok=True)
        raise
    return added


def _merge_cards(theirs: Path, target: Path) -> bool:
    """Add the cards of targets that have none here; whether there were any."""
    try:
        read_cards(theirs)  # one broken card would cost those of all targets
        with FileLock(f"{target}.lock", timeout=_LOCK_SECONDS):
            received = AtomicStorage(theirs).read() or {}
            local_tables = AtomicStorage(target).read() or {}
            cards = {**received.get(TABLE, {}), **local_tables.get(TABLE, {})}
            if len(cards) == len(local_tables.get(TABLE, {})):
                return False
            AtomicStorage(target).write({**local_tables, TABLE: cards})
    except IndexFileError as error:
        raise UsageError(Note("hub_target_cards", problem=error)) from None
    return True


_SCRATCH = ".hub-scratch-"
_FORMER = ".old"  # ends the name of a run that is being renewed
_SCRATCH_PATH = re.compile(rf"\S*/{re.escape(_SCRATCH)}[0-9a-f]+/")


class PullResult(Record, frozen=True):
    """Ids of runs: `taken` are new here, `renewed` came in a newer version, `kept` differ from the
    repository and stay as they are. `same` counts the others. `extras` are files besides runs,
    `foreign` the runs of other installations, `imported` those taken in; `refused` tells why, by
    run or data set, and `unconfirmed` what is not known of the expected answers of one."""

    repo: str
    taken: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    same: int = 0
    kept: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    refused: dict[str, str] = {}
    unconfirmed: dict[str, str] = {}


def pull_results(
    settings: Settings, repo: str = "", *, foreign: bool = False, progress: ProgressCallback = print
) -> PullResult:
    """Take back what is missing here; `foreign` takes in the runs of others too.

    Raises UsageError where the Hub cannot be asked. A single archive that cannot be used is
    refused, with the reason, and the others come.
    """
    repository = HubRepository(settings, repo)
    with open_sync_session(settings, repository.name) as session:
        _remove_stale_scratch(settings)
        head = repository.fetch_head()
        listed = repository.list_versions(head) if head and head.commit else []
        histories = archives.group_versions(listed, repository.key)
        pulling = _PullOperation(
            settings, repository, head or RepositoryHead("", public=False), session, progress
        )
        for subject, history in histories.items():
            pulling.pull_subject(subject, history)
            if foreign and history.others and not history.own:
                pulling.import_foreign_run(history.others[-1])
        result = pulling.build_result(histories)
        problem = "; ".join(f"{name}: {why}" for name, why in list(result.refused.items())[:3])
        session.save_state(problem, fetched_at=utc_now())
    return result


def _remove_stale_scratch(settings: Settings) -> None:
    """Remove what a pull left that was killed; a run that it was renewing goes back."""
    for stale in settings.data_dir.glob(f"{_SCRATCH}*/"):
        for former in stale.glob(f"*{_FORMER}"):
            target = settings.runs_dir / former.name.removesuffix(_FORMER)
            if not target.exists():
                former.rename(target)
        shutil.rmtree(stale, ignore_errors=True)


class _PullOperation:
    """One pull under way: where it takes from and what became of each subject."""

    def __init__(
        self,
        settings: Settings,
        repository: HubRepository,
        head: RepositoryHead,
        session: SyncSession,
        progress: ProgressCallback,
    ) -> None:
        self._settings, self._repository, self._head = settings, repository, head
        self._session, self._progress = session, progress
        self._became: dict[str, list[str]] = {}
        self._refused: dict[str, str] = {}
        self._unconfirmed: dict[str, str] = {}
        self._gold = GoldCheck(settings, progress)

    def pull_subject(self, subject: str, history: VersionHistory) -> None:
        """The newest version of a subject, where it is wanted here."""
        newest = history.newest_own
        if newest is None or newest.digest == REMOVED:
            return
        try:
            if subject == EXTRAS:
                with self._unpack_version(newest) as folder:
                    self._check_datasets(folder)
                    self._record_outcome("extras", *merge_extras(folder, self._settings))
            else:
                became = self._pull_run(newest, history)
                self._record_outcome(became, newest.run_id)
        except HubUnreachable:
            raise
        except EvalboardError as error:
            self._refused[newest.run_id] = _format_pull_error(error)

    def _pull_run(self, newest: ArchiveVersion, history: VersionHistory) -> str:
        """What becomes of a run: same, kept, deleted (here), taken or renewed."""
        local_run = RunFolder(self._settings.runs_dir / newest.run_id)
        if (self._settings.data_dir / "trash" / newest.run_id).exists():
            return "deleted"
        if local_run.path.exists():
            digest = self._session.compute_run_digest(local_run)
            if digest == newest.digest:
                return "same"
            if local_run.has_live_worker() or digest not in {
                version.digest for version in history.own
            }:
                return "kept"
        self._progress(Note("hub_fetching", run=newest.run_id))
        with self._unpack_version(newest) as folder:
            return self._install_run(RunFolder(folder), local_run)

    def _install_run(self, unpacked: RunFolder, local_run: RunFolder) -> str:
        """Put a run in its place and into the index; raises RunFolderError for one that is none."""
        if headers.read_header(unpacked) is None:  # which raises for the folder of another run
            raise RunFolderError(Note("hub_open_run"))
        if reason := self._gold.require_run(unpacked):
            self._unconfirmed[unpacked.run_id] = reason
        old = unpacked.path.with_name(f"{unpacked.path.name}{_FORMER}")
        renewed = local_run.path.exists()
        local_run.path.parent.mkdir(parents=True, exist_ok=True)
        if renewed:
            local_run.path.rename(old)
        try:
            unpacked.path.rename(local_run.path)
            record_run(self._settings, local_run)
        except BaseException:  # the index cannot be written: as if the run had never come
            if local_run.path.exists():
                local_run.path.rename(unpacked.path)
            if renewed:
                old.rename(local_run.path)
            raise
        return "renewed" if renewed else "taken"

    def _check_datasets(self, folder: Path) -> None:
        """Remove from an unpacked folder the own data sets that are here already, whole or changed,
        and those whose expected answers are contradicted."""
        for path in sorted(folder.glob("datasets/own/*/*/")):
            name = path.relative_to(folder).as_posix()
            if (self._settings.data_dir / name).exists():
                shutil.rmtree(path)
                continue
            try:
                reason = self._gold.require_dataset(path.parent.name, path)
            except EvalboardError as error:
                self._refused[name] = _format_pull_error(error)
                shutil.rmtree(path)
            else:
                self._unconfirmed |= {name: reason} if reason else {}

    def import_foreign_run(self, version: ArchiveVersion) -> None:
        """A run of another installation, as a bundle of it would be taken in."""
        from evalcore.exchange.bundle import exporter, importer

        self._progress(Note("hub_fetching_foreign", run=version.run_id))
        try:
            if version.digest == REMOVED or not version.subject.startswith(RUNS):
                return
            with self._unpack_version(version) as folder, tempfile.TemporaryDirectory() as scratch:
                bundle = Path(scratch) / f"{version.run_id}.zip"
                exporter.export_bundle(RunFolder(folder), bundle, self._settings)
                imported = importer.import_bundle(
                    bundle, self._settings, progress=self._progress, gold=self._gold
                )
                self._record_outcome("imported", imported.run)
                for score in imported.scores:
                    if score.unconfirmed:
                        self._unconfirmed[imported.run] = (
                            f"{score.benchmark}: {score.unconfirmed} expected answers are not "
                            f"confirmed: {score.reason}"
                        )
        except HubUnreachable:
            raise
        except EvalboardError as error:
            self._refused[version.run_id] = _format_pull_error(error)

    @contextmanager
    def _unpack_version(self, version: ArchiveVersion) -> Iterator[Path]:
        """The checked contents of a version in a folder of the data folder, gone afterwards."""
        scratch = self._settings.data_dir / f"{_SCRATCH}{secrets.token_hex(6)}"
        scratch.mkdir(parents=True)
        try:
            archive = self._repository.fetch_archive(
                version, self._head, scratch / "fetched", archives.LARGEST
            )
            folder = scratch / version.run_id
            archives.unpack_archive(archive, folder, version.subject, version.digest)
            yield folder
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _record_outcome(self, became: str, *names: str) -> None:
        self._became.setdefault(became, []).extend(names)

    def build_result(self, histories: dict[str, VersionHistory]) -> PullResult:
        """What became of all."""
        listed = ("taken", "renewed", "kept", "extras", "imported")
        foreign = [each.others[-1] for each in histories.values() if each.others and not each.own]
        return PullResult(
            self._repository.name,
            **{name: tuple(self._became.get(name, ())) for name in listed},
            same=len(self._became.get("same", ())),
            foreign=tuple(version.run_id for version in foreign),
            refused=self._refused,
            unconfirmed=self._unconfirmed,
        )


def _format_pull_error(error: EvalboardError) -> str:
    """The error without the folder that is gone when it is read."""
    return _SCRATCH_PATH.sub("", str(error))
