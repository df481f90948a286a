"""Reading blocks of SEARCH and REPLACE, with the file named above them.

Source of the form: the documentation of aider, whose file name stands bare or in a fence, and that
of Agentless, which writes "### " before it. The lines that both halves share become context, so
that a block is placed and written by the same rules as a hunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalcore.benchmarks.swe_bench.patches.alignment import iter_changed_ranges
from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedFile, ParsedHunk, ParsedPatch
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.text import is_fence, is_patch_edge, split_patch_lines
from evalcore.benchmarks.swe_bench.patches.unified import MAX_HUNKS

SEARCH_START = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)\b")
_DIVIDER = re.compile(r"={5,9}\s*")
_END = re.compile(r">{5,9} ?(?:REPLACE|UPDATED|\w)")
_NAME = re.compile(
    r"(?:#{1,6}\s+|\*{1,2}|-\s+)?(?:[Ff]ile(?:name)?:\s*)?[`*\"']*([^\s`*\"':]+)[`*\"':]*\s*"
)
_LINES_ABOVE = 4


def parse_search_replace(text: str) -> ParsedPatch:
    """The blocks of a reply, each a hunk of its own. Raises Refused where one does not end."""
    lines = split_patch_lines(text)
    files: list[ParsedFile] = []
    at = passed = 0
    name = ""
    while at < len(lines):
        if not SEARCH_START.match(lines[at]):
            at += 1
            continue
        divider, end = _find_block_bounds(lines, at)
        name = _find_name_above(lines[max(passed, at - _LINES_ABOVE) : at]) or name
        files.append(_parse_block(name, lines[at + 1 : divider], lines[divider + 1 : end]))
        if len(files) > MAX_HUNKS:
            raise PatchRefused("large")
        at = passed = end + 1
    return ParsedPatch("search_replace", tuple(files))


def _find_block_bounds(lines: Sequence[str], start: int) -> tuple[int, int]:
    """Where the halves are divided and where the block ends."""
    dividers: list[int] = []
    for at in range(start + 1, len(lines)):
        if _DIVIDER.fullmatch(lines[at]):
            dividers.append(at)
        elif _END.match(lines[at]) and dividers:
            if len(dividers) > 1:  # a line of the file looks like the divider
                raise PatchRefused("ambiguous")
            return dividers[0], at
        elif SEARCH_START.match(lines[at]):
            break
    raise PatchRefused("cut")


def _find_name_above(above: Sequence[str]) -> str:
    """The name of a file in the nearest line above that is neither blank nor a fence."""
    for line in reversed(above):
        if is_patch_edge(line) and not (is_fence(line) and _fence_name(line)):
            continue
        if line.strip():
            match = _NAME.fullmatch(_fence_name(line) or line.strip())
            name = match[1] if match else ""
            return name if "." in name or "/" in name else ""
    return ""


def _fence_name(line: str) -> str:
    """A path behind the marks of a fence ("```path/to/file.py")."""
    rest = line.lstrip("`~").strip() if is_fence(line) else ""
    return rest if "/" in rest or "." in rest else ""


def _parse_block(name: str, old: Sequence[str], new: Sequence[str]) -> ParsedFile:
    if not any(line.strip() for line in old):
        return ParsedFile(old=name, new=name, action="create", content=tuple(new))
    raw: list[str] = []
    done = 0
    for a, b, c, d in iter_changed_ranges(old, new):
        raw += [f" {line}" for line in old[done:a]]
        raw += [f"-{line}" for line in old[a:b]]
        raw += [f"+{line}" for line in new[c:d]]
        done = b
    raw += [f" {line}" for line in old[done:]]
    return ParsedFile(old=name, new=name, hunks=(ParsedHunk(tuple(raw)),))
