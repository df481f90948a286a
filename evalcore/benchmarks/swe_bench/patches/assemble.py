"""From a draft to the changes of files: names resolved, hunks placed, edits made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from evalcore.benchmarks.swe_bench.patches import alignment
from evalcore.benchmarks.swe_bench.patches.completeness import missing
from evalcore.benchmarks.swe_bench.patches.draft import NULL, Draft, FileDraft, Hunk
from evalcore.benchmarks.swe_bench.patches.edits import Edit, edits_of, merged
from evalcore.benchmarks.swe_bench.patches.files import created, existing, holding, plain
from evalcore.benchmarks.swe_bench.patches.placing import Place, exact_places, place
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.readings import Reading, readings, reversed_reading
from evalcore.benchmarks.swe_bench.patches.render import FileChange
from evalcore.benchmarks.swe_bench.patches.source import Source
from evalcore.benchmarks.swe_bench.patches.tree import Tree
from evalcore.records import Record

#: Characters of files that may be searched for all hunks together.
_MOST_WORK = 400_000_000
#: Hunks without a file name: each is looked for in the whole repository.
_MOST_UNNAMED = 20
#: A whole file that keeps less of the old one was not given whole.
_LEAST_KEPT = 0.5
_SHORT_FILE = 10  # lines
_ELISION = re.compile(
    r"\s*(?:#|//|/\*|<!--|;|\*)?\s*\[?(?:\.{3}|…).{0,40}"
    r"\b(?:existing|rest|remaining|unchanged|same|omitted|other)\b",
    re.IGNORECASE,
)


class Assembled(Record, frozen=True):
    """The changes of a draft and what had to be repaired for them."""

    changes: tuple[FileChange, ...]
    steps: frozenset[str]


@dataclass
class _Work:
    """A file of the repository with what has been found to change in it."""

    source: Source
    target: str
    edits: list[Edit] = field(default_factory=list)
    after: int = 0
    hunks: int = 0


@dataclass
class _Bench:
    draft: Draft
    tree: Tree
    backwards: bool
    work: dict[str, _Work] = field(default_factory=dict)
    made: dict[str, FileChange] = field(default_factory=dict)
    steps: set[str] = field(default_factory=set)
    searched: int = 0
    unnamed: int = 0

    def on(self, path: str, target: str = "") -> _Work:
        """The work on a file that exists."""
        if path not in self.work:
            text = self.tree.read(path)
            if text is None:
                raise Refused("kind")
            self.work[path] = _Work(Source(text), target or path)
        return self.work[path]


def assemble(draft: Draft, tree: Tree, *, backwards: bool = False) -> Assembled:
    """The changes that a draft means; `backwards`: with old and new exchanged.

    Raises Refused.
    """
    bench = _Bench(draft, tree, backwards)
    for file in draft.files:
        if backwards and file.action != "change":
            raise Refused("nowhere")
        _ACTIONS[file.action](file, bench)
    changed = [
        FileChange(path, one.target, tuple(one.source.lines), tuple(_real(one)))
        for path, one in bench.work.items()
    ]
    changes = [one for one in changed if one.edits or one.old != one.new]
    return Assembled((*changes, *bench.made.values()), frozenset(bench.steps))


def _real(work: _Work) -> list[Edit]:
    """The edits of a file in order, without those that change nothing."""
    lines = work.source.lines
    return [
        edit
        for edit in merged(work.edits)
        if list(edit.added) != lines[edit.at : edit.at + edit.removed]
    ]


def _change(file: FileDraft, bench: _Bench) -> None:
    if not _names(file):
        _change_unnamed(file, bench)
        return
    path = _path(file, bench)
    if path is None:
        _create(file, bench)
        return
    _edit(file.hunks, bench.on(path), bench)


def _rename(file: FileDraft, bench: _Bench) -> None:
    path = existing(plain(file.old), bench.tree, exactly=True)
    target = created(plain(file.new), bench.tree)
    _edit(file.hunks, bench.on(path, target), bench)


def _create(file: FileDraft, bench: _Bench) -> None:
    path = created(plain(file.new if file.new != NULL else file.old), bench.tree)
    if path in bench.made:
        raise Refused("overlap")
    lines = file.content
    bare = False
    for hunk in file.hunks:
        text, bare, whole = _new_lines(hunk)
        lines += text
        bench.steps |= set() if whole else {"extract"}
    added = [f"{line}\n" for line in lines]
    if bare and added:
        added[-1] = added[-1].removesuffix("\n")
    _refuse_elision(lines, ())
    edits = (Edit(0, 0, tuple(added)),) if added else ()
    bench.made[path] = FileChange("", path, (), edits, file.mode)


def _new_lines(hunk: Hunk) -> tuple[tuple[str, ...], bool, bool]:
    """The lines of a new file, whether the last has no end, and whether they are the whole hunk.

    Raises Refused.
    """
    announced = hunk.counts[1] if hunk.counts else 0
    for reading in readings(hunk):
        lines = list(reading.lines)
        while lines and not lines[-1].sure and not lines[-1].text:
            lines.pop()
        if any(line.mark != "+" and (line.sure or line.text) for line in lines):
            continue
        if len(lines) < announced:
            raise Refused("short" if hunk.closed else "cut")
        if not hunk.closed and not hunk.newline and not reading.new_bare:
            raise Refused("cut")
        return tuple(line.text for line in lines), reading.new_bare, reading.whole
    raise Refused("nowhere")


def _delete(file: FileDraft, bench: _Bench) -> None:
    path = existing(plain(file.old), bench.tree, exactly=True)
    source = bench.on(path).source
    for hunk in file.hunks:
        removed = next((reading.old for reading in readings(hunk)), ())
        if [line.rstrip() for line in removed] != [line.rstrip() for line in source.texts]:
            raise Refused("nowhere")
    del bench.work[path]
    edits = (Edit(0, len(source.lines), ()),) if source.lines else ()
    bench.made[path] = FileChange(path, "", tuple(source.lines), edits)


def _whole(file: FileDraft, bench: _Bench) -> None:
    try:
        path = existing(plain(file.old), bench.tree, exactly=True)
    except Refused as problem:
        if problem.kind != "file":
            raise
        _create(file, bench)
        return
    work = bench.on(path)
    old = work.source.lines
    end = "\r\n" if old and all(line.endswith("\r\n") for line in old) else "\n"
    new = [f"{line}{end}" for line in file.content]
    if new and old and not old[-1].endswith("\n"):
        new[-1] = new[-1].removesuffix(end)
    if len(old) > _SHORT_FILE and len(alignment.common(old, new)) < _LEAST_KEPT * len(old):
        raise Refused("elided")
    _refuse_elision(file.content, work.source.texts)
    work.edits += [Edit(a, b - a, tuple(new[c:d])) for a, b, c, d in alignment.changes(old, new)]


def _names(file: FileDraft) -> list[str]:
    return [name for one in (file.new, file.old) if (name := plain(one)) and name != NULL]


def _change_unnamed(file: FileDraft, bench: _Bench) -> None:
    """Hunks without a file name go where their old lines are: all to one file, else each alone."""
    bench.steps.add("headers")
    bench.unnamed += len(file.hunks)
    if bench.unnamed > _MOST_UNNAMED:
        raise Refused("large")
    try:
        path = holding(file.hunks, bench.tree)
        _edit(file.hunks, bench.on(path), bench)
    except Refused as problem:
        if problem.kind != "unnamed":
            raise
        for hunk in file.hunks:
            path = holding([hunk], bench.tree)
            _edit([hunk], bench.on(path), bench)


def _path(file: FileDraft, bench: _Bench) -> str | None:
    """The file that a draft changes; None where it makes one without saying so."""
    names = _names(file)
    if not file.hunks:
        raise Refused("short")
    found: set[str] = set()
    problem = Refused("file")
    for name in names:
        try:
            found.add(existing(name, bench.tree))
        except Refused as refused:
            problem = refused
    if len(found) > 1:
        raise Refused("which_file")
    if not found:
        if problem.kind == "file" and all(
            hunk.counts and not hunk.counts[0] for hunk in file.hunks
        ):
            return None
        raise problem
    path = found.pop()
    expected = [f"b/{path}", f"a/{path}"] if bench.draft.format == "unified" else [path, path]
    if names != expected:
        bench.steps.add("headers")
    return path


def _edit(hunks: Sequence[Hunk], work: _Work, bench: _Bench) -> None:
    for hunk in hunks:
        bench.searched += work.source.size
        if bench.searched > _MOST_WORK:
            raise Refused("large")
        if not any(True for _ in readings(hunk)):
            raise Refused("short" if hunk.closed else "cut")
        where = _placed_back(hunk, work) if bench.backwards else _placed(hunk, work, bench)
        edits = edits_of(where, work.source)
        _refuse_elision((line for edit in edits for line in edit.added), work.source.texts)
        work.edits += edits
        if bench.draft.format != "search_replace":
            work.after = where.at + len(where.reading.old)


def _placed(hunk: Hunk, work: _Work, bench: _Bench) -> Place:
    found = place(hunk, work.source, work.after)
    problem = missing(hunk, found, work.source)
    if problem:
        raise Refused(problem)
    if not found.named or found.form:
        bench.steps.add("anchor")
    if hunk.counts != found.reading.counts:
        bench.steps.add("recount")
    if not found.reading.whole or found.reading.numbered:
        bench.steps.add("extract")
    return found


def _placed_back(hunk: Hunk, work: _Work) -> Place:
    """The only place of a hunk read backwards, which must be there word for word."""
    forward = next(readings(hunk))
    reading = reversed_reading(forward)
    found = exact_places(reading, work.source)
    if len(found) != 1:
        raise Refused("ambiguous" if found else "nowhere")
    # The header may have been exchanged as well, or not.
    sides = (forward.counts, forward.counts[::-1])
    if hunk.counts and not any(hunk.counts[0] <= a and hunk.counts[1] <= b for a, b in sides):
        raise Refused("short")
    return Place(reading, found[0], 0, named=False)


def is_mixed(reading: Reading) -> bool:
    """Whether a hunk both removes and adds lines."""
    marks = {line.mark for line in reading.lines}
    return {"-", "+"} <= marks


def _refuse_elision(added: Iterable[str], before: Sequence[str]) -> None:
    """Raises Refused where an added line stands for text that was left out."""
    found = [line.rstrip("\r\n") for line in added if _ELISION.match(line)]
    if found and not set(found) <= set(before):
        raise Refused("elided")


_ACTIONS: dict[str, Callable[[FileDraft, _Bench], None]] = {
    "change": _change,
    "create": _create,
    "delete": _delete,
    "rename": _rename,
    "whole": _whole,
}
