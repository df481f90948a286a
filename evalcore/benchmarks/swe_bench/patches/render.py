"""Writing a clean unified diff from the edits of files, in the form of git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalcore.benchmarks.swe_bench.patches.edits import Edit
from evalcore.benchmarks.swe_bench.patches.parsed_patch import NULL
from evalcore.records import Record

CONTEXT = 3
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
    """A path of a header line; a tab ends one with blanks."""
    quoted = _quote_path(path)
    return f"{quoted}\t" if " " in path and quoted == path else quoted


def _quote_path(path: str) -> str:
    """The path as git writes it: in quotes where it has signs that would end or change it."""
    if not _UNSAFE.search(path):
        return path
    return '"' + _UNSAFE.sub(lambda match: f"\\{ord(match[0]):03o}", path) + '"'
