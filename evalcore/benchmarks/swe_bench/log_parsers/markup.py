"""Takes elements such as `<div>...</div>` out of a log.

The rule (swebench 5.0.2, within `parse_log_p5js`) is a loop: as long as there is an opening tag
with a closing tag of its name behind it, take the first such opening tag and all up to the nearest
closing tag out, and put as many opening tags in its place as there were further ones of that name
in between. What then meets can be a tag as well. The loop reads the log anew each time. Here the
log is read once, to the same result.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

_TAG = re.compile(r"<(/?)(\w+)>")
_CLOSING = re.compile(r"</\w+>")
_PIECE = re.compile(rf"{_TAG.pattern}|<?[^<>]+|[<>]")
#: A piece that a tag can hold, without its end.
_OF_A_TAG = re.compile(r"<?[\w/]*")


def strip_elements(log: str) -> str:
    """The log without its elements. Tags with attributes are text."""
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
    """The tags of a log, by name."""

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
        """What becomes of an opening tag that ends at a place, and where to read on.

        That is the number of opening tags in its place: 0 where its element ends. Where no closing
        tag follows, it is 1, and the reading goes on behind the tag.
        """
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
    taken out. Opening tags that were never closed are one piece for all that stand together.
    """

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
