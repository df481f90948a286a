"""What kind of file an attachment is: by its name's ending, else by its first bytes."""

from __future__ import annotations

from pathlib import PurePosixPath

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
