"""Pictures and sound: what their files say of them. What they show or say is not read."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable

if TYPE_CHECKING:
    from PIL.Image import Image

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
