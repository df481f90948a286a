"""A colour for every target, the same on each chart and page, whoever else is drawn.

The colour follows from the target's name alone. Two targets may share one, so a chart names its
targets in words as well.
"""

from __future__ import annotations

from zlib import crc32

#: Equally light in OKLCH, so that no target stands out; a contrast of 3.5:1 and more against both
#: themes. The orange of the floors is left out.
COLOURS = (
    *("#c75374", "#c9593d", "#977e0d", "#6c8e03", "#0f9958", "#059488"),
    *("#068fa7", "#0486d3", "#6875d8", "#9565c7", "#b559a3"),
)


def colour_of(identity: str) -> str:
    """The colour of a target as "#rrggbb"."""
    return COLOURS[crc32(identity.encode()) % len(COLOURS)]
