"""Texts that a regular expression matches, read without running it: for conditions such as
`name ~ '^AB[0-9]{4}$'`, which hardly any text meets that was made for something else.

Each sample takes other branches, repetitions and characters. Only what the engines' syntaxes share
is understood; anything else stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MAX_PATTERN, _MAX_SAMPLE = 200, 120  # characters
_MAX_REPEATED = 60
_SAMPLES, _MAX_SAMPLES = 3, 6
_CLASSES = {"d": "705", "w": "ka7", "s": " ", "D": "kB", "W": "-", "S": "k7", "m": "", "M": ""}
_ANCHORS = frozenset("bBAZzyY<>")
_POSIX = {
    **{"alpha": "kB", "digit": "705", "alnum": "k7B", "space": " ", "lower": "ka", "upper": "KA"},
    **{"punct": "-!", "xdigit": "a7", "word": "ka7", "blank": " "},
}
_ANY = "kB7"
_QUANTIFIER = re.compile(r"([*+?]|\{(\d+)(,(\d*))?\})[?+]?")
_MEMBER = re.compile(
    r"\[:(?P<posix>\w+):\]|\\(?P<class>[dwsDWS])|(?P<low>\\?.)-(?P<high>\\?[^\]])|\\?(?P<one>.)",
    re.S,
)


def sample_matches(pattern: str) -> Sequence[str]:
    """A few texts that the pattern matches, and the last with its end repeated, so that a missing
    anchor or an open count shows; none for a pattern that is too long or cannot be read."""
    if not 0 < len(pattern) <= _MAX_PATTERN:
        return ()
    samples: dict[str, None] = {}
    for number in range(min(_MAX_SAMPLES, max(_SAMPLES, pattern.count("|") + 1))):
        try:
            text, end = _sample_branches(pattern, 0, number)
        except (IndexError, RecursionError, ValueError):
            return ()
        if end == len(pattern):
            samples[_mend_date(text[:_MAX_SAMPLE])] = None
    filled = [text for text in samples if text]
    return (*filled, *(text + text[-1] for text in filled[-1:]))


_DAY_FIRST = re.compile(r"(?P<day>\d\d)(?P<dot>[./-])(?P<month>\d\d)(?P=dot)(?P<year>\d{4})")
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})(?P<dot>[./-]?)(?P<month>\d\d)(?P=dot)(?P<day>\d\d)")


def _mend_date(text: str) -> str:
    """A text of the form of a date as one that there is: what fits a pattern such as
    `[0-3][0-9].[0-1][0-9].[0-9]{4}` is mostly converted, and the statement fails where it cannot.
    """
    match = _DAY_FIRST.fullmatch(text) or _YEAR_FIRST.fullmatch(text)
    if match is None:
        return text
    day, month = (int(match["day"]) - 1) % 28 + 1, (int(match["month"]) - 1) % 12 + 1
    year = match["year"] if int(match["year"]) else "2000"
    parts = [f"{day:02}", f"{month:02}", year]
    return match["dot"].join(parts if match.re is _DAY_FIRST else parts[::-1])


def _sample_branches(pattern: str, start: int, number: int) -> tuple[str, int]:
    """The text of one of the branches that begin at `start`, and where the last of them ends."""
    branches: list[str] = []
    text, position = "", start
    while position < len(pattern) and pattern[position] != ")":
        if pattern[position] == "|":
            branches.append(text)
            text, position = "", position + 1
            continue
        unit, position = _sample_unit(pattern, position, number)
        quantifier = _QUANTIFIER.match(pattern, position)
        if quantifier is not None:
            position = quantifier.end()
            unit *= _count_repetitions(quantifier, number)
        text += unit
    branches.append(text)
    return branches[number % len(branches)], position


def _count_repetitions(quantifier: re.Match[str], number: int) -> int:
    if quantifier[2] is None:
        low, high = (1 if quantifier[1][0] == "+" else 0), (1 if quantifier[1] == "?" else 9)
    else:
        low = int(quantifier[2])
        high = low if quantifier[3] is None else int(quantifier[4] or low + 9)
    return min(low + number, high, _MAX_REPEATED)


def _sample_unit(pattern: str, position: int, number: int) -> tuple[str, int]:
    """What one character, class or group stands for, and where it ends."""
    mark = pattern[position]
    if mark == "(":
        opening = re.compile(r"\((?:\?(?:[:>]|P?<\w+>|[a-z]+:)|\?(?P<looks><?[=!]))?").match(
            pattern, position
        )
        if opening is None:
            raise ValueError(pattern)
        text, end = _sample_branches(pattern, opening.end(), number)
        return "" if opening["looks"] else text, end + 1
    if mark == "[":
        return _sample_class(pattern, position, number)
    if mark == "\\":
        letter = pattern[position + 1]
        choices = _CLASSES.get(letter, "" if letter in _ANCHORS else letter)
        return (choices[number % len(choices)] if choices else ""), position + 2
    if mark in "^$":
        return "", position + 1
    return (_ANY[number % len(_ANY)] if mark == "." else mark), position + 1


def _sample_class(pattern: str, position: int, number: int) -> tuple[str, int]:
    negated = pattern[position + 1] == "^"
    inside = position + 1 + negated
    members: list[str] = []
    while pattern[inside] != "]" or not members:
        match = _MEMBER.match(pattern, inside)
        if match is None:
            raise ValueError(pattern)
        members += _list_members(match)
        inside = match.end()
    if negated:
        members = [letter for letter in "kB7-_ " if letter not in members] or ["~"]
    return members[number % len(members)], inside + 1


def _list_members(match: re.Match[str]) -> Iterator[str]:
    if match["posix"] or match["class"]:
        yield from _POSIX.get(match["posix"] or "", "") or _CLASSES.get(match["class"] or "", "k")
    elif match["low"]:
        low, high = ord(match["low"][-1]), ord(match["high"][-1])
        yield from dict.fromkeys(map(chr, (low, high, (low + high) // 2)))
    else:
        yield match["one"]
