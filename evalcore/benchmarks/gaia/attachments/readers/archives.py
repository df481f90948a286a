"""ZIP archives: what is in them, one member, and whether a file that is one may be unpacked."""

from __future__ import annotations

import stat
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable

#: The largest member that is read, in bytes, and all members of an office file together.
MAX_MEMBER_BYTES = 25_000_000
MAX_UNPACKED_BYTES = 200_000_000
_MAX_MEMBERS = 20_000
_ENCRYPTED = 0x1


def open_archive(content: bytes) -> ZipFile:
    """The archive, if it has no more members and no more content than may be unpacked.

    `zipfile` never yields more of a member than its header declares, so that the sum is a bound.
    """
    try:
        archive = ZipFile(BytesIO(content))
    except BadZipFile as error:
        raise Unreadable(f"not a ZIP archive, or a broken one: {error}") from None
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise Unreadable(f"the archive holds {len(members)} members, too many to be read")
    return archive


def check_office_file(content: bytes) -> BytesIO:
    """The bytes of an office file, which is an archive that will be unpacked as a whole."""
    total = sum(member.file_size for member in open_archive(content).infolist())
    if total > MAX_UNPACKED_BYTES:
        raise Unreadable(f"the file holds {total} bytes when unpacked, too many to be read")
    return BytesIO(content)


def read_zip(content: bytes, request: ReadRequest) -> str:
    """A line a member: its path and its size."""
    members = list_zip_members(content)
    lines = [f"{name}  {size} bytes" for name, size in members]
    return cut_by_lines(f"zip; {len(lines)} files", lines, request)


def list_zip_members(content: bytes) -> list[tuple[str, int]]:
    """Path and size of every member that is a file, in the archive's order."""
    entries = open_archive(content).infolist()
    return [(member.filename, member.file_size) for member in entries if not member.is_dir()]


def read_zip_member(content: bytes, path: str, deeper: bool = True) -> tuple[str, bytes]:
    """The name and the bytes of the member at `path`, which may lead into one archive within."""
    archive = open_archive(content)
    by_name = {member.filename: member for member in archive.infolist() if not member.is_dir()}
    if path in by_name:
        return path, _read_member_bytes(archive, by_name[path])
    for name in sorted(by_name, key=len, reverse=True):
        if deeper and name.lower().endswith(".zip") and path.startswith(f"{name}/"):
            inner = _read_member_bytes(archive, by_name[name])
            return read_zip_member(inner, path[len(name) + 1 :], deeper=False)
    some = ", ".join(list(by_name)[:20])
    raise Unreadable(f'the archive has no member "{path[:200]}"; it has: {some or "none"}')


def _read_member_bytes(archive: ZipFile, member: ZipInfo) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Unreadable("the member is a link, and links are not followed")
    if member.flag_bits & _ENCRYPTED:
        raise Unreadable("the member is encrypted")
    if member.file_size > MAX_MEMBER_BYTES:
        raise Unreadable(
            f"the member has {member.file_size} bytes; {MAX_MEMBER_BYTES} are read at most"
        )
    return archive.read(member)
