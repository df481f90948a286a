"""CSV, JSON and XML: shown as they stand, broken into lines where these are too long to read."""

from __future__ import annotations

import csv
import json
from xml.parsers import expat

from evalcore.benchmarks.gaia.attachments.asked import Asked, Unreadable
from evalcore.benchmarks.gaia.attachments.paging import by_lines
from evalcore.benchmarks.gaia.attachments.readers.plain import decoded, lines_of

_DELIMITERS = (",", "\t", ";", "|")
_LONG_LINE = 1000
_MOST_INDENTED = 5_000_000  # characters; every one may become a line
_DEEPEST = 200  # levels of XML that are indented


def read_csv(content: bytes, asked: Asked) -> str:
    """The lines of a table, below the number of rows and columns and the delimiter."""
    text = _text(content)
    lines = lines_of(text)
    delimiter = max(_DELIMITERS, key=(lines[0] if lines else "").count)
    name = "tab" if delimiter == "\t" else delimiter
    try:
        rows = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        size = f"{len(rows)} rows (with the header), {max(rows, default=0)} columns"
    except csv.Error as error:
        size = f"{len(lines)} lines; not a well-formed table ({error})"
    return by_lines(f"csv; {size}; delimiter {name}", lines, asked)


def read_json(content: bytes, asked: Asked) -> str:
    """A JSON document."""
    text = _text(content)
    lines = lines_of(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return by_lines(f"json, not well-formed ({error}); {len(lines)} lines", lines, asked)
    what = f"{type(value).__name__} of {len(value)}" if isinstance(value, dict | list) else "value"
    note = ""
    if len(text) <= _MOST_INDENTED and any(len(line) > _LONG_LINE for line in lines):
        lines = json.dumps(value, indent=1, ensure_ascii=False).split("\n")
        note = ", indented by the reader"
    return by_lines(f"json; {what}; {len(lines)} lines{note}", lines, asked)


def read_json_lines(content: bytes, asked: Asked) -> str:
    """A JSON document a line."""
    lines = lines_of(_text(content))
    return by_lines(f"json lines; {len(lines)} lines", lines, asked)


def read_xml(content: bytes, asked: Asked) -> str:
    """An XML document. Entities are never expanded and nothing outside is looked for."""
    found = decoded(content, declared=True)
    if found is None:
        raise Unreadable("the file is not text")
    lines = lines_of(found[0])
    try:
        indented = _indented(content) if len(content) <= _MOST_INDENTED else lines
    except (expat.ExpatError, Unreadable, ValueError, LookupError) as error:
        head = f"xml, shown as it stands ({error}); {len(lines)} lines"
        return by_lines(head, lines, asked)
    note = ""
    if indented is not lines and any(len(line) > _LONG_LINE for line in lines):
        lines, note = indented, ", indented by the reader"
    return by_lines(f"xml; {len(lines)} lines{note}", lines, asked)


def _text(content: bytes) -> str:
    found = decoded(content)
    if found is None:
        raise Unreadable("the file is not text")
    return found[0]


def _indented(content: bytes) -> list[str]:
    """A line for every tag and text of a document."""
    lines: list[str] = []
    depth = 0

    def add(text: str) -> None:
        lines.append(" " * min(depth, _DEEPEST) + text)

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        add(
            "<" + " ".join((name, *(f'{key}="{value}"' for key, value in attributes.items()))) + ">"
        )
        depth += 1

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        add(f"</{name}>")

    def data(text: str) -> None:
        if text.strip():
            add(text.strip())

    def entity(*_: object) -> None:
        raise Unreadable("it declares entities, which are not expanded")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = data
    parser.EntityDeclHandler = entity
    parser.Parse(content, True)
    return lines
