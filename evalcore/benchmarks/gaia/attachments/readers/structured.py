"""CSV, JSON and XML: shown as they stand, broken into lines where these are too long to read."""

from __future__ import annotations

import csv
import json
from xml.parsers import expat

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable
from evalcore.benchmarks.gaia.attachments.readers.plain import decode_text, split_lines

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
    """A JSON document."""
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
    text_and_encoding = decode_text(content, declared=True)
    if text_and_encoding is None:
        raise Unreadable("the file is not text")
    lines = split_lines(text_and_encoding[0])
    try:
        indented = _indent_xml(content) if len(content) <= _MAX_INDENTED_CHARS else lines
    except (expat.ExpatError, Unreadable, ValueError, LookupError) as error:
        head = f"xml, shown as it stands ({error}); {len(lines)} lines"
        return cut_by_lines(head, lines, request)
    note = ""
    if indented is not lines and any(len(line) > _LONG_LINE for line in lines):
        lines, note = indented, ", indented by the reader"
    return cut_by_lines(f"xml; {len(lines)} lines{note}", lines, request)


def _require_text(content: bytes) -> str:
    text_and_encoding = decode_text(content)
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
