"""Readers of binary formats: ZIP archives, SQLite databases, PDF, and what pictures and sound say
of themselves, in the locked process only.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from evalcore.benchmarks.gaia.attachments.read_request import (
    ReadRequest,
    Unreadable,
    cut_by_lines,
    cut_by_pages,
    parse_number_span,
)

if TYPE_CHECKING:
    from PIL.Image import Image

#: The largest member that is read, in bytes, and all members of an office file together.
MAX_MEMBER_BYTES = 25_000_000
MAX_UNPACKED_BYTES = 200_000_000
_MAX_MEMBERS = 20_000
_ENCRYPTED = 0x1


def open_archive(content: bytes) -> ZipFile:
    """The archive, if it has no more members and no more content than may be unpacked. `zipfile`
    never yields more of a member than its header declares, so that the sum is a bound."""
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


_MAGIC = b"SQLite format 3\x00"
_FIRST_ROWS = 20
_MAX_ROWS = 5000
_LONGEST_CELL = 500


def read_sqlite(content: bytes, request: ReadRequest) -> str:
    """All tables with their first rows, or with `request.sheet` the rows `request.range` of one."""
    with closing(_open_sqlite(content)) as database:
        tables = [
            str(row[0])
            for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 "
                "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
            )
        ]
        if request.sheet and request.sheet not in tables:
            available = ", ".join(tables[:_FIRST_ROWS])
            raise Unreadable(
                f'no table "{request.sheet[:80]}" here; there are: {available or "none"}'
            )
        chosen = [table for table in tables if request.sheet in ("", table)]
        lines: list[str] = []
        for table in chosen:
            lines += _iter_sqlite_lines(database, table, request)
    whole = ReadRequest(name=request.name, limit=request.limit)
    return cut_by_lines(f"sqlite; {len(tables)} tables: {', '.join(tables)[:2000]}", lines, whole)


def _open_sqlite(content: bytes) -> sqlite3.Connection:
    if not content.startswith(_MAGIC):
        raise Unreadable("not a SQLite database, or a broken one")
    # Versions 2 stand for a write-ahead log beside the file, which one in memory cannot have.
    plain = content[:18] + b"\x01\x01" + content[20:]
    database = sqlite3.connect(":memory:")
    database.deserialize(plain)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def _iter_sqlite_lines(
    database: sqlite3.Connection, table: str, request: ReadRequest
) -> Iterator[str]:
    quoted = '"' + table.replace('"', '""') + '"'
    count = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608
    row_range = (
        parse_number_span(request.range if request.sheet else "", count, "range", "row")
        if count
        else range(0)
    )
    max_rows = _MAX_ROWS if request.sheet else _FIRST_ROWS
    size = min(len(row_range), max_rows)
    rows = database.execute(
        f"SELECT * FROM {quoted} LIMIT ? OFFSET ?",  # noqa: S608 - quoted
        (size, max(row_range.start - 1, 0)),
    )
    columns = ", ".join(column[0] for column in rows.description)
    yield f"Table {table} ({columns}), {count} rows"
    yield from (" | ".join(map(_format_sqlite_value, row)) for row in rows)
    if size < count:
        first = row_range.start
        yield (
            f"[rows {first}-{first + size - 1} of {count}; read others with "
            f'"sheet" and a "range" of rows]'
        )


def _format_sqlite_value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return "NULL" if value is None else str(value)[:_LONGEST_CELL].replace("\n", "\\n")


_LONGEST_FACT = 200
_FACTS = ("/Title", "/Author", "/Subject", "/Keywords", "/Creator", "/CreationDate")


def read_pdf(content: bytes, request: ReadRequest) -> str:
    """The pages of `request.pages`, below the number of pages and the document's own facts."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("the document is encrypted with a password")
    count = len(reader.pages)

    def extract_page(number: int) -> str:
        text = reader.pages[number - 1].extract_text().strip()
        return text or "(this page has no text; it may be a picture)"

    stored = reader.metadata
    facts = {name: stored.get(name) for name in _FACTS} if stored is not None else {}
    fact_texts = (
        f"{name[1:]}: {str(value)[:_LONGEST_FACT]}" for name, value in facts.items() if value
    )
    return cut_by_pages(
        "; ".join(("pdf", f"{count} pages", *fact_texts)), extract_page, count, "page", request
    )


#: Texts of a PNG may stand behind its pixels, which are then decoded; not for larger pictures.
_MAX_PIXELS = 25_000_000
_LONGEST = 1000
_FORMATS = {1: "PCM", 3: "floating point", 6: "A-law", 7: "mu-law", 0xFFFE: "extensible"}


def read_picture(content: bytes, request: ReadRequest) -> str:
    """Format, size, mode and the metadata of a picture."""
    from PIL import Image, UnidentifiedImageError

    try:
        picture = Image.open(BytesIO(content))
    except UnidentifiedImageError:
        raise Unreadable("not a picture of a known format, or a broken one") from None
    frames = getattr(picture, "n_frames", 1)
    head = (
        f"picture; format {picture.format}, {picture.width} x {picture.height} pixels, "
        f"mode {picture.mode}" + (f", {frames} frames" if frames > 1 else "")
    )
    lines = [*_iter_info_lines(picture), *_iter_exif_lines(picture)]
    lines.append("What the picture shows cannot be read by this tool.")
    return cut_by_lines(head, lines, request)


def _iter_info_lines(picture: Image) -> Iterator[str]:
    if picture.format == "PNG" and picture.width * picture.height <= _MAX_PIXELS:
        picture.load()
    for name, value in picture.info.items():
        if isinstance(value, bytes):
            value = f"{len(value)} bytes"
        if name != "exif":
            yield f"{name}: {str(value)[:_LONGEST]}"


def _iter_exif_lines(picture: Image) -> Iterator[str]:
    from PIL.ExifTags import GPSTAGS, IFD, TAGS

    exif = picture.getexif()
    parts = [(exif, TAGS), (exif.get_ifd(IFD.Exif), TAGS), (exif.get_ifd(IFD.GPSInfo), GPSTAGS)]
    for entries, names in parts:
        for number, value in entries.items():
            if number not in tuple(IFD):
                yield f"EXIF {names.get(number, number)}: {str(value)[:_LONGEST]}"


def read_wav(content: bytes, request: ReadRequest) -> str:
    """Length, channels and rate of a sound, from the chunks of a RIFF file."""
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise Unreadable("not a WAV file, or a broken one")
    chunks = dict(_iter_riff_chunks(content))
    form = chunks.get(b"fmt ", b"")
    if len(form) < 16 or b"data" not in chunks:
        raise Unreadable("the WAV file has no description of its sound")
    number = int.from_bytes(form[0:2], "little")
    channels = int.from_bytes(form[2:4], "little")
    rate = int.from_bytes(form[4:8], "little")
    bytes_a_second = int.from_bytes(form[8:12], "little")
    bits = int.from_bytes(form[14:16], "little")
    if not bytes_a_second:
        raise Unreadable("the WAV file gives no rate")
    seconds = len(chunks[b"data"]) / bytes_a_second
    head = (
        f"sound; WAV, {_FORMATS.get(number, f'format {number}')}, {seconds:.3f} seconds, "
        f"{channels} channels, {rate} Hz, {bits} bits"
    )
    return cut_by_lines(head, ["What is heard cannot be read by this tool."], request)


def _iter_riff_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    offset = 12
    while offset + 8 <= len(content):
        size = int.from_bytes(content[offset + 4 : offset + 8], "little")
        yield content[offset : offset + 4], content[offset + 8 : offset + 8 + size]
        offset += 8 + size + size % 2
