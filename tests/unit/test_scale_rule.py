"""The published comparison and parsing of SCALE, quirk by quirk."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.sql_understanding.answers import UndefinedComparison, passes_published_rule
from evalcore.judges.recorded import parse_published_reply

EQUAL = [
    ({"a": 1}, {"a": 1}),
    ({"a": "4"}, {"a": 4}),  # a text that reads as a number is one
    ({"a": "25.00"}, {"a": 25.0}),
    ({"a": "1_000"}, {"a": 1000}),
    ({"a": True}, {"a": 1}),  # equal to Python before anything else is asked
    ({"rows": [[1, None]]}, {"rows": [["1", None]]}),
    (" YES ", "yes"),  # bare texts only are folded
    (None, None),
]
DIFFERENT = [
    ({"a": "Yes"}, {"a": "yes"}),
    ({"a": 0.1 + 0.2}, {"a": 0.3}),  # no tolerance
    ({"a": [[1], [2]]}, {"a": [[2], [1]]}),  # order counts
    ({"a": 1, "b": 2}, {"a": 1}),  # an extra field is wrong
    ({"a": None}, {"a": "NULL"}),
    ({"a": [1]}, {"a": {"0": 1}}),
    ("no JSON at all", {"a": 1}),
    ({"sql_type": "DML"}, {"sql_type": "DDL"}),
]


@pytest.mark.parametrize(("answer", "expected"), EQUAL)
def test_equal(answer: object, expected: object) -> None:
    assert passes_published_rule(answer, expected)
    assert passes_published_rule(expected, answer)


@pytest.mark.parametrize(("answer", "expected"), DIFFERENT)
def test_different(answer: object, expected: object) -> None:
    assert not passes_published_rule(answer, expected)


@pytest.mark.parametrize("other", ["yes", 2, None, [1]])
def test_a_boolean_beside_something_unequal_was_an_error(other: object) -> None:
    with pytest.raises(UndefinedComparison):
        passes_published_rule({"has_syntax_error": True}, {"has_syntax_error": other})


def test_identification_compares_both_fields_exactly() -> None:
    expected = {"sql_type": "DML", "statement_type": "SELECT"}
    assert passes_published_rule(dict(expected), expected)
    assert not passes_published_rule({"sql_type": "dml", "statement_type": "SELECT"}, expected)
    assert not passes_published_rule({"sql_type": "DML"}, expected)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```{"a": 1}\n```', {"a": 1}),
        ('  \n{"a": [1, 2]}\n', {"a": [1, 2]}),
        ("[1, 2]", [1, 2]),
        ('Here it is: {"a": 1}', 'Here it is: {"a": 1}'),  # prose is not searched
        ("", ""),
    ],
)
def test_parsing_as_published(text: str, value: object) -> None:
    assert parse_published_reply(text) == value


def test_deep_nesting_is_text_not_a_crash() -> None:
    text = "[" * 100_000
    assert parse_published_reply(text) == text
