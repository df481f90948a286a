"""Whether a hunk is all there: what its header announces against what it holds.

Models count badly, so a header that announces too little is simply wrong. One that announces more
than follows may be wrong, too, or lines are missing; then the change would be another one than was
meant. These rules tell the two apart, for a hunk that has its place in the file:

| announced beyond what is there | taken for complete if |
|---|---|
| nothing | the text does not end inside an added line |
| equally many old and new lines, as blank lines follow in the file | always: they were stripped |
| equally many, at most 3 | it begins and ends with context |
| equally many, more than 3 | it ends with full context |
| unequally many old and new lines | it begins and ends with full context, every line of it right |
| only old or only new lines | never |

Where the text ends with the hunk, it must end with full context in any case: exactly three lines,
or the last of the file. More than three would lead on to the next change.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.swe_bench.patches.draft import Hunk
from evalcore.benchmarks.swe_bench.patches.placing import Place
from evalcore.benchmarks.swe_bench.patches.problems import Kind
from evalcore.benchmarks.swe_bench.patches.readings import Line
from evalcore.benchmarks.swe_bench.patches.source import Source

#: Lines of context that git and diff put around a change.
CONTEXT = 3


def missing(hunk: Hunk, place: Place, source: Source) -> Kind | None:
    """ "cut" where the text ends inside the hunk, "short" where lines are missing, else None."""
    lines = place.reading.lines
    ends_inside = not hunk.closed and place.reading.whole
    if ends_inside and not hunk.newline and _wrong_end(place):
        return "cut"
    if hunk.counts is None:
        return "cut" if ends_inside and lines[-1].mark != " " else None
    have = place.reading.counts
    old, new = hunk.counts[0] - have[0], hunk.counts[1] - have[1]
    if old <= 0 and new <= 0:
        return "cut" if ends_inside and _in_added(lines, hunk) else None
    if _only_context(old, new, hunk, place, source):
        return None
    return "cut" if ends_inside else "short"


def _in_added(lines: Sequence[Line], hunk: Hunk) -> bool:
    return lines[-1].mark == "+" and not hunk.newline


def _only_context(old: int, new: int, hunk: Hunk, place: Place, source: Source) -> bool:
    """Whether `old` and `new` lines, of which one is above 0, cannot be part of the change."""
    if old <= 0 or new <= 0:
        return False
    lines = place.reading.lines
    leading, trailing = _leading(lines), _leading(lines[::-1])
    end = place.at + len(place.reading.old)
    ends_inside = not hunk.closed and place.reading.whole
    if ends_inside and _wrong_end(place):
        return False
    if old == new and trailing and _blank(source, end, old):
        return True
    to_the_end = trailing >= CONTEXT or (trailing > 0 and end == len(source.lines))
    if ends_inside and (not to_the_end or trailing > CONTEXT):
        return False
    if old == new <= CONTEXT:
        return trailing > 0 and (leading > 0 or place.at == 0)
    whole_text = not ends_inside or hunk.newline
    if old == new:
        return to_the_end and whole_text
    from_the_start = leading >= CONTEXT or place.at == 0
    return to_the_end and from_the_start and whole_text and not place.wrong


def _wrong_end(place: Place) -> bool:
    """Whether the last line does not fit, as when it was cut within."""
    return len(place.reading.old) - 1 in place.wrong


def _leading(lines: Sequence[Line]) -> int:
    return next((n for n, line in enumerate(lines) if line.mark != " "), len(lines))


def _blank(source: Source, at: int, number: int) -> bool:
    following = source.texts[at : at + number]
    return len(following) == number <= CONTEXT and not any(map(str.strip, following))
