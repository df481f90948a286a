"""Which lines belong to a hunk: the readings of it, likeliest first.

A hunk was cut out up to the next header, so that prose may hang on to it, marks may be missing and
line numbers may stand in front. No reading drops a line that changes something, except for a list
in the prose behind a hunk that is complete by its own header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedHunk
from evalcore.records import Record

_MARKS = " +-"
_BULLET = re.compile(r"[-+*] +\S")
_NUMBERED = re.compile(r"([ +-]?)[ \t]{0,5}(\d{1,6})(?:(?: ?\| ?|: ?|[ \t])(.*))?")
_FEWEST_NUMBERS = 2


class HunkLine(Record, frozen=True):
    """One line of a hunk: `mark` is " ", "+" or "-". `sure` is False where no mark was written."""

    mark: str
    text: str
    sure: bool = True


class HunkReading(Record, frozen=True):
    """The lines of a hunk. `old_bare`, `new_bare`: the last line of that side has no line end;
    `whole`: nothing of the raw hunk was left out; `numbered`: but for line numbers."""

    lines: tuple[HunkLine, ...]
    old_bare: bool = False
    new_bare: bool = False
    whole: bool = True
    numbered: bool = False

    @property
    def old_lines(self) -> tuple[str, ...]:
        """What the file should hold before."""
        return tuple(line.text for line in self.lines if line.mark != "+")

    @property
    def counts(self) -> tuple[int, int]:
        """Lines of the old and of the new side."""
        added = sum(line.mark == "+" for line in self.lines)
        removed = sum(line.mark == "-" for line in self.lines)
        context = len(self.lines) - added - removed
        return context + removed, context + added


def iter_hunk_readings(hunk: ParsedHunk) -> Iterator[HunkReading]:
    """All readings of a hunk that hold a change; an empty hunk has none."""
    lines, old_bare, new_bare = _parse_marks(hunk.raw)
    seen = set()
    for length in _iter_hunk_lengths(lines, hunk):
        selected = lines[:length]
        if length not in seen and any(line.mark != " " for line in selected):
            seen.add(length)
            yield HunkReading(tuple(selected), old_bare, new_bare, length == len(lines))
    unnumbered = _strip_hunk_numbers(hunk)
    if unnumbered:
        yield unnumbered


def reverse_reading(reading: HunkReading) -> HunkReading:
    """The reading with its sides exchanged."""
    swapped = {"+": "-", "-": "+", " ": " "}
    lines = tuple(HunkLine(swapped[line.mark], line.text, line.sure) for line in reading.lines)
    # In a run of changes the removed lines come first again.
    return HunkReading(
        _order_removed_first(lines), reading.new_bare, reading.old_bare, reading.whole
    )


def _order_removed_first(lines: Sequence[HunkLine]) -> tuple[HunkLine, ...]:
    ordered: list[HunkLine] = []
    added: list[HunkLine] = []
    for line in lines:
        if line.mark == "+":
            added.append(line)
            continue
        if line.mark == " ":
            ordered += added
            added = []
        ordered.append(line)
    return (*ordered, *added)


def _parse_marks(raw: Sequence[str]) -> tuple[list[HunkLine], bool, bool]:
    lines: list[HunkLine] = []
    bare = {"-": False, "+": False}
    for raw_line in raw:
        if raw_line.startswith("\\") and "newline" in raw_line.lower():
            mark = lines[-1].mark if lines else " "
            for side in bare:
                bare[side] |= mark in (" ", side)
        elif raw_line[:1] and raw_line[0] in _MARKS:
            lines.append(HunkLine(raw_line[0], raw_line[1:]))
        else:
            lines.append(HunkLine(" ", raw_line, sure=False))
    return lines, bare["-"], bare["+"]


def _iter_hunk_lengths(lines: Sequence[HunkLine], hunk: ParsedHunk) -> Iterator[int]:
    """How many lines to take: those announced if only prose follows; all; all before the prose."""
    announced = _find_announced_end(lines, hunk.counts)
    last_change = max((at for at, line in enumerate(lines) if line.mark != " "), default=-1)
    if announced is not None and _is_prose(lines[announced:]):
        yield announced
    yield len(lines)
    unmarked = (at for at, line in enumerate(lines) if not line.sure and line.text.strip())
    first = next((at for at in unmarked if at > last_change), len(lines))
    yield first
    while first and not lines[first - 1].text.strip() and not lines[first - 1].sure:
        first -= 1
    if first > last_change:
        yield first


def _find_announced_end(lines: Sequence[HunkLine], counts: tuple[int, int] | None) -> int | None:
    """The number of lines after which both counts are exactly reached."""
    if counts is None:
        return None
    old = new = 0
    for at, line in enumerate(lines):
        if (old, new) == counts:
            return at
        old += line.mark != "+"
        new += line.mark != "-"
    return None


def _is_prose(rest: Sequence[HunkLine]) -> bool:
    """Whether lines that begin with a blank one hold no change but the bullets of a list."""
    if not rest or rest[0].sure or rest[0].text.strip():
        return False
    return all(line.mark == " " or _BULLET.match(line.mark + line.text) for line in rest)


def _strip_hunk_numbers(hunk: ParsedHunk) -> HunkReading | None:
    """The hunk without line numbers, where its old lines bear those of one stretch."""
    raw = list(hunk.raw)
    while raw and not raw[-1].strip():
        raw.pop()
    matches = [_NUMBERED.fullmatch(line) for line in raw]
    bodies = [match[3] or "" if match else line for match, line in zip(matches, raw, strict=True)]
    marked_behind = _marks_follow(raw, bodies)
    lines: list[HunkLine] = []
    firsts: list[int] = []  # what each number says of the first line of the hunk
    added: list[bool] = []
    old = 0
    for line, match, body in zip(raw, matches, bodies, strict=True):
        mark = match[1] or " " if match else line[:1] or " "
        if match and marked_behind:
            mark, body = body[:1] or " ", body[1:]
        elif not match:
            body = line[1:]
        if mark not in _MARKS or (mark == " " and not match and line.strip()):
            return None
        if mark == "+" and body.strip():
            added.append(match is not None)
        elif mark != "+" and match:
            firsts.append(int(match[2]) - old)
        old += mark != "+"
        lines.append(HunkLine(mark, body))
    consistent = len(set(firsts)) == 1 and len(set(added)) <= 1
    if len(firsts) < _FEWEST_NUMBERS or not consistent or not _has_changes(lines):
        return None
    return HunkReading(tuple(lines), numbered=True)


def _marks_follow(raw: Sequence[str], bodies: Sequence[str]) -> bool:
    """Whether the numbers stand in front of the marks ("15 +code")."""
    plain = all(line[:1].isdigit() for line in raw if line.strip())
    return plain and any(body[:1] in ("+", "-") for body in bodies)


def _has_changes(lines: Sequence[HunkLine]) -> bool:
    return any(line.mark != " " for line in lines)
