"""Cutting long texts, with a note of how to read on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable

_SPAN = re.compile(r"\s*([0-9]{1,9})\s*(?:([-–:])\s*([0-9]{0,9})\s*)?")
#: Room kept for what is said beside the text.
_NOTE_CHARS = 200


def parse_number_span(text: str, count: int, argument: str, unit: str) -> range:
    """The numbers from 1 to `count` that "3", "1-3" or "5-" means; all of them for "".

    Raises Unreadable for any other text and where nothing has such a number.
    """
    if not text.strip():
        return range(1, count + 1)
    match = _SPAN.fullmatch(text)
    if match is None:
        raise Unreadable(f'the argument "{argument}" must look like 3 or 1-3, not "{text[:40]}"')
    first = int(match[1])
    last = int(match[3] or count) if match[2] else first
    if first < 1 or first > last or first > count:
        raise Unreadable(f"no {unit} {text.strip()[:40]} here; there are {count}")
    return range(first, min(last, count) + 1)


def cut_by_lines(head: str, lines: Sequence[str], request: ReadRequest) -> str:
    """The lines of `request.range` below a line of facts, as many as there is room for."""
    chosen = parse_number_span(request.range, len(lines), "range", "line") if lines else range(0)
    shown: list[str] = []
    room = max(request.limit - len(head) - _NOTE_CHARS, _NOTE_CHARS)
    for number in chosen:
        line = lines[number - 1]
        if len(line) + 1 > room:
            break
        shown.append(line)
        room -= len(line) + 1
    if len(shown) == len(chosen):
        note = f"[lines {_format_span(chosen)} of {len(lines)}]" if request.range else ""
        return _join_output(head, shown, note)
    following = chosen.start + len(shown)
    cut = ""
    if not shown:  # a single line is longer than all that may be shown
        line = lines[following - 1]
        shown.append(line[:room])
        cut = f"line {following} is cut after {room} of {len(line)} characters; "
        following += 1
    note = f"[{cut}lines {_format_span(range(chosen.start, following))} of {len(lines)} are shown"
    if following < chosen.stop:
        note += f'; read on with "range" {following}-{chosen.stop - 1}'
    return _join_output(head, shown, f"{note}]")


def cut_by_pages(
    head: str, render_page: Callable[[int], str], count: int, unit: str, request: ReadRequest
) -> str:
    """The pages (numbers from 1) of `request.pages`; only those are made for which there is room.

    With `request.range`, and where a single page is too long, the text is cut by its lines.
    """
    chosen = parse_number_span(request.pages, count, "pages", unit) if count else range(0)
    shown: list[str] = []
    room = max(request.limit - len(head) - _NOTE_CHARS, _NOTE_CHARS)
    note = ""
    for number in chosen:
        text = f"--- {unit} {number} ---\n{render_page(number)}"
        if len(text) > room and shown and not request.range:
            done = _format_span(range(chosen.start, number))
            rest = _format_span(range(number, chosen.stop))
            note = f'[{unit} {done} of {count} is shown; read on with "pages" {rest}]'
            break
        shown.append(text)
        room -= len(text) + 1
        if request.range and room < -50 * request.limit:
            raise Unreadable('the text is long: name "pages" beside "range"')
    body = "\n".join(shown)
    if request.range or len(shown) == 1:
        return cut_by_lines(head, body.split("\n"), request) + (f"\n{note}" if note else "")
    return _join_output(head, shown, note)


def _format_span(numbers: range) -> str:
    """1-3 for several, 1 for one."""
    first, last = numbers.start, numbers.stop - 1
    return str(first) if last <= first else f"{first}-{last}"


def _join_output(head: str, parts: Sequence[str], note: str) -> str:
    return "\n".join(part for part in (f"[{head}]", *parts, *((note,) if note else ())))
