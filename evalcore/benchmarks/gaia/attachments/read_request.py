"""A request to read a file, the kinds of files, and how a long answer is cut with a note of how
to read on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from evalcore.records import Record

#: Control characters, which say nothing to a reader and which no terminal or server should get.
_CONTROL_CHARACTERS = dict.fromkeys((*range(9), *range(11, 13), *range(14, 32), 127), "\ufffd")


class ReadRequest(Record, frozen=True):
    """One request to read a file. `sheet` is a sheet of a workbook or a table of a database,
    `range` cells (A1:D20) or lines (10-40), `pages` pages or slides (1-3); empty where all is
    wanted. `limit` is the longest text in characters, `base` the address of a web page, against
    which its links are resolved."""

    name: str = ""
    sheet: str = ""
    range: str = ""
    pages: str = ""
    limit: int = 20_000
    base: str = ""


class Unreadable(Exception):
    """The file or the part asked for cannot be read; the message is for the model."""


def sanitize_text(text: str) -> str:
    """The text in characters that a message can hold: no controls, no halves of surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROL_CHARACTERS)


_ENDINGS = {
    "xlsx": "xlsx xlsm xltx xltm",
    "old office": "xls doc ppt",
    "csv": "csv tsv",
    "json": "json jsonld geojson ipynb",
    "lines of json": "jsonl ndjson",
    "xml": "xml svg rss kml xsd gpx",
    "html": "html htm xhtml",
    "zip": "zip",
    "docx": "docx docm",
    "pptx": "pptx pptm ppsx",
    "pdf": "pdf",
    "image": "png jpg jpeg gif webp bmp tif tiff",
    "wav": "wav wave",
    "audio": "mp3 m4a ogg flac aac",
    "video": "mp4 mov avi mkv webm",
    "sqlite": "sqlite sqlite3 db",
    "text": "txt md log py pdb js ts java c h cpp rs go rb sh sql yaml yml toml ini cfg tex",
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}

#: First bytes of files, longest first where one begins another.
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\x00", "sqlite"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old office"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"%PDF-", "pdf"),
    (b"PK\x03\x04", "zip"),
    (b"\xff\xd8\xff", "image"),
    (b"ID3", "audio"),
)
#: Kinds whose content no text can stand for.
WITHOUT_TEXT = frozenset(("image", "wav", "audio", "video", "old office"))


def detect_file_kind(name: str, head: bytes) -> str:
    """The kind of a file, "" where neither its name nor its first 16 bytes tell."""
    ending = PurePosixPath(name).suffix.lower().removeprefix(".")
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if head[:4] == b"RIFF":
        return {b"WAVE": "wav", b"WEBP": "image"}.get(head[8:12], "")
    return next((kind for start, kind in _BEGINNINGS if head.startswith(start)), "")


_SPAN = re.compile(r"\s*([0-9]{1,9})\s*(?:([-–:])\s*([0-9]{0,9})\s*)?")
#: Room kept for what is said beside the text.
_NOTE_CHARS = 200


def parse_number_span(text: str, count: int, argument: str, unit: str) -> range:
    """The numbers from 1 to `count` that "3", "1-3" or "5-" means; all of them for "". Raises
    Unreadable for any other text and where nothing has such a number."""
    if not text.strip():
        return range(1, count + 1)
    match = _SPAN.fullmatch(text)
    if match is None:
        raise Unreadable(f'the argument "{argument}" must look like 3 or 1-3, not "{text[:40]}"')
    first = int(match[1])
    last = int(match[3] or count) if match[2] else first
    if first < 1 or first > last or first > count:
        raise Unreadable(f"no {unit} {text.strip()[:40]} here; there are {count}")
    return range(first, min(last, count) + 1)


def cut_by_lines(head: str, lines: Sequence[str], request: ReadRequest) -> str:
    """The lines of `request.range` below a line of facts, as many as there is room for."""
    chosen = parse_number_span(request.range, len(lines), "range", "line") if lines else range(0)
    shown: list[str] = []
    room = max(request.limit - len(head) - _NOTE_CHARS, _NOTE_CHARS)
    for number in chosen:
        line = lines[number - 1]
        if len(line) + 1 > room:
            break
        shown.append(line)
        room -= len(line) + 1
    if len(shown) == len(chosen):
        note = f"[lines {_format_span(chosen)} of {len(lines)}]" if request.range else ""
        return _join_output(head, shown, note)
    following = chosen.start + len(shown)
    cut = ""
    if not shown:  # a single line is longer than all that may be shown
        line = lines[following - 1]
        shown.append(line[:room])
        cut = f"line {following} is cut after {room} of {len(line)} characters; "
        following += 1
    note = f"[{cut}lines {_format_span(range(chosen.start, following))} of {len(lines)} are shown"
    if following < chosen.stop:
        note += f'; read on with "range" {following}-{chosen.stop - 1}'
    return _join_output(head, shown, f"{note}]")


def cut_by_pages(
    head: str, render_page: Callable[[int], str], count: int, unit: str, request: ReadRequest
) -> str:
    """The pages (numbers from 1) of `request.pages`; only those are made for which there is room.
    With `request.range`, and where a single page is too long, the text is cut by its lines."""
    chosen = parse_number_span(request.pages, count, "pages", unit) if count else range(0)
    shown: list[str] = []
    room = max(request.limit - len(head) - _NOTE_CHARS, _NOTE_CHARS)
    note = ""
    for number in chosen:
        text = f"--- {unit} {number} ---\n{render_page(number)}"
        if len(text) > room and shown and not request.range:
            done = _format_span(range(chosen.start, number))
            rest = _format_span(range(number, chosen.stop))
            note = f'[{unit} {done} of {count} is shown; read on with "pages" {rest}]'
            break
        shown.append(text)
        room -= len(text) + 1
        if request.range and room < -50 * request.limit:
            raise Unreadable('the text is long: name "pages" beside "range"')
    body = "\n".join(shown)
    if request.range or len(shown) == 1:
        return cut_by_lines(head, body.split("\n"), request) + (f"\n{note}" if note else "")
    return _join_output(head, shown, note)


def _format_span(numbers: range) -> str:
    first, last = numbers.start, numbers.stop - 1
    return str(first) if last <= first else f"{first}-{last}"


def _join_output(head: str, parts: Sequence[str], note: str) -> str:
    return "\n".join(part for part in (f"[{head}]", *parts, *((note,) if note else ())))
