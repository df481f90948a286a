"""Which lines belong to a hunk: the readings of it, likeliest first.

A hunk was cut out up to the next header, so that prose may hang on to it, marks may be missing and
line numbers may stand in front. No reading drops a line that changes something, except for a list
in the prose behind a hunk that is complete by its own header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evalcore.benchmarks.swe_bench.patches.draft import Hunk
from evalcore.records import Record

_MARKS = " +-"
_BULLET = re.compile(r"[-+*] +\S")
_NUMBERED = re.compile(r"([ +-]?)[ \t]{0,5}(\d{1,6})(?:(?: ?\| ?|: ?|[ \t])(.*))?")
_FEWEST_NUMBERS = 2


class Line(Record, frozen=True):
    """One line of a hunk: `mark` is " ", "+" or "-". `sure` is False where no mark was written."""

    mark: str
    text: str
    sure: bool = True


class Reading(Record, frozen=True):
    """The lines of a hunk. `old_bare`, `new_bare`: the last line of that side has no line end;
    `whole`: nothing of the raw hunk was left out; `numbered`: but for line numbers."""

    lines: tuple[Line, ...]
    old_bare: bool = False
    new_bare: bool = False
    whole: bool = True
    numbered: bool = False

    @property
    def old(self) -> tuple[str, ...]:
        """What the file should hold before."""
        return tuple(line.text for line in self.lines if line.mark != "+")

    @property
    def counts(self) -> tuple[int, int]:
        """Lines of the old and of the new side."""
        added = sum(line.mark == "+" for line in self.lines)
        removed = sum(line.mark == "-" for line in self.lines)
        kept = len(self.lines) - added - removed
        return kept + removed, kept + added


def readings(hunk: Hunk) -> Iterator[Reading]:
    """All readings of a hunk that hold a change; an empty hunk has none."""
    lines, old_bare, new_bare = _marked(hunk.raw)
    seen = set()
    for length in _lengths(lines, hunk):
        kept = lines[:length]
        if length not in seen and any(line.mark != " " for line in kept):
            seen.add(length)
            yield Reading(tuple(kept), old_bare, new_bare, length == len(lines))
    unnumbered = _without_numbers(hunk)
    if unnumbered:
        yield unnumbered


def reversed_reading(reading: Reading) -> Reading:
    """The reading with its sides exchanged."""
    swapped = {"+": "-", "-": "+", " ": " "}
    lines = tuple(Line(swapped[line.mark], line.text, line.sure) for line in reading.lines)
    # In a run of changes the removed lines come first again.
    return Reading(_removed_first(lines), reading.new_bare, reading.old_bare, reading.whole)


def _removed_first(lines: Sequence[Line]) -> tuple[Line, ...]:
    ordered: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.mark == "+":
            added.append(line)
            continue
        if line.mark == " ":
            ordered += added
            added = []
        ordered.append(line)
    return (*ordered, *added)


def _marked(raw: Sequence[str]) -> tuple[list[Line], bool, bool]:
    lines: list[Line] = []
    bare = {"-": False, "+": False}
    for one in raw:
        if one.startswith("\\") and "newline" in one.lower():
            mark = lines[-1].mark if lines else " "
            for side in bare:
                bare[side] |= mark in (" ", side)
        elif one[:1] and one[0] in _MARKS:
            lines.append(Line(one[0], one[1:]))
        else:
            lines.append(Line(" ", one, sure=False))
    return lines, bare["-"], bare["+"]


def _lengths(lines: Sequence[Line], hunk: Hunk) -> Iterator[int]:
    """How many lines to take: those announced if only prose follows; all; all before the prose."""
    announced = _announced(lines, hunk.counts)
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


def _announced(lines: Sequence[Line], counts: tuple[int, int] | None) -> int | None:
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


def _is_prose(rest: Sequence[Line]) -> bool:
    """Whether lines that begin with a blank one hold no change but the bullets of a list."""
    if not rest or rest[0].sure or rest[0].text.strip():
        return False
    return all(line.mark == " " or _BULLET.match(line.mark + line.text) for line in rest)


def _without_numbers(hunk: Hunk) -> Reading | None:
    """The hunk without line numbers, where its old lines bear those of one stretch."""
    raw = list(hunk.raw)
    while raw and not raw[-1].strip():
        raw.pop()
    found = [_NUMBERED.fullmatch(line) for line in raw]
    bodies = [match[3] or "" if match else line for match, line in zip(found, raw, strict=True)]
    marked_behind = _marks_follow(raw, bodies)
    lines: list[Line] = []
    firsts: list[int] = []  # what each number says of the first line of the hunk
    added: list[bool] = []
    old = 0
    for line, match, body in zip(raw, found, bodies, strict=True):
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
        lines.append(Line(mark, body))
    consistent = len(set(firsts)) == 1 and len(set(added)) <= 1
    if len(firsts) < _FEWEST_NUMBERS or not consistent or not _changes(lines):
        return None
    return Reading(tuple(lines), numbered=True)


def _marks_follow(raw: Sequence[str], bodies: Sequence[str]) -> bool:
    """Whether the numbers stand in front of the marks ("15 +code")."""
    plain = all(line[:1].isdigit() for line in raw if line.strip())
    return plain and any(body[:1] in ("+", "-") for body in bodies)


def _changes(lines: Sequence[Line]) -> bool:
    return any(line.mark != " " for line in lines)
