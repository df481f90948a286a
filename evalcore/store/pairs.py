"""The note that ties two runs together which were started to be compared."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from evalcore.records import Record

Side = Literal["first", "second"]
_COMPARISON_NOTE = re.compile(r"comparison ([0-9a-f]{8}): (first|second) of two")


class ComparisonSide(Record, frozen=True):
    """Which comparison a run belongs to, and on which side of it."""

    id: str
    side: Side


def create_comparison_sides() -> tuple[ComparisonSide, ComparisonSide]:
    """Both sides of a comparison that no other has the id of."""
    name = secrets.token_hex(4)
    return ComparisonSide(name, "first"), ComparisonSide(name, "second")


def format_comparison_note(pair: ComparisonSide) -> str:
    """The note of a run, for people too."""
    return f"comparison {pair.id}: {pair.side} of two"


def parse_comparison_note(note: str) -> ComparisonSide | None:
    """What a note says, None for any other note."""
    match = _COMPARISON_NOTE.fullmatch(note)
    if match is None:
        return None
    return ComparisonSide(match[1], "first" if match[2] == "first" else "second")
