"""Which format a reply has its patch in, and the patch as a draft."""

from __future__ import annotations

import re
from collections.abc import Callable

from evalcore.benchmarks.swe_bench.patches import full_file, search_replace, unified, v4a
from evalcore.benchmarks.swe_bench.patches.draft import Draft
from evalcore.benchmarks.swe_bench.patches.problems import Refused

#: A line that only a patch of a format has, and the reader of the format.
_FORMATS: tuple[tuple[re.Pattern[str], Callable[[str], Draft]], ...] = (
    (re.compile(r"^\*\*\* (?:Begin Patch|Update File: |Add File: )", re.MULTILINE), v4a.read),
    (re.compile(rf"^{search_replace.START.pattern}", re.MULTILINE), search_replace.read),
    (re.compile(rf"^{full_file.START.pattern}$", re.MULTILINE), full_file.read),
    (re.compile(r"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE), unified.read),
)


def read(text: str) -> Draft:
    """The patch in a text, read in the format that comes last in it, as an answer does.

    Raises Refused: "none" where there is no patch, and what the readers raise.
    """
    last = -1
    reader: Callable[[str], Draft] = unified.read
    for pattern, candidate in _FORMATS:
        at = max((found.start() for found in pattern.finditer(text)), default=-1)
        if at > last:
            last, reader = at, candidate
    draft = reader(text)
    if not draft.files:
        raise Refused("none")
    return draft
