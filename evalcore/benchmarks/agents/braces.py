"""The stretches of a text that stand in balanced braces or brackets, found in one pass."""

from __future__ import annotations

import re

_MARK = re.compile(r'[{}\[\]"]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CLOSED_BY = {"}": "{", "]": "["}
_CLOSES = {"{": "}", "[": "]"}
#: So far a closing brace looks for its partner; nothing deeper would be taken for a call.
_DEEPEST = 64


def stretches(text: str) -> tuple[list[str], str]:
    """The outermost balanced stretches in order, and the last unbalanced one, closed; or "".

    What stands in double quotes within braces is skipped. A brace that nothing closes hides
    nothing after it.
    """
    found: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    at, strings = 0, True
    while mark := _MARK.search(text, at):
        at, sign = mark.end(), mark[0]
        if sign == '"':
            string = _STRING.match(text, mark.start()) if opened and strings else None
            strings = strings and (string is not None or not opened)
            at = string.end() if string else at
        elif sign in _CLOSES:
            opened.append((sign, mark.start()))
        elif any(one == _CLOSED_BY[sign] for one, _ in opened[-_DEEPEST:]):
            while opened:
                one, start = opened.pop()
                if one == _CLOSED_BY[sign]:
                    _add(found, start, at)
                    break
    return [text[start:end] for start, end in found], _completed(text, opened)


def _add(found: list[tuple[int, int]], start: int, end: int) -> None:
    """Enter a stretch in place of those within it."""
    while found and found[-1][0] > start:
        found.pop()
    found.append((start, end))


def _completed(text: str, opened: list[tuple[str, int]]) -> str:
    """The text from the first brace that is still open, with what closes it: an answer cut short
    by a bracket or two."""
    left = [pair for pair in opened[:_DEEPEST] if pair[0] == "{"]
    if not left or len(opened) > _DEEPEST:
        return ""
    start = left[0][1]
    closing = "".join(_CLOSES[sign] for sign, place in reversed(opened) if place >= start)
    return text[start:].rstrip(" \t\r\n`") + closing
