"""Which format a reply has its patch in, and reading those beside the unified diff: whole
files, SEARCH and REPLACE, and that of `apply_patch`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from evalcore.benchmarks.swe_bench.patches import parsed_patch
from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    MAX_HUNKS,
    Action,
    ParsedFile,
    ParsedHunk,
    ParsedPatch,
    PatchRefused,
    build_parsed_hunk,
    is_fence,
    is_patch_edge,
    split_patch_lines,
)
from evalcore.benchmarks.swe_bench.patches.source import iter_changed_ranges

# Files that are given whole, between "[start of path]" and "[end of path]". Source of the form: the
# prompts of swebench (`create_instance.py`), which show files in it, with or without line numbers.

FILE_START = re.compile(r"\[start of ([^\]\n]+)\]\s*")
_NUMBERED = re.compile(r"[ \t]{0,5}(\d{1,6})(?:[ \t|:](.*))?")


def parse_full_files(text: str) -> ParsedPatch:
    """The files of a reply. Raises PatchRefused where one does not end."""
    lines = split_patch_lines(text)
    files: list[ParsedFile] = []
    at = 0
    while at < len(lines):
        start_match = FILE_START.fullmatch(lines[at])
        at += 1
        if not start_match:
            continue
        end_marker = f"[end of {start_match[1]}]"
        end = next((n for n in range(at, len(lines)) if lines[n].strip() == end_marker), None)
        if end is None:
            raise PatchRefused("cut")
        body = lines[at:end]
        fenced = len(body) > 1 and is_fence(body[0]) and is_fence(body[-1])
        content = _strip_file_numbers(body[1:-1] if fenced else body)
        name = start_match[1].strip()
        files.append(ParsedFile(old=name, new=name, action="whole", content=tuple(content)))
        at = end + 1
    return ParsedPatch("full_file", tuple(files))


def _strip_file_numbers(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their numbers, where they are numbered from 1 without a gap."""
    matches = [match for line in lines if (match := _NUMBERED.fullmatch(line))]
    if [int(match[1]) for match in matches] != list(range(1, len(lines) + 1)):
        return lines
    return [match[2] or "" for match in matches]


def parse_fenced_files(text: str) -> ParsedPatch:
    """The files that stand whole in a fence each, below their names or behind the marks of the
    fence; of several for one file the last. Raises PatchRefused where one does not end."""
    lines = split_patch_lines(text)
    files: dict[str, ParsedFile] = {}
    at = passed = 0
    while at < len(lines):
        if not is_fence(lines[at]):
            at += 1
            continue
        above = lines[max(passed, at - _LINES_ABOVE) : at]
        name = _fence_name(lines[at]) or _find_name_above(above)
        end = next((n for n in range(at + 1, len(lines)) if is_fence(lines[n])), None)
        if end is None:
            raise PatchRefused("cut" if name else "none")
        if name:
            content = tuple(lines[at + 1 : end])
            files[name] = ParsedFile(old=name, new=name, action="fenced", content=content)
        at = passed = end + 1
    return ParsedPatch("full_file", tuple(files.values()))


# Blocks of SEARCH and REPLACE, with the file named above them. Source of the form: the
# documentation of aider, whose file name stands bare or in a fence, and that of Agentless, which
# writes "### " before it. The lines that both halves share become context, so that a block is
# placed and written by the same rules as a hunk.

SEARCH_START = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)\b")
_DIVIDER = re.compile(r"={5,9}\s*")
_END = re.compile(r">{5,9} ?(?:REPLACE|UPDATED|\w)")
_NAME = re.compile(
    r"(?:#{1,6}\s+|\*{1,2}|-\s+)?(?:[Ff]ile(?:name)?:\s*)?[`*\"']*([^\s`*\"':]+)[`*\"':]*\s*"
)
_LINES_ABOVE = 4


def parse_search_replace(text: str) -> ParsedPatch:
    """The blocks of a reply, each a hunk of its own. Raises PatchRefused where one does not end."""
    lines = split_patch_lines(text)
    files: list[ParsedFile] = []
    at = passed = 0
    name = ""
    while at < len(lines):
        if not SEARCH_START.match(lines[at]):
            at += 1
            continue
        divider, end = _find_block_bounds(lines, at)
        name = _find_name_above(lines[max(passed, at - _LINES_ABOVE) : at]) or name
        files.append(_parse_block(name, lines[at + 1 : divider], lines[divider + 1 : end]))
        if len(files) > MAX_HUNKS:
            raise PatchRefused("large")
        at = passed = end + 1
    return ParsedPatch("search_replace", tuple(files))


def _find_block_bounds(lines: Sequence[str], start: int) -> tuple[int, int]:
    dividers: list[int] = []
    for at in range(start + 1, len(lines)):
        if _DIVIDER.fullmatch(lines[at]):
            dividers.append(at)
        elif _END.match(lines[at]) and dividers:
            if len(dividers) > 1:  # a line of the file looks like the divider
                raise PatchRefused("ambiguous")
            return dividers[0], at
        elif SEARCH_START.match(lines[at]):
            break
    raise PatchRefused("cut")


def _find_name_above(above: Sequence[str]) -> str:
    """The name of a file in the nearest line above that is neither blank nor a fence."""
    for line in reversed(above):
        if is_patch_edge(line) and not (is_fence(line) and _fence_name(line)):
            continue
        if line.strip():
            match = _NAME.fullmatch(_fence_name(line) or line.strip())
            name = match[1] if match else ""
            return name if "." in name or "/" in name else ""
    return ""


def _fence_name(line: str) -> str:
    """A path behind the marks of a fence ("```path/to/file.py")."""
    rest = line.lstrip("`~").strip() if is_fence(line) else ""
    return rest if "/" in rest or "." in rest else ""


def _parse_block(name: str, old: Sequence[str], new: Sequence[str]) -> ParsedFile:
    if not any(line.strip() for line in old):
        return ParsedFile(old=name, new=name, action="create", content=tuple(new))
    raw: list[str] = []
    done = 0
    for a, b, c, d in iter_changed_ranges(old, new):
        raw += [f" {line}" for line in old[done:a]]
        raw += [f"-{line}" for line in old[a:b]]
        raw += [f"+{line}" for line in new[c:d]]
        done = b
    raw += [f" {line}" for line in old[done:]]
    return ParsedFile(old=name, new=name, hunks=(ParsedHunk(tuple(raw)),))


# The format of `apply_patch`: "*** Begin Patch", files by name, hunks without numbers. Source of
# the form: the description of the apply_patch tool by its makers. A line behind `@@` quotes where
# in the file the hunk is; the last of several counts.

_FILES: dict[str, Action] = {
    "*** Update File: ": "change",
    "*** Add File: ": "create",
    "*** Delete File: ": "delete",
}
_MOVE = "*** Move to: "
_LAST_LINE = "*** End of File"
_ENDS = ("*** Begin Patch", "*** End Patch", _LAST_LINE)
_WORDS = (*_FILES, _MOVE, *_ENDS)


@dataclass
class _Section:
    path: str
    action: Action
    block: int
    target: str = ""
    hunks: list[ParsedHunk] = field(default_factory=list)
    content: tuple[str, ...] = ()

    def build_parsed_file(self) -> ParsedFile:
        action: Action = "rename" if self.target else self.action
        new = self.target or self.path
        return ParsedFile(self.path, new, tuple(self.hunks), action, "", self.content, self.block)


def parse_v4a(text: str) -> ParsedPatch:
    """The files of a patch. Raises PatchRefused for text that ends within it."""
    lines = split_patch_lines(text)
    sections: list[_Section] = []
    at, block = 0, 0
    alone, inside = True, False
    while at < len(lines):
        line = lines[at]
        at += 1
        if name := next((word for word in _FILES if line.startswith(word)), ""):
            sections.append(_Section(line.removeprefix(name).strip(), _FILES[name], block))
            inside = True
        elif line.startswith(_MOVE) and inside:
            sections[-1].target = line.removeprefix(_MOVE).strip()
        elif is_patch_edge(line) or not inside or line.startswith(_ENDS):
            block += is_patch_edge(line)
            inside = inside and line.startswith(_LAST_LINE)
            alone &= line.startswith(_WORDS) or not line.strip()
            continue
        end = _find_section_end(lines, at)
        _add_section_lines(sections[-1], line, lines[at:end])
        if lines[end].startswith(_LAST_LINE) and sections[-1].hunks:
            sections[-1].hunks[-1] = replace(sections[-1].hunks[-1], at_end=True)
        at = end
    return ParsedPatch("v4a", tuple(section.build_parsed_file() for section in sections), alone)


def _find_section_end(lines: Sequence[str], at: int) -> int:
    """Where the next section begins. The format says how it ends, so that a text that ends without
    was cut off: raises PatchRefused."""
    for end in range(at, len(lines)):
        if lines[end].startswith(("@@", *_WORDS)) or is_patch_edge(lines[end]):
            return end
    raise PatchRefused("cut")


def _add_section_lines(section: _Section, header: str, raw: Sequence[str]) -> None:
    if section.action == "create":
        if any(line.strip() and not line.startswith("+") for line in raw):
            raise PatchRefused("none")
        section.content += tuple(line[1:] for line in raw)
    elif any(line.strip() for line in raw):
        header = header if header.startswith("@@") else "@@"
        section.hunks.append(build_parsed_hunk(header, raw))
        if len(section.hunks) > MAX_HUNKS:
            raise PatchRefused("large")


_HUNK = re.compile(r"^[ \t]*@@", re.MULTILINE)
#: A line that only a patch of a format has, and the reader of the format.
_FORMATS: tuple[tuple[re.Pattern[str], Callable[[str], ParsedPatch]], ...] = (
    (re.compile(r"^\*\*\* (?:Begin Patch|Update File: |Add File: )", re.MULTILINE), parse_v4a),
    (re.compile(rf"^{SEARCH_START.pattern}", re.MULTILINE), parse_search_replace),
    (re.compile(rf"^{FILE_START.pattern}$", re.MULTILINE), parse_full_files),
    (re.compile(r"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE), parsed_patch.parse_unified),
)


def parse_any_format(text: str) -> ParsedPatch:
    """The patch in a text, read in the format that comes last in it, as an answer does; without
    any, the files in its fences. Raises PatchRefused: "none" where there is no patch, and what the
    readers raise."""
    last = -1
    reader: Callable[[str], ParsedPatch] = parsed_patch.parse_unified
    for pattern, candidate in _FORMATS:
        at = max((match.start() for match in pattern.finditer(text)), default=-1)
        if at > last:
            last, reader = at, candidate
    parsed = reader(text)
    if not parsed.files and last < 0 and not _HUNK.search(text):
        parsed = parse_fenced_files(text)
    if not parsed.files:
        raise PatchRefused("none")
    return parsed
