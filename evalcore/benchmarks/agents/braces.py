"""The stretches of a text that stand in balanced braces or brackets, found in one pass."""

from __future__ import annotations

import re

_MARK = re.compile(r'[{}\[\]"]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CLOSED_BY = {"}": "{", "]": "["}
_CLOSES = {"{": "}", "[": "]"}
#: So far a closing brace looks for its partner; nothing deeper would be taken for a call.
_MAX_DEPTH = 64


def find_balanced_spans(text: str) -> tuple[list[str], str]:
    """The outermost balanced stretches in order, and the last unbalanced one, closed; or "".

    What stands in double quotes within braces is skipped. A brace that nothing closes hides
    nothing after it.
    """
    spans: list[tuple[int, int]] = []
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
        elif any(opener == _CLOSED_BY[sign] for opener, _ in opened[-_MAX_DEPTH:]):
            while opened:
                opener, start = opened.pop()
                if opener == _CLOSED_BY[sign]:
                    _add_outer_span(spans, start, at)
                    break
    return [text[start:end] for start, end in spans], _close_open_span(text, opened)


def _add_outer_span(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Enter a stretch in place of those within it."""
    while spans and spans[-1][0] > start:
        spans.pop()
    spans.append((start, end))


def _close_open_span(text: str, opened: list[tuple[str, int]]) -> str:
    """The text from the first brace that is still open, with what closes it: an answer cut short
    by a bracket or two."""
    open_braces = [pair for pair in opened[:_MAX_DEPTH] if pair[0] == "{"]
    if not open_braces or len(opened) > _MAX_DEPTH:
        return ""
    start = open_braces[0][1]
    closing = "".join(_CLOSES[sign] for sign, offset in reversed(opened) if offset >= start)
    return text[start:].rstrip(" \t\r\n`") + closing
