"""From a hunk at its place to the lines of the file that it replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from evalcore.benchmarks.swe_bench.patches.hunk_position import HunkPosition
from evalcore.benchmarks.swe_bench.patches.indentation import LinePair, adjust_indentation
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.source import SourceFile
from evalcore.records import Record


class Edit(Record, frozen=True):
    """Replace `removed` lines of a file, from line `at` (from 0), by `added`, with their ends."""

    at: int
    removed: int
    added: tuple[str, ...]


def build_hunk_edits(position: HunkPosition, source: SourceFile) -> list[Edit]:
    """The edits of one hunk. Raises Refused where the added lines cannot be written."""
    reading = position.reading
    added = _iter_adjusted_lines(position, source)
    runs: list[Edit] = []
    at, start, removed = position.at, position.at, 0
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
    return _adjust_last_line(runs, position, source)


def merge_edits(edits: Iterable[Edit]) -> list[Edit]:
    """The edits of a file in order, equal ones once. Raises Refused where two overlap."""
    ordered = sorted({(fields.at, fields.removed, fields.added) for fields in edits})
    result = [Edit(*fields) for fields in ordered]
    for first, second in pairwise(result):
        if second.at < first.at + first.removed or second.at == first.at:
            raise PatchRefused("overlap")
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


def _iter_adjusted_lines(position: HunkPosition, source: SourceFile) -> Iterator[str]:
    """The added lines of a place in order, as the file would have them, with their ends."""
    old = [line for line in position.reading.lines if line.mark != "+"]
    have = source.texts[position.at : position.at + len(old)]
    pairs = [
        LinePair(line.mark, line.text.removesuffix("\r"), text.removesuffix("\r"))
        for n, (line, text) in enumerate(zip(old, have, strict=True))
        if n not in position.wrong
    ]
    texts = [line.text for line in position.reading.lines if line.mark == "+"]
    carried = have and all(text.endswith("\r") for text in have)
    written = any(line.text.endswith("\r") for line in position.reading.lines)
    end = "\r\n" if carried and not written else "\n"
    return iter([text + end for text in adjust_indentation(texts, pairs)])


def _adjust_last_line(runs: list[Edit], position: HunkPosition, source: SourceFile) -> list[Edit]:
    """The edits with the line end of the file's last line as the hunk says.

    A hunk that ends the file and says nothing leaves an unchanged last line as it is.
    """
    if not runs:
        return runs
    last = runs[-1]
    if last.at + last.removed != len(source.lines):
        return runs
    if last.added and position.reading.new_bare:
        bare = last.added[-1].removesuffix("\n").removesuffix("\r")
        return [*runs[:-1], Edit(last.at, last.removed, (*last.added[:-1], bare))]
    if not last.removed and last.at and not source.lines[-1].endswith("\n"):
        # What is added behind a line without an end gives it one.
        closed = (source.lines[-1] + "\n", *last.added)
        return [*runs[:-1], Edit(last.at - 1, 1, closed)]
    return runs
