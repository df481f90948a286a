"""Find the JSON answer in what a model really wrote.

`strict` means the whole answer is the JSON object that was asked for; `lenient` means it had to be
found (code fence, prose around it, reasoning block, single quotes, a table, YAML); `none` means
there is none. A format failure is thereby told apart from a wrong answer. Answers are hostile:
every search is linear in their length, and what is found holds only values that JSON can hold
again (`sqlkit.result_tables.to_json_cell`), so that it can be journaled.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from evalcore.benchmarks.answer_scoring import LIMIT, ExtractionKind, extract_code_blocks
from evalcore.benchmarks.sql_markup import split_fences, strip_thinking
from evalcore.benchmarks.sql_roles import is_aside
from evalcore.records import Record
from evalcore.sqlkit.result_tables import to_json_cell

_MAX_OBJECTS = 500  # tried of one answer
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


class Extraction(Record, frozen=True):
    """`value` is the object found, None if `kind` is none."""

    kind: ExtractionKind
    value: dict[str, Any] | None = None


def extract_json_answer(text: str, fields: Sequence[str]) -> Extraction:
    """The object with most of `fields`, which is not offered as an example or an alternative; among
    equals the last, since models correct themselves."""
    strict = _parse_json(text.strip())
    if isinstance(strict, dict) and any(field in strict for field in fields):
        return Extraction(kind="strict", value=strict)
    visible = strip_thinking(text)[-LIMIT:]
    readings = (visible, _replace_odd_characters(visible), visible.replace('\\"', '"'))
    for reading in dict.fromkeys(readings):
        value = (
            _find_best_object(reading, fields)
            or _read_rows(reading, fields)
            or _read_labelled_words(reading, fields)
            or _read_yaml(reading, fields)
            or _read_last_word(reading, fields)
        )
        if value:
            return Extraction(kind="lenient", value=value)
    if isinstance(strict, dict):
        return Extraction(kind="strict", value=strict)
    return Extraction(kind="none")


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OPEN_BRACKET = re.compile(r"\([^()\n]*\Z")


def _find_best_object(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    best: dict[str, Any] | None = None
    best_rank = (1, False)
    for before, candidate in _find_object_texts(text):
        lowered = re.sub(r"[\s-]+", "_", _CAMEL.sub("_", candidate).lower())
        if not any(field in lowered for field in fields):
            continue
        parsed = _parse_object(candidate)
        value = _select_fields(parsed, fields) if parsed else None
        is_remark = is_aside(before) or _OPEN_BRACKET.search(before) is not None
        rank = (sum(field in value for field in fields) if value else 0, not is_remark)
        if value and rank >= best_rank:
            best, best_rank = value, rank
    return best


def _find_object_texts(text: str) -> Iterator[tuple[str, str]]:
    """Texts that may be the object, with the words before each: spans with balanced braces, what
    stands within one of these that is none (LaTeX's boxes), then whole code fences."""
    end = 0
    for start, span in list(_find_balanced_objects(text))[-_MAX_OBJECTS:]:
        before = text[max(end, start - 300) : start]
        end = start + len(span)
        inner = span[1:-1].strip()
        yield before, inner if inner.startswith("{") and inner.endswith("}") else span
    yield from (("", block) for block in extract_code_blocks(text))
    if text.strip().startswith('"') and isinstance(string := _parse_json(text.strip()), str):
        yield "", string


def _select_fields(value: Any, fields: Sequence[str], depth: int = 3) -> dict[str, Any] | None:
    """The object with its fields spelled as asked for; where it has none, one inside of it."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _parse_json(value)
    if isinstance(value, dict):
        spelled = {
            re.sub(r"[\s-]+", "_", _CAMEL.sub("_", str(name).strip()).lower()): name
            for name in value
        }
        if any(field in spelled for field in fields):
            names = {name: spelling for spelling, name in spelled.items() if spelling in fields}
            return {names.get(name, str(name)): part for name, part in value.items()}
        value = list(value.values())
    if not isinstance(value, list) or not depth:
        return None
    inner = (_select_fields(part, fields, depth - 1) for part in value[:40])
    return next((part for part in inner if part), None)


_TABULAR = frozenset(("columns", "rows", "steps"))  # fields that no single word fills


def _read_labelled_words(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The one word that follows the name of each field, in lines, tags, cells, calls or prose."""
    value: dict[str, Any] = {}
    for field in fields:
        label = re.escape(field).replace("_", r"[\s_-]?")
        words = re.findall(
            rf"(?<![/\w]){label}(?!\w)[^\w\n]{{0,6}}(?:[(（][^()（）\n]{{0,20}}[)）])?"
            rf"[^\w\n]{{0,6}}(?:[:：=>|\"]|\b(?:is|are)\b|[为是])[^\w\n]{{0,8}}(\w+)",
            text,
            re.I,
        )
        if field in _TABULAR or len({word.lower() for word in words}) != 1:
            return None
        if re.search(rf'"{words[0]}\Z', text):  # cut within the word
            return None
        value[field] = words[0]
    return value


_LAST_WORD = re.compile(
    r"(?:^|\\(?=boxed))\W*(?:(?:final\s+)?answer\b|(?:最终)?答案)?[^\w\n]*(?:boxed\{[^\w\n]*(?:text\{)?)?[^\w\n]*"
    r"(?:(?P<yes>yes|是)|no|否)\W*\Z",
    re.I | re.M,
)


def _read_last_word(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The yes or no that is all of an answer or of its last line, where one field was asked for."""
    word = (
        _LAST_WORD.search(text[-200:]) if len(fields) == 1 and fields[0] not in _TABULAR else None
    )
    return {fields[0]: "yes" if word["yes"] else "no"} if word else None


class _Table(NamedTuple):
    """A table in a text: the line before it, its cells, the head first."""

    before: str
    lines: list[list[str | None]]


def _find_tables(text: str) -> Iterator[_Table]:
    """The tables of Markdown, of the clients of servers, and of fences called csv."""
    lines = text.split("\n")
    before, end = "", 0
    for number, line in enumerate(lines):
        head, mark = lines[number - 1] if number else "", line.strip()
        if number < end or "---" not in mark or set(mark) - set("|+-: ") or "|" not in head:
            before = mark if mark and "|" not in mark and "---" not in mark else before
            continue
        rows = [head]
        while number + len(rows) < len(lines) and "|" in lines[number + len(rows)]:
            rows.append(lines[number + len(rows)])
        end = number + len(rows) + 1  # a rule below the rows belongs to them
        empty = "" if mark[0] in "|+:" else None  # PostgreSQL's client prints nothing for NULL
        yield _Table(
            before, [[empty if cell == "" else cell for cell in _split_cells(row)] for row in rows]
        )
    for block in split_fences(text)[0]:
        if block.language.lower() == "csv":
            with contextlib.suppress(csv.Error):
                records = list(csv.reader(block.body.split("\n")))
                yield _Table("", [list(map(_read_cell, record)) for record in records if record])


_FINAL_TABLE = re.compile(r"final|result|answer|output|最终|结果|答案", re.I)


def _read_rows(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The one table in a text, or the last of several that is called the result; or the list of
    rows that it is, as columns and rows. A table of one row may hold the fields themselves."""
    tables = list(_find_tables(text))
    table = tables[-1] if tables else None
    if table and (len(tables) == 1 or _FINAL_TABLE.search(table.before)):
        head, *rows = table.lines
        if {"columns", "rows"} <= set(fields):
            return {"columns": head, "rows": rows}
        value = dict(zip(head, rows[0], strict=False)) if len(rows) == 1 else {}
        return _select_fields(value, fields) if len(value) >= len(fields) else None
    if not {"columns", "rows"} <= set(fields):
        return None
    for body in (text.strip(), *extract_code_blocks(text)):
        lines = [line for line in body.split("\n") if line.strip()]
        listed = _parse_json(body) or [_parse_json(line) for line in lines]
        if isinstance(listed, list) and listed and all(isinstance(row, dict) for row in listed):
            return {"columns": list(listed[0]), "rows": [list(row.values()) for row in listed]}
    return None


def _split_cells(line: str) -> list[str | None]:
    row = line.strip()
    cells = row.strip("|") if row.startswith("|") else row
    return [_read_cell(cell.strip(" `*")) for cell in cells.split("|")]


def _read_cell(cell: str) -> str | None:
    return None if cell.upper() == "NULL" else cell


_MAX_YAML = 20_000  # characters, as its reader is slow


def _read_yaml(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The object of a text or fence that is YAML, without anchors, its values as they stand."""
    if not _TABULAR & set(fields):
        return None
    for body in (text, *extract_code_blocks(text)):
        if len(body) > _MAX_YAML or re.search(r"[&*]\w", body) or f"{fields[0]}:" not in body:
            continue
        try:
            value = yaml.load(body, Loader=yaml.BaseLoader)  # noqa: S506 - makes nothing but text
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        if isinstance(value, dict) and all(field in value for field in fields):
            return {str(name): _fold_nulls(part) for name, part in value.items()}
    return None


def _fold_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_fold_nulls(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _fold_nulls(part) for name, part in value.items()}
    return None if value in ("null", "NULL", "~", "") else value


_ODD = str.maketrans("“”„‟｛｝［］：，\u00a0\u3000", '""""{}[]:,  ', "\u200b\u2060\ufeff")


def _replace_odd_characters(text: str) -> str:
    """The text with HTML's entities, typographic, wide and escaped marks as JSON has them."""
    return html.unescape(text).translate(_ODD).replace("\\_", "_")


def _find_balanced_objects(text: str) -> Iterator[tuple[int, str]]:
    """The outermost `{...}` spans and where they begin; braces in quoted strings do not count."""
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
                yield start, text[start : position + 1]


def _parse_object(text: str) -> dict[str, Any] | None:
    for reading in (_parse_json, _json_without_trailing_commas, _python_literal, _relaxed_json):
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


_RELAXED = re.compile(
    r"\"(?:[^\"\\]|\\.)*+\"|'(?P<single>(?:[^'\\]|\\.)*+)'|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|-?\d[\w.+-]*|(?P<word>[A-Za-z_]\w*)(?P<names>(?=\s*:))?",
    re.S,
)
_WORDS = {"null": "null", "none": "null", "true": "true", "false": "false"}


def _relaxed_json(text: str) -> Any:
    """Names without quotes, comments, NULL and None, as JavaScript, SQL and Python write them."""

    def replace(token: re.Match[str]) -> str:
        if token["word"] is not None:
            is_name = token["names"] is not None
            return (
                json.dumps(token["word"])
                if is_name
                else _WORDS.get(token["word"].lower(), token["word"])
            )
        if token["single"] is not None:
            return json.dumps(token["single"].replace("\\'", "'"))
        return "" if token["comment"] else token[0]

    return _json_without_trailing_commas(_RELAXED.sub(replace, text))
