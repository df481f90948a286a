"""From a parsed patch to the changes of files: names resolved, hunks placed, edits made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from evalcore.benchmarks.swe_bench.patches.edits import (
    Edit,
    FileChange,
    build_hunk_edits,
    check_completeness,
    merge_edits,
)
from evalcore.benchmarks.swe_bench.patches.hunk_position import (
    HunkPosition,
    find_exact_positions,
    find_hunk_position,
    iter_hunk_readings,
    reverse_reading,
)
from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    NULL,
    ParsedFile,
    ParsedHunk,
    ParsedPatch,
    PatchRefused,
)
from evalcore.benchmarks.swe_bench.patches.source import (
    SourceFile,
    Tree,
    iter_changed_ranges,
    match_common_lines,
)
from evalcore.records import Record

_PREFIX = re.compile(r"^[abciwo]/")
#: Where the usual harnesses keep the repository.
_ROOT = re.compile(r"^(?:/(?:testbed|workspace|repo|app)/|testbed/)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: A text without file names is looked for in this many characters of files at most.
_MAX_UNNAMED_SEARCH_CHARS = 128_000_000
_MIN_LINES = 2
_MIN_CHARACTERS = 20


def clean_file_name(name: str) -> str:
    """The name without quotes, time stamp and line end, as the patch writes it."""
    name = name.split("\t")[0].strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    return name


def find_existing_file(name: str, tree: Tree, *, exactly: bool = False) -> str:
    """The file that a name means; `exactly`: no leading folders may be left out or added. Raises
    PatchRefused: "file", "which_file" or "path"."""
    bare = _strip_name_prefix(name)
    paths = set(tree.paths())
    parts = bare.strip("/").split("/")
    shorter = [] if exactly else ["/".join(parts[n:]) for n in range(1, len(parts))]
    for candidate in (bare, name.removeprefix("./"), *shorter):
        if candidate in paths:
            return candidate
    below = [path for path in paths if path.endswith(f"/{bare}")]
    if exactly or not below:
        raise PatchRefused("file")
    if len(below) > 1:
        raise PatchRefused("which_file")
    return below[0]


def resolve_new_path(name: str, tree: Tree) -> str:
    """The path of a file that a patch makes. Raises PatchRefused: "path" or "exists"."""
    path = _strip_name_prefix(name)
    if path.startswith("/"):
        raise PatchRefused("path")
    if path in set(tree.paths()):
        raise PatchRefused("exists")
    return path


def find_file_with_hunks(hunks: Sequence[ParsedHunk], tree: Tree) -> str:
    """The only file that holds the old lines of all hunks, in any white space at line ends. Raises
    PatchRefused: "unnamed" where there is none or too few lines to tell, "which_file", "large"."""
    options = [next(iter_hunk_readings(hunk), None) for hunk in hunks]
    taken = [option for option in options if option is not None]
    old = [line.strip() for option in taken for line in option.old_lines if line.strip()]
    is_distinctive = len(old) >= _MIN_LINES and sum(map(len, old)) >= _MIN_CHARACTERS
    if len(taken) != len(options) or not is_distinctive:
        raise PatchRefused("unnamed")
    longest = max(old, key=len)
    matching_paths, searched = [], 0
    for path in tree.paths():
        text = tree.read(path) or ""
        searched += len(text)
        if searched > _MAX_UNNAMED_SEARCH_CHARS:
            raise PatchRefused("large")
        if longest in text:
            source = SourceFile(text)
            if all(find_exact_positions(option, source) for option in taken):
                matching_paths.append(path)
    if len(matching_paths) != 1:
        raise PatchRefused("which_file" if matching_paths else "unnamed")
    return matching_paths[0]


def _strip_name_prefix(name: str) -> str:
    """The name without its prefix, a leading "./" and the folder that the repository lies in.
    Raises PatchRefused for names that no file of a repository has."""
    parts = PurePosixPath(name).parts
    outside = ".." in parts or any(part.casefold() == ".git" for part in parts)
    if not parts or name == NULL or outside or _CONTROL.search(name) or "\\" in name:
        raise PatchRefused("path")
    name = _PREFIX.sub("", name.removeprefix("./"), count=1)
    return _ROOT.sub("", name, count=1).removeprefix("./")


#: Characters of files that may be searched for all hunks together.
_MAX_SEARCHED_CHARS = 400_000_000
#: Hunks without a file name: each is looked for in the whole repository.
_MAX_UNNAMED_HUNKS = 20
#: A whole file that keeps less of the old one was not given whole.
_MIN_COMMON_SHARE = 0.5
#: That of a file in a fence, of which nothing says that it is whole.
_MIN_FENCED_SHARE = 0.8
_SHORT_FILE = 10  # lines
_ELISION = re.compile(
    r"\s*(?:#|//|/\*|<!--|;|\*)?\s*\[?(?:\.{3}|…).{0,40}"
    r"\b(?:existing|rest|remaining|unchanged|same|omitted|other)\b",
    re.IGNORECASE,
)


class AssembledPatch(Record, frozen=True):
    """The changes of a draft and the steps of its repair."""

    changes: tuple[FileChange, ...]
    steps: frozenset[str]


@dataclass
class _FileEdits:
    source: SourceFile
    target: str
    edits: list[Edit] = field(default_factory=list)
    after: int = 0


@dataclass
class _RepairContext:
    parsed: ParsedPatch
    tree: Tree
    is_reversed: bool
    edited_files: dict[str, _FileEdits] = field(default_factory=dict)
    created_files: dict[str, FileChange] = field(default_factory=dict)
    steps: set[str] = field(default_factory=set)
    searched: int = 0
    unnamed: int = 0

    def open_file(self, path: str, target: str = "") -> _FileEdits:
        if path not in self.edited_files:
            text = self.tree.read(path)
            if text is None:
                raise PatchRefused("kind")
            self.edited_files[path] = _FileEdits(SourceFile(text), target or path)
        return self.edited_files[path]


def assemble_patch(parsed: ParsedPatch, tree: Tree, *, is_reversed: bool = False) -> AssembledPatch:
    """The changes that a patch means; `is_reversed`: old and new exchanged. Raises PatchRefused."""
    context = _RepairContext(parsed, tree, is_reversed)
    for file in parsed.files:
        if is_reversed and file.action != "change":
            raise PatchRefused("nowhere")
        _ACTIONS[file.action](file, context)
    changes: list[FileChange] = []
    for path, work in context.edited_files.items():
        lines = work.source.lines
        edits = tuple(
            edit
            for edit in merge_edits(work.edits)
            if list(edit.added) != lines[edit.at : edit.at + edit.removed]
        )
        if edits or path != work.target:
            changes.append(FileChange(path, work.target, tuple(lines), edits))
    return AssembledPatch((*changes, *context.created_files.values()), frozenset(context.steps))


def _apply_change(file: ParsedFile, context: _RepairContext) -> None:
    if not _list_patch_names(file):
        _apply_unnamed_change(file, context)
    elif path := _resolve_changed_path(file, context):
        _add_hunk_edits(file.hunks, context.open_file(path), context)
    else:
        _create_file(file, context)


def _apply_rename(file: ParsedFile, context: _RepairContext) -> None:
    path = find_existing_file(clean_file_name(file.old), context.tree, exactly=True)
    target = resolve_new_path(clean_file_name(file.new), context.tree)
    _add_hunk_edits(file.hunks, context.open_file(path, target), context)


def _create_file(file: ParsedFile, context: _RepairContext) -> None:
    name = file.new if file.new != NULL else file.old
    path = resolve_new_path(clean_file_name(name), context.tree)
    if path in context.created_files:
        raise PatchRefused("overlap")
    lines, bare = file.content, False
    for hunk in file.hunks:
        text, bare, whole = _read_new_lines(hunk)
        lines += text
        context.steps |= set() if whole else {"extract"}
    added = [f"{line}\n" for line in lines]
    if bare and added:
        added[-1] = added[-1].removesuffix("\n")
    _refuse_elision(lines, ())
    edits = (Edit(0, 0, tuple(added)),) if added else ()
    context.created_files[path] = FileChange("", path, (), edits, file.mode)


def _read_new_lines(hunk: ParsedHunk) -> tuple[tuple[str, ...], bool, bool]:
    """The lines of a new file, whether the last has no end, and whether they are the whole hunk."""
    announced = hunk.counts[1] if hunk.counts else 0
    for reading in iter_hunk_readings(hunk):
        lines = list(reading.lines)
        while lines and not lines[-1].sure and not lines[-1].text:
            lines.pop()
        if any(line.mark != "+" and (line.sure or line.text) for line in lines):
            continue
        if len(lines) < announced:
            raise PatchRefused("short" if hunk.closed else "cut")
        if not hunk.closed and not hunk.newline and not reading.new_bare:
            raise PatchRefused("cut")
        return tuple(line.text for line in lines), reading.new_bare, reading.whole
    raise PatchRefused("nowhere")


def _delete_file(file: ParsedFile, context: _RepairContext) -> None:
    path = find_existing_file(clean_file_name(file.old), context.tree, exactly=True)
    source = context.open_file(path).source
    for hunk in file.hunks:
        removed = next((reading.old_lines for reading in iter_hunk_readings(hunk)), ())
        if [line.rstrip() for line in removed] != [line.rstrip() for line in source.texts]:
            raise PatchRefused("nowhere")
    del context.edited_files[path]
    edits = (Edit(0, len(source.lines), ()),) if source.lines else ()
    context.created_files[path] = FileChange(path, "", tuple(source.lines), edits)


def _replace_whole_file(file: ParsedFile, context: _RepairContext) -> None:
    try:
        path = find_existing_file(clean_file_name(file.old), context.tree, exactly=True)
    except PatchRefused as problem:
        if problem.kind != "file":
            raise
        _create_file(file, context)
        return
    file_edits = context.open_file(path)
    old = file_edits.source.lines
    end = "\r\n" if old and all(line.endswith("\r\n") for line in old) else "\n"
    new = [f"{line}{end}" for line in file.content]
    if new and old and not old[-1].endswith("\n"):
        new[-1] = new[-1].removesuffix(end)
    if len(old) > _SHORT_FILE and len(match_common_lines(old, new)) < _MIN_COMMON_SHARE * len(old):
        raise PatchRefused("elided")
    _refuse_elision(file.content, file_edits.source.texts)
    file_edits.edits += [
        Edit(a, b - a, tuple(new[c:d])) for a, b, c, d in iter_changed_ranges(old, new)
    ]


def _replace_fenced_file(file: ParsedFile, context: _RepairContext) -> None:
    path = find_existing_file(clean_file_name(file.old), context.tree, exactly=True)
    old = context.open_file(path).source.texts
    if len(match_common_lines(old, file.content)) < _MIN_FENCED_SHARE * len(old):
        raise PatchRefused("elided")
    _replace_whole_file(file, context)


def _list_patch_names(file: ParsedFile) -> list[str]:
    names = (clean_file_name(file.new), clean_file_name(file.old))
    return [name for name in names if name and name != NULL]


def _apply_unnamed_change(file: ParsedFile, context: _RepairContext) -> None:
    """Hunks without a file name go where their old lines are: all to one file, else each alone."""
    context.steps.add("headers")
    context.unnamed += len(file.hunks)
    if context.unnamed > _MAX_UNNAMED_HUNKS:
        raise PatchRefused("large")
    try:
        path = find_file_with_hunks(file.hunks, context.tree)
        _add_hunk_edits(file.hunks, context.open_file(path), context)
    except PatchRefused as problem:
        if problem.kind != "unnamed":
            raise
        for hunk in file.hunks:
            path = find_file_with_hunks([hunk], context.tree)
            _add_hunk_edits([hunk], context.open_file(path), context)


def _resolve_changed_path(file: ParsedFile, context: _RepairContext) -> str | None:
    """The file that a draft changes; None where it makes one without saying so."""
    if not file.hunks:
        raise PatchRefused("short")
    names = _list_patch_names(file)
    paths: set[str] = set()
    problem = PatchRefused("file")
    for name in names:
        try:
            paths.add(find_existing_file(name, context.tree))
        except PatchRefused as refused:
            problem = refused
    if len(paths) > 1:
        raise PatchRefused("which_file")
    if not paths:
        adds_only = all(hunk.counts and not hunk.counts[0] for hunk in file.hunks)
        if problem.kind != "file" or not adds_only:
            raise problem
        return None
    path = paths.pop()
    expected = [f"b/{path}", f"a/{path}"] if context.parsed.format == "unified" else [path, path]
    if names != expected:
        context.steps.add("headers")
    return path


def _add_hunk_edits(
    hunks: Sequence[ParsedHunk], file_edits: _FileEdits, context: _RepairContext
) -> None:
    for hunk in hunks:
        context.searched += file_edits.source.size
        if context.searched > _MAX_SEARCHED_CHARS:
            raise PatchRefused("large")
        if next(iter_hunk_readings(hunk), None) is None:
            raise PatchRefused("short" if hunk.closed else "cut")
        position = (
            _position_reversed_hunk(hunk, file_edits)
            if context.is_reversed
            else _position_hunk(hunk, file_edits, context)
        )
        edits = build_hunk_edits(position, file_edits.source)
        _refuse_elision((line for edit in edits for line in edit.added), file_edits.source.texts)
        file_edits.edits += edits
        if context.parsed.format != "search_replace":
            file_edits.after = position.at + len(position.reading.old_lines)


def _position_hunk(
    hunk: ParsedHunk, file_edits: _FileEdits, context: _RepairContext
) -> HunkPosition:
    position = find_hunk_position(hunk, file_edits.source, file_edits.after)
    problem = check_completeness(hunk, position, file_edits.source)
    if problem:
        raise PatchRefused(problem)
    if not position.matches_header or position.form_index:
        context.steps.add("anchor")
    if hunk.counts != position.reading.counts:
        context.steps.add("recount")
    if not position.reading.whole or position.reading.numbered:
        context.steps.add("extract")
    return position


def _position_reversed_hunk(hunk: ParsedHunk, file_edits: _FileEdits) -> HunkPosition:
    """The only place of a hunk read backwards, which must be there word for word."""
    forward = next(iter_hunk_readings(hunk))
    reading = reverse_reading(forward)
    positions = find_exact_positions(reading, file_edits.source)
    if len(positions) != 1:
        raise PatchRefused("ambiguous" if positions else "nowhere")
    # The header may have been exchanged as well, or not.
    sides = (forward.counts, forward.counts[::-1])
    if hunk.counts and not any(hunk.counts[0] <= a and hunk.counts[1] <= b for a, b in sides):
        raise PatchRefused("short")
    return HunkPosition(reading, positions[0], 0, matches_header=False)


def _refuse_elision(added: Iterable[str], before: Sequence[str]) -> None:
    """Raises PatchRefused where an added line stands for text that was left out."""
    elided = [line.rstrip("\r\n") for line in added if _ELISION.match(line)]
    if elided and not set(elided) <= set(before):
        raise PatchRefused("elided")


_ACTIONS: dict[str, Callable[[ParsedFile, _RepairContext], None]] = {
    "change": _apply_change,
    "create": _create_file,
    "delete": _delete_file,
    "rename": _apply_rename,
    "whole": _replace_whole_file,
    "fenced": _replace_fenced_file,
}
