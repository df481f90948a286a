"""JSON and HTML of golden outputs: short lines to compare, and wording apart from data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

MASK = "…"
#: JSON fields that hold wording; it is recorded under `texts/`. In answers about runs and cases
#: other fields of these names are data (a function's description is part of a prompt).
RUN_WORDING = frozenset({"note"})
WORDING = RUN_WORDING | {"message", "description", "summary", "about", "title"}
#: Attributes of HTML that a program or a link relies on.
_HTML_DATA = frozenset(
    {"href", "src", "id", "name", "property", "rel", "lang", "type", "scope", "fill"}
)
Named = Iterator[tuple[str, str]]


def split_wording(name: str, value: Any, fields: frozenset[str] = WORDING) -> Named:
    """JSON without the wording of some fields as data, and that wording as distinct texts."""
    wording: set[str] = set()
    yield f"data/{name}", format_json(mask_wording(value, fields, wording))
    if wording:
        yield f"texts/{name}", "\n".join(sorted(wording))


def mask_wording(value: Any, fields: frozenset[str], wording: set[str]) -> Any:
    if isinstance(value, list):
        return [mask_wording(part, fields, wording) for part in value]
    if not isinstance(value, dict):
        return value
    masked = {}
    for name, part in value.items():
        if name in fields and isinstance(part, str) and part:
            wording.add(part)
            masked[name] = MASK
        else:
            masked[name] = mask_wording(part, fields, wording)
    return masked


def format_json(value: Any) -> str:
    """One line per item of the outer list or object, short enough to diff."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(format_json_line(part) for part in value) + "\n]"
    if isinstance(value, dict) and value:
        parts = (f"{json.dumps(name)}: {format_json_line(part)}" for name, part in value.items())
        return "{\n" + ",\n".join(parts) + "\n}"
    return format_json_line(value)


def format_json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


class Skeleton(HTMLParser):
    """The tags of a page with the attributes that links and programs use, without its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = [
            f"{name}={value}"
            for name, value in attrs
            if name in _HTML_DATA
            or name.startswith("data-")
            or (value or "").startswith(("/", "http://", "https://"))
        ]
        self.lines.append(" ".join([tag, *own]))
