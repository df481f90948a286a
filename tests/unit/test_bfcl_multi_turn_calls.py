"""Calls as text: written of decoded calls, evaluated without ever being Python's to run."""

from __future__ import annotations

import os

import pytest

from evalcore.benchmarks.bfcl.multi_turn.service import (
    calls_to_text,
    evaluate_call,
    list_call_steps,
)
from evalcore.benchmarks.call_decoding import DecodeError


def seen(*positional, **named):
    return [*positional, named]


TOOLS = {"seen": seen, "add": lambda a, b: a + b}


@pytest.mark.parametrize(
    ("calls", "native", "written"),
    [
        ([{"f": {}}], True, ["f()"]),
        ([{"f": {"a": 1, "b": "it's"}}], True, ['f(a=1,b="it\'s")']),
        ([{"f": {"a": 1, "b": [None, {"k": True}]}}], False, ["f(a=1, b=[None, {'k': True}])"]),
        ([{"f": {"a": {"g": {"b": 1}}}}], False, ["f(a=g(b=1))"]),
        ([{"f": {"a": {"g": {"b": 1}}}}], True, ["f(a={'g': {'b': 1}})"]),
        ([{"f": {}}, {"g": {}}], True, ["f()", "g()"]),
        ([], True, []),
    ],
)
def test_decoded_calls_as_text(calls, native, written):
    assert calls_to_text(calls, native=native) == written


@pytest.mark.parametrize(
    ("calls", "native"), [([{"f": [1]}], True), ([{"f": {"a": {}}}], False), ([{"f": None}], True)]
)
def test_calls_that_upstream_cannot_write_do_not_decode(calls, native):
    with pytest.raises(DecodeError):
        calls_to_text(calls, native=native)


def test_steps_without_calls_are_skipped():
    turn = ["f()", None, [], [""], [{"f": [1]}], ["f()"], [{"g": {"a": 1}}, "h()"], {"f": {}}]
    assert list_call_steps(turn) == [["f()"], ["g(a=1)", "h()"]]
    assert list_call_steps("f()") == []
    assert list_call_steps(None) == []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("seen(1, 'a', b=[True, None, (1, 2)])", [1, "a", {"b": [True, None, (1, 2)]}]),
        (" seen(a=-1.5, b={'k': {'l': 2}}, c={1})", [{"a": -1.5, "b": {"k": {"l": 2}}, "c": {1}}]),
        ("seen(a=[add(a=1, b=add(2, 3))])", [{"a": [6]}]),
        ("seen()", [{}]),
    ],
)
def test_what_calls_return(text, result):
    assert evaluate_call(text, TOOLS) == result


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("unknown(a=1)", NameError),
        ("Api.seen(a=1)", NameError),
        ("seen.append(a=1)", NameError),
        ("seen(a=nan)", NameError),
        ("seen(a=true)", NameError),
        ("seen(a=1, a=2)", SyntaxError),
        ("seen(**{'a': 1})", SyntaxError),
        ("seen(a={**{'a': 1}})", SyntaxError),
        ("seen(*[1])", ValueError),
        ("seen(a=1", SyntaxError),
        ("seen", ValueError),
        ("seen()()", TypeError),
        ("(lambda: 1)()", TypeError),
        ("add(a=1)", TypeError),
        ("add(a=1, b='x')", TypeError),
        ("seen(a=" + "[" * 5000 + "]" * 5000 + ")", (SyntaxError, RecursionError, MemoryError)),
        ("seen(a='" + "x" * 1_000_001 + "')", ValueError),
        ("seen(a=" + "9" * 5000 + ")", SyntaxError),
        ("seen(a='\0')", (SyntaxError, ValueError)),
    ],
)
def test_what_is_no_call_of_a_tool_raises(text, error):
    with pytest.raises(error):
        evaluate_call(text, TOOLS)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "__import__(name='os')",
        "eval('1')",
        "seen(a=__import__('math').factorial(5))",
        "seen(a=0+len(__import__('os').environ.pop('PROBE')))",
        "seen(a=[x for x in (1, 2)])",
        "seen(a=2**99999)",
        "seen(a=(lambda: 1)())",
        "seen(a=f'{1}')",
        "seen(a=seen.__globals__)",
        "seen(a='x'.upper())",
        "math.sqrt(4)",
    ],
)
def test_nothing_but_literals_and_tools_is_run(text, monkeypatch):
    monkeypatch.setenv("PROBE", "kept")
    ran = []
    tools = {"seen": lambda **named: ran.append(named)}
    with pytest.raises((NameError, ValueError, TypeError)):
        evaluate_call(text, tools)
    assert not ran
    assert os.environ["PROBE"] == "kept"


def test_upstream_rewrites_what_looks_like_a_call_and_refuses_names():
    tools = {"seen": lambda a: a, "run": lambda: "ran"}
    assert evaluate_call("seen (a='at home (now), 7 (x), b\\t(c)')", tools) == (
        "at home(now), 7 (x), b\t(c)"
    )
    with pytest.raises(ValueError, match=r"Function call run is not allowed\."):
        evaluate_call("run()", tools)


def test_nested_calls_run_before_the_error_of_a_later_argument():
    ran = []
    with pytest.raises(NameError):
        evaluate_call("f(a=g(), b=nan)", {"f": ran.append, "g": lambda: ran.append("g")})
    assert ran == ["g"]
    with pytest.raises(NameError):
        evaluate_call("unknown(a=g())", {"g": lambda: ran.append("again")})
    assert ran == ["g"]
