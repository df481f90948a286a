"""Reading a unified diff in any state: headers missing or wrong, prose and fences around it.

A hunk takes all lines up to the next header, fence or tag; which of them belong to it is decided
when they are held against the file (`readings`). Source of the form: the manual of GNU diff and
that of git's extended headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalcore.benchmarks.swe_bench.patches.draft import NULL, Action, Draft, FileDraft, Hunk
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.text import is_edge, lines_of

#: More hunks than any person writes.
MOST_HUNKS = 1000
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
    named: bool = False  # by a pair of --- and +++
    hunks: list[Hunk] = field(default_factory=list)

    def done(self) -> FileDraft:
        action = self.action
        if self.old == NULL and action != "delete":
            action = "create"
        elif self.new == NULL:
            action = "delete"
        return FileDraft(self.old, self.new, tuple(self.hunks), action, self.mode, (), self.block)

    @property
    def dangles(self) -> bool:
        """Whether nothing follows the line `diff --git`, as where a text was cut off."""
        return bool(self.old) and not self.hunks and self.action in ("change", "create")

    @property
    def says_something(self) -> bool:
        return bool(self.hunks) or self.action != "change"


def read(text: str) -> Draft:
    """The files of a diff. Raises Refused where a part is of a kind that is not repaired."""
    lines = lines_of(text)
    ends_with_newline = text.endswith("\n")
    sections = [_Section(0)]
    at = 0
    alone = True
    hunks = 0
    while at < len(lines):
        section, line = sections[-1], lines[at]
        at += 1
        if is_edge(line):
            sections.append(_Section(section.block + 1))
            alone = False
        elif line.startswith("@@"):
            end = _hunk_end(lines, at)
            section.hunks.append(
                hunk_of(line, lines[at:end], closed=end < len(lines), newline=ends_with_newline)
            )
            at = end
            hunks += 1
            if hunks > MOST_HUNKS:
                raise Refused("large")
        elif (taken := _header(lines, at - 1, sections)) or not line.strip():
            at += max(taken - 1, 0)
        else:
            alone = False
    for one in sections:
        if one.named and not one.hunks:  # a file is announced and nothing follows
            raise Refused("cut" if one is sections[-1] else "short")
    if sections[-1].dangles:
        raise Refused("cut")
    files = tuple(one.done() for one in sections if one.says_something)
    return Draft("unified", files, alone)


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
        if line.startswith("@@") or is_edge(line) or is_header(lines, at):
            return at
        if line in ("-- ", "--") and _SIGNATURE.match("".join(lines[at + 1 : at + 2])):
            return at
        at += 1
    return at


def hunk_of(header: str, raw: Sequence[str], *, closed: bool, newline: bool) -> Hunk:
    """A hunk of a header line that may say anything behind its `@@`."""
    found = _NUMBERS.match(header)
    if not found:
        scope = _NOT_SCOPE.sub("", header)
        return Hunk(tuple(raw), scope=scope.strip(), closed=closed, newline=newline)
    counts = tuple(int(found[group] or (found[group] is None)) for group in (2, 4))
    return Hunk(
        raw=tuple(raw),
        start=int(found[1]),
        counts=(counts[0], counts[1]),
        scope=(found[5] or "").strip(),
        closed=closed,
        newline=newline,
    )


def _header(lines: Sequence[str], at: int, sections: list[_Section]) -> int:
    """Take up the header line `at`; how many lines it takes, 0 where it is none."""
    line, section = lines[at], sections[-1]
    if line.startswith("diff --git "):
        old, new = _names(line.removeprefix("diff --git "))
        sections.append(_Section(section.block, old, new))
        return 1
    if line.startswith(("--- ", "+++ ")):
        return _pair(lines, at, sections)
    for beginning, note in _NOTES.items():
        if line.startswith(beginning):
            if section.hunks:  # the header of another file, whose first line is missing
                section = _Section(section.block)
                sections.append(section)
            note(section, line.removeprefix(beginning).strip())
            return 1
    return 0


def _pair(lines: Sequence[str], at: int, sections: list[_Section]) -> int:
    """The lines `---` and `+++`; one of them is enough where a hunk follows."""
    below = "".join(lines[at + 1 : at + 2])
    both = lines[at].startswith("--- ") and below.startswith("+++ ")
    if not both and not below.startswith("@@"):
        return 0
    old = lines[at][4:]
    new = below[4:] if both else old
    section = sections[-1]
    others = section.new and new not in (NULL, section.new) and old not in (NULL, section.old)
    if section.named or section.hunks or (others and section.action != "change"):
        section = _Section(section.block)
        sections.append(section)
    section.named, section.old, section.new = True, old, new
    return 2 if both else 1


def _names(rest: str) -> tuple[str, str]:
    """Both names of `diff --git`, which nothing separates but their prefixes."""
    left, _, right = rest.partition(" b/")
    if right and " b/" not in right:
        return left, f"b/{right}"
    half = len(rest) // 2
    if rest[half : half + 1] == " ":
        return rest[:half], rest[half + 1 :]
    parts = rest.split()
    return (parts[0], parts[-1]) if parts else ("", "")


def _new_mode(section: _Section, mode: str) -> None:
    if mode and mode not in _PLAIN_MODES:
        raise Refused("kind")
    section.mode = "100755" if mode.endswith("755") else ""


def _created(section: _Section, mode: str) -> None:
    section.action = "create"
    _new_mode(section, mode)


def _deleted(section: _Section, _: str) -> None:
    section.action = "delete"


def _renamed_from(section: _Section, path: str) -> None:
    section.action, section.old = "rename", f"a/{path}"


def _renamed_to(section: _Section, path: str) -> None:
    section.action, section.new = "rename", f"b/{path}"


def _not_text(section: _Section, _: str) -> None:
    if section.old or section.new:  # else the words are prose
        raise Refused("kind")


def _ignored(section: _Section, _: str) -> None:
    """Headers that say nothing about the content."""


_NOTES: dict[str, Callable[[_Section, str], None]] = {
    "new file mode": _created,
    "deleted file mode": _deleted,
    "new mode ": _new_mode,
    "rename from ": _renamed_from,
    "rename to ": _renamed_to,
    "copy from ": _not_text,
    "GIT binary patch": _not_text,
    "Binary files ": _not_text,
    "old mode ": _ignored,
    "index ": _ignored,
    "similarity index ": _ignored,
    "Index: ": _ignored,
    "=======": _ignored,
}
