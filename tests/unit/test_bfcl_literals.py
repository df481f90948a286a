"""Java and JavaScript literals as upstream's checker converts them, and checks that rest on it."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.bfcl.checker import check_calls
from evalcore.benchmarks.bfcl.checker.source_literals import LONGEST, java_value, javascript_value
from tests.support.bfcl import function
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

JAVA = [
    ("5", "integer", None, 5),
    ("5\n", "integer", None, 5),
    ("5.0", "integer", None, "5.0"),
    ("5", "long", None, "5"),
    ("-5L", "long", None, -5),
    ("5", "float", None, "5"),
    ("1e2F", "float", None, 100.0),
    ("5", "double", None, 5.0),
    ("5f", "double", None, "5f"),
    ("true", "boolean", None, True),
    ("True", "boolean", None, "True"),
    ("'c'", "char", None, "'c'"),
    ('"t"', "String", None, '"t"'),
    ("x", "any", None, "x"),
    ("new int[]{1, 2,}", "Array", "integer", [1, 2]),
    ("new int [] {1}", "Array", "integer", "new int [] {1}"),
    ('new String[]{"a", b}', "Array", "String", ['"a"', "b"]),
    ('new Object[]{1, "a", true, 2L, 1.5f, x}', "Array", None, [1, "a", True, 2, 1.5, "x"]),
    ("new int[]{1,\n2}", "Array", "integer", "new int[]{1,\n2}"),
    ("{1}", "Array", "integer", "{1}"),
    ('new ArrayList<>(Arrays.asList("a", "b"))', "ArrayList", "String", ["a", "b"]),
    ("new ArrayList<Long>(Arrays.asList(1L, 2))", "ArrayList", "long", [1, "2"]),
    ("new ArrayList<>(Arrays.asList('a'))", "ArrayList", "char", ["a"]),
    ("new ArrayList<>() {{ add(1); add(2); }}", "ArrayList", "integer", [1, 2]),
    ('new ArrayList<>() {{ add("x"); }}', "ArrayList", None, ["x"]),
    ("new ArrayList<>() {{  }}", "ArrayList", "integer", []),
    ("new ArrayList<String>()", "ArrayList", "String", []),
    ("List.of(1)", "ArrayList", "integer", "List.of(1)"),
    (
        'new HashMap<String, Object>() {{ put("k", 1); put("l", "v"); }}',
        "HashMap",
        None,
        {"k": 1, "l": "v"},
    ),
    ('new HashMap<>() { { put("k",\n true); } }', "HashMap", None, {"k": True}),
    ("new HashMap<>() {}", "HashMap", None, {}),
    ("new HashMap<K, V>()", "HashMap", None, {}),
    ("new HashMap<\n>()", "HashMap", None, "new HashMap<\n>()"),
    ("Map.of()", "HashMap", None, "Map.of()"),
]
JAVASCRIPT = [
    ('"t"', "String", None, "t"),
    ("t", "String", None, "t"),
    ("-5", "integer", None, -5),
    ("5.5", "integer", None, "5.5"),
    ("5", "float", None, 5.0),
    ("1e5", "float", None, "1e5"),
    ("5n", "Bigint", None, 5),
    ("5", "Bigint", None, "5"),
    ("false", "Boolean", None, False),
    ("x", "any", None, "x"),
    ("[]", "array", "String", []),
    ("[1, 'two', true]", "array", None, [1, "two", True]),
    ('["a", b]', "array", "String", ["a", "b"]),
    ("new Array(1, 2)", "array", "integer", [1, 2]),
    ("[1, 2]", "array", "Odd", "[1, 2]"),
    ("[[1, 2], [3]]", "array", "array", [[1, 2], [3]]),
    ("new Array([1], ['x'])", "array", "array", [[1], ["x"]]),
    ("[[1], 2]", "array", None, ["[1"]),
    ("Array.of(1)", "array", None, "Array.of(1)"),
    ("{}", "dict", None, {}),
    ("{k: 1, 'l': 'v', \"m\": true}", "dict", None, {"k": 1, "l": "v", "m": True}),
    ("{k: [1, 2], n: '5'}", "dict", None, {"k": [1, 2], "n": 5}),
    ("{k}", "dict", None, {}),
    ("x", "dict", None, "x"),
]


@each_row(("text", "kind", "nested", "value"), JAVA)
def test_java(text, kind, nested, value):
    actual_value = java_value(text, kind, nested)
    assert (actual_value, type(actual_value)) == (value, type(value))


@each_row(("text", "kind", "nested", "value"), JAVASCRIPT)
def test_javascript(text, kind, nested, value):
    actual_value = javascript_value(text, kind, nested)
    assert (actual_value, type(actual_value)) == (value, type(value))


def test_types_without_a_conversion():
    for convert, kind in ((java_value, "Set"), (java_value, "Queue"), (javascript_value, "Map")):
        with pytest.raises(KeyError):
            convert("x", kind)


@pytest.mark.parametrize(
    "unit",
    [
        "new HashMap<",
        "new HashMap<>() {",
        'put("',
        'put("k",',
        "new ArrayList<>(Arrays.asList(",
        "new ArrayList<>() {{ add(",
        "new int[]{",
        "add(",
        " ",
        "}",
        "[",
        "[[",
        "],[",
        "[],",
        "{a:",
        "a:",
        ",",
        "new Array([",
    ],
)
def test_hostile_repetition_takes_no_time(unit):
    text = (unit * LONGEST)[:LONGEST]
    openings = ("", "new HashMap<>() {", 'new HashMap<>() {{ put("', "[[", "{", "new Array([")
    with stop_hang():
        for opening in openings:
            for kind in ("Array", "ArrayList", "HashMap"):
                java_value((opening + text)[:LONGEST], kind)
            for kind in ("array", "dict"):
                javascript_value((opening + text)[:LONGEST], kind)


def test_longer_source_stays_text():
    long = "[" + "1," * LONGEST + "1]"
    assert javascript_value(long, "array") == long


@pytest.mark.parametrize(
    ("category", "schema", "accepted", "value", "error_type"),
    [
        ("simple_java", "integer", [5], "5", None),
        ("simple_java", "integer", [5], 5, "type_error:java"),
        ("simple_java", "long", [5], "5", "type_error:simple"),
        ("simple_java", "HashMap", [{"k": [1]}], "new HashMap<>()", "value_error:dict_key"),
        ("simple_java", "Queue", [[1]], "x", "checker_failed:KeyError"),
        ("simple_java", "integer", [5], "9" * 5000, "checker_failed:ValueError"),
        ("simple_javascript", "Boolean", [True], "true", None),
        ("simple_javascript", "Boolean", [True], True, "type_error:js"),
        ("simple_javascript", "any", ["X y"], "xy", None),
    ],
)
def test_checks_of_source_text(category, schema, accepted, value, error_type):
    offered = [function("f", {"a": schema}, ("a",))]
    tongue = "java" if category == "simple_java" else "javascript"
    truth = [{"f": {"a": accepted}}]
    finding = check_calls(category, offered, [{"f": {"a": value}}], truth, language=tongue)
    assert (finding.error_type if finding else None) == error_type


def test_correct_java_arrays_of_strings_fail_and_bare_words_pass():
    offered = [function("f", {"a": {"type": "Array", "items": {"type": "String"}}}, ("a",))]
    truth = [{"f": {"a": [["x", "y"]]}}]
    for text, right in (('new String[]{"x", "y"}', False), ("new String[]{x, y}", True)):
        finding = check_calls("simple_java", offered, [{"f": {"a": text}}], truth, language="java")
        assert (finding is None) == right
