"""Logs of Mocha in its forms: highlight.js, ESLint (failures only), Prism (JSON), and p5.js
among dumps of objects and pages.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    FAILED,
    PASSED,
    NameJoiner,
    StatusMap,
    UnreadableLog,
    find_line_end,
)

# Takes elements such as `<div>...</div>` out of a log. The rule (swebench 5.0.2, within
# `parse_log_p5js`) is a loop: as long as there is an opening tag with a closing tag of its name
# behind it, take the first such opening tag and all up to the nearest closing tag out, and put as
# many opening tags in its place as there were further ones of that name in between. What then meets
# can be a tag as well. Here the log is read once, to the same result.

_TAG = re.compile(r"<(/?)(\w+)>")
_CLOSING = re.compile(r"</\w+>")
_PIECE = re.compile(rf"{_TAG.pattern}|<?[^<>]+|[<>]")
#: A piece that a tag can hold, without its end.
_OF_A_TAG = re.compile(r"<?[\w/]*")


def strip_elements(log: str) -> str:
    """Strip the elements of a log. Tags with attributes count as text."""
    if not _CLOSING.search(log):
        return log
    tags = _TagIndex(log)
    output = _OutputPieces()
    at = 0
    while piece := _PIECE.match(log, at):
        at = piece.end()
        tag = output.add_piece(piece[0], piece)
        if tag and tag[1]:
            output.close_tag(tag[2])
        elif tag:
            opened, at = tags.find_element_end(tag[2], at)
            output.open_tags(tag[2], opened)
    return output.join_pieces()


class _TagIndex:
    def __init__(self, log: str) -> None:
        self._ends: dict[str, list[int]] = {}
        self._closes: dict[str, list[bool]] = {}
        self._last: dict[str, int] = {}
        for tag in _TAG.finditer(log):
            self._ends.setdefault(tag[2], []).append(tag.end())
            self._closes.setdefault(tag[2], []).append(bool(tag[1]))
            if tag[1]:
                self._last[tag[2]] = tag.end()

    def find_element_end(self, name: str, at: int) -> tuple[int, int]:
        """Where an opening tag that ends at a place leads: the number of opening tags in its place
        (0 where its element ends, 1 where no closing tag follows), and where to read on."""
        left, end, opened = 1, at, 1
        last = self._last.get(name, -1)
        if last <= at:
            return 1, at
        for stop, closes in self._iter_tags_from(name, at):
            opened += -1 if closes else 1
            if closes:
                left, end = opened, stop
            if not left or stop == last:
                break
        return left, end

    def _iter_tags_from(self, name: str, at: int) -> Iterator[tuple[int, bool]]:
        ends, closes = self._ends[name], self._closes[name]
        for index in range(bisect_left(ends, at + 1), len(ends)):
            yield ends[index], closes[index]


class _OutputPieces:
    """What is kept of the log so far, in pieces.
    A piece with `<` begins a tag that may be complete later, when what stood in between has been
    taken out. Opening tags that were never closed are one piece for all that stand together."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        #: What `_begun` was before each piece.
        self._before: list[int] = []
        #: The piece where the tag begins that is not complete yet; -1 for none.
        self._begun = -1
        #: (piece, name, count) of unclosed opening tags, and the first of them by name.
        self._opened: list[tuple[int, str, int]] = []
        self._first: dict[str, int] = {}

    def add_piece(self, text: str, piece: re.Match[str]) -> re.Match[str] | None:
        """Add a piece; returns the tag that it is or completes. An opening tag is not kept yet."""
        tag: re.Match[str] | None = piece if piece[2] else None
        if text == ">" and self._begun >= 0:
            tag = _TAG.fullmatch("".join(self._pieces[self._begun :]) + text)
            if tag and not tag[1]:
                self._truncate_pieces(self._begun)
        if tag and not tag[1]:
            return tag
        self._append_piece(text)
        if not _OF_A_TAG.fullmatch(text):
            self._begun = -1
        elif text[0] == "<":
            self._begun = len(self._pieces) - 1
        return tag

    def open_tags(self, name: str, count: int) -> None:
        """Add opening tags that are not closed by what follows in the log, if there are any."""
        if count:
            self._first.setdefault(name, len(self._opened))
            self._opened.append((len(self._pieces), name, count))
            self._append_piece("")
            self._begun = -1

    def close_tag(self, name: str) -> None:
        """Let the closing tag at the end, which came about only now, close the first open one."""
        first = self._first.get(name)
        if first is None:
            return
        start = self._opened[first][0]
        count = Counter[str]()
        for _, other, number in self._opened[first:]:
            count[other] += number
        for other in count:
            if self._first[other] >= first:
                del self._first[other]
        del self._opened[first:]
        self._truncate_pieces(start)
        self.open_tags(name, count[name] - 1)

    def join_pieces(self) -> str:
        for piece, name, count in self._opened:
            self._pieces[piece] = f"<{name}>" * count
        return "".join(self._pieces)

    def _append_piece(self, text: str) -> None:
        self._pieces.append(text)
        self._before.append(self._begun)

    def _truncate_pieces(self, start: int) -> None:
        self._begun = self._before[start]
        del self._pieces[start:]
        del self._before[start:]


# highlight.js, ESLint (failures only) and Prism (JSON).
# Rules: swebench 5.0.2, `parse_log_highlightjs`, `parse_log_eslint` and `parse_log_prismjs`.

_SUMMARY = re.compile(r"\n[ \t]*\d+ passing")
_DURATION = re.compile(r"\(\d+ms\)")
_NUMBERED = re.compile(r"\d+\)")

_FAILURE = re.compile(r"\s{2}\d+\)")
_BLANKS = re.compile(r"\s+")
_ERROR = "Error"

_COMMAND = "./node_modules/.bin/mocha tests/run.js --reporter json"
#: The lists of a JSON report; a test in both has passed.
_LISTS = (("failures", FAILED), ("passes", PASSED))


def parse_highlightjs(log: str) -> StatusMap:
    """`suite.test` from ticked and numbered lines; the last indented line before is the suite."""
    summary = _SUMMARY.search(log)
    states: StatusMap = {}
    suite: tuple[str, ...] = ()
    names = NameJoiner()
    for line in log[: summary.start() if summary else None].split("\n"):
        text = line.strip()
        mark, state = _parse_test_mark(text)
        if mark:
            test = _DURATION.sub("", line.split(mark, 1)[1]).strip()
            states[names.join(".", (*suite, test))] = state
        elif line.startswith("  "):
            suite = (text,)
    return states


def _parse_test_mark(text: str) -> tuple[str, str]:
    """What ends the mark before a test's name, and the state it says; "" for another line."""
    if text.startswith(("✓", "✔")):
        return text[0], PASSED
    return (")", FAILED) if _NUMBERED.match(text) else ("", "")


def parse_eslint(log: str) -> StatusMap:
    """` 1) suite test` and, on the same or a later line, the error; only failures are named. A name
    begins right behind its number. The first blanks end it if the error is on their line, and else
    the line before the error's."""
    states: StatusMap = {}
    at = 0
    while head := _FAILURE.search(log, at):
        blanks = _BLANKS.search(log, head.end())
        error = log.find(_ERROR, blanks.end()) if blanks else -1
        if blanks is None or error < 0:
            break
        newline = log.rfind("\n", blanks.start(), error)
        name = log[head.end() : blanks.start() if newline < 0 else newline]
        states[" ".join(name.split())] = FAILED
        # The error's line counts up to its last error.
        at = log.rfind(_ERROR, error, find_line_end(log, error)) + len(_ERROR)
    return states


def parse_prismjs(log: str) -> StatusMap:
    """Read the JSON report behind each run of the command; raises UnreadableLog without one."""
    states: StatusMap = {}
    for output in log.split(_COMMAND)[1:]:
        try:
            report = json.loads("{" + output.split("{", 1)[-1].rsplit("}", 1)[0] + "}")
        except (ValueError, RecursionError) as error:
            raise UnreadableLog(f"the report of Mocha is no JSON: {error}") from error
        for key, state in _LISTS:
            states.update((title, state) for title in _iter_test_titles(report, key))
    return states


def _iter_test_titles(report: Any, key: str) -> Iterator[str]:
    tests = report.get(key)
    if not isinstance(tests, list):
        raise UnreadableLog(f"the report of Mocha has no list of {key}")
    for test in tests:
        title = test.get("fullTitle") if isinstance(test, dict) else None
        if not isinstance(title, str):
            raise UnreadableLog(f"the report of Mocha has {key} without a title")
        yield title


# p5.js: Mocha's numbered failures, and nothing else, among dumps of objects and of pages.
# Rules: swebench 5.0.2, `parse_log_p5js`.

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
#: Blanks at the ends of a number's line only: those of empty lines before it add nothing.
_NUMBER = re.compile(r"^[^\S\n]*\d+\)", re.MULTILINE)
#: The colon that ends a name stands within as many characters.
_LONGEST = 1000


def parse_p5js(log: str) -> StatusMap:
    """`1) suite`, below it further in the test, and a colon: `suite:test`."""
    states: StatusMap = {}
    for text in _iter_numbered_texts(strip_elements("\n".join(_without_json(_ANSI.sub("", log))))):
        lines = text.split("\n")
        indents = [0, *(len(line) - len(line.lstrip()) for line in lines)]
        if all(outer < inner for outer, inner in pairwise(indents)):
            states[":".join(line.strip() for line in lines)] = FAILED
    return states


def _iter_numbered_texts(log: str) -> Iterator[str]:
    """What stands between a number at the start of a line and the next colon, if it is near."""
    at = 0
    while number := _NUMBER.search(log, at):
        colon = log.find(":", number.end(), number.end() + _LONGEST + 1)
        if colon >= 0:
            yield log[number.end() : colon]
        at = max(number.end(), colon + 1)


def _without_json(log: str) -> Iterator[str]:
    """The lines outside of objects and lists: such a block ends at a bracket without indentation. A
    list that an object holds, or an object in a list, has to end by itself as well."""
    inside = dict.fromkeys("}]", False)
    for line in log.split("\n"):
        text = line.rstrip()
        if text.endswith(("{", "[")):
            inside["}" if text[-1] == "{" else "]"] = True
        elif inside.get(text):
            inside[text] = False
        elif not any(inside.values()) and text[:1] + text[-1:] not in ("{}", "[]"):
            yield line
