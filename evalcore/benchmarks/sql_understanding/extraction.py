"""Finding the JSON answer in what a model really wrote.

`strict` means the whole answer is the JSON object that was asked for; `lenient` means it had to be
found (code fence, prose around it, reasoning block, single quotes, trailing comma); `none` means
there is none. A format failure is thereby told apart from a wrong answer.

Answers are hostile: every search is linear in their length, and what is found holds only values
that JSON can hold again (`sqlkit.table.json_value`), so that it can be journaled.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from evalcore.benchmarks.answer_parsing import (
    LIMIT,
    ExtractionKind,
    extract_code_blocks,
    strip_reasoning,
)
from evalcore.records import Record
from evalcore.sqlkit.table import to_json_cell

_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


class Extraction(Record, frozen=True):
    """`value` is the object found, None if `kind` is none."""

    kind: ExtractionKind
    value: dict[str, Any] | None = None


def extract_json_answer(text: str, fields: Sequence[str]) -> Extraction:
    """The object with most of `fields`; among equals the last, since models correct themselves."""
    strict = _parse_json(text.strip())
    if isinstance(strict, dict):
        return Extraction(kind="strict", value=strict)
    best: dict[str, Any] | None = None
    best_count = 0
    for candidate in _find_object_texts(strip_reasoning(text)[-LIMIT:]):
        if not any(field in candidate for field in fields):
            continue
        value = _parse_object(candidate)
        count = sum(field in value for field in fields) if value else 0
        if value and count >= max(best_count, 1):
            best, best_count = value, count
    return Extraction(kind="lenient", value=best) if best else Extraction(kind="none")


def _find_object_texts(text: str) -> Iterator[str]:
    """Texts that may be the object: spans with balanced braces, then whole code fences."""
    yield from _find_balanced_objects(text)
    yield from extract_code_blocks(text)


def _find_balanced_objects(text: str) -> Iterator[str]:
    """Outermost `{...}` spans, with braces inside quoted strings not counted."""
    start, depth, quote, escaped = -1, 0, "", False
    for position, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
        elif char == '"' and depth:
            quote = char
        elif char == "{":
            start, depth = (position, 1) if depth == 0 else (start, depth + 1)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : position + 1]


def _parse_object(text: str) -> dict[str, Any] | None:
    for reading in (_parse_json, _json_without_trailing_commas, _python_literal):
        value = reading(text)
        if isinstance(value, dict):
            return value
    return None


def _parse_json(text: str) -> Any:
    try:
        return to_json_cell(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _json_without_trailing_commas(text: str) -> Any:
    return _parse_json(_TRAILING_COMMA.sub(r"\1", text))


def _python_literal(text: str) -> Any:
    """Single quotes, None, True: Python's literals are read, nothing is evaluated."""
    words = re.sub(r"\bnull\b", "None", text)
    words = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", words))
    try:
        value = ast.literal_eval(words)
        json.dumps(value)
        return to_json_cell(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
