"""The part of a reply in which its patch is: without reasoning, JSON around it, or indentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks.swe_bench.patches.text import CONTAINERS
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


def unescape_entities(text: str) -> str:
    """The text with the entities of HTML resolved once."""
    return _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)


def _strip_reasoning(text: str) -> str:
    """What follows the last end of reasoning; nothing where the reasoning never ends.

    An end that stands in a line of a diff is code of the repository.
    """
    end = -1
    at = 0
    for line in text.split("\n"):
        match = _REASONED.match(line) if "</" in line else None
        if match:
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
        patches = [
            string for string in _iter_json_strings(value, 0) if _LOOKS_LIKE_PATCH.search(string)
        ]
        if patches:
            # What was a string is complete: its end is the end of a line.
            return patches[-1] if patches[-1].endswith("\n") else patches[-1] + "\n"
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
    """The text with each tag around a patch on a line of its own."""
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
    prefix = indented[1]
    lines = text.split("\n")
    return "\n".join(line.removeprefix(prefix) if line.strip() else "" for line in lines)
