"""Taking results back: what the repository holds and this data folder does not.

Nothing here is overwritten but a run that the repository knows in a newer version, and only where
the repository holds what is here too. Only what bears the seal of this installation becomes a run
that was run here; archives of others are not even opened, unless asked for, and then they come in
as any bundle does: scored again, with a level. What holds expected answers that an engine
contradicts is refused, and everything else comes.
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalcore.errors import EvalboardError, RunFolderError
from evalcore.exchange.hub_store import archives, extras, versions
from evalcore.exchange.hub_store.place import Place, exchange
from evalcore.exchange.hub_store.repository import Head, Repository, Unreachable
from evalcore.exchange.hub_store.versions import EXTRAS, REMOVED, RUNS, Shelf, Version
from evalcore.exchange.imported_gold import GoldCheck
from evalcore.records import Record, utc_now
from evalcore.settings import Settings
from evalcore.store import scan
from evalcore.store.index import record_run
from evalcore.store.run_folder import RunFolder

Say = Callable[[str], None]
_SCRATCH = ".hub-scratch-"
_FORMER = ".old"  # ends the name of a run that is being renewed
_PLACE = re.compile(rf"\S*/{re.escape(_SCRATCH)}[0-9a-f]+/")


class Pulled(Record, frozen=True):
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


def pull(
    settings: Settings, repo: str = "", *, foreign: bool = False, progress: Say = print
) -> Pulled:
    """Take back what is missing here; `foreign` takes in the runs of others too.

    Raises UsageError where the Hub cannot be asked. A single archive that cannot be used is
    refused, with the reason, and the others come.
    """
    repository = Repository(settings, repo)
    with exchange(settings, repository.name) as place:
        _clear(settings)
        head = repository.head()
        listed = repository.versions(head) if head and head.commit else []
        shelves = versions.shelves(listed, repository.key)
        pulling = _Pulling(settings, repository, head or Head("", public=False), place, progress)
        for subject, shelf in shelves.items():
            pulling.take(subject, shelf)
            if foreign and shelf.others and not shelf.own:
                pulling.take_foreign(shelf.others[-1])
        told = pulling.told(shelves)
        problem = "; ".join(f"{name}: {why}" for name, why in list(told.refused.items())[:3])
        place.note(problem, fetched_at=utc_now())
    return told


def _clear(settings: Settings) -> None:
    """Remove what a pull left that was killed; a run that it was renewing goes back."""
    for left in settings.data_dir.glob(f"{_SCRATCH}*/"):
        for former in left.glob(f"*{_FORMER}"):
            target = settings.runs_dir / former.name.removesuffix(_FORMER)
            if not target.exists():
                former.rename(target)
        shutil.rmtree(left, ignore_errors=True)


class _Pulling:
    """One pull under way: where it takes from and what became of each subject."""

    def __init__(
        self, settings: Settings, repository: Repository, head: Head, place: Place, progress: Say
    ) -> None:
        self._settings, self._repository, self._head = settings, repository, head
        self._place, self._progress = place, progress
        self._became: dict[str, list[str]] = {}
        self._refused: dict[str, str] = {}
        self._unconfirmed: dict[str, str] = {}
        self._gold = GoldCheck(settings, progress)

    def take(self, subject: str, shelf: Shelf) -> None:
        """The newest version of a subject, where it is wanted here."""
        newest = shelf.newest
        if newest is None or newest.digest == REMOVED:
            return
        try:
            if subject == EXTRAS:
                with self._unpacked(newest) as folder:
                    self._check_datasets(folder)
                    self._note("extras", *extras.merge(folder, self._settings))
            else:
                became = self._run(newest, shelf)
                self._note(became, newest.run_id)
        except Unreachable:
            raise
        except EvalboardError as error:
            self._refused[newest.run_id] = _told(error)

    def _run(self, newest: Version, shelf: Shelf) -> str:
        """What becomes of a run: same, kept, deleted (here), taken or renewed."""
        here = RunFolder(self._settings.runs_dir / newest.run_id)
        if (self._settings.data_dir / "trash" / newest.run_id).exists():
            return "deleted"
        if here.path.exists():
            digest = self._place.digest(here)
            if digest == newest.digest:
                return "same"
            if here.has_live_worker() or digest not in {one.digest for one in shelf.own}:
                return "kept"
        self._progress(f"fetching run {newest.run_id}")
        with self._unpacked(newest) as folder:
            return self._settle(RunFolder(folder), here)

    def _settle(self, made: RunFolder, here: RunFolder) -> str:
        """Put a run in its place and into the index; raises RunFolderError for one that is none."""
        if scan.read_header(made) is None:  # which raises for the folder of another run
            raise RunFolderError("the archive holds a run that has not ended")
        if reason := self._gold.require_run(made):
            self._unconfirmed[made.run_id] = reason
        old = made.path.with_name(f"{made.path.name}{_FORMER}")
        renewed = here.path.exists()
        here.path.parent.mkdir(parents=True, exist_ok=True)
        if renewed:
            here.path.rename(old)
        try:
            made.path.rename(here.path)
            record_run(self._settings, here)
        except BaseException:  # the index cannot be written: as if the run had never come
            if here.path.exists():
                here.path.rename(made.path)
            if renewed:
                old.rename(here.path)
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
                self._refused[name] = _told(error)
                shutil.rmtree(path)
            else:
                self._unconfirmed |= {name: reason} if reason else {}

    def take_foreign(self, version: Version) -> None:
        """A run of another installation, as a bundle of it would be taken in."""
        from evalcore.exchange.bundle import exporter, importer

        self._progress(f"fetching run {version.run_id} of another installation")
        try:
            if version.digest == REMOVED or not version.subject.startswith(RUNS):
                return
            with self._unpacked(version) as folder, tempfile.TemporaryDirectory() as scratch:
                bundle = Path(scratch) / f"{version.run_id}.zip"
                exporter.export(RunFolder(folder), bundle, self._settings)
                told = importer.import_bundle(
                    bundle, self._settings, progress=self._progress, gold=self._gold
                )
                self._note("imported", told.run)
                for one in told.scores:
                    if one.unconfirmed:
                        self._unconfirmed[told.run] = (
                            f"{one.benchmark}: {one.unconfirmed} expected answers are not "
                            f"confirmed: {one.reason}"
                        )
        except Unreachable:
            raise
        except EvalboardError as error:
            self._refused[version.run_id] = _told(error)

    @contextmanager
    def _unpacked(self, version: Version) -> Iterator[Path]:
        """The checked contents of a version in a folder of the data folder, gone afterwards."""
        scratch = self._settings.data_dir / f"{_SCRATCH}{secrets.token_hex(6)}"
        scratch.mkdir(parents=True)
        try:
            archive = self._repository.fetch(
                version, self._head, scratch / "fetched", archives.LARGEST
            )
            folder = scratch / version.run_id
            archives.unpack(archive, folder, version.subject, version.digest)
            yield folder
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _note(self, became: str, *names: str) -> None:
        self._became.setdefault(became, []).extend(names)

    def told(self, shelves: dict[str, Shelf]) -> Pulled:
        """What became of all."""
        found = {name: tuple(self._became.get(name, ())) for name in ("taken", "renewed", "kept")}
        others = (shelf.others[-1] for shelf in shelves.values() if shelf.others and not shelf.own)
        return Pulled(
            self._repository.name,
            **found,
            same=len(self._became.get("same", ())),
            extras=tuple(self._became.get("extras", ())),
            foreign=tuple(one.run_id for one in others),
            imported=tuple(self._became.get("imported", ())),
            refused=self._refused,
            unconfirmed=self._unconfirmed,
        )


def _told(error: EvalboardError) -> str:
    """The error without the folder that is gone when it is read."""
    return _PLACE.sub("", str(error))
