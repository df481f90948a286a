"""File names made of names from outside: short, ASCII, and different wherever the names are."""

from __future__ import annotations

import re

from evalcore.records import content_hash

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 48
_PLAIN = re.compile(rf"[a-z0-9_]{{1,{_LONGEST}}}")


def make_file_stem(*names: str) -> str:
    """The names joined by hyphens; one that is not plain is followed by its hash."""
    return "-".join(_make_stem(name) for name in names)


def _make_stem(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    slug = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{slug or 'x'}-{content_hash(name, 8)}"


def board_page(stem: str) -> str:
    return f"boards/{stem}.html"


def target_page(identity: str) -> str:
    return f"targets/{make_file_stem(identity)}.html"


def data_file(stem: str, kind: str) -> str:
    return f"data/{stem}.{kind}"
