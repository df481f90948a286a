"""Reading the format of `apply_patch`: "*** Begin Patch", files by name, hunks without numbers.

Source of the form: the description of the apply_patch tool by its makers. A line behind `@@` quotes
where in the file the hunk is; the last of several counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    Action,
    ParsedFile,
    ParsedHunk,
    ParsedPatch,
)
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.text import is_patch_edge, split_patch_lines
from evalcore.benchmarks.swe_bench.patches.unified import MAX_HUNKS, build_parsed_hunk

_FILES: dict[str, Action] = {
    "*** Update File: ": "change",
    "*** Add File: ": "create",
    "*** Delete File: ": "delete",
}
_MOVE = "*** Move to: "
_LAST_LINE = "*** End of File"
_ENDS = ("*** Begin Patch", "*** End Patch", _LAST_LINE)
_WORDS = (*_FILES, _MOVE, *_ENDS)


@dataclass
class _Section:
    path: str
    action: Action
    block: int
    target: str = ""
    hunks: list[ParsedHunk] = field(default_factory=list)
    content: tuple[str, ...] = ()

    def build_parsed_file(self) -> ParsedFile:
        action: Action = "rename" if self.target else self.action
        new = self.target or self.path
        return ParsedFile(self.path, new, tuple(self.hunks), action, "", self.content, self.block)


def parse_v4a(text: str) -> ParsedPatch:
    """The files of a patch. Raises Refused for text that ends within it."""
    lines = split_patch_lines(text)
    sections: list[_Section] = []
    at, block = 0, 0
    alone, inside = True, False
    while at < len(lines):
        line = lines[at]
        at += 1
        if name := next((word for word in _FILES if line.startswith(word)), ""):
            sections.append(_Section(line.removeprefix(name).strip(), _FILES[name], block))
            inside = True
        elif line.startswith(_MOVE) and inside:
            sections[-1].target = line.removeprefix(_MOVE).strip()
        elif is_patch_edge(line) or not inside or line.startswith(_ENDS):
            block += is_patch_edge(line)
            inside = inside and line.startswith(_LAST_LINE)
            alone &= line.startswith(_WORDS) or not line.strip()
            continue
        end = _find_section_end(lines, at)
        _add_section_lines(sections[-1], line, lines[at:end], closed=end < len(lines))
        if end < len(lines) and lines[end].startswith(_LAST_LINE):
            _mark_end(sections[-1])
        at = end
    return ParsedPatch("v4a", tuple(section.build_parsed_file() for section in sections), alone)


def _find_section_end(lines: Sequence[str], at: int) -> int:
    while at < len(lines):
        line = lines[at]
        if line.startswith(("@@", *_WORDS)) or is_patch_edge(line):
            return at
        at += 1
    return at


def _add_section_lines(section: _Section, header: str, raw: Sequence[str], *, closed: bool) -> None:
    """Put the lines behind a header where they belong.

    The format says how it ends, so a text that ends without is cut off.
    """
    if not closed:
        raise PatchRefused("cut")
    if section.action == "create":
        if any(line.strip() and not line.startswith("+") for line in raw):
            raise PatchRefused("none")
        section.content += tuple(line[1:] for line in raw)
    elif any(line.strip() for line in raw):
        header = header if header.startswith("@@") else "@@"
        section.hunks.append(build_parsed_hunk(header, raw, closed=True, newline=True))
        if len(section.hunks) > MAX_HUNKS:
            raise PatchRefused("large")


def _mark_end(section: _Section) -> None:
    if section.hunks:
        last = section.hunks[-1]
        section.hunks[-1] = ParsedHunk(last.raw, last.start, last.counts, last.scope, at_end=True)
