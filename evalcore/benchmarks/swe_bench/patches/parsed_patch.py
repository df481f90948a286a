"""A patch as a model wrote it, before anybody looks into the repository: its files and hunks,
why one is refused, and reading a unified diff in any state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from msgspec.structs import replace

from evalcore.i18n import Note
from evalcore.records import Record

_OfReply = Literal["empty", "none", "cut", "short", "large"]
_OfFile = Literal["path", "file", "which_file", "unnamed", "exists", "kind"]
_OfHunk = Literal["nowhere", "ambiguous", "overlap", "indent"]
RefusalKind = Literal[_OfReply, _OfFile, _OfHunk, "elided", "python", "same"]

PROBLEMS = MappingProxyType[RefusalKind, str](
    {
        "empty": Note("patch_empty"),
        "none": Note("patch_none"),
        "cut": Note("patch_cut"),
        "short": Note("patch_short"),
        "large": Note("patch_large"),
        "path": Note("patch_path"),
        "file": Note("patch_file"),
        "which_file": Note("patch_which_file"),
        "unnamed": Note("patch_no_name"),
        "exists": Note("patch_exists"),
        "kind": Note("patch_kind"),
        "nowhere": Note("patch_nowhere"),
        "ambiguous": Note("patch_ambiguous"),
        "overlap": Note("patch_overlap"),
        "indent": Note("patch_indent"),
        "elided": Note("patch_elided"),
        "python": Note("patch_python"),
        "same": Note("patch_same"),
    }
)


class PatchRefused(Exception):
    """A text that is not repaired; `kind` is a key of PROBLEMS."""

    def __init__(self, kind: RefusalKind) -> None:
        self.kind: RefusalKind = kind
        super().__init__(PROBLEMS[kind])


#: Names of tags that a reply puts around a patch.
CONTAINERS = "patch|diff|answer|solution|response|output|result|final|code"
_TAG = re.compile(rf"</?(?:{CONTAINERS})>\s*", re.IGNORECASE)


def split_patch_lines(text: str) -> list[str]:
    """The lines without their ends; nothing but a line feed ends one, as in git."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def is_fence(line: str) -> bool:
    return line.startswith(("```", "~~~"))


def is_patch_edge(line: str) -> bool:
    return is_fence(line) or (line[:1] == "<" and _TAG.fullmatch(line) is not None)


Action = Literal["change", "create", "delete", "rename", "whole", "fenced"]
Format = Literal["unified", "v4a", "search_replace", "full_file"]
NULL = "/dev/null"


class ParsedHunk(Record, frozen=True):
    """`raw` are the lines up to the next header or fence, marks and prose behind them included.

    `start` is the old line that the header names, from 1, 0 where it names none; `counts` the
    numbers of old and new lines that it announces; `scope` the line that it quotes. `closed`: the
    text goes on behind the hunk, if only by a fence; `newline`: else it ends with one. `at_end`:
    the hunk says that it reaches the end of the file.
    """

    raw: tuple[str, ...]
    start: int = 0
    counts: tuple[int, int] | None = None
    scope: str = ""
    closed: bool = True
    newline: bool = True
    at_end: bool = False


class ParsedFile(Record, frozen=True):
    """One file as a patch names it; "" if it does not. `block` numbers the fenced section of the
    reply, from 0; `mode` is the mode of a new file, `content` its lines, or all lines of a file
    that the reply gives in full."""

    old: str = ""
    new: str = ""
    hunks: tuple[ParsedHunk, ...] = ()
    action: Action = "change"
    mode: str = ""
    content: tuple[str, ...] = ()
    block: int = 0


class ParsedPatch(Record, frozen=True):
    """`format` of the text and its files; `alone` where the text held nothing but the patch."""

    format: Format
    files: tuple[ParsedFile, ...]
    alone: bool = False


# A unified diff in any state: headers missing or wrong, prose and fences around it. A hunk takes
# all lines up to the next header, fence or tag; which of them belong to it is decided when they are
# compared with the file (`hunk_position`). Source of the form: the manual of GNU diff and that of
# git's extended headers.

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


def parse_unified(text: str) -> ParsedPatch:
    """The files of a diff. Raises PatchRefused where a part is of a kind that is not repaired."""
    lines = split_patch_lines(text)
    sections, alone = [_Section(0)], True
    at = hunks = 0
    while at < len(lines):
        section, line = sections[-1], lines[at]
        at += 1
        if is_patch_edge(line):
            sections.append(_Section(section.block + 1))
            alone = False
        elif line.startswith("@@"):
            end = _hunk_end(lines, at)
            closed = end < len(lines)
            section.hunks.append(
                build_parsed_hunk(line, lines[at:end], closed, text.endswith("\n"))
            )
            at, hunks = end, hunks + 1
            if hunks > MAX_HUNKS:
                raise PatchRefused("large")
        elif (taken := _take_header_line(lines, at - 1, sections)) or not line.strip():
            at += max(taken - 1, 0)
        else:
            alone = False
    for section in sections:
        if section.has_header_pair and not section.hunks:  # announced, and nothing follows
            raise PatchRefused("cut" if section is sections[-1] else "short")
    if sections[-1].is_dangling:
        raise PatchRefused("cut")
    contents = [section for section in sections if section.hunks or section.action != "change"]
    return ParsedPatch("unified", tuple(map(_Section.build_parsed_file, contents)), alone)


def is_header(lines: Sequence[str], at: int) -> bool:
    """Whether a file begins at a line: what looks so within a hunk may be a removed `-- `."""
    if lines[at].startswith("--- "):
        return "".join(lines[at + 1 : at + 2]).startswith(("+++ ", "@@"))
    return lines[at].startswith(("diff --git ", "Index: ", "new file mode ", "deleted file mode "))


def _hunk_end(lines: Sequence[str], at: int) -> int:
    for end in range(at, len(lines)):
        line = lines[end]
        if line.startswith("@@") or is_patch_edge(line) or is_header(lines, end):
            return end
        if line in ("-- ", "--") and _SIGNATURE.match("".join(lines[end + 1 : end + 2])):
            return end
    return len(lines)


def build_parsed_hunk(
    header: str, raw: Sequence[str], closed: bool = True, newline: bool = True
) -> ParsedHunk:
    """A hunk of a header line that may say anything behind its `@@`."""
    hunk = ParsedHunk(tuple(raw), closed=closed, newline=newline)
    match = _NUMBERS.match(header)
    if not match:
        return replace(hunk, scope=_NOT_SCOPE.sub("", header).strip())
    old, new = (int(match[group] or (match[group] is None)) for group in (2, 4))
    scope = (match[5] or "").strip()
    return replace(hunk, start=int(match[1]), counts=(old, new), scope=scope)


def _take_header_line(lines: Sequence[str], at: int, sections: list[_Section]) -> int:
    """Take up the header line `at`; how many lines it takes, 0 where it is none."""
    line, section = lines[at], sections[-1]
    if line.startswith("diff --git "):
        old, new = _split_git_names(line.removeprefix("diff --git "))
        sections.append(_Section(section.block, old, new))
        return 1
    if line.startswith(("--- ", "+++ ")):
        return _take_header_pair(lines, at, sections)
    beginning = next((word for word in _HEADERS if line.startswith(word)), "")
    if not beginning:
        return 0
    if section.hunks:  # the header of another file, whose first line is missing
        section = _Section(section.block)
        sections.append(section)
    _note_header(section, beginning, line.removeprefix(beginning).strip())
    return 1


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


#: The beginnings of git's extended headers; what `_note_header` does not name says nothing of the
#: content.
_HEADERS = (
    *("new file mode", "deleted file mode", "new mode ", "old mode ", "rename from ", "rename to "),
    *("copy from ", "GIT binary patch", "Binary files ", "index ", "similarity index ", "Index: "),
    "=======",
)


def _note_header(section: _Section, beginning: str, rest: str) -> None:
    """Take up an extended header. Raises PatchRefused for a kind of file that is not repaired."""
    match beginning.strip():
        case "new file mode" | "new mode":
            if beginning == "new file mode":
                section.action = "create"
            if rest and rest not in _PLAIN_MODES:
                raise PatchRefused("kind")
            section.mode = "100755" if rest.endswith("755") else ""
        case "deleted file mode":
            section.action = "delete"
        case "rename from":
            section.action, section.old = "rename", f"a/{rest}"
        case "rename to":
            section.action, section.new = "rename", f"b/{rest}"
        case "copy from" | "GIT binary patch" | "Binary files":
            if section.old or section.new:  # else the words are prose
                raise PatchRefused("kind")
