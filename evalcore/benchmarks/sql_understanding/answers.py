"""Find the JSON answer in what a model wrote, and compare it by our rule or SCALE's own.

`strict` means the whole answer is the object asked for, `lenient` that it had to be found,
`none` that there is none. Answers are hostile: every search is linear in their length.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from evalcore.benchmarks.answer_scoring import (
    LIMIT,
    ExtractionKind,
    extract_code_blocks,
)
from evalcore.benchmarks.sql_markup import strip_thinking
from evalcore.benchmarks.sql_roles import is_aside
from evalcore.i18n import Note
from evalcore.records import Record, Sample, Section
from evalcore.sqlkit.result_tables import ResultTable, TableDiff, compare_tables, to_json_cell

# Finding the JSON answer in what a model really wrote.
# `strict` means the whole answer is the JSON object that was asked for; `lenient` means it had to
# be found (code fence, prose around it, reasoning block, single quotes, trailing comma); `none`
# means there is none. A format failure is thereby told apart from a wrong answer.
# Answers are hostile: every search is linear in their length, and what is found holds only values
# that JSON can hold again (`sqlkit.table.json_value`), so that it can be journaled.

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
    for reading in dict.fromkeys((visible, _replace_odd_characters(visible))):
        value = _find_best_object(reading, fields) or _read_labelled_lines(reading, fields)
        if value:
            return Extraction(kind="lenient", value=value)
    if isinstance(strict, dict):
        return Extraction(kind="strict", value=strict)
    return Extraction(kind="none")


def _find_best_object(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    best: dict[str, Any] | None = None
    best_rank = (1, False)
    for before, candidate in _find_object_texts(text):
        lowered = re.sub(r"[\s-]+", "_", candidate.lower())
        if not any(field in lowered for field in fields):
            continue
        parsed = _parse_object(candidate)
        value = _select_fields(parsed, fields) if parsed else None
        rank = (sum(field in value for field in fields) if value else 0, not is_aside(before))
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
        spelled = {re.sub(r"[\s-]+", "_", str(name).strip().lower()): name for name in value}
        if any(field in spelled for field in fields):
            names = {name: spelling for spelling, name in spelled.items() if spelling in fields}
            return {names.get(name, str(name)): part for name, part in value.items()}
        value = list(value.values())
    if not isinstance(value, list) or not depth:
        return None
    inner = (_select_fields(part, fields, depth - 1) for part in value[:40])
    return next((part for part in inner if part), None)


def _read_labelled_lines(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """Words that stand on lines of their own after the names of all fields."""
    value: dict[str, Any] = {}
    for field in fields:
        label = re.escape(field).replace("_", r"[\s_]")
        lines = re.findall(
            rf"^\W{{0,8}}{label}\W{{0,6}}[:：=]\W{{0,6}}(\w+)\W{{0,6}}$", text, re.I | re.M
        )
        if len(set(lines)) != 1:
            return None
        value[field] = lines[0]
    return value


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


# The default verdict: compare what was meant, say exactly what differs.
# Tables are multisets unless the statement orders its rows; numbers within a tolerance; dates and
# booleans normalised; column names and `result_type` are reported, not decisive (the rules stand
# in `sqlkit.compare`). Plans compare step by step, classes and syntax labels as words.


class ComparisonResult(Record, frozen=True):
    """What the comparison of one answer found. `error` is a word for machines, "" if right."""

    right: bool
    error: str = ""
    note: str = ""
    details: dict[str, Any] = {}
    evidence: tuple[Section, ...] = ()


def read_answer(sample: Sample, answer: dict[str, Any]) -> ComparisonResult:
    """Compare a parsed answer with the sample's reference."""
    return _READERS[sample.metric](sample, answer)


def _compare_table_answer(sample: Sample, answer: dict[str, Any]) -> ComparisonResult:
    expected = sample.reference["expected"]
    rows = _list_answer_rows(answer)
    if rows is None:
        return ComparisonResult(right=False, error="shape", note=Note("shape_table"))
    want = ResultTable(
        columns=tuple(map(str, expected["columns"])), rows=tuple(map(tuple, expected["rows"]))
    )
    columns = tuple(map(str, answer.get("columns") or ()))
    width = {len(row) for row in rows}
    if not columns and len(width) == 1:
        columns = want.columns if width == {len(want.columns)} else ("?",) * width.pop()
    got = ResultTable(columns=columns, rows=tuple(map(tuple, rows)))
    ordered = bool(sample.reference["ordered"])
    diff = compare_tables(want, got, ordered=ordered, coerce_strings=True)
    return ComparisonResult(
        right=diff.equal,
        error=diff.reason,
        note=_table_note(diff),
        details={
            "rows_expected": len(want.rows),
            "rows_answered": len(got.rows),
            "ordered": ordered,
            "columns_named_alike": diff.same_columns,
            "result_type_right": answer.get("result_type") in (None, expected["result_type"]),
        },
        evidence=(_table_section(want, got, diff),),
    )


def _list_answer_rows(answer: dict[str, Any]) -> list[list[Any]] | None:
    """The rows as lists; rows given as objects are read in the order of the columns."""
    rows, columns = answer.get("rows"), answer.get("columns", [])
    if not isinstance(rows, list) or not isinstance(columns, list):
        return None
    if rows and all(isinstance(row, dict) for row in rows):
        names = list(map(str, columns)) or list(rows[0])
        return [[row.get(name) for name in names] for row in rows]
    if rows and not any(isinstance(row, list) for row in rows) and len(columns) == 1:
        return [[row] for row in rows]
    return rows if all(isinstance(row, list) for row in rows) else None


_TABLE_NOTES = {
    "": Note("tables_agree"),
    "columns_count": Note("columns_differ"),
    "row_count": Note("row_count_differs"),
    "rows": Note("rows_differ"),
    "order": Note("order_differs"),
}


def _table_note(diff: TableDiff) -> str:
    return _TABLE_NOTES[diff.reason]


def _table_section(want: ResultTable, got: ResultTable, diff: TableDiff) -> Section:
    body = {
        "columns": list(want.columns),
        "answer_columns": list(got.columns),
        "expected": [list(row) for row in want.rows],
        "actual": [list(row) for row in got.rows],
        "missing": [list(row) for row in diff.missing],
        "extra": [list(row) for row in diff.extra],
    }
    return Section(kind="table_diff", title="difference", body=body)


def _compare_plan(sample: Sample, answer: dict[str, Any]) -> ComparisonResult:
    expected = sample.reference["expected"]
    want = [_normalize_step(step) for step in expected["steps"]]
    answer_steps = answer.get("steps")
    if not isinstance(answer_steps, list):
        return ComparisonResult(right=False, error="shape", note=Note("shape_steps"))
    got = [_normalize_step(step) for step in answer_steps]
    sort = _normalize_word(answer.get("temp_sort")) == _normalize_word(expected["temp_sort"])
    wrong = {
        field: sum(a[field] != b[field] for a, b in zip(want, got, strict=False))
        for field in _STEP_FIELDS
    }
    errors = [field for field in _STEP_FIELDS if wrong[field]] + ([] if sort else ["temp_sort"])
    if len(want) != len(got):
        errors.insert(0, "steps")
    return ComparisonResult(
        right=not errors,
        error=errors[0] if errors else "",
        note=Note("wrong", fields=", ".join(errors)) if errors else Note("plan_agrees"),
        details={"wrong_fields": errors, "steps_expected": len(want), "steps_answered": len(got)},
        evidence=(_fields_section(expected, answer),),
    )


_STEP_FIELDS = ("table", "access", "index")


def _normalize_step(step: Any) -> dict[str, str]:
    """A step with every field as a folded word; what is no object has no right field."""
    return {
        field: _normalize_word(step.get(field) if isinstance(step, dict) else "?")
        for field in _STEP_FIELDS
    }


def _compare_fields(sample: Sample, answer: dict[str, Any]) -> ComparisonResult:
    """Right where every expected field holds the expected word."""
    expected = sample.reference["expected"]
    wrong = [
        field
        for field, value in expected.items()
        if _normalize_word(answer.get(field)) != _normalize_word(value)
    ]
    return ComparisonResult(
        right=not wrong,
        error=wrong[0] if wrong else "",
        note=Note("wrong", fields=", ".join(wrong)) if wrong else Note("fields_agree"),
        details={"wrong_fields": wrong},
        evidence=(_fields_section(expected, answer),),
    )


_SAME_WORD = {"true": "yes", "false": "no", "none": "", "null": ""}


def _normalize_word(value: Any) -> str:
    """Case, outer space and the spellings of true, false and null do not matter."""
    word = str(value).strip().lower()
    return _SAME_WORD.get(word, word)


def _fields_section(expected: dict[str, Any], answer: dict[str, Any]) -> Section:
    differences = [
        {"path": field, "expected": value, "actual": answer.get(field)}
        for field, value in expected.items()
        if answer.get(field) != value
    ]
    body = {"expected": expected, "actual": answer, "differences": differences}
    return Section(kind="tree_diff", title="difference", body=body)


_READERS: dict[str, Callable[[Sample, dict[str, Any]], ComparisonResult]] = {
    "execution_accuracy": _compare_table_answer,
    "sql_identification": _compare_fields,
    "explain_detection": _compare_plan,
    "syntax_error_detection": _compare_fields,
}


# The published verdict of SCALE, kept exactly, quirks included.
# Source: actiontech/sql-llm-benchmark, evaluator/utils/comparison.py and agent.py as of 2026-07
# (the rule; the code here is our own). Order and keys must be equal, texts are case-sensitive,
# numbers compare as decimals and a text that reads as a number is one (also "1_000"), there is no
# tolerance. A boolean beside something unequal made the published evaluator drop the case.

_FENCE_EDGE = re.compile(r"^```(?:json)?\s*|```$", re.IGNORECASE | re.MULTILINE)


class UndefinedComparison(Exception):
    """The published evaluator raised on this comparison and dropped the case."""


def parse_published_answer(text: str) -> Any:
    """An answer as the published agent read it: JSON where it parses, else the bare text."""
    cleaned = "\n".join(
        line for line in map(_strip_fence_line, text.splitlines()) if line is not None
    )
    try:
        return json.loads(_FENCE_EDGE.sub("", cleaned.strip()))
    except (ValueError, RecursionError):
        return cleaned


def _strip_fence_line(line: str) -> str | None:
    """A line that opens or closes a fence goes, unless an object starts on it."""
    if not line.startswith("```"):
        return line
    return line[3:] if line[3:].strip().startswith("{") else None


def passes_published_rule(answer: Any, expected: Any) -> bool:
    """The published comparison of a parsed answer; raises Undefined where that raised."""
    return _is_equal(_fold_text(answer), _fold_text(expected))


def _fold_text(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _is_equal(left: Any, right: Any) -> bool:
    if left == right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    numbers = _parse_decimal(left), _parse_decimal(right)
    if None in numbers:
        return False
    try:
        return numbers[0] == numbers[1]
    except InvalidOperation:  # a signalling NaN
        raise UndefinedComparison from None


def _parse_decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        raise UndefinedComparison
    if isinstance(value, int | float | str):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return None
    return None
