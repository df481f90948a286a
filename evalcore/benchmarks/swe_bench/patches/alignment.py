"""Which lines two texts have in common, in near-linear time whatever the texts.

Lines that are unique in both are matched in their longest common order (the idea of patience diff);
between two matches, what is equal at both ends is matched, too. The result need not be the shortest
difference, but it is a correct one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise


def match_common_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal lines, as numbers from 0, ascending on both sides."""
    anchors = [(-1, -1), *_find_unique_anchors(old, new), (len(old), len(new))]
    pairs: list[tuple[int, int]] = []
    for (a, b), (c, d) in pairwise(anchors):
        pairs += _match_end_lines(old, new, (a + 1, c), (b + 1, d))
        if c < len(old):
            pairs.append((c, d))
    return pairs


def iter_changed_ranges(
    old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """What differs: old lines `a` to `b` became new lines `c` to `d` (exclusive)."""
    a = c = 0
    for b, d in [*match_common_lines(old, new), (len(old), len(new))]:
        if a < b or c < d:
            yield a, b, c, d
        a, c = b + 1, d + 1


def _find_unique_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    in_old, in_new = Counter(old), Counter(new)
    where = {line: at for at, line in enumerate(new) if in_new[line] == 1}
    pairs = [
        (at, where[line]) for at, line in enumerate(old) if in_old[line] == 1 and line in where
    ]
    return _find_longest_ascending(pairs)


def _find_longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs`, whose first numbers ascend, in which the second ones do, too."""
    tops: list[int] = []  # the smallest last number of an ascending part of each length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        length = bisect_left(tops, value)
        before.append(ends[length - 1] if length else -1)
        if length == len(tops):
            tops.append(value)
            ends.append(number)
        else:
            tops[length], ends[length] = value, number
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _match_end_lines(
    old: Sequence[str], new: Sequence[str], in_old: tuple[int, int], in_new: tuple[int, int]
) -> list[tuple[int, int]]:
    """Pairs of equal lines at the beginning and at the end of two stretches."""
    (a, c), (b, d) = in_old, in_new
    head: list[tuple[int, int]] = []
    while a < c and b < d and old[a] == new[b]:
        head.append((a, b))
        a, b = a + 1, b + 1
    tail: list[tuple[int, int]] = []
    while a < c and b < d and old[c - 1] == new[d - 1]:
        c, d = c - 1, d - 1
        tail.append((c, d))
    return head + tail[::-1]
