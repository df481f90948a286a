"""The ladder: from whatever a model wrote to a clean diff that `git apply` takes, or to a refusal.

The rungs are: take the answer out of the reply (`reply`), read its format (`formats`), find the
files (`files`), find the place of each hunk by its content (`placing`), ask whether the hunk is all
there (`completeness`), write the added lines as the file would have them (`indentation`), make a
new diff (`render`). A text that could mean two things is refused: a patch that was not meant is
worse than none. The official chain knows nothing of this; its result stands beside this one.
"""

from __future__ import annotations

import re

from evalcore.benchmarks.swe_bench.patches import formats
from evalcore.benchmarks.swe_bench.patches.assemble import Assembled, assemble, is_mixed
from evalcore.benchmarks.swe_bench.patches.draft import Draft, FileDraft
from evalcore.benchmarks.swe_bench.patches.edits import apply_edits
from evalcore.benchmarks.swe_bench.patches.files import plain
from evalcore.benchmarks.swe_bench.patches.problems import PROBLEMS, Kind, Refused
from evalcore.benchmarks.swe_bench.patches.python_check import compiles
from evalcore.benchmarks.swe_bench.patches.readings import readings
from evalcore.benchmarks.swe_bench.patches.render import FileChange, render
from evalcore.benchmarks.swe_bench.patches.reply import answer_of, unescaped
from evalcore.benchmarks.swe_bench.patches.tree import Tree
from evalcore.records import Record

#: Characters of a reply beyond which it is not read.
LARGEST = 2_000_000
#: The steps in the order in which they are told.
STEPS = ("extract", "convert", "headers", "reverse", "recount", "anchor")
#: Hunks of a diff that is read backwards: each is tried forwards first.
_MOST_REVERSED = 50
_ENTITY_IN_CODE = re.compile(r"""[^"'#\n]*&(?:lt|gt|amp|quot);""")


class Repaired(Record, frozen=True):
    """`patch` is a diff that applies strictly, "" where there is a `problem` (a sentence of
    PROBLEMS). `steps` (of STEPS) are what was wrong with the text; none for a clean diff."""

    patch: str = ""
    steps: tuple[str, ...] = ()
    problem: str = ""


def repair(text: str, tree: Tree, cut: bool = False) -> Repaired:
    """The patch that a reply means; `cut`: the reply ended at a limit of its length.

    Raises EnvironmentFailure where Python source cannot be checked.
    """
    try:
        return _ladder(text, tree, cut)
    except Refused as refused:
        return Repaired(problem=PROBLEMS[refused.kind])


def _ladder(text: str, tree: Tree, cut: bool) -> Repaired:
    refused_first: tuple[tuple[bool, Kind], ...] = (
        (not text.strip(), "empty"),
        (cut, "cut"),
        (len(text) > LARGEST, "large"),
    )
    for applies, kind in refused_first:
        if applies:
            raise Refused(kind)
    answer = answer_of(text)
    if not answer.text.strip():
        raise Refused("none")
    draft, result = _read(answer.text, tree)
    if not result.changes:
        raise Refused("same")
    steps = set(result.steps)
    if answer.taken or not draft.alone:
        steps.add("extract")
    if draft.format != "unified":
        steps = (steps - {"recount", "anchor"}) | {"convert"}
    return Repaired(render(result.changes), tuple(step for step in STEPS if step in steps))


def _read(text: str, tree: Tree) -> tuple[Draft, Assembled]:
    """The text as it stands or, where that fails, without the entities of HTML."""
    plain_text = unescaped(text)
    if plain_text == text:
        return _checked(text, tree)
    try:
        literal = _checked(text, tree)
    except Refused as problem:
        try:
            return _checked(plain_text, tree)
        except Refused:
            raise problem from None
    if _has_entities_in_code(literal[1]) and _works(plain_text, tree):
        raise Refused("ambiguous")
    return literal


def _works(text: str, tree: Tree) -> bool:
    try:
        _checked(text, tree)
    except Refused:
        return False
    return True


def _has_entities_in_code(result: Assembled) -> bool:
    """Whether Python gets an entity outside of text in quotes and comments."""
    return any(
        _ENTITY_IN_CODE.match(line)
        for change in result.changes
        for edit in change.edits
        for line in edit.added
        if change.new.endswith(".py")
    )


def _checked(text: str, tree: Tree) -> tuple[Draft, Assembled]:
    draft = formats.read(text)
    result = _assembled(draft, tree)
    for change in result.changes:
        _check_python(change)
    return draft, result


def _check_python(change: FileChange) -> None:
    """Raises Refused where a file does not compile that is new or compiled before."""
    if not (change.new.endswith(".py") and change.edits):
        return
    after = "".join(apply_edits(change.lines, change.edits))
    if not compiles(after) and (not change.old or compiles("".join(change.lines))):
        raise Refused("python")


def _assembled(draft: Draft, tree: Tree) -> Assembled:
    """All blocks together; where they overlap, the last one; where nothing fits, backwards."""
    try:
        return assemble(draft, tree)
    except Refused as problem:
        again = _last_block(draft) if problem.kind == "overlap" else None
        if again:
            return assemble(again, tree)
        if problem.kind == "nowhere" and _may_be_reversed(draft, tree):
            return _backwards(draft, tree, problem)
        raise


def _last_block(draft: Draft) -> Draft | None:
    """The last block of a reply, where it speaks of all files that those before it speak of."""
    blocks = {file.block for file in draft.files}
    last = tuple(file for file in draft.files if file.block == max(blocks))
    if len(blocks) < 2 or {_name(file) for file in draft.files} != {_name(file) for file in last}:
        return None
    return Draft(draft.format, last, alone=False)


def _name(file: FileDraft) -> str:
    return plain(file.new) or plain(file.old)


def _may_be_reversed(draft: Draft, tree: Tree) -> bool:
    """Whether no file of a diff fits forwards and one hunk says for sure which way is meant.

    A hunk that only adds what is there already says nothing: it may be done, and not reversed.
    """
    if draft.format != "unified":
        return False
    first = [next(readings(hunk), None) for file in draft.files for hunk in file.hunks]
    if len(first) > _MOST_REVERSED:
        return False
    marks = [{line.mark for line in one.lines} for one in first if one]
    if any("-" not in each for each in marks) or not any(one and is_mixed(one) for one in first):
        return False
    return not any(_fits(Draft(draft.format, (file,)), tree) for file in _single_hunks(draft))


def _single_hunks(draft: Draft) -> list[FileDraft]:
    return [
        FileDraft(file.old, file.new, (hunk,), file.action)
        for file in draft.files
        for hunk in file.hunks
    ]


def _fits(draft: Draft, tree: Tree) -> bool:
    try:
        assemble(draft, tree)
    except Refused as problem:
        return problem.kind != "nowhere"
    return True


def _backwards(draft: Draft, tree: Tree, problem: Refused) -> Assembled:
    try:
        result = assemble(draft, tree, backwards=True)
    except Refused:
        raise problem from None
    return Assembled(result.changes, result.steps - {"recount", "anchor"} | {"reverse"})
