"""Readers of text formats: plain text, CSV, JSON, XML and HTML, in the locked process only."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin
from xml.parsers import expat

from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable, cut_by_lines

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
    """The text of a file and its encoding; None where it is not text. With `declared` an encoding
    named in the first bytes is believed. What is not UTF-8 and holds no control characters is taken
    for Windows-1252, undefined bytes being replaced."""
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


_DELIMITERS = (",", "\t", ";", "|")
_LONG_LINE = 1000
_MAX_INDENTED_CHARS = 5_000_000  # characters; every one may become a line
_DEEPEST = 200  # levels of XML that are indented


def read_csv(content: bytes, request: ReadRequest) -> str:
    """The lines of a table, below the number of rows and columns and the delimiter."""
    text = _require_text(content)
    lines = split_lines(text)
    delimiter = max(_DELIMITERS, key=(lines[0] if lines else "").count)
    name = "tab" if delimiter == "\t" else delimiter
    try:
        rows = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        size = f"{len(rows)} rows (with the header), {max(rows, default=0)} columns"
    except csv.Error as error:
        size = f"{len(lines)} lines; not a well-formed table ({error})"
    return cut_by_lines(f"csv; {size}; delimiter {name}", lines, request)


def read_json(content: bytes, request: ReadRequest) -> str:
    text = _require_text(content)
    lines = split_lines(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return cut_by_lines(f"json, not well-formed ({error}); {len(lines)} lines", lines, request)
    what = f"{type(value).__name__} of {len(value)}" if isinstance(value, dict | list) else "value"
    note = ""
    if len(text) <= _MAX_INDENTED_CHARS and any(len(line) > _LONG_LINE for line in lines):
        lines = json.dumps(value, indent=1, ensure_ascii=False).split("\n")
        note = ", indented by the reader"
    return cut_by_lines(f"json; {what}; {len(lines)} lines{note}", lines, request)


def read_json_lines(content: bytes, request: ReadRequest) -> str:
    """A JSON document a line."""
    lines = split_lines(_require_text(content))
    return cut_by_lines(f"json lines; {len(lines)} lines", lines, request)


def read_xml(content: bytes, request: ReadRequest) -> str:
    """An XML document. Entities are never expanded and nothing outside is looked for."""
    lines = split_lines(_require_text(content, declared=True))
    try:
        indented = _indent_xml(content) if len(content) <= _MAX_INDENTED_CHARS else lines
    except (expat.ExpatError, Unreadable, ValueError, LookupError) as error:
        head = f"xml, shown as it stands ({error}); {len(lines)} lines"
        return cut_by_lines(head, lines, request)
    note = ""
    if indented is not lines and any(len(line) > _LONG_LINE for line in lines):
        lines, note = indented, ", indented by the reader"
    return cut_by_lines(f"xml; {len(lines)} lines{note}", lines, request)


def _require_text(content: bytes, *, declared: bool = False) -> str:
    text_and_encoding = decode_text(content, declared=declared)
    if text_and_encoding is None:
        raise Unreadable("the file is not text")
    return text_and_encoding[0]


def _indent_xml(content: bytes) -> list[str]:
    """A line for every tag and text of a document."""
    lines: list[str] = []
    depth = 0

    def add_line(text: str) -> None:
        lines.append(" " * min(depth, _DEEPEST) + text)

    def handle_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        add_line(
            "<" + " ".join((name, *(f'{key}="{value}"' for key, value in attributes.items()))) + ">"
        )
        depth += 1

    def handle_end(name: str) -> None:
        nonlocal depth
        depth -= 1
        add_line(f"</{name}>")

    def handle_data(text: str) -> None:
        if text.strip():
            add_line(text.strip())

    def reject_entity(*_: object) -> None:
        raise Unreadable("it declares entities, which are not expanded")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = handle_start, handle_end
    parser.CharacterDataHandler = handle_data
    parser.EntityDeclHandler = reject_entity
    parser.Parse(content, True)
    return lines


_HIDDEN_TAGS = ("script", "style", "template", "svg", "iframe", "object")
_BLOCKS = """
    p div section article header footer main nav aside ul ol dl dt dd table form address figure
    figcaption blockquote pre br hr thead tbody tfoot caption title body
"""
#: Tags that begin a new line, with what the line begins with.
_LINES = {
    **dict.fromkeys(_BLOCKS.split(), ""),
    **{f"h{level}": "#" * level + " " for level in range(1, 7)},
    "li": "- ",
    "tr": "| ",
}
_CELLS = ("td", "th")
_ROWS = ("tr", "table", "thead", "tbody", "tfoot", "caption")
#: A line of nothing else holds no text.
_LINE_MARKERS = "#-| "
_BLANKS = re.compile(r"\s+")


def read_html(content: bytes, request: ReadRequest) -> str:
    """The text of a page; its links are absolute where `request.base` is the page's address."""
    text = _require_text(content, declared=True)
    page = _PageParser(request.base)
    # No tag is behind the last >, and looking for its end from each < would take for ever.
    tagged, end, rest = text.rpartition(">")
    page.feed(tagged + end)
    page.close()
    page.handle_data(unescape(rest))
    lines = page.finish_lines()
    return cut_by_lines(f"web page; {len(lines)} lines of text", lines, request)


class _PageParser(HTMLParser):
    """Collects lines while tags go by; unclosed and crossed tags do no harm."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.line: list[str] = []
        self.hidden_depth = self.preformatted = 0
        self.in_cell = False
        self.link = ""
        self.base = base

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in _HIDDEN_TAGS:
            self.hidden_depth += 1
        elif tag in _CELLS:
            self.line.append(" | " if self.in_cell else "")
            self.in_cell = True
        elif tag in _LINES:
            self._begin_line(tag)
            self.preformatted += tag == "pre"
        elif tag == "a":
            self.link = self._resolve_link(attributes.get("href", ""))
        elif tag == "img" and attributes.get("alt", "").strip():
            self.line.append(f"[image: {attributes['alt'].strip()}]")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN_TAGS:
            self.hidden_depth = max(self.hidden_depth - 1, 0)
        elif tag in _CELLS:
            self.line.append(" | " if self.in_cell else "")
            self.in_cell = False
        elif tag in _LINES:
            self._begin_line(tag, ended=True)
            self.preformatted = max(self.preformatted - (tag == "pre"), 0)
        elif tag == "a" and self.link:
            self.line.append(f" ({self.link})")
            self.link = ""

    def handle_data(self, data: str) -> None:
        if self.hidden_depth:
            return
        if self.preformatted:
            first, *others = data.split("\n")
            self.line.append(first)
            for other in others:
                self._end_line()
                self.line.append(other)
            return
        self.line.append(_BLANKS.sub(" ", data))

    def finish_lines(self) -> list[str]:
        self._end_line()
        return self.lines

    def _begin_line(self, tag: str, ended: bool = False) -> None:
        """A new line, except within a cell and where the one begun is still empty."""
        if self.in_cell and tag not in _ROWS:
            self.line.append(" ")
            return
        self.in_cell = False
        begun = "" if ended else _LINES[tag]
        if begun or ended or "".join(self.line).strip(_LINE_MARKERS):
            self._end_line()
            self.line.append(begun)

    def _end_line(self) -> None:
        text = "".join(self.line).rstrip()
        self.line.clear()
        if not self.preformatted:
            text = _BLANKS.sub(" ", text).strip()
        if text.strip(_LINE_MARKERS):
            self.lines.append(text)

    def _resolve_link(self, href: str) -> str:
        if not href or href.startswith(("#", "javascript:")):
            return ""
        try:
            return urljoin(self.base, href)
        except ValueError:  # an address that is none
            return href
