"""The default verdict: what counts as the same answer, and what is only reported."""

from __future__ import annotations

from typing import Any

import pytest

from evalcore.benchmarks.sql_understanding.answers import read_answer
from evalcore.records import Sample


def table(rows: list[list[Any]], *, ordered: bool = False, columns: str = "ab") -> Sample:
    expected = {"result_type": "select", "columns": list(columns), "rows": rows}
    return Sample(
        metric="execution_accuracy",
        id="1",
        input={},
        reference={"expected": expected, "ordered": ordered},
    )


ROWS = [[1, "x"], [2, "y"], [2, "y"]]
RIGHT = {
    "the same": {"columns": ["a", "b"], "rows": ROWS},
    "a different order": {"columns": ["a", "b"], "rows": [[2, "y"], [1, "x"], [2, "y"]]},
    "different names": {"columns": ["A", "other"], "rows": ROWS},
    "another result type": {"result_type": "table_state", "columns": ["a", "b"], "rows": ROWS},
    "numbers as texts": {"columns": ["a", "b"], "rows": [["1", "x"], ["2", "y"], ["2.0", "y"]]},
    "rows as objects": {
        "columns": ["a", "b"],
        "rows": [{"b": "x", "a": 1}, {"a": 2, "b": "y"}, {"a": 2, "b": "y"}],
    },
    "no columns given": {"rows": ROWS},
}
ODD_NAMES = {"columns": [["a"], {"b": 1}], "rows": [{"a": 1, "b": "x"}] * 3}
WRONG = {
    "a duplicate lost": ({"columns": ["a", "b"], "rows": ROWS[:2]}, "row_count"),
    "a value": ({"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"], [3, "y"]]}, "rows"),
    "columns swapped": ({"columns": ["b", "a"], "rows": [["x", 1], ["y", 2], ["y", 2]]}, "rows"),
    "a column too many": (
        {"columns": ["a", "b", "c"], "rows": [[*row, 0] for row in ROWS]},
        "columns_count",
    ),
    "names that are no texts": (ODD_NAMES, "rows"),
    "no table": ({"rows": "three"}, "shape"),
    "rows of no list": ({"columns": ["a", "b"], "rows": [1, 2, 3]}, "shape"),
}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT.keys())
def test_right_tables(answer: dict[str, Any]) -> None:
    assert read_answer(table(ROWS), answer).right


@pytest.mark.parametrize(("answer", "error"), WRONG.values(), ids=WRONG.keys())
def test_wrong_tables_say_how(answer: dict[str, Any], error: str) -> None:
    reading = read_answer(table(ROWS), answer)
    assert not reading.right
    assert reading.error == error
    assert reading.note


def test_order_decides_only_where_the_statement_orders() -> None:
    answer = {"columns": ["a", "b"], "rows": ROWS[::-1]}
    assert read_answer(table(ROWS), answer).right
    reading = read_answer(table(ROWS, ordered=True), answer)
    assert (reading.right, reading.error) == (False, "order")


@pytest.mark.parametrize(
    ("expected", "answered", "right"),
    [
        (0.3, 0.1 + 0.2, True),
        (1200, "1200.00", True),
        (True, 1, True),
        ("2024-01-01", "2024-01-01 00:00:00", True),
        (None, 0, False),
        (None, "", False),
        ("Ann", "ann", False),
        (33.3333, 33.34, False),
    ],
)
def test_values(expected: Any, answered: Any, right: bool) -> None:
    sample = table([[expected]], columns="a")
    assert read_answer(sample, {"columns": ["a"], "rows": [[answered]]}).right is right


def test_what_is_reported_but_not_decisive() -> None:
    reading = read_answer(
        table(ROWS), {"result_type": "table_state", "columns": ["x", "b"], "rows": ROWS}
    )
    assert reading.right
    assert reading.details["columns_named_alike"] is False
    assert reading.details["result_type_right"] is False


def test_the_difference_is_shown() -> None:
    reading = read_answer(table(ROWS), {"columns": ["a", "b"], "rows": [[1, "x"], [2, "z"]]})
    body = reading.evidence[0].body
    assert body["missing"] == [[2, "y"], [2, "y"]]
    assert body["extra"] == [[2, "z"]]


PLAN = {
    "steps": [
        {"table": "o", "access": "search", "index": "o_day"},
        {"table": "c", "access": "search", "index": "PRIMARY KEY"},
    ],
    "temp_sort": False,
}


def plan(expected: dict[str, Any] = PLAN) -> Sample:
    return Sample(metric="explain_detection", id="1", input={}, reference={"expected": expected})


def test_plans_compare_step_by_step() -> None:
    same = {"steps": [{**step, "access": step["access"].upper()} for step in PLAN["steps"]]}
    assert read_answer(plan(), {**same, "temp_sort": "no"}).right


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({**PLAN, "steps": PLAN["steps"][::-1]}, "table"),
        ({**PLAN, "steps": PLAN["steps"][:1]}, "steps"),
        ({**PLAN, "temp_sort": True}, "temp_sort"),
        ({**PLAN, "steps": [PLAN["steps"][0], {**PLAN["steps"][1], "index": None}]}, "index"),
        ({**PLAN, "steps": ["o", "c"]}, "table"),
        ({"steps": None}, "shape"),
    ],
)
def test_wrong_plans_say_what(answer: dict[str, Any], error: str) -> None:
    reading = read_answer(plan(), answer)
    assert not reading.right
    assert reading.error == error


def test_no_index_may_be_null_or_none() -> None:
    expected = {"steps": [{"table": "t", "access": "scan", "index": None}], "temp_sort": True}
    answer = {"steps": [{"table": "T", "access": "scan", "index": "none"}], "temp_sort": True}
    assert read_answer(plan(expected), answer).right


@pytest.mark.parametrize(
    ("metric", "expected", "answer", "right"),
    [
        ("syntax_error_detection", {"has_syntax_error": "no"}, {"has_syntax_error": "No"}, True),
        ("syntax_error_detection", {"has_syntax_error": "yes"}, {"has_syntax_error": True}, True),
        ("syntax_error_detection", {"has_syntax_error": "yes"}, {"has_syntax_error": False}, False),
        ("syntax_error_detection", {"has_syntax_error": "yes"}, {}, False),
        (
            "sql_identification",
            {"sql_type": "DML", "statement_type": "SELECT"},
            {"sql_type": "dml", "statement_type": " Select "},
            True,
        ),
        (
            "sql_identification",
            {"sql_type": "DML", "statement_type": "SELECT"},
            {"sql_type": "DQL", "statement_type": "SELECT"},
            False,
        ),
    ],
)
def test_words(metric: str, expected: dict, answer: dict, right: bool) -> None:
    sample = Sample(metric=metric, id="1", input={}, reference={"expected": expected})
    assert read_answer(sample, answer).right is right
