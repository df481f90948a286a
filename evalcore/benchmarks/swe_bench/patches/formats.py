"""Which format a reply has its patch in, and the patch as a draft."""

from __future__ import annotations

import re
from collections.abc import Callable

from evalcore.benchmarks.swe_bench.patches import full_file, search_replace, unified, v4a
from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedPatch
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused

#: A line that only a patch of a format has, and the reader of the format.
_FORMATS: tuple[tuple[re.Pattern[str], Callable[[str], ParsedPatch]], ...] = (
    (re.compile(r"^\*\*\* (?:Begin Patch|Update File: |Add File: )", re.MULTILINE), v4a.parse_v4a),
    (
        re.compile(rf"^{search_replace.SEARCH_START.pattern}", re.MULTILINE),
        search_replace.parse_search_replace,
    ),
    (re.compile(rf"^{full_file.FILE_START.pattern}$", re.MULTILINE), full_file.parse_full_files),
    (re.compile(r"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE), unified.parse_unified),
)


def parse_any_format(text: str) -> ParsedPatch:
    """The patch in a text, read in the format that comes last in it, as an answer does.

    Raises Refused: "none" where there is no patch, and what the readers raise.
    """
    last = -1
    reader: Callable[[str], ParsedPatch] = unified.parse_unified
    for pattern, candidate in _FORMATS:
        at = max((match.start() for match in pattern.finditer(text)), default=-1)
        if at > last:
            last, reader = at, candidate
    parsed = reader(text)
    if not parsed.files:
        raise PatchRefused("none")
    return parsed
