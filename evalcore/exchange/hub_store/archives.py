"""Runs as archives in the repository, one per version, never changed; their names, digests and
seals, and the session that holds the data folder for one exchange."""

from __future__ import annotations

import hashlib
import hmac
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.i18n import Note
from evalcore.intake.files import ArchiveLimits, unpack_zip
from evalcore.records import Record, content_hash, to_json
from evalcore.settings import Settings
from evalcore.store import hub_state
from evalcore.store.hub_state import HubState
from evalcore.store.run_folder import RunFolder
from evalcore.target_cards import FILE as CARDS

# A version is a zip of the files of a run folder, never changed and never removed, and its name
# says all that is to be known of it: runs/RUN/NUMBER-DIGEST-SEAL.zip, or extras/ and the same.
# The digest is that of the files by name and content, so that equal contents are equal wherever
# they were packed. The seal proves that whoever made the name holds the key of this installation:
# what was run here comes back as run here, and nobody else's archive can pass for it. A run that
# was deleted gets a version `removed`, so that it stays deleted.

RUNS, EXTRAS, REMOVED = "runs", "extras", "removed"
_PATH = re.compile(
    r"(runs/[a-z0-9][a-z0-9_.-]{0,79}|extras)/"
    r"([0-9]{6})-([0-9a-f]{64}|removed)-([0-9a-f]{32})\.(?:zip|txt)"
)
_MOST = 999_999


class ArchiveVersion(Record, frozen=True):
    """`subject` is `runs/RUN` or `extras`; `digest` is `REMOVED` for a deletion. `size`, in bytes,
    is what the Hub says of the archive."""

    subject: str
    number: int
    digest: str
    seal: str
    size: int = 0

    @property
    def path(self) -> str:
        """Its name in the repository."""
        kind = "txt" if self.digest == REMOVED else "zip"
        return f"{self.subject}/{self.number:06d}-{self.digest}-{self.seal}.{kind}"

    @property
    def run_id(self) -> str:
        return run_of(self.subject)


class VersionHistory(Record, frozen=True):
    """The versions of one subject, oldest first: `own` bear the seal of this installation."""

    own: tuple[ArchiveVersion, ...] = ()
    others: tuple[ArchiveVersion, ...] = ()

    @property
    def newest_own(self) -> ArchiveVersion | None:
        return self.own[-1] if self.own else None

    @property
    def next_number(self) -> int:
        return 1 + max((version.number for version in (*self.own, *self.others)), default=0)


EMPTY = VersionHistory()


def subject_of(run_id: str) -> str:
    return f"{RUNS}/{run_id}"


def run_of(subject: str) -> str:
    return subject.removeprefix(f"{RUNS}/")


def digest_of(subject: str, files: Mapping[str, str]) -> str:
    """Compute the id of contents: sha256 over the subject and the sha256 of each file by name."""
    return hashlib.sha256(to_json([subject, sorted(files.items())])).hexdigest()


def seal_version(subject: str, number: int, digest: str, key: bytes) -> ArchiveVersion:
    """A version with the seal that the key makes. The number belongs to what is sealed: an old
    version cannot be passed off as the newest."""
    return ArchiveVersion(subject, number, digest, _compute_seal(subject, number, digest, key))


def parse_version_path(path: str, size: int = 0) -> ArchiveVersion | None:
    """The version that a name tells of, None for a name that tells of none."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    subject, number, digest, seal = match.groups()
    version = ArchiveVersion(subject, int(number), digest, seal, size)
    return version if version.path == path and 0 < version.number < _MOST else None


def group_versions(versions: Iterable[ArchiveVersion], key: bytes) -> dict[str, VersionHistory]:
    """The versions by subject."""
    own: dict[str, list[ArchiveVersion]] = {}
    others: dict[str, list[ArchiveVersion]] = {}
    for version in sorted(versions, key=lambda version: (version.number, version.digest)):
        expected_seal = _compute_seal(version.subject, version.number, version.digest, key)
        group = own if hmac.compare_digest(expected_seal, version.seal) else others
        group.setdefault(version.subject, []).append(version)
    return {
        subject: VersionHistory(tuple(own.get(subject, ())), tuple(others.get(subject, ())))
        for subject in sorted({*own, *others})
    }


def _compute_seal(subject: str, number: int, digest: str, key: bytes) -> str:
    text = f"evalboard hub 1\n{subject}\n{number}\n{digest}".encode()
    return hmac.new(hashlib.sha256(key).digest(), text, hashlib.sha256).hexdigest()[:32]


# Run folders and what else was made here, packed into archives and taken out of them again.

#: Bytes of all files of one archive, and their number.
LARGEST, MOST_FILES = 256 << 20, 5_000
_LIMITS = ArchiveLimits(total_bytes=LARGEST, members=MOST_FILES, ratio=2000)
#: A run folder holds records and journals; locks, logs and caches are of the machine.
_OF_A_RUN = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,99}/){0,2}[A-Za-z0-9][\w.-]{0,99}\.jsonl?")
#: Own data sets, descriptions of applications, cards of targets.
_OF_EXTRAS = re.compile(
    rf"{re.escape(CARDS)}|(?:datasets|applications)/(?:\w[\w. -]{{0,99}}/){{0,4}}\w[\w. -]{{0,99}}"
)
_FOLDERS = ("datasets", "applications")


def list_run_files(folder: RunFolder) -> dict[str, Path]:
    """The files of a run by their names in its folder."""
    files = dict(_walk_plain_files(folder.path, folder.path))
    return {name: path for name, path in files.items() if _OF_A_RUN.fullmatch(name)}


def list_extra_files(settings: Settings, *, public: bool) -> dict[str, Path]:
    """What people made here besides runs, by its name in the data folder.

    Fetched data sets can be fetched again, and may be gated. To where anybody may read go the
    cards alone: data sets are their owner's, descriptions name addresses.
    """
    data = settings.data_dir
    cards = {CARDS: data / CARDS} if (data / CARDS).is_file() else {}
    if public:
        return cards
    fetched = {note.parent for note in (data / "datasets").glob(f"*/{NOTE_FILE}")}
    candidates = (entry for name in _FOLDERS for entry in _walk_plain_files(data / name, data))
    return cards | {
        name: path
        for name, path in candidates
        if _OF_EXTRAS.fullmatch(name) and not fetched.intersection(path.parents)
    }


def hash_files(files: Mapping[str, Path]) -> dict[str, str]:
    """The sha256 of each file; raises OSError for one that cannot be read."""
    digests = {}
    for name, path in files.items():
        with path.open("rb") as content:
            digests[name] = hashlib.file_digest(content, "sha256").hexdigest()
    return digests


def pack_archive(out: Path, subject: str, files: Mapping[str, Path], keys: Collection[str]) -> str:
    """Write an archive; returns the digest of what is in it, whatever changes meanwhile. Raises
    UsageError for what must not go out: too much, or a file that holds one of the `keys`."""
    size = sum(path.stat().st_size for path in files.values())
    if size > LARGEST or len(files) > MOST_FILES:
        raise UsageError(Note("archive_large", size=size >> 20, count=len(files)))
    packed = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in sorted(files.items()):
            content = path.read_bytes()
            if any(key.encode() in content for key in keys):
                raise UsageError(Note("archive_key", name=name))
            packed[name] = hashlib.sha256(content).hexdigest()
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, 8)
    return digest_of(subject, packed)


def unpack_archive(archive: Path, folder: Path, subject: str, digest: str) -> dict[str, Path]:
    """Take the files of a version out into an empty folder; returns them by name. Raises UsageError
    for an archive that is not what its name vouches for."""
    form = _OF_EXTRAS if subject == EXTRAS else _OF_A_RUN
    files = {str(path): folder / path for path in unpack_zip(archive, folder, _LIMITS)}
    for name in files:
        if not form.fullmatch(name):
            raise UsageError(Note("archive_no_file", name=name[:80], subject=subject))
    if digest_of(subject, hash_files(files)) != digest:
        raise UsageError(Note("archive_hash"))
    return files


def _walk_plain_files(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Every plain file below a folder with its name from `root`; links are not followed out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root).as_posix(), path


# What push and pull share: one exchange at a time for a data folder, and how it went.

_PATIENCE = 600.0  # seconds for another exchange to end


class SyncSession:
    """The state of the exchange, and digests of runs that are computed once per change."""

    def __init__(self, settings: Settings, repo: str) -> None:
        saved = hub_state.read_hub_state(settings)
        self.state = saved if saved.repo == repo else HubState(repo=repo)
        self._settings, self._run_digests = settings, dict(saved.known)

    def compute_run_digest(self, folder: RunFolder) -> str:
        """What the files of a run amount to."""
        subject = subject_of(folder.run_id)
        signature = content_hash(folder.signature())
        held = self._run_digests.get(subject)
        if held and held[0] == signature:
            return held[1]
        digest = digest_of(subject, hash_files(list_run_files(folder)))
        self._run_digests[subject] = (signature, digest)
        return digest

    def save_state(self, problem: str = "", **changes: Any) -> None:
        """Write down how the exchange went; `problem` is "" where it went well."""
        self.state = msgspec.structs.replace(
            self.state, problem=problem, known=self._run_digests, **changes
        )
        hub_state.write_hub_state(self._settings, self.state)


@contextmanager
def open_sync_session(settings: Settings, repo: str) -> Iterator[SyncSession]:
    """Hold the data folder for one exchange; what fails is noted for those who look at pages."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.data_dir / ".hub.lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(Note("archive_busy")) from None
    try:
        session = SyncSession(settings, repo)
        try:
            yield session
        except EvalboardError as error:
            session.save_state(str(error))
            raise
        except OSError as error:
            session.save_state(f"{error.filename or settings.data}: {error.strerror or error}")
            raise
    finally:
        lock.release()
