"""Files that are text, and the first bytes of those that nobody knows."""

from __future__ import annotations

import re

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
#: An encoding that an XML or HTML file gives itself, in its first bytes.
_DECLARED = re.compile(rb"""(?:encoding|charset)\s{0,4}=\s{0,4}["']?([A-Za-z0-9._-]{1,40})""")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_END = re.compile(r"\r\n|\n|\r")
_SNIFFED_BYTES = 65_536
_HEX_BYTES = 256
_ROW = 16


def decode_text(content: bytes, *, declared: bool = False) -> tuple[str, str] | None:
    """The text of a file and its encoding; None where it is not text.

    With `declared` an encoding named in the first bytes is believed. What is not UTF-8 and holds
    no control characters is taken for Windows-1252, undefined bytes being replaced.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace"), encoding
    declaration = _DECLARED.search(content[:1024]) if declared else None
    if declaration:
        try:
            return content.decode(declaration[1].decode("ascii")), declaration[1].decode("ascii")
        except (LookupError, ValueError):
            pass  # a wrong declaration is no reason not to read the file
    if _CONTROL.search(content[:_SNIFFED_BYTES]):
        return None
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), "windows-1252"


def split_lines(text: str) -> list[str]:
    """The lines of a text, ended by line feeds, carriage returns or both."""
    lines = _END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def read_text(content: bytes, request: ReadRequest) -> str:
    """The lines of a text; the first bytes as hexadecimal digits where the file is not text."""
    text_and_encoding = decode_text(content)
    if text_and_encoding is None:
        return _format_hex_dump(content)
    text, encoding = text_and_encoding
    lines = split_lines(text)
    return cut_by_lines(f"text; {len(lines)} lines; {encoding}", lines, request)


def _format_hex_dump(content: bytes) -> str:
    rows = []
    for start in range(0, min(len(content), _HEX_BYTES), _ROW):
        row = content[start : start + _ROW]
        printable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:06x}  {row.hex(' '):<{_ROW * 3}} {printable}")
    shown = min(len(content), _HEX_BYTES)
    head = f"unknown kind of file, not text; {len(content)} bytes; the first {shown} are"
    return "\n".join((f"[{head}]", *rows))
