"""File names made of names from outside: short, ASCII, and different wherever the names are."""

from __future__ import annotations

import re

from evalcore.records import content_hash

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 48
_PLAIN = re.compile(rf"[a-z0-9_]{{1,{_LONGEST}}}")


def stem_of(*names: str) -> str:
    """The names joined by hyphens; one that is not plain is followed by its hash."""
    return "-".join(_stem(name) for name in names)


def _stem(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    told = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{told or 'x'}-{content_hash(name, 8)}"


def board_page(stem: str) -> str:
    return f"boards/{stem}.html"


def target_page(identity: str) -> str:
    return f"targets/{stem_of(identity)}.html"


def data_file(stem: str, kind: str) -> str:
    return f"data/{stem}.{kind}"
