"""A file of the repository as lines, and where a block of lines occurs in it.

A block is looked for in several forms, from exact to loose. Each form is searched as one text, in
time that grows with the length of the file and not with what is in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

#: Places of one block that are looked at; more are as ambiguous.
MAX_POSITIONS = 200

LineForm = Callable[[str], str]

_QUOTES = {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″", '"')}
_DASHES = dict.fromkeys("‐‑‒–—−", "-")
_SPACES = dict.fromkeys("\u00a0\u2007\u202f\u2009", " ")
#: Signs that word processing puts for plain ones; those of a group come together.
TYPOGRAPHY: tuple[dict[str, str], ...] = (_QUOTES, _DASHES, _SPACES)
_PLAIN = str.maketrans({**_QUOTES, **_DASHES, **_SPACES, "\ufeff": ""})
_BLANKS = re.compile(r"[ \t]+")


def strip_bom_and_cr(line: str) -> str:
    return line.removeprefix("\ufeff").removesuffix("\r")


def strip_indent(line: str) -> str:
    return strip_bom_and_cr(line).strip()


def normalize_loosely(line: str) -> str:
    return _BLANKS.sub(" ", line.translate(_PLAIN).strip())


def strip_trailing(line: str) -> str:
    return strip_bom_and_cr(line).rstrip()


#: The forms in the order in which they are tried.
LINE_FORMS: tuple[LineForm, ...] = (
    strip_bom_and_cr,
    strip_trailing,
    strip_indent,
    normalize_loosely,
)


class SourceFile:
    """The content of one file. `lines` keep their ends; only a line feed ends one."""

    def __init__(self, text: str) -> None:
        parts = text.split("\n")
        self.lines = [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
        self.texts = parts if parts[-1] else parts[:-1]
        self.size = len(text)
        self._searched: dict[LineForm, tuple[str, list[int]]] = {}
        self._formed: dict[LineForm, list[str]] = {}

    def list_formed_lines(self, form: LineForm) -> list[str]:
        """All lines in a form."""
        if form not in self._formed:
            self._formed[form] = [form(line) for line in self.texts]
        return self._formed[form]

    def find_block_positions(self, block: Sequence[str], form: LineForm) -> list[int]:
        """The first lines (from 0) at which a block occurs in a form, at most MOST_PLACES."""
        text, starts = self._build_search_text(form)
        needle = "".join(f"\n{form(line)}" for line in block) + "\n"
        if not needle.strip():
            return []
        positions: list[int] = []
        at = text.find(needle)
        while at >= 0 and len(positions) < MAX_POSITIONS:
            positions.append(bisect_right(starts, at) - 1)
            at = text.find(needle, at + 1)
        return positions

    def _build_search_text(self, form: LineForm) -> tuple[str, list[int]]:
        """All lines joined, each between line feeds, and where the line feed before each is."""
        if form not in self._searched:
            formed = self.list_formed_lines(form)
            starts = list(accumulate((len(line) + 1 for line in formed), initial=0))
            self._searched[form] = "".join(f"\n{line}" for line in formed) + "\n", starts
        return self._searched[form]
