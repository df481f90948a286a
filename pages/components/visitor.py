"""Who uses this session, for the code that allows or refuses."""

from __future__ import annotations

from evalcore.access import ANYBODY, Visitor


def current() -> Visitor:
    """The visitor of this session."""
    return ANYBODY
