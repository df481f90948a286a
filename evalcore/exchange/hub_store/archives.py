"""Run folders and what else was made here, packed into archives and taken out of them again."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.exchange.fetched import NOTE_FILE
from evalcore.exchange.hub_store import versions
from evalcore.intake.files import ArchiveLimits, unpack_zip
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.target_cards import FILE as CARDS

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
    """Write an archive; returns the digest of what is in it, whatever changes meanwhile.

    Raises UsageError for what must not go out: too much, or a file that holds one of the `keys`.
    """
    size = sum(path.stat().st_size for path in files.values())
    if size > LARGEST or len(files) > MOST_FILES:
        raise UsageError(f"takes {size >> 20} MiB in {len(files)} files, which is too much to keep")
    packed = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in sorted(files.items()):
            content = path.read_bytes()
            if any(key.encode() in content for key in keys):
                raise UsageError(f"{name} holds a key of this machine")
            packed[name] = hashlib.sha256(content).hexdigest()
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, 8)
    return versions.digest_of(subject, packed)


def unpack_archive(archive: Path, folder: Path, subject: str, digest: str) -> dict[str, Path]:
    """Take the files of a version out into an empty folder; returns them by name.

    Raises UsageError for an archive that is not what its name vouches for.
    """
    form = _OF_EXTRAS if subject == versions.EXTRAS else _OF_A_RUN
    files = {str(path): folder / path for path in unpack_zip(archive, folder, _LIMITS)}
    for name in files:
        if not form.fullmatch(name):
            raise UsageError(f"{name[:80]!r} is no file of {subject}")
    if versions.digest_of(subject, hash_files(files)) != digest:
        raise UsageError("the archive does not hold what its name vouches for")
    return files


def _walk_plain_files(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Every plain file below a folder with its name from `root`; links are not followed out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root).as_posix(), path
