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

from evalcore.benchmarks.swe_bench.patches.hunk_position import HunkPosition
from evalcore.benchmarks.swe_bench.patches.parsed_patch import ParsedHunk
from evalcore.benchmarks.swe_bench.patches.problems import RefusalKind
from evalcore.benchmarks.swe_bench.patches.readings import HunkLine
from evalcore.benchmarks.swe_bench.patches.source import SourceFile

#: Lines of context that git and diff put around a change.
CONTEXT = 3


def check_completeness(
    hunk: ParsedHunk, position: HunkPosition, source: SourceFile
) -> RefusalKind | None:
    """ "cut" where the text ends inside the hunk, "short" where lines are missing, else None."""
    lines = position.reading.lines
    ends_inside = not hunk.closed and position.reading.whole
    if ends_inside and not hunk.newline and _has_wrong_end(position):
        return "cut"
    if hunk.counts is None:
        return "cut" if ends_inside and lines[-1].mark != " " else None
    have = position.reading.counts
    old, new = hunk.counts[0] - have[0], hunk.counts[1] - have[1]
    if old <= 0 and new <= 0:
        return "cut" if ends_inside and _ends_in_addition(lines, hunk) else None
    if _lacks_only_context(old, new, hunk, position, source):
        return None
    return "cut" if ends_inside else "short"


def _ends_in_addition(lines: Sequence[HunkLine], hunk: ParsedHunk) -> bool:
    return lines[-1].mark == "+" and not hunk.newline


def _lacks_only_context(
    old: int, new: int, hunk: ParsedHunk, position: HunkPosition, source: SourceFile
) -> bool:
    """Whether `old` and `new` lines, of which one is above 0, cannot be part of the change."""
    if old <= 0 or new <= 0:
        return False
    lines = position.reading.lines
    leading, trailing = _count_leading_context(lines), _count_leading_context(lines[::-1])
    end = position.at + len(position.reading.old_lines)
    ends_inside = not hunk.closed and position.reading.whole
    if ends_inside and _has_wrong_end(position):
        return False
    if old == new and trailing and _is_blank_block(source, end, old):
        return True
    to_the_end = trailing >= CONTEXT or (trailing > 0 and end == len(source.lines))
    if ends_inside and (not to_the_end or trailing > CONTEXT):
        return False
    if old == new <= CONTEXT:
        return trailing > 0 and (leading > 0 or position.at == 0)
    whole_text = not ends_inside or hunk.newline
    if old == new:
        return to_the_end and whole_text
    from_the_start = leading >= CONTEXT or position.at == 0
    return to_the_end and from_the_start and whole_text and not position.wrong


def _has_wrong_end(position: HunkPosition) -> bool:
    """Whether the last line does not fit, as when it was cut within."""
    return len(position.reading.old_lines) - 1 in position.wrong


def _count_leading_context(lines: Sequence[HunkLine]) -> int:
    return next((n for n, line in enumerate(lines) if line.mark != " "), len(lines))


def _is_blank_block(source: SourceFile, at: int, number: int) -> bool:
    following = source.texts[at : at + number]
    return len(following) == number <= CONTEXT and not any(map(str.strip, following))
