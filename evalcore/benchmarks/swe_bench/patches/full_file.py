"""Reading files that are given whole, between "[start of path]" and "[end of path]".

Source of the form: the prompts of swebench (`create_instance.py`), which show files in it, with or
without line numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedFile, ParsedPatch
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.text import is_fence, split_patch_lines

FILE_START = re.compile(r"\[start of ([^\]\n]+)\]\s*")
_NUMBERED = re.compile(r"[ \t]{0,5}(\d{1,6})(?:[ \t|:](.*))?")


def parse_full_files(text: str) -> ParsedPatch:
    """The files of a reply. Raises Refused where one does not end."""
    lines = split_patch_lines(text)
    files: list[ParsedFile] = []
    at = 0
    while at < len(lines):
        start_match = FILE_START.fullmatch(lines[at])
        at += 1
        if not start_match:
            continue
        end = _find_end_line(lines, at, f"[end of {start_match[1]}]")
        content = _strip_file_numbers(_strip_fences(lines[at:end]))
        name = start_match[1].strip()
        files.append(ParsedFile(old=name, new=name, action="whole", content=tuple(content)))
        at = end + 1
    return ParsedPatch("full_file", tuple(files))


def _find_end_line(lines: Sequence[str], at: int, end_marker: str) -> int:
    while at < len(lines):
        if lines[at].strip() == end_marker:
            return at
        at += 1
    raise PatchRefused("cut")


def _strip_fences(lines: Sequence[str]) -> Sequence[str]:
    if len(lines) > 1 and is_fence(lines[0]) and is_fence(lines[-1]):
        return lines[1:-1]
    return lines


def _strip_file_numbers(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their numbers, where they are numbered from 1 without a gap."""
    matches = [_NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match]
    if len(numbers) != len(lines) or numbers != list(range(1, len(lines) + 1)):
        return lines
    return [match[2] or "" for match in matches if match]
