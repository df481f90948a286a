"""Reading files that are given whole, between "[start of path]" and "[end of path]".

Source of the form: the prompts of swebench (`create_instance.py`), which show files in it, with or
without line numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalcore.benchmarks.swe_bench.patches.draft import Draft, FileDraft
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.text import is_fence, lines_of

START = re.compile(r"\[start of ([^\]\n]+)\]\s*")
_NUMBERED = re.compile(r"[ \t]{0,5}(\d{1,6})(?:[ \t|:](.*))?")


def read(text: str) -> Draft:
    """The files of a reply. Raises Refused where one does not end."""
    lines = lines_of(text)
    files: list[FileDraft] = []
    at = 0
    while at < len(lines):
        found = START.fullmatch(lines[at])
        at += 1
        if not found:
            continue
        end = _end(lines, at, f"[end of {found[1]}]")
        content = _unnumbered(_unfenced(lines[at:end]))
        name = found[1].strip()
        files.append(FileDraft(old=name, new=name, action="whole", content=tuple(content)))
        at = end + 1
    return Draft("full_file", tuple(files))


def _end(lines: Sequence[str], at: int, wanted: str) -> int:
    while at < len(lines):
        if lines[at].strip() == wanted:
            return at
        at += 1
    raise Refused("cut")


def _unfenced(lines: Sequence[str]) -> Sequence[str]:
    if len(lines) > 1 and is_fence(lines[0]) and is_fence(lines[-1]):
        return lines[1:-1]
    return lines


def _unnumbered(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their numbers, where they are numbered from 1 without a gap."""
    found = [_NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) != len(lines) or numbers != list(range(1, len(lines) + 1)):
        return lines
    return [match[2] or "" for match in found if match]
