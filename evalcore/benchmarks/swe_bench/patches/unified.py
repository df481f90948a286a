"""Reading a unified diff in any state: headers missing or wrong, prose and fences around it.

A hunk takes all lines up to the next header, fence or tag; which of them belong to it is decided
when they are held against the file (`readings`). Source of the form: the manual of GNU diff and
that of git's extended headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    NULL,
    Action,
    ParsedFile,
    ParsedHunk,
    ParsedPatch,
)
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.text import is_patch_edge, split_patch_lines

#: More hunks than any person writes.
MAX_HUNKS = 1000
_NUMBER = r"(\d{1,9})"
_NUMBERS = re.compile(
    rf"@@+\s*-{_NUMBER}(?:,{_NUMBER})?\s+\+{_NUMBER}(?:,{_NUMBER})?\s*(?:@@+\s?(.*))?"
)
_NOT_SCOPE = re.compile(r"^[@.\s\d,+-]*|[@\s]+$")
_SIGNATURE = re.compile(r"\d+\.\d+")
_PLAIN_MODES = ("100644", "100755", "644", "755")


@dataclass
class _Section:
    """A file of the patch as far as it has been read."""

    block: int
    old: str = ""
    new: str = ""
    action: Action = "change"
    mode: str = ""
    has_header_pair: bool = False  # by a pair of --- and +++
    hunks: list[ParsedHunk] = field(default_factory=list)

    def build_parsed_file(self) -> ParsedFile:
        action = self.action
        if self.old == NULL and action != "delete":
            action = "create"
        elif self.new == NULL:
            action = "delete"
        return ParsedFile(self.old, self.new, tuple(self.hunks), action, self.mode, (), self.block)

    @property
    def is_dangling(self) -> bool:
        """Whether nothing follows the line `diff --git`, as where a text was cut off."""
        return bool(self.old) and not self.hunks and self.action in ("change", "create")

    @property
    def has_content(self) -> bool:
        return bool(self.hunks) or self.action != "change"


def parse_unified(text: str) -> ParsedPatch:
    """The files of a diff. Raises Refused where a part is of a kind that is not repaired."""
    lines = split_patch_lines(text)
    ends_with_newline = text.endswith("\n")
    sections = [_Section(0)]
    at = 0
    alone = True
    hunks = 0
    while at < len(lines):
        section, line = sections[-1], lines[at]
        at += 1
        if is_patch_edge(line):
            sections.append(_Section(section.block + 1))
            alone = False
        elif line.startswith("@@"):
            end = _hunk_end(lines, at)
            section.hunks.append(
                build_parsed_hunk(
                    line, lines[at:end], closed=end < len(lines), newline=ends_with_newline
                )
            )
            at = end
            hunks += 1
            if hunks > MAX_HUNKS:
                raise PatchRefused("large")
        elif (taken := _take_header_line(lines, at - 1, sections)) or not line.strip():
            at += max(taken - 1, 0)
        else:
            alone = False
    for file_section in sections:
        # a file is announced and nothing follows
        if file_section.has_header_pair and not file_section.hunks:
            raise PatchRefused("cut" if file_section is sections[-1] else "short")
    if sections[-1].is_dangling:
        raise PatchRefused("cut")
    files = tuple(
        file_section.build_parsed_file() for file_section in sections if file_section.has_content
    )
    return ParsedPatch("unified", files, alone)


def is_header(lines: Sequence[str], at: int) -> bool:
    """Whether a file begins at a line: what looks so within a hunk may be a removed `-- `."""
    line = lines[at]
    if line.startswith(("diff --git ", "Index: ", "new file mode ", "deleted file mode ")):
        return True
    if line.startswith("--- "):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        return below.startswith(("+++ ", "@@"))
    return False


def _hunk_end(lines: Sequence[str], at: int) -> int:
    while at < len(lines):
        line = lines[at]
        if line.startswith("@@") or is_patch_edge(line) or is_header(lines, at):
            return at
        if line in ("-- ", "--") and _SIGNATURE.match("".join(lines[at + 1 : at + 2])):
            return at
        at += 1
    return at


def build_parsed_hunk(
    header: str, raw: Sequence[str], *, closed: bool, newline: bool
) -> ParsedHunk:
    """A hunk of a header line that may say anything behind its `@@`."""
    match = _NUMBERS.match(header)
    if not match:
        scope = _NOT_SCOPE.sub("", header)
        return ParsedHunk(tuple(raw), scope=scope.strip(), closed=closed, newline=newline)
    counts = tuple(int(match[group] or (match[group] is None)) for group in (2, 4))
    return ParsedHunk(
        raw=tuple(raw),
        start=int(match[1]),
        counts=(counts[0], counts[1]),
        scope=(match[5] or "").strip(),
        closed=closed,
        newline=newline,
    )


def _take_header_line(lines: Sequence[str], at: int, sections: list[_Section]) -> int:
    """Take up the header line `at`; how many lines it takes, 0 where it is none."""
    line, section = lines[at], sections[-1]
    if line.startswith("diff --git "):
        old, new = _split_git_names(line.removeprefix("diff --git "))
        sections.append(_Section(section.block, old, new))
        return 1
    if line.startswith(("--- ", "+++ ")):
        return _take_header_pair(lines, at, sections)
    for beginning, note in _NOTES.items():
        if line.startswith(beginning):
            if section.hunks:  # the header of another file, whose first line is missing
                section = _Section(section.block)
                sections.append(section)
            note(section, line.removeprefix(beginning).strip())
            return 1
    return 0


def _take_header_pair(lines: Sequence[str], at: int, sections: list[_Section]) -> int:
    """The lines `---` and `+++`; one of them is enough where a hunk follows."""
    below = "".join(lines[at + 1 : at + 2])
    both = lines[at].startswith("--- ") and below.startswith("+++ ")
    if not both and not below.startswith("@@"):
        return 0
    old = lines[at][4:]
    new = below[4:] if both else old
    section = sections[-1]
    others = section.new and new not in (NULL, section.new) and old not in (NULL, section.old)
    if section.has_header_pair or section.hunks or (others and section.action != "change"):
        section = _Section(section.block)
        sections.append(section)
    section.has_header_pair, section.old, section.new = True, old, new
    return 2 if both else 1


def _split_git_names(rest: str) -> tuple[str, str]:
    """Both names of `diff --git`, which nothing separates but their prefixes."""
    left, _, right = rest.partition(" b/")
    if right and " b/" not in right:
        return left, f"b/{right}"
    half = len(rest) // 2
    if rest[half : half + 1] == " ":
        return rest[:half], rest[half + 1 :]
    parts = rest.split()
    return (parts[0], parts[-1]) if parts else ("", "")


def _set_new_mode(section: _Section, mode: str) -> None:
    if mode and mode not in _PLAIN_MODES:
        raise PatchRefused("kind")
    section.mode = "100755" if mode.endswith("755") else ""


def _mark_created(section: _Section, mode: str) -> None:
    section.action = "create"
    _set_new_mode(section, mode)


def _mark_deleted(section: _Section, _: str) -> None:
    section.action = "delete"


def _mark_renamed_from(section: _Section, path: str) -> None:
    section.action, section.old = "rename", f"a/{path}"


def _mark_renamed_to(section: _Section, path: str) -> None:
    section.action, section.new = "rename", f"b/{path}"


def _refuse_binary(section: _Section, _: str) -> None:
    if section.old or section.new:  # else the words are prose
        raise PatchRefused("kind")


def _ignore_header(section: _Section, _: str) -> None:
    """Headers that say nothing about the content."""


_NOTES: dict[str, Callable[[_Section, str], None]] = {
    "new file mode": _mark_created,
    "deleted file mode": _mark_deleted,
    "new mode ": _set_new_mode,
    "rename from ": _mark_renamed_from,
    "rename to ": _mark_renamed_to,
    "copy from ": _refuse_binary,
    "GIT binary patch": _refuse_binary,
    "Binary files ": _refuse_binary,
    "old mode ": _ignore_header,
    "index ": _ignore_header,
    "similarity index ": _ignore_header,
    "Index: ": _ignore_header,
    "=======": _ignore_header,
}
