"""Members of a zip archive from outside, one at a time and bounded. Unlike `intake.files` this
reads what is compressed by Zstandard too, as newer logs of Inspect are."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from evalcore.errors import DatasetError, FileError, IntakeError
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json

FILE_LIMIT = 2 << 30  # bytes of an archive
MEMBER_LIMIT = 64 << 20  # bytes of a member, unpacked
TOTAL_LIMIT = 4 << 30  # bytes of all members that are read, unpacked
MEMBERS_LIMIT = 200_000
_RATIO, _SMALL = 500, 4 << 20  # unpacked bytes per packed one of a member, if it is not small
_ZSTD = (93, 20)  # methods: today's number, and the one before it
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, *_ZSTD)
_ENCRYPTED = 0x1
_LOCAL_HEADER = 30
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(NotImplementedError, EOFError, OSError, ValueError),
)


class LogArchive:
    """The members of an open archive by name; every problem names the archive and the member."""

    def __init__(self, path: Path, opened: zipfile.ZipFile, file: IO[bytes]) -> None:
        self.path = path
        self._opened, self._file = opened, file
        self._members = {member.filename: member for member in opened.infolist()}
        self._remaining = TOTAL_LIMIT
        if len(opened.infolist()) > MEMBERS_LIMIT:
            raise FileError(path, Note("log_members", limit=MEMBERS_LIMIT))

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read_json(self, name: str) -> Any:
        """What a member holds; a number that is not finite leaves its field out."""
        content = self._read_member(self._members[name])
        try:
            return parse_json(content, drop=True)
        except IntakeError as error:
            raise DatasetError(self._name(name), None, "", str(error)) from None

    def _name(self, member: str) -> str:
        return f"{self.path}!{member[:200]}"

    def _read_member(self, member: zipfile.ZipInfo) -> bytes:
        limit = min(MEMBER_LIMIT, max(_SMALL, member.compress_size * _RATIO))
        if self._remaining <= 0:
            raise DatasetError(
                self._name(member.filename), None, "", Note("log_total", limit=TOTAL_LIMIT >> 20)
            )
        try:
            if member.flag_bits & _ENCRYPTED:
                raise ValueError(Note("archive_encrypted"))
            if member.compress_type not in _METHODS:  # LZMA takes as much memory as it says
                raise ValueError(Note("archive_compression"))
            if member.compress_type in _ZSTD:
                content = self._read_zstd(member, limit)
            else:
                with self._opened.open(member) as source:
                    content = source.read(limit + 1)
        except (*_DAMAGE, pa.ArrowException) as error:
            problem = Note("bundle_no_zip", detail=error)
            raise DatasetError(self._name(member.filename), None, "", problem) from None
        if len(content) > limit:
            problem = Note("log_member_large", limit=limit >> 20)
            raise DatasetError(self._name(member.filename), None, "", problem)
        self._remaining -= len(content)
        return content

    def _read_zstd(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        """Read no more than one byte over the limit; the local header says where the data begin."""
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise ValueError(Note("archive_header"))
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self._file.seek(names, 1)
        packed = self._file.read(min(member.compress_size, MEMBER_LIMIT))
        content = b""
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while len(content) <= limit and (piece := stream.read(1 << 20)):
                content += piece
        if len(content) <= limit and zlib.crc32(content) != member.CRC:
            raise ValueError(Note("archive_checksum"))
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[LogArchive]:
    """Open an archive; raises FileError for what is none or is too large."""
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) > FILE_LIMIT:
                raise FileError(path, Note("log_large", limit=FILE_LIMIT >> 20))
            with _read_directory(path, file) as opened:
                yield LogArchive(path, opened, file)
    except OSError as error:
        raise FileError(path, error) from None


def _read_directory(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise FileError(path, Note("bundle_no_zip", detail=error)) from None
