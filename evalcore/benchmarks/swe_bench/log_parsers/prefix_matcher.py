"""Reads results that begin and end with known words, and reads no line more than a few times.

A pattern such as `Chrome .*FAILED` searches a line to its end once for each `Chrome` on it, which
takes quadratic time on a line of nothing else. Here the two ends are patterns of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.records import Record


class PrefixMatch(Record, frozen=True):
    """Where a result begins, and the match of its tail."""

    start: int
    tail: re.Match[str]


def iter_prefix_matches(
    log: str, head: re.Pattern[str], tail: re.Pattern[str]
) -> Iterator[PrefixMatch]:
    """The results in order; none overlaps another.

    `tail` is matched right behind `head`. It must begin with `.*` and say how that line ends: where
    it does not fit behind one head, it fits behind no later one on the same line.
    """
    at, failed = 0, -1
    while begin := head.search(log, at):
        at = begin.start() + 1  # the end of one head can be the start of another
        if begin.end() <= failed:
            continue
        match = tail.match(log, begin.end())
        if match:
            at = match.end()
            yield PrefixMatch(begin.start(), match)
        else:
            failed = find_line_end(log, begin.end())


def find_line_end(log: str, at: int) -> int:
    """The index of the newline that ends the line at a place; the log's length for the last one."""
    end = log.find("\n", at)
    return len(log) if end < 0 else end
