"""From a hunk at its position to a clean unified diff in the form of git: whether it is all
there, the lines that it replaces, indented as the file is, and the edits written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from evalcore.benchmarks.swe_bench.patches.hunk_position import HunkLine, HunkPosition
from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    NULL,
    ParsedHunk,
    PatchRefused,
    RefusalKind,
)
from evalcore.benchmarks.swe_bench.patches.source import TYPOGRAPHY, SourceFile
from evalcore.records import Record

# Whether a hunk is all there: what its header announces against what it holds. Models count badly,
# so a header that announces too little is simply wrong. One that announces more than follows may be
# wrong, too, or lines are missing; then the change would be another one than was meant. A hunk that
# has its position in the file is taken for complete if, beyond what is there, its header announces
# - nothing, and the text does not end inside an added line;
# - equally many old and new lines, as blank lines follow in the file: they were stripped;
# - equally many, at most 3, and it begins and ends with context;
# - equally many, more than 3, and it ends with full context;
# - unequally many old and new lines, and it begins and ends with full context, every line right.
# A header that announces too few of one side and too many of the other counts nothing: it is taken
# as in the last case. The hunk never is complete if only old or only new lines are missing. Where
# the text ends with the hunk, it must end with full context in any case: exactly three lines, or
# the last of the file. More than three would lead on to the next change.

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
        return "cut" if ends_inside and lines[-1].mark == "+" and not hunk.newline else None
    if _lacks_only_context(old, new, hunk, position, source):
        return None
    return "cut" if ends_inside else "short"


def _lacks_only_context(
    old: int, new: int, hunk: ParsedHunk, position: HunkPosition, source: SourceFile
) -> bool:
    """Whether `old` and `new` lines, of which one is above 0, cannot be part of the change."""
    if min(old, new) == 0 or max(old, new) < 0:
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


# The old lines of a hunk and those of the file at its position are pairs. If they differ in
# indentation or in typography, the added lines are taken to differ in the same way. Where the pairs
# do not tell, nothing is guessed.

_Indents = Sequence[tuple[str, str]]
_Rule = Callable[[str], str | None]
_TAB_WIDTHS = (4, 8, 2)


class LinePair(NamedTuple):
    """An old line of a hunk: its mark, " " or "-", how it was written, and what the file has."""

    mark: str
    written: str
    have: str


def adjust_indentation(added: Iterable[str], pairs: Iterable[LinePair]) -> list[str]:
    """The added lines as the file would have them. Raises PatchRefused ("indent") where the pairs
    do not say how a line is indented."""
    informative = [pair for pair in pairs if pair.written.strip() and pair.have.strip()]
    plain = _build_typography_table(informative)
    if _is_as_written(informative):
        return [line.translate(plain) for line in added]
    indents = [(_find_indent(pair.written), _find_indent(pair.have)) for pair in informative]
    rules = [rule for rule in _list_indent_rules(indents) if all(rule(a) == b for a, b in indents)]
    indent_map = {a: {b for c, b in indents if c == a} for a, _ in indents}
    return [_reindent_line(line, indent_map, rules).translate(plain) for line in added]


def _is_as_written(pairs: Sequence[LinePair]) -> bool:
    """Whether added lines are indented as they are written. They bear a mark like the removed
    lines, so these tell. Context that has lost its mark, a blank, has a blank too little; added
    lines have not."""
    removed = [pair for pair in pairs if pair.mark == "-"]
    if all(_find_indent(pair.written) == _find_indent(pair.have) for pair in removed or pairs):
        return True
    lost = (f" {pair.written}" == pair.have or pair.written == pair.have for pair in pairs)
    return not removed and all(lost)


def _reindent_line(line: str, indent_map: dict[str, set[str]], rules: Sequence[_Rule]) -> str:
    if not line.strip():
        return line
    indent = _find_indent(line)
    candidates: set[str | None] = {*indent_map.get(indent, ())} or {
        rule(indent) for rule in rules[:1]
    }
    new = candidates.pop() if len(candidates) == 1 else None
    if new is None:
        raise PatchRefused("indent")
    return new + line[len(indent) :]


def _list_indent_rules(indents: _Indents) -> list[_Rule]:
    """Ways in which all indentation of a hunk may have been changed."""
    written, have = max(indents, key=lambda pair: abs(len(pair[0]) - len(pair[1])))
    rules: list[_Rule] = []
    if have.endswith(written):
        prefix = have.removesuffix(written)
        rules.append(lambda indent: prefix + indent)
    if written.endswith(have):
        lost = written.removesuffix(have)
        rules.append(lambda indent: indent.removeprefix(lost) if indent.startswith(lost) else None)
    rules += [partial(str.expandtabs, tabsize=width) for width in _TAB_WIDTHS]
    return rules + [_build_tabs_rule(width) for width in _TAB_WIDTHS]


def _build_tabs_rule(width: int) -> _Rule:
    def to_tabs(indent: str) -> str:
        columns = len(indent.expandtabs(width))
        return "\t" * (columns // width) + " " * (columns % width)

    return to_tabs


def _find_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _build_typography_table(pairs: Sequence[LinePair]) -> dict[int, str]:
    """The groups of signs that were put for plain ones in the old lines."""
    table: dict[int, str] = {}
    for group in TYPOGRAPHY:
        counts = [[sum(map(text.count, group)) for text in pair[1:]] for pair in pairs]
        if any(written > have for written, have in counts):
            table |= {ord(sign): plain for sign, plain in group.items()}
    return table


class Edit(Record, frozen=True):
    """Replace `removed` lines of a file, from line `at` (from 0), by `added`, with their ends."""

    at: int
    removed: int
    added: tuple[str, ...]


def build_hunk_edits(position: HunkPosition, source: SourceFile) -> list[Edit]:
    """The edits of one hunk. Raises PatchRefused where the added lines cannot be written."""
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
    """The edits of a file in order, equal ones once. Raises PatchRefused where two overlap."""
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
    """The edits with the line end of the file's last line as the hunk says. A hunk that ends the
    file and says nothing leaves an unchanged last line as it is."""
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


_UNSAFE = re.compile(r'[\x00-\x1f\x7f"\\]')
_NO_END = "\\ No newline at end of file\n"


class FileChange(Record, frozen=True):
    """`old` and `new` are paths, "" before a file is made and after it is deleted; `lines` those
    of the file before, with their ends; `edits` in order; `mode` that of a new file."""

    old: str
    new: str
    lines: tuple[str, ...]
    edits: tuple[Edit, ...]
    mode: str = ""


def render_patch(changes: Iterable[FileChange]) -> str:
    """One patch of all changes, "" where there is none."""
    return "".join(part for change in changes for part in _render_file(change))


def _render_file(change: FileChange) -> Iterator[str]:
    old, new = change.old or change.new, change.new or change.old
    yield f"diff --git {_quote_path(f'a/{old}')} {_quote_path(f'b/{new}')}\n"
    if not change.old:
        yield f"new file mode {change.mode or '100644'}\n"
    elif not change.new:
        yield "deleted file mode 100644\n"
    elif old != new:
        yield f"rename from {_quote_path(old)}\nrename to {_quote_path(new)}\n"
    if change.edits:
        yield f"--- {_format_header_path(f'a/{old}') if change.old else NULL}\n"
        yield f"+++ {_format_header_path(f'b/{new}') if change.new else NULL}\n"
    shift = 0
    for group in _group_edits(change.edits):
        yield from _render_hunk(change.lines, group, shift)
        shift += sum(len(edit.added) - edit.removed for edit in group)


def _group_edits(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Edits whose context would touch or overlap go into one hunk."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit.at - (group[-1].at + group[-1].removed) > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _render_hunk(lines: Sequence[str], group: Sequence[Edit], shift: int) -> Iterator[str]:
    first = max(group[0].at - CONTEXT, 0)
    last = min(group[-1].at + group[-1].removed + CONTEXT, len(lines))
    body: list[str] = []
    at = first
    for edit in group:
        body += [_format_hunk_line(" ", line) for line in lines[at : edit.at]]
        body += [_format_hunk_line("-", line) for line in lines[edit.at : edit.at + edit.removed]]
        body += [_format_hunk_line("+", line) for line in edit.added]
        at = edit.at + edit.removed
    body += [_format_hunk_line(" ", line) for line in lines[at:last]]
    old = last - first
    new = old + sum(len(edit.added) - edit.removed for edit in group)
    yield f"@@ -{_format_hunk_range(first, old)} +{_format_hunk_range(first + shift, new)} @@\n"
    yield from body


def _format_hunk_range(first: int, count: int) -> str:
    """A side without lines is named by the line before it."""
    return f"{first + (count > 0)},{count}"


def _format_hunk_line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_END}"


def _format_header_path(path: str) -> str:
    quoted = _quote_path(path)
    return f"{quoted}\t" if " " in path and quoted == path else quoted


def _quote_path(path: str) -> str:
    """The path as git writes it: in quotes where it has signs that would end or change it."""
    if not _UNSAFE.search(path):
        return path
    return '"' + _UNSAFE.sub(lambda match: f"\\{ord(match[0]):03o}", path) + '"'
