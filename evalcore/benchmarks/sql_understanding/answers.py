"""Compare a JSON answer with the reference, by our rule or SCALE's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from types import NoneType
from typing import Any

from evalcore.i18n import Note
from evalcore.records import Record, Sample, Section
from evalcore.sqlkit.result_tables import ResultTable, TableDiff, compare_tables
from evalcore.sqlkit.syntax import STATEMENT_TYPES

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
    rows = _read_numbers(rows, want)
    width = {len(row) for row in rows}
    if not columns and not rows:
        columns = want.columns
    if not columns and len(width) == 1:
        columns = want.columns if width == {len(want.columns)} else ("?",) * width.pop()
    got = ResultTable(columns=columns, rows=tuple(map(tuple, rows)))
    ordered = bool(sample.reference["ordered"])
    diff = compare_tables(want, got, ordered=ordered, coerce_strings=True)
    return ComparisonResult(
        right=diff.equal,
        error=diff.reason,
        note=_TABLE_NOTES[diff.reason],
        details={
            "rows_expected": len(want.rows),
            "rows_answered": len(got.rows),
            "ordered": ordered,
            "columns_named_alike": diff.same_columns,
            "result_type_right": answer.get("result_type") in (None, expected["result_type"]),
        },
        evidence=(_table_section(want, got, diff),),
    )


#: A number as people write it, with separators of thousands and a currency.
_GROUPED = re.compile(r"([+-]?)[$€£¥]?\s?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?[€$£¥]?")


def _read_numbers(rows: list[list[Any]], want: ResultTable) -> list[list[Any]]:
    """The rows with plain numbers in the columns that hold nothing but numbers."""
    columns = zip(*want.rows, strict=True)
    numeric = [
        n for n, cells in enumerate(columns) if {*map(type, cells)} <= {int, float, NoneType}
    ]

    def read_number(column: int, cell: Any) -> Any:
        if column not in numeric or not isinstance(cell, str) or cell.lower() in ("none", "null"):
            return None if column in numeric and isinstance(cell, str) else cell
        number = _GROUPED.fullmatch(cell)
        return number[1] + number[2].replace(",", "") if number else cell

    return [[read_number(column, cell) for column, cell in enumerate(row)] for row in rows]


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


_SAME_WORD = {
    "true": "yes",
    "false": "no",
    "none": "",
    "null": "",
    "是": "yes",
    "否": "no",
    "1": "yes",
    "0": "no",
    **dict.fromkeys(("full scan", "table scan", "full table scan", "全表扫描"), "scan"),
    "integer primary key": "primary key",
    "data manipulation language": "dml",
    "data definition language": "ddl",
    "data control language": "dcl",
    "transaction control language": "tcl",
}
#: What a statement creates, changes or ends, which is no part of its name.
_OBJECT = re.compile(
    r"(?:table|view|index|procedure|function|trigger|sequence|database|schema|user|role|into|from"
    r"|transaction|work|statement)"
)
#: A yes or no, or a class, with a remark after it.
_REMARKED = re.compile(
    r"(?s)\A(yes|no|true|false|d[mdc]l|tcl)\s*(?:[(（].*[)）]|(?:[,;:.]\s|[，；：。]|[—–-]\s).*)\Z"
)


def _normalize_word(value: Any) -> str:
    """Case, outer space, a remark, the object of a statement and the spellings of true, false and
    null do not matter."""
    word = _REMARKED.sub(r"\1", str(value).strip().lower())
    verb, _, thing = word.partition(" ")
    if verb.upper() in STATEMENT_TYPES and _OBJECT.fullmatch(thing):
        return verb
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


class UndefinedComparison(Exception):
    """The published evaluator raised on this comparison and dropped the case."""


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
