"""From a hunk at its place to the lines of the file that it replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from evalcore.benchmarks.swe_bench.patches.indentation import Pair, adjusted
from evalcore.benchmarks.swe_bench.patches.placing import Place
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.source import Source
from evalcore.records import Record


class Edit(Record, frozen=True):
    """Replace `removed` lines of a file, from line `at` (from 0), by `added`, with their ends."""

    at: int
    removed: int
    added: tuple[str, ...]


def edits_of(place: Place, source: Source) -> list[Edit]:
    """The edits of one hunk. Raises Refused where the added lines cannot be written."""
    reading = place.reading
    added = _added(place, source)
    runs: list[Edit] = []
    at, start, removed = place.at, place.at, 0
    new: list[str] = []
    for line in reading.lines:
        if line.mark == " ":
            if removed or new:
                runs.append(Edit(start, removed, tuple(new)))
            at += 1
            start, removed, new = at, 0, []
        elif line.mark == "-":
            at += 1
            removed += 1
        else:
            new.append(next(added))
    if removed or new:
        runs.append(Edit(start, removed, tuple(new)))
    return _with_last_line(runs, place, source)


def merged(edits: Iterable[Edit]) -> list[Edit]:
    """The edits of a file in order, equal ones once. Raises Refused where two overlap."""
    ordered = sorted({(one.at, one.removed, one.added) for one in edits})
    result = [Edit(*one) for one in ordered]
    for first, second in pairwise(result):
        if second.at < first.at + first.removed or second.at == first.at:
            raise Refused("overlap")
    return result


def apply_edits(lines: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """The lines of the file after its edits, which are in order."""
    result: list[str] = []
    at = 0
    for edit in edits:
        result += lines[at : edit.at]
        result += edit.added
        at = edit.at + edit.removed
    return result + list(lines[at:])


def _added(place: Place, source: Source) -> Iterator[str]:
    """The added lines of a place in order, as the file would have them, with their ends."""
    old = [line for line in place.reading.lines if line.mark != "+"]
    have = source.texts[place.at : place.at + len(old)]
    pairs = [
        Pair(line.mark, line.text.removesuffix("\r"), text.removesuffix("\r"))
        for n, (line, text) in enumerate(zip(old, have, strict=True))
        if n not in place.wrong
    ]
    texts = [line.text for line in place.reading.lines if line.mark == "+"]
    carried = have and all(text.endswith("\r") for text in have)
    written = any(line.text.endswith("\r") for line in place.reading.lines)
    end = "\r\n" if carried and not written else "\n"
    return iter([text + end for text in adjusted(texts, pairs)])


def _with_last_line(runs: list[Edit], place: Place, source: Source) -> list[Edit]:
    """The edits with the line end of the file's last line as the hunk says.

    A hunk that ends the file and says nothing leaves an unchanged last line as it is.
    """
    if not runs:
        return runs
    last = runs[-1]
    if last.at + last.removed != len(source.lines):
        return runs
    if last.added and place.reading.new_bare:
        bare = last.added[-1].removesuffix("\n").removesuffix("\r")
        return [*runs[:-1], Edit(last.at, last.removed, (*last.added[:-1], bare))]
    if not last.removed and last.at and not source.lines[-1].endswith("\n"):
        # What is added behind a line without an end gives it one.
        closed = (source.lines[-1] + "\n", *last.added)
        return [*runs[:-1], Edit(last.at - 1, 1, closed)]
    return runs
