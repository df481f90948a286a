"""Where a hunk belongs in a file: by its content first, by what its header says only to choose.

A block of old lines that occurs once has its place, whatever line its header names. Where it occurs
more often, the place is the line that the header names, else the only one in the part of the file
that the header quotes, else the only one behind the hunk before. Two places that are equally good
are refused, and so is a text whose best place is not the one that its header points at, if that
one would nearly do.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from evalcore.benchmarks.swe_bench.patches.draft import Hunk
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.readings import Line, Reading, readings
from evalcore.benchmarks.swe_bench.patches.source import FORMS, Form, Source, loose
from evalcore.records import Record

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


class Place(Record, frozen=True):
    """A hunk at its place: `at` is the first line of `reading` in the file, from 0. `wrong` are the
    numbers, within the old lines, of context lines that the file does not have; `form` is the
    number of the form in which it fits; `named`: it is where the header said."""

    reading: Reading
    at: int
    form: int
    named: bool
    wrong: tuple[int, ...] = ()


def place(hunk: Hunk, source: Source, after: int = 0) -> Place:
    """The place of a hunk; `after` is the line behind the hunk before it.

    Raises Refused: "nowhere" or "ambiguous".
    """
    tried = list(readings(hunk))
    for number, form in enumerate(FORMS):
        for reading in tried:
            found = source.places(reading.old, form) if reading.old else []
            found = [at for at in found if not hunk.at_end or _reaches_end(reading, at, source)]
            if found:
                at = _chosen(found, hunk, source, after)
                if number or len(found) == 1:
                    _ask_header(hunk, reading, at, source)
                return Place(reading, at, number, at == hunk.start - 1)
    for reading in tried:
        if nearly := _near_places(reading, source):
            starts = [at for at, _ in nearly]
            at = _chosen(starts, hunk, source, after)
            return Place(reading, at, len(FORMS), at == hunk.start - 1, dict(nearly)[at])
    raise Refused("nowhere")


def exact_places(reading: Reading, source: Source) -> list[int]:
    """Where a reading fits but for white space at the ends of its lines."""
    return (source.places(reading.old, FORMS[1]) if reading.old else [])[:2]


def _reaches_end(reading: Reading, at: int, source: Source) -> bool:
    return at + len(reading.old) == len(source.lines)


def _chosen(found: Sequence[int], hunk: Hunk, source: Source, after: int) -> int:
    """One of several places. Raises Refused where none is better than the others."""
    if len(found) == 1:
        return found[0]
    named = hunk.start - 1
    if named in found:
        return named
    inside = _scopes(hunk.scope, source)
    left = [at for at in found if any(at in scope for scope in inside)] or list(found)
    left = [at for at in left if at >= after] or left
    if len(left) > 1 and named >= 0:
        nearest, second = sorted(left, key=lambda at: abs(at - named))[:2]
        if abs(nearest - named) <= _NEAR and abs(second - named) >= _FAR:
            return nearest
    if len(left) > 1:
        raise Refused("ambiguous")
    return left[0]


def _scopes(scope: str, source: Source) -> list[range]:
    """The parts of a file below the lines that a header quotes, as far as they are indented."""
    if not scope:
        return []
    wanted = scope.rstrip(": ")
    texts = source.formed(FORMS[2])
    starts = [
        at
        for at, text in enumerate(texts)
        if text.rstrip(": ") == wanted or (len(wanted) >= _LONG_SCOPE and text.startswith(wanted))
    ]
    return [range(at, _scope_end(at, source)) for at in starts[:_MOST_SCOPES]]


def _scope_end(start: int, source: Source) -> int:
    depth = _depth(source.texts[start])
    for at in range(start + 1, len(source.texts)):
        text = source.texts[at]
        if text.strip() and _depth(text) <= depth and not text.lstrip().startswith(_CLOSERS):
            return at
    return len(source.texts)


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def _ask_header(hunk: Hunk, reading: Reading, at: int, source: Source) -> None:
    """Raises Refused where the hunk nearly fits at another line, the one that its header names."""
    named = hunk.start - 1
    if named >= 0 and named != at and _wrong_at(reading, named, source) is not None:
        raise Refused("ambiguous")


def _near_places(reading: Reading, source: Source) -> list[tuple[int, tuple[int, ...]]]:
    """Places at which all removed lines and nearly all context lines fit, with the wrong ones.

    If at most n lines are wrong, one of n + 1 parts of the block is right: those are searched.
    """
    old = reading.old
    allowed = min(_MOST_WRONG, len(old) // 3)
    if not allowed or len(old) > _LONGEST:
        return []
    starts: set[int] = set()
    bounds = [len(old) * part // (allowed + 1) for part in range(allowed + 2)]
    for first, last in pairwise(bounds):
        starts.update(at - first for at in source.places(old[first:last], loose))
    checked = ((at, _wrong_at(reading, at, source)) for at in sorted(starts))
    return [(at, wrong) for at, wrong in checked if wrong is not None]


def _wrong_at(
    reading: Reading, at: int, source: Source, form: Form = loose
) -> tuple[int, ...] | None:
    """The context lines that do not fit at a place; None where the hunk cannot be meant there."""
    old = [line for line in reading.lines if line.mark != "+"]
    if at < 0 or at + len(old) > len(source.lines):
        return None
    have = source.formed(form)[at : at + len(old)]
    wrong = [n for n, line in enumerate(old) if form(line.text) != have[n]]
    if len(wrong) > min(_MOST_WRONG, len(old) // 3):
        return None
    if any(old[n].mark == "-" for n in wrong):
        return None
    alike = all(_alike(old[n].text, have[n]) for n in wrong)
    return tuple(wrong) if _held(reading.lines, wrong, blanks=alike) else None


def _alike(written: str, have: str) -> bool:
    """Whether a line says the same in other words."""
    pair = written.strip()[:_COMPARED], have.strip()[:_COMPARED]
    return SequenceMatcher(None, *pair, autojunk=False).ratio() >= _ALIKE


def _held(lines: Sequence[Line], wrong: Sequence[int], *, blanks: bool) -> bool:
    """Whether each wrong line is fixed by right ones: on both sides, or towards the change.

    A blank line is right almost anywhere; it fixes others only if `blanks`.
    """
    marks: list[str] = []  # of all lines, "?" for an old one that fixes nothing
    position: list[int] = []  # of each old line among the marks
    for line in lines:
        if line.mark == "+":
            marks.append("+")
            continue
        position.append(len(marks))
        fixes = line.mark == "-" or blanks or bool(line.text.strip())
        marks.append(line.mark if fixes and len(position) - 1 not in wrong else "?")
    return all(_fixed(marks, position[n]) for n in wrong)


def _fixed(marks: Sequence[str], at: int) -> bool:
    before, behind = marks[:at], marks[at + 1 :]
    left = any(mark in " -" for mark in before)
    right = any(mark in " -" for mark in behind)
    if left and right:
        return True
    towards = list(behind) if not left else list(reversed(before))
    changed = next((n for n, mark in enumerate(towards) if mark in "+-"), len(towards))
    return " " in towards[:changed]
