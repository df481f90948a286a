"""The note that ties two runs together which were started to be compared."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from evalcore.records import Record

Side = Literal["first", "second"]
_NOTE = re.compile(r"comparison ([0-9a-f]{8}): (first|second) of two")


class Pair(Record, frozen=True):
    """Which comparison a run belongs to, and on which side of it."""

    id: str
    side: Side


def new_pair() -> tuple[Pair, Pair]:
    """Both sides of a comparison that no other has the id of."""
    name = secrets.token_hex(4)
    return Pair(name, "first"), Pair(name, "second")


def note_of(pair: Pair) -> str:
    """The note of a run, for people too."""
    return f"comparison {pair.id}: {pair.side} of two"


def pair_of(note: str) -> Pair | None:
    """What a note says, None for any other note."""
    found = _NOTE.fullmatch(note)
    if found is None:
        return None
    return Pair(found[1], "first" if found[2] == "first" else "second")
