"""The ladder: from whatever a model wrote to a clean diff that `git apply` takes, or to a refusal.

The rungs are: take the answer out of the reply, read its format (`formats`), find the files
(`assemble`), find the position of each hunk by its content (`hunk_position`), ask whether the hunk
is all there, write the added lines as the file would have them and make a new diff (`edits`). A
text that could mean two things is refused: a patch that was not meant is worse than none. The
official chain knows nothing of this; its result stands beside this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from evalcore.benchmarks.swe_bench.patches import formats
from evalcore.benchmarks.swe_bench.patches.assemble import (
    AssembledPatch,
    assemble_patch,
    clean_file_name,
)
from evalcore.benchmarks.swe_bench.patches.edits import apply_edits, render_patch
from evalcore.benchmarks.swe_bench.patches.hunk_position import iter_hunk_readings
from evalcore.benchmarks.swe_bench.patches.parsed_patch import (
    CONTAINERS,
    PROBLEMS,
    ParsedFile,
    ParsedPatch,
    PatchRefused,
)
from evalcore.benchmarks.swe_bench.patches.source import Tree, compiles_as_python
from evalcore.records import Record

_REASONING = "think|thinking|thought|reasoning|analysis|scratchpad"
_REASONED = re.compile(rf"(?:^|[^\n+\-\s][^\n]*)</(?:{_REASONING})>", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_REASONING})>", re.IGNORECASE)
_THINKS = re.compile(rf"\s*<(?:{_REASONING})>", re.IGNORECASE)
_OPENED = re.compile(rf"^<({CONTAINERS})>", re.IGNORECASE | re.MULTILINE)
#: How a line begins that belongs to a patch of any format.
_START = (
    r"(?:diff --git |--- \S|\+\+\+ \S|@@|\*\*\* (?:Begin Patch|Update File:|Add File:)|<<<<<<< |"
    r"\[start of )"
)
#: Headers of git end with a line feed alone, even where the lines of the file do not.
_CARRIED = re.compile(rf"^{_START}[^\n]*\r$", re.MULTILINE)
_FLUSH = re.compile(rf"^{_START}", re.MULTILINE)
_INDENTED = re.compile(rf"^([ \t]{{1,16}}){_START}", re.MULTILINE)
_LOOKS_LIKE_PATCH = re.compile(rf"(?:^|\n){_START}")
_JSON_FENCE = re.compile(r"^```json[c5]?[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_OBJECT = re.compile(r'^\{\s{0,80}"', re.MULTILINE)
_ENTITIES = {
    **{"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'},
    **{"&#39;": "'", "&#x27;": "'", "&apos;": "'", "&#34;": '"'},
}
_ENTITY = re.compile("|".join(_ENTITIES))
_DEEPEST = 200  # levels of JSON that are looked into


class PatchText(Record, frozen=True):
    """`text` where the patch is looked for; `taken`: it is not the reply as it stands."""

    text: str
    taken: bool


def extract_patch_text(reply: str) -> PatchText:
    """The final part of a reply, as plain text with its lines flush left."""
    text = _strip_reasoning(reply.removeprefix("\ufeff"))
    text = _find_patch_in_json(text) or text
    if _CARRIED.search(text):
        text = text.replace("\r\n", "\n")
    text = _dedent_patch(_split_tag_lines(text))
    return PatchText(text, text != reply or not text.endswith("\n"))


def _strip_reasoning(text: str) -> str:
    """What follows the last end of reasoning; nothing where the reasoning never ends. An end that
    stands in a line of a diff is code of the repository."""
    end, at = -1, 0
    for line in text.split("\n"):
        if "</" in line and _REASONED.match(line):
            *_, last = _CLOSING.finditer(line)
            end = at + last.end()
        at += len(line) + 1
    if end >= 0:
        return text[end:].lstrip("\r\n ") if not text[end:].startswith("\n") else text[end + 1 :]
    return "" if _THINKS.match(text) else text


def _find_patch_in_json(text: str) -> str:
    """The last string of a JSON value that looks like a patch, "" if there is none."""
    for candidate in _iter_json_texts(text):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        patches = list(filter(_LOOKS_LIKE_PATCH.search, _iter_json_strings(value, 0)))
        if patches:  # what was a string is complete: its end is the end of a line
            return patches[-1].removesuffix("\n") + "\n"
    return ""


def _iter_json_texts(text: str) -> Iterator[str]:
    """The whole text, the last fence that says it is JSON, and what stands in the braces."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        yield stripped
    openings = list(_JSON_FENCE.finditer(text))
    if openings:
        body = text[openings[-1].end() :]
        yield body[: end if (end := body.rfind("\n```")) >= 0 else None]
    opening = _OBJECT.search(text)
    if opening and not _FLUSH.search(text):
        yield text[opening.start() : text.rfind("}") + 1]


def _iter_json_strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_json_strings(item, depth + 1)


def _split_tag_lines(text: str) -> str:
    opened = _OPENED.search(text)
    if not opened:
        return text
    name = opened[1]
    text = re.sub(rf"^<{name}>[ \t]*(?=\S)", f"<{name}>\n", text, flags=re.MULTILINE)
    return re.sub(rf"(?<=[^\n])</{name}>[ \t]*$", f"\n</{name}>", text, flags=re.MULTILINE)


def _dedent_patch(text: str) -> str:
    """The text without the indentation of a patch that stands in a list or an indented block."""
    indented = None if _FLUSH.search(text) else _INDENTED.search(text)
    if not indented:
        return text
    lines = text.split("\n")
    return "\n".join(line.removeprefix(indented[1]) if line.strip() else "" for line in lines)


#: Characters of a reply beyond which it is not read.
MAX_REPLY_CHARS = 2_000_000
#: The steps in the order in which they are told.
STEPS = ("extract", "convert", "headers", "reverse", "recount", "anchor")
#: Hunks of a diff that is read backwards: each is tried forwards first.
_MAX_REVERSED_HUNKS = 50
_ENTITY_IN_CODE = re.compile(r"""[^"'#\n]*&(?:lt|gt|amp|quot);""")


class RepairedPatch(Record, frozen=True):
    """`patch` is a diff that applies strictly, "" where there is a `problem` (a sentence of
    PROBLEMS). `steps` (of STEPS) are what was wrong with the text; none for a clean diff."""

    patch: str = ""
    steps: tuple[str, ...] = ()
    problem: str = ""


def repair_patch(text: str, tree: Tree, cut: bool = False) -> RepairedPatch:
    """The patch that a reply means; `cut`: the reply ended at a limit of its length. Raises
    EnvironmentFailure where Python source cannot be checked."""
    try:
        return _repair_reply(text, tree, cut)
    except PatchRefused as refused:
        return RepairedPatch(problem=PROBLEMS[refused.kind])


def _repair_reply(text: str, tree: Tree, cut: bool) -> RepairedPatch:
    if not text.strip():
        raise PatchRefused("empty")
    if cut or len(text) > MAX_REPLY_CHARS:
        raise PatchRefused("cut" if cut else "large")
    answer = extract_patch_text(text)
    if not answer.text.strip():
        raise PatchRefused("none")
    parsed, result = _assemble_any_escaping(answer.text, tree)
    if not result.changes:
        raise PatchRefused("same")
    steps = set(result.steps)
    if answer.taken or not parsed.alone:
        steps.add("extract")
    if parsed.format != "unified":
        steps = (steps - {"recount", "anchor"}) | {"convert"}
    ordered_steps = tuple(step for step in STEPS if step in steps)
    return RepairedPatch(render_patch(result.changes), ordered_steps)


def _assemble_any_escaping(text: str, tree: Tree) -> tuple[ParsedPatch, AssembledPatch]:
    """The text as it stands or, where that fails, without the entities of HTML."""
    plain_text = _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)
    if plain_text == text:
        return _assemble_text(text, tree)
    try:
        literal = _assemble_text(text, tree)
    except PatchRefused as problem:
        try:
            return _assemble_text(plain_text, tree)
        except PatchRefused:
            raise problem from None
    if _has_entities_in_code(literal[1]) and _can_assemble(plain_text, tree):
        raise PatchRefused("ambiguous")
    return literal


def _can_assemble(text: str, tree: Tree) -> bool:
    try:
        _assemble_text(text, tree)
    except PatchRefused:
        return False
    return True


def _has_entities_in_code(result: AssembledPatch) -> bool:
    """Whether Python gets an entity outside of text in quotes and comments."""
    return any(
        _ENTITY_IN_CODE.match(line)
        for change in result.changes
        for edit in change.edits
        for line in edit.added
        if change.new.endswith(".py")
    )


def _assemble_text(text: str, tree: Tree) -> tuple[ParsedPatch, AssembledPatch]:
    """Raises PatchRefused, too, where Python does not compile that is new or compiled before."""
    parsed = formats.parse_any_format(text)
    result = _assemble_with_fallbacks(parsed, tree)
    for change in result.changes:
        if not (change.new.endswith(".py") and change.edits):
            continue
        after = "".join(apply_edits(change.lines, change.edits))
        if not compiles_as_python(after) and (
            not change.old or compiles_as_python("".join(change.lines))
        ):
            raise PatchRefused("python")
    return parsed, result


def _assemble_with_fallbacks(parsed: ParsedPatch, tree: Tree) -> AssembledPatch:
    """All blocks together; where they overlap, the last one; where nothing fits, backwards."""
    try:
        return assemble_patch(parsed, tree)
    except PatchRefused as problem:
        again = _select_last_block(parsed) if problem.kind == "overlap" else None
        if again:
            return assemble_patch(again, tree)
        if problem.kind != "nowhere" or not _may_be_reversed(parsed, tree):
            raise
        try:
            result = assemble_patch(parsed, tree, is_reversed=True)
        except PatchRefused:
            raise problem from None
        return AssembledPatch(result.changes, result.steps - {"recount", "anchor"} | {"reverse"})


def _select_last_block(parsed: ParsedPatch) -> ParsedPatch | None:
    """The last block of a reply, where it speaks of all files that those before it speak of."""

    def list_names(files: Iterable[ParsedFile]) -> set[str]:
        return {clean_file_name(file.new) or clean_file_name(file.old) for file in files}

    block = max(file.block for file in parsed.files)
    last = tuple(file for file in parsed.files if file.block == block)
    if len(last) == len(parsed.files) or list_names(last) != list_names(parsed.files):
        return None
    return ParsedPatch(parsed.format, last, alone=False)


def _may_be_reversed(parsed: ParsedPatch, tree: Tree) -> bool:
    """Whether no file of a diff fits forwards and one hunk says for sure which way is meant. A hunk
    that only adds what is there already says nothing: it may be done, and not reversed."""
    hunks = [(file, hunk) for file in parsed.files for hunk in file.hunks]
    if parsed.format != "unified" or len(hunks) > _MAX_REVERSED_HUNKS:
        return False
    readings = [next(iter_hunk_readings(hunk), None) for _, hunk in hunks]
    marks = [{line.mark for line in reading.lines} for reading in readings if reading]
    if any("-" not in each for each in marks) or not any("+" in each for each in marks):
        return False
    return not any(
        _fits_forwards(ParsedFile(file.old, file.new, (hunk,), file.action), tree)
        for file, hunk in hunks
    )


def _fits_forwards(file: ParsedFile, tree: Tree) -> bool:
    try:
        assemble_patch(ParsedPatch("unified", (file,)), tree)
    except PatchRefused as problem:
        return problem.kind != "nowhere"
    return True
