"""The official check of calls, rule by rule, with its error types and where it points to."""

from __future__ import annotations

from typing import Any

import pytest

from evalcore.benchmarks.bfcl.checker import check_calls
from evalcore.benchmarks.bfcl.checker.arguments import GROUPS, classify_call_error
from tests.support.bfcl import function
from tests.support.rows import each_row

ITEMS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "float"}}
RECORDS = {"type": "array", "items": {"type": "dict"}}


def problem(schema: Any, accepted: list[Any], value: Any) -> str:
    """The error type for one required argument, or an empty text."""
    result = finding(schema, accepted, value)
    return result.error_type if result else ""


def finding(schema: Any, accepted: list[Any], value: Any) -> Any:
    offered = [function("f", {"a": schema}, ("a",))]
    return check_calls("simple_python", offered, [{"f": {"a": value}}], [{"f": {"a": accepted}}])


VALUES = [
    # numbers: an integer serves as a float, nothing else is converted
    ("integer", [5], 5, ""),
    ("integer", [5], 5.0, "type_error:simple"),
    ("integer", [5], "5", "type_error:simple"),
    ("integer", [1], True, "type_error:simple"),
    ("integer", [5], 6, "value_error:others"),
    ("float", [5.0], 5, ""),
    ("float", [5], 5, ""),
    ("float", [5.0], 5.5, "value_error:others"),
    ("float", [5.0], True, "type_error:simple"),
    ("boolean", [True], True, ""),
    ("boolean", [True], 1, "type_error:simple"),
    ("boolean", [True], False, "value_error:others"),
    # a value of the first accepted answer's type passes as a variable, compared exactly
    ("integer", ["five", 5], "five", ""),
    ("integer", [5, "five"], "five", "type_error:simple"),
    ("integer", ["five"], "Five", "value_error:others"),
    ("any", [5], 5, ""),
    ("any", [5], "5", "value_error:others"),
    ("any", ["x"], "X", ""),
    # strings
    ("string", ["New York"], "new-york", ""),
    ("string", ["New York"], "new\tyork", "value_error:string"),
    ("string", ["it's"], 'it"s', ""),
    ("string", ["a"], "a!", "value_error:string"),
    ("string", ["a", ""], " ._-", ""),
    ("string", ["a"], None, "type_error:simple"),
    ("string", ["a"], ["a"], "type_error:simple"),
    # lists: in order, strings normalised one level deep, no conversion within
    (ITEMS, [["A b", "c"]], ["ab", "C."], ""),
    (ITEMS, [["a", "b"]], ["b", "a"], "value_error:list/tuple"),
    (ITEMS, [["a"]], ("a",), "type_error:simple"),
    (ITEMS, [["a"]], [1], "type_error:nested"),
    (ITEMS, [["a"], ""], [1], "value_error:list/tuple"),  # an optional one escapes the type check
    (ITEMS, [["a"], ""], [], ""),
    (ITEMS, [["a"]], "a", "type_error:simple"),
    (NUMBERS, [[1.0]], [1], "type_error:nested"),
    (NUMBERS, [[1]], [1], ""),
    (NUMBERS, [[1, 2.5]], [1, 2.5], ""),
    ({"type": "tuple", "items": {"type": "integer"}}, [[1, 2]], (1, 2), ""),
    ({"type": "tuple", "items": {"type": "integer"}}, [[1, 2]], [1, 2], ""),
    ({"type": "array", "items": ITEMS}, [[["a"]]], [["A"]], "value_error:list/tuple"),
    # dictionaries: known keys, accepted values, no types; missing keys are told first
    ("dict", [{"k": ["v"]}], {"k": "V."}, ""),
    ("dict", [{"k": [1]}], {"k": True}, ""),
    ("dict", [{"k": [1]}], {"k": 2}, "value_error:dict_value"),
    ("dict", [{"k": [1]}], {"k": 1, "x": 2}, "value_error:dict_key"),
    ("dict", [{"k": [1], "l": [1]}], {"k": 2}, "value_error:dict_key"),
    ("dict", [{"k": [1], "l": [1, ""]}], {"k": 1}, ""),
    ("dict", [{"k": [1]}, {"k": [2]}], {"k": 2}, ""),
    ("dict", [{"k": [{"n": ["v"]}]}], {"k": {"n": "v"}}, "value_error:dict_value"),
    ("dict", [""], {"k": 1}, "dict_checker:unclear"),
    ("dict", [{"k": [1]}], [{"k": 1}], "type_error:simple"),
    # lists of dictionaries
    (RECORDS, [[{"k": [1]}, {"k": [2]}]], [{"k": 1}, {"k": 2}], ""),
    (RECORDS, [[{"k": [1]}, {"k": [2]}]], [{"k": 2}, {"k": 1}], "value_error:dict_value"),
    (RECORDS, [[{"k": [1]}]], [{"k": 1}, {"k": 1}], "value_error:list_dict_count"),
    (RECORDS, [[{"k": [1]}], [{"k": [1]}, {"k": [1]}]], [{"k": 1}, {"k": 1}], ""),
    (RECORDS, [], [{"k": 1}], "type_error:simple"),
    (RECORDS, [[{"k": [1]}], ""], ["x"], "checker_failed:AttributeError"),
    # outside the dialect upstream's checker stops; so does ours, without an exception
    ("number", [5], 5, "checker_failed:KeyError"),
    ({"type": "array"}, [[1]], [1], "checker_failed:KeyError"),
    ("float", [1.0], 10**400, "checker_failed:OverflowError"),
]


@each_row(("schema", "accepted", "value", "error_type"), VALUES)
def test_one_argument(schema, accepted, value, error_type):
    assert problem(schema, accepted, value) == error_type


OFFERED = [function("a.f", {"x": "integer", "y": "integer", "z": "integer"}, ("x",))]
TRUTH = [{"a.f": {"x": [1], "y": ["", 2], "w": [""]}}]


@pytest.mark.parametrize(
    ("call", "kind", "path"),
    [
        ({"a.f": {"x": 1}}, "", ()),
        ({"a.f": {"x": 1, "y": 2}}, "", ()),
        ({"a_f": {"x": 1}}, "wrong_func_name", ()),
        ({"A.F": {"x": 1}}, "wrong_func_name", ()),
        ({"": {}}, "wrong_func_name", ()),
        ({"a.f": {"y": 5}}, "missing_required", ("x",)),
        ({"a.f": {"x": 1, "z": 5}}, "unexpected_param", ("z",)),  # not in the reference
        ({"a.f": {"x": 1, "w": 5}}, "unexpected_param", ("w",)),  # not in the schema
        ({"a.f": {"x": 1, "**": {}}}, "unexpected_param", ("**",)),
    ],
)
def test_one_call(call, kind, path):
    finding = check_calls("multiple", OFFERED, [call], TRUTH)
    assert (finding.error_type if finding else "") == (
        f"simple_function_checker:{kind}" if kind else ""
    )
    assert not finding or finding.path == path


def test_an_argument_that_may_not_be_left_out():
    finding = check_calls(
        "simple_python", OFFERED, [{"a.f": {"x": 1}}], [{"a.f": {"x": [1], "y": [2]}}]
    )
    assert finding.error_type == "simple_function_checker:missing_optional"
    assert finding.path == ("y",)


def test_names_offered_with_underscores():
    calls = [{"a_f": {"x": 1}}]
    assert check_calls("multiple", OFFERED, calls, TRUTH, underscores=True) is None
    finding = check_calls("multiple", OFFERED, [{"a.f": {"x": 1}}], TRUTH, underscores=True)
    assert finding.error_type == "simple_function_checker:wrong_func_name"


@pytest.mark.parametrize(
    ("category", "count", "error_type"),
    [
        ("simple_python", 0, "simple_function_checker:wrong_count"),
        ("live_simple", 2, "simple_function_checker:wrong_count"),
        ("live_multiple", 2, "multiple_function_checker:wrong_count"),
        ("parallel", 2, "parallel_function_checker_no_order:wrong_count"),
        ("live_parallel_multiple", 0, "parallel_function_checker_no_order:wrong_count"),
    ],
)
def test_counts(category, count, error_type):
    finding = check_calls(category, OFFERED, [{"a.f": {"x": 1}}] * count, TRUTH)
    assert finding.error_type == error_type
    assert (finding.output, finding.expected) == (None, None)


def test_parallel_calls_match_in_any_order_but_greedily():
    truth = [{"a.f": {"x": [1, 2]}}, {"a.f": {"x": [1]}}]
    assert check_calls("parallel", OFFERED, [{"a.f": {"x": 2}}, {"a.f": {"x": 1}}], truth) is None
    finding = check_calls("parallel", OFFERED, [{"a.f": {"x": 1}}, {"a.f": {"x": 2}}], truth)
    assert finding.error_type == "parallel_function_checker_no_order:cannot_find_match"


def test_an_unmatched_call_points_to_the_nearest_one():
    truth = [{"a.f": {"x": [1]}}, {"a.f": {"x": [2], "y": [3]}}]
    calls = [{"g": {}}, {"a.f": {"x": 1}}, {"a.f": {"x": 2, "y": 4}}]
    finding = check_calls("parallel", OFFERED, calls[1:], truth)
    assert (finding.path, finding.output, finding.expected) == (("y",), 1, 1)
    assert finding.cause == "value_error:others"
    assert classify_call_error(finding.error_type, finding.cause) == "value"
    assert "expected call 2" in finding.message


def test_a_reference_of_an_unknown_function():
    finding = check_calls("multiple", OFFERED, [{"g": {}}], [{"g": {}}])
    assert finding.error_type == "checker_failed:KeyError"


@pytest.mark.parametrize(
    ("schema", "accepted", "value", "path"),
    [
        (ITEMS, [["a", "b", "c"]], ["a", "x", "c"], ("a", 1)),
        (ITEMS, [["z"], ["a", "b"]], ["a", "x"], ("a", 1)),
        (ITEMS, [["a", "b"]], ["a"], ("a",)),
        (ITEMS, [["a"]], ["a", 1], ("a", 1)),
        ("dict", [{"k": [1]}], {"k": 2}, ("a", "k")),
        ("dict", [{"k": [1]}], {}, ("a", "k")),
        (RECORDS, [[{"k": [1]}, {"k": [2]}]], [{"k": 1}, {"k": 9}], ("a", 1, "k")),
        ("string", ["x"], "y", ("a",)),
    ],
)
def test_the_path_leads_to_the_first_mismatch(schema, accepted, value, path):
    assert finding(schema, accepted, value).path == path


def test_messages_survive_any_value():
    huge, deep = 10**6000, []
    for _ in range(100_000):
        deep = [deep]
    assert "cannot be shown" in finding("integer", [5], huge).message
    assert len(finding("string", ["x"], "y" * 10_000).message) < 1000
    assert finding("string", ["x"], deep).error_type == "type_error:simple"


def test_every_error_type_has_a_group():
    assert classify_call_error("") is None
    assert classify_call_error("type_error:java") == "type"
    assert classify_call_error("ast_decoder:decoder_failed") == "decode"
    assert classify_call_error("irrelevance_error:decoder_success") == "relevance"
    assert classify_call_error("checker_failed:KeyError") == "checker"
    seen = {classify_call_error(error) for *_, error in VALUES if error}
    assert seen <= set(GROUPS)
