"""What lies in the repository: one archive per version of a run, never changed and never removed.

A version is a zip of the files of a run folder, and its name says all that is to be known of it:

    runs/RUN/NUMBER-DIGEST-SEAL.zip      extras/NUMBER-DIGEST-SEAL.zip

The digest is that of the files by name and content, so that equal contents are equal wherever they
were packed. The seal proves that whoever made the name holds the key of this installation: what was
run here comes back as run here, and nobody else's archive can pass for it. A run that was deleted
gets a version `removed`, so that it stays deleted.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

from evalcore.records import Record, to_json

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
    """What contents are known by: sha256 over the subject and the sha256 of each file by name."""
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
