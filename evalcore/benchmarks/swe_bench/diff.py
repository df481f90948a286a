"""Reading a unified diff: its files, hunks and lines, in one pass over text of any origin.

The reader believes the line counts of a hunk's header, as git does, takes what stands between two
files for garbage and never fails: text that holds no diff has no files. It reads what a patch says.
Other tools may read a malformed patch in another way (GNU patch knows further formats), so whoever
must be sure of what a patch changed looks at the tree after it was applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from evalcore.records import Record

NULL = "/dev/null"
_START = ("diff --git ", "Index: ")
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
#: How many lines of the old and of the new file a hunk's line stands for, by its first character;
#: an empty line is a blank context line whose space was lost on the way.
_WEIGHT = {" ": (1, 1), "": (1, 1), "-": (1, 0), "+": (0, 1), "\\": (0, 0)}
#: Headers between `diff --git` and the hunks that say something about the file.
_FLAGS = {
    "new file mode ": "new",
    "deleted file mode ": "deleted",
    "rename from ": "renamed",
    "rename to ": "renamed",
    "copy from ": "copied",
    "copy to ": "copied",
    "GIT binary patch": "binary",
    "Binary files ": "binary",
}
_MODES = ("new file mode ", "new mode ")
_OLD_NAMES, _NEW_NAMES = ("rename from ", "copy from "), ("rename to ", "copy to ")


class Hunk(Record, frozen=True):
    """One `@@` block. Line numbers count from 1; each of `lines` keeps its first character.
    `complete` is False where the text holds fewer or more lines than the header says."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...] = ()
    complete: bool = True

    @property
    def added_lines(self) -> tuple[str, ...]:
        return tuple(line[1:] for line in self.lines if line.startswith("+"))


class FileDiff(Record, frozen=True):
    """What a patch says about one file. `old_path` is "" where the file is new, `new_path` where it
    is deleted; both are without `a/` and `b/`. `header_paths` holds every path of the headers,
    which may contradict each other. `mode` is the new file mode, as "100755", where one is
    given."""

    old_path: str = ""
    new_path: str = ""
    header_paths: tuple[str, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    flags: frozenset[str] = frozenset()
    mode: str = ""

    @property
    def path(self) -> str:
        """The path after the patch; of a deleted file the one before."""
        return self.new_path or self.old_path

    @property
    def is_new(self) -> bool:
        return "new" in self.flags or not self.old_path

    @property
    def is_deleted(self) -> bool:
        return "deleted" in self.flags or not self.new_path

    @property
    def is_renamed(self) -> bool:
        return "renamed" in self.flags


def parse_diff(patch: str) -> tuple[FileDiff, ...]:
    """The files of a patch in their order; a file that comes twice is there twice. Lines are those
    of git: ended by a newline, and by no other separator of Unicode."""
    lines = patch.removesuffix("\n").split("\n")
    bounds = pairwise([*_find_file_starts(lines), len(lines)])
    files = (_parse_file_diff(lines, first, end) for first, end in bounds)
    return tuple(file_diff for file_diff in files if file_diff is not None)


def _find_file_starts(lines: list[str]) -> Iterator[int]:
    """Numbers of the lines at which a file begins; lines inside of hunks are jumped over."""
    at, headed = 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith(_START):
            if not headed or line.startswith(_START[0]):
                yield at
            headed, at = True, at + 1
        elif _is_header_pair(lines, at):
            if not headed:
                yield at
            headed, at = False, at + 2
        elif _HUNK.match(line):
            headed, at = False, _parse_hunk(lines, at)[1]
        else:
            at += 1


def _is_header_pair(lines: list[str], at: int) -> bool:
    """Whether a `---` line and its `+++` line stand here."""
    return lines[at].startswith("--- ") and "".join(lines[at + 1 : at + 2]).startswith("+++ ")


def _parse_file_diff(lines: list[str], first: int, end: int) -> FileDiff | None:
    """One file; None where the headers name nothing that a patch could change."""
    heads, hunks, at = [], [], first
    while at < end:
        if _HUNK.match(lines[at]):
            hunk, at = _parse_hunk(lines, at)
            hunks.append(hunk)
        else:
            if not hunks:
                heads.append(lines[at].rstrip("\r"))
            at += 1
    header = _FileHeader(heads)
    if not header.paths or (heads[0].startswith(_START[1]) and not hunks):
        return None
    return FileDiff(
        old_path=header.old,
        new_path=header.new,
        header_paths=tuple(dict.fromkeys(header.paths)),
        hunks=tuple(hunks),
        flags=frozenset(header.flags),
        mode=header.mode,
    )


class _FileHeader:
    """The header lines of one file; `---` and `+++` take precedence over the line `diff --git`."""

    def __init__(self, lines: list[str]) -> None:
        self.old = self.new = self.mode = ""
        self.paths: list[str] = []
        self.flags: set[str] = set()
        paired = False
        for at, line in enumerate(lines):
            if _is_header_pair(lines, at) and not paired:
                paired = True
                self.old = _parse_header_path(line[4:], "a/")
                self.new = _parse_header_path(lines[at + 1][4:], "b/")
                self.paths += [self.old, self.new]
            else:
                self._parse_header_line(line)
        if not paired and "new" in self.flags:
            self.old = ""
        if not paired and "deleted" in self.flags:
            self.new = ""
        self.paths = list(filter(None, self.paths))

    def _parse_header_line(self, line: str) -> None:
        self.flags |= {flag for words, flag in _FLAGS.items() if line.startswith(words)}
        if line.startswith(_MODES):
            self.mode = line.rsplit(" ", 1)[1]
        elif line.startswith(_START[0]):
            old, new = _split_git_paths(line[len(_START[0]) :])
            self.old, self.new = _parse_header_path(old, "a/"), _parse_header_path(new, "b/")
            self.paths += [self.old, self.new]
        elif line.startswith(_START[1]):
            self.old = self.new = _parse_header_path(line[len(_START[1]) :], "a/")
            self.paths.append(self.old)
        elif line.startswith(_OLD_NAMES):
            self.old = _parse_header_path(line.split(" ", 2)[2], "")
            self.paths.append(self.old)
        elif line.startswith(_NEW_NAMES):
            self.new = _parse_header_path(line.split(" ", 2)[2], "")
            self.paths.append(self.new)


def _split_git_paths(text: str) -> tuple[str, str]:
    """Both paths of a `diff --git` line, which are not set apart where a name holds blanks. Two
    equal names are halves of the text; else the last ` b/` begins the second one."""
    if text.startswith('"'):
        close = _find_quote_end(text)
        return text[:close], text[close:].lstrip(" ")
    half = len(text) // 2
    names = [name.partition("/")[2] for name in (text[:half], text[half:])]
    if text[half : half + 1] == " " and names[0] == names[1]:
        return text[:half], text[half + 1 :]
    cut = next((text.rindex(mark) for mark in (' "b/', " b/") if mark in text), text.find(" "))
    return (text[:cut], text[cut + 1 :]) if cut >= 0 else (text, "")


def _find_quote_end(text: str) -> int:
    """Where a quoted name ends, behind its second quote."""
    at = 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _parse_header_path(text: str, prefix: str) -> str:
    """A header's path without timestamp, quotes and prefix; "" for the null file."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        text = _unquote_path(text[1 : _find_quote_end(text) - 1])
    else:
        text = text.partition("\t")[0].rstrip(" ")
    return "" if text == NULL else text.removeprefix(prefix)


def _unquote_path(text: str) -> str:
    """The name that git wrote in the quoting of C strings."""

    def unescape(match: re.Match[bytes]) -> bytes:
        letter = match.group(1)
        return bytes([int(letter, 8) & 255]) if len(letter) == 3 else _LETTERS.get(letter, letter)

    return _ESCAPE.sub(unescape, text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _parse_hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    """The hunk whose header stands at a line, and the number of the line behind it."""
    match = _HUNK.match(lines[at])
    numbers = match.groups() if match else ("0", "0", "0", "0")
    old_start, old_count, new_start, new_count = (int(number or "1") for number in numbers)
    old, new, end = old_count, new_count, at + 1
    while end < len(lines) and (old > 0 or new > 0 or lines[end].startswith("\\")):
        minus, plus = _WEIGHT.get(lines[end][:1], (old + 1, new + 1))
        if minus > old or plus > new:
            break
        below = "".join(lines[end + 2 : end + 3])
        if (old, new) != (1, 1) and _is_header_pair(lines, end) and below.startswith("@@ -"):
            break  # the counts are wrong: here begins the next file
        old, new, end = old - minus, new - plus, end + 1
    complete = old == 0 and new == 0 and not _has_extra_lines(lines, end)
    body = tuple(lines[at + 1 : end])
    return Hunk(old_start, old_count, new_start, new_count, body, complete), end


def _has_extra_lines(lines: list[str], at: int) -> bool:
    """Whether added or removed lines go on; a mail's signature `-- ` and a next file do not."""
    if at >= len(lines) or not lines[at].startswith(("+", "-")):
        return False
    return not _is_header_pair(lines, at) and lines[at].rstrip() != "--"
