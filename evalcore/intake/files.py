"""Files from outside: bytes up to a limit, and zip archives that nobody vouches for.

No way out of the folder, no bomb, no link: all names and kinds of an archive are checked before
anything is written, and sizes while writing, because what an archive says of its sizes need not be
true.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from evalcore.errors import UsageError

#: The others need as much memory as the archive says (LZMA), or are unknown.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
#: What `zipfile` raises for an archive that is damaged, or not what it says.
_DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError)
_LONGEST_NAME, _LONGEST_PATH = 255, 1024
_CHUNK = 1 << 16
#: Below so many bytes a high ratio is no sign of anything.
_SMALL = 1 << 20


@dataclass(frozen=True)
class ArchiveLimits:
    """Bytes of all members together, their number, and unpacked bytes per packed byte of each."""

    total_bytes: int = 256 << 20
    members: int = 10_000
    ratio: int = 200


_DEFAULT = ArchiveLimits()


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file; raises UsageError for one that cannot be read or has more than
    `limit` bytes, of which no more are read."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(content) > limit:
        raise UsageError(f"{path}: is larger than {limit} bytes")
    return content


def unpack_zip(
    archive: Path, folder: Path, limits: ArchiveLimits = _DEFAULT
) -> tuple[PurePosixPath, ...]:
    """Unpack `archive` into `folder`, which is made, and return the files' paths in it.

    `folder` must be one that no untrusted program is writing to. Raises UsageError, naming archive
    and member, for whatever is not a plain small enough file; what was written so far then stays.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            return _unpack_members(opened, archive, folder, limits)
    except _DAMAGE as problem:
        raise UsageError(f"{archive}: cannot be unpacked: {problem}") from problem


def _unpack_members(
    opened: zipfile.ZipFile, archive: Path, folder: Path, limits: ArchiveLimits
) -> tuple[PurePosixPath, ...]:
    members = opened.infolist()
    if len(members) > limits.members:
        raise UsageError(f"{archive}: {len(members)} members, the limit is {limits.members}")
    for member in members:
        if problem := _find_member_problem(member):
            raise UsageError(f"{archive}, member {member.filename!r}: {problem}")
    folder.mkdir(parents=True, exist_ok=True)
    remaining = limits.total_bytes
    written = []
    for member in members:
        path = PurePosixPath(member.filename)
        target = _resolve_member_path(folder, path, archive)
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        member_limit = min(remaining, max(_SMALL, member.compress_size * limits.ratio))
        with opened.open(member) as source, target.open("xb") as file:
            size = _copy_bounded(source, file, member_limit)
        if size > member_limit:
            raise UsageError(
                f"{archive}, member {member.filename!r}: more than {member_limit} bytes"
            )
        remaining -= size
        written.append(path)
    return tuple(written)


def _find_member_problem(member: zipfile.ZipInfo) -> str:
    """What is wrong with a member by what its header says, "" for nothing."""
    path = PurePosixPath(member.filename)
    kind = stat.S_IFMT(member.external_attr >> 16)
    checks = {
        "the name leads out of the folder": path.is_absolute() or ".." in path.parts,
        "the name is empty": not path.parts,
        "the name holds a backslash, a colon or a control character": any(
            letter in "\\:" or not letter.isprintable() for letter in member.filename
        ),
        "the name is too long": len(member.filename.encode()) > _LONGEST_PATH
        or any(len(part.encode()) > _LONGEST_NAME for part in path.parts),
        "it is a link or a device": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        "it is encrypted": bool(member.flag_bits & _ENCRYPTED),
        "its compression is not supported": member.compress_type not in _METHODS,
    }
    return next((problem for problem, holds in checks.items() if holds), "")


def _resolve_member_path(folder: Path, path: PurePosixPath, archive: Path) -> Path:
    """Where a member goes; a link that already lay in the folder must not lead it elsewhere."""
    target = folder / path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{archive}, member {str(path)!r}: leads out of the folder by a link")
    return target


def _copy_bounded(source: IO[bytes], target: IO[bytes], limit: int) -> int:
    """Copy until the end or until just over `limit` bytes; returns how many were read."""
    size = 0
    while size <= limit and (piece := source.read(_CHUNK)):
        target.write(piece)
        size += len(piece)
    return size
