"""Hunks: which lines belong to one, and where it applies in a file. The content decides; the header
only chooses between equal matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedHunk, PatchRefused
from evalcore.benchmarks.swe_bench.patches.source import (
    LINE_FORMS,
    SourceFile,
    normalize_loosely,
)
from evalcore.records import Record

# The readings of a hunk, likeliest first. A hunk was cut out up to the next header, so that prose
# may hang on to it, marks may be missing and line numbers may stand in front. No reading drops a
# line that changes something, except for a list in the prose behind a hunk that is complete by its
# own header.

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
        return tuple(line.text for line in self.lines if line.mark != "+")

    @property
    def counts(self) -> tuple[int, int]:
        old, new = (sum(line.mark != mark for line in self.lines) for mark in "+-")
        return old, new


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
    """The reading with its sides exchanged; in a run of changes removed lines come first again."""
    swapped = {"+": "-", "-": "+", " ": " "}
    ordered: list[HunkLine] = []
    added: list[HunkLine] = []
    for line in reading.lines:
        reverse = HunkLine(swapped[line.mark], line.text, line.sure)
        if reverse.mark == "+":
            added.append(reverse)
            continue
        if reverse.mark == " ":
            ordered += added
            added = []
        ordered.append(reverse)
    lines = (*ordered, *added)
    return HunkReading(lines, reading.new_bare, reading.old_bare, reading.whole)


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
    # Whether the numbers stand in front of the marks ("15 +code").
    marked_behind = all(line[:1].isdigit() for line in raw if line.strip()) and any(
        body[:1] in ("+", "-") for body in bodies
    )
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
    has_changes = any(line.mark != " " for line in lines)
    if len(firsts) < _FEWEST_NUMBERS or not consistent or not has_changes:
        return None
    return HunkReading(tuple(lines), numbered=True)


# A block of old lines that occurs once has its position, whatever line its header names. Where it
# occurs more often, the position is the line that the header names, else the only one in the part
# of the file that the header quotes, else the only one behind the hunk before. Two positions that
# are equally good are refused, and so is a text whose best one is not the one that its header
# points at, if that one would nearly do.

#: A header may be this many lines off if the next place is ten times as far.
_NEAR = 3
_FAR = 30
_MOST_WRONG = 2
_LONGEST = 500  # lines of a hunk that may be wrong in some
_ALIKE = 0.6  # share of characters in common
_COMPARED = 200  # characters
_LONG_SCOPE = 40  # git cuts the line that it quotes
_MOST_SCOPES = 30
_CLOSERS = (")", "]", "}")


class HunkPosition(Record, frozen=True):
    """A hunk at its place: `at` is the first line of `reading` in the file, from 0. `wrong` are the
    numbers, within the old lines, of context lines that the file does not have; `form_index` is the
    number of the form in which it fits; `matches_header`: it is where the header said."""

    reading: HunkReading
    at: int
    form_index: int
    matches_header: bool
    wrong: tuple[int, ...] = ()


def find_hunk_position(hunk: ParsedHunk, source: SourceFile, after: int = 0) -> HunkPosition:
    """The place of a hunk; `after` is the line behind the hunk before it. Raises PatchRefused:
    "nowhere" or "ambiguous"."""
    tried = list(iter_hunk_readings(hunk))
    for number, form in enumerate(LINE_FORMS):
        for reading in tried:
            old = reading.old_lines
            positions = source.find_block_positions(old, form) if old else []
            if hunk.at_end:
                positions = [at for at in positions if at + len(old) == len(source.lines)]
            if positions:
                at = _choose_position(positions, hunk, source, after)
                if number or len(positions) == 1:
                    _check_header_line(hunk, reading, at, source)
                return HunkPosition(reading, at, number, at == hunk.start - 1)
    for reading in tried:
        if nearly := dict(_find_near_positions(reading, source)):
            at = _choose_position(list(nearly), hunk, source, after)
            return HunkPosition(reading, at, len(LINE_FORMS), at == hunk.start - 1, nearly[at])
    raise PatchRefused("nowhere")


def find_exact_positions(reading: HunkReading, source: SourceFile) -> list[int]:
    """The first two positions where a reading fits but for white space at the ends of its lines."""
    old = reading.old_lines
    return source.find_block_positions(old, LINE_FORMS[1])[:2] if old else []


def _choose_position(
    positions: Sequence[int], hunk: ParsedHunk, source: SourceFile, after: int
) -> int:
    """One of several places. Raises PatchRefused where none is better than the others."""
    if len(positions) == 1:
        return positions[0]
    named = hunk.start - 1
    if named in positions:
        return named
    inside = _find_scopes(hunk.scope, source)
    left = [at for at in positions if any(at in scope for scope in inside)] or list(positions)
    left = [at for at in left if at >= after] or left
    if len(left) > 1 and named >= 0:
        nearest, second = sorted(left, key=lambda at: abs(at - named))[:2]
        if abs(nearest - named) <= _NEAR and abs(second - named) >= _FAR:
            return nearest
    if len(left) > 1:
        raise PatchRefused("ambiguous")
    return left[0]


def _find_scopes(scope: str, source: SourceFile) -> list[range]:
    """The parts of a file below the lines that a header quotes, as far as they are indented."""
    if not scope:
        return []
    scope_text = scope.rstrip(": ")
    texts = source.list_formed_lines(LINE_FORMS[2])
    starts = [
        at
        for at, text in enumerate(texts)
        if text.rstrip(": ") == scope_text
        or (len(scope_text) >= _LONG_SCOPE and text.startswith(scope_text))
    ]
    return [range(at, _find_scope_end(at, source)) for at in starts[:_MOST_SCOPES]]


def _find_scope_end(start: int, source: SourceFile) -> int:
    depth = _indent_depth(source.texts[start])
    for at in range(start + 1, len(source.texts)):
        text = source.texts[at]
        if text.strip() and _indent_depth(text) <= depth and not text.lstrip().startswith(_CLOSERS):
            return at
    return len(source.texts)


def _indent_depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def _check_header_line(hunk: ParsedHunk, reading: HunkReading, at: int, source: SourceFile) -> None:
    """Raise PatchRefused if the hunk nearly fits at another line: the one that its header names."""
    named = hunk.start - 1
    if named >= 0 and named != at and _find_wrong_lines(reading, named, source) is not None:
        raise PatchRefused("ambiguous")


def _find_near_positions(
    reading: HunkReading, source: SourceFile
) -> list[tuple[int, tuple[int, ...]]]:
    """Places at which all removed lines and nearly all context lines fit, with the wrong ones. If
    at most n lines are wrong, one of n + 1 parts of the block is right: those are searched."""
    old = reading.old_lines
    allowed = min(_MOST_WRONG, len(old) // 3)
    if not allowed or len(old) > _LONGEST:
        return []
    starts: set[int] = set()
    bounds = [len(old) * part // (allowed + 1) for part in range(allowed + 2)]
    for first, last in pairwise(bounds):
        starts.update(
            at - first for at in source.find_block_positions(old[first:last], normalize_loosely)
        )
    checked = ((at, _find_wrong_lines(reading, at, source)) for at in sorted(starts))
    return [(at, wrong) for at, wrong in checked if wrong is not None]


def _find_wrong_lines(reading: HunkReading, at: int, source: SourceFile) -> tuple[int, ...] | None:
    """The context lines that do not fit at a place; None where the hunk cannot be meant there."""
    old = [line for line in reading.lines if line.mark != "+"]
    if at < 0 or at + len(old) > len(source.lines):
        return None
    have = source.list_formed_lines(normalize_loosely)[at : at + len(old)]
    wrong = [n for n, line in enumerate(old) if normalize_loosely(line.text) != have[n]]
    too_many = len(wrong) > min(_MOST_WRONG, len(old) // 3)
    if too_many or any(old[n].mark == "-" for n in wrong):
        return None
    alike = all(_is_similar_line(old[n].text, have[n]) for n in wrong)
    return tuple(wrong) if _is_anchored(reading.lines, wrong, blanks=alike) else None


def _is_similar_line(written: str, have: str) -> bool:
    pair = written.strip()[:_COMPARED], have.strip()[:_COMPARED]
    return SequenceMatcher(None, *pair, autojunk=False).ratio() >= _ALIKE


def _is_anchored(lines: Sequence[HunkLine], wrong: Sequence[int], *, blanks: bool) -> bool:
    """Whether each wrong line is fixed by right ones: on both sides, or towards the change. A blank
    line is right almost anywhere; it fixes others only if `blanks`."""
    marks: list[str] = []  # of all lines, "?" for an old one that fixes nothing
    position: list[int] = []  # of each old line among the marks
    for line in lines:
        if line.mark == "+":
            marks.append("+")
            continue
        position.append(len(marks))
        fixes = line.mark == "-" or blanks or bool(line.text.strip())
        marks.append(line.mark if fixes and len(position) - 1 not in wrong else "?")
    return all(_is_anchored_at(marks, position[n]) for n in wrong)


def _is_anchored_at(marks: Sequence[str], at: int) -> bool:
    before, behind = marks[:at], marks[at + 1 :]
    left = any(mark in " -" for mark in before)
    right = any(mark in " -" for mark in behind)
    if left and right:
        return True
    towards = list(behind) if not left else list(reversed(before))
    changed = next((n for n, mark in enumerate(towards) if mark in "+-"), len(towards))
    return " " in towards[:changed]
