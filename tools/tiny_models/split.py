"""The split into training and held-out cases: by the values that fill a pattern, so that no prompt
can be in both, whatever the seed."""

from __future__ import annotations

import zlib
from typing import Literal

Split = Literal["train", "held_out"]


def assign_split(pattern: str, *values: str | int) -> Split:
    """The split that a pattern filled with values belongs to; about one in five is held out."""
    text = "\x1f".join(map(str, (pattern, *values)))
    return "train" if zlib.crc32(text.encode()) % 5 else "held_out"
