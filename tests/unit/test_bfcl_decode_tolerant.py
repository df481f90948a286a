"""The tolerant decoding: every wrapping that models use, and what still is no call."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.call_decoding import DecodeError, tolerant_calls
from evalcore.records import ToolCall
from tests.support.bfcl import function
from tests.support.rows import each_row

OFFERED = [
    function("weather.now", {"city": "string", "days": "integer"}, ("city",)),
    function("stop", {}),
]
RIGHT = [{"weather.now": {"city": "Oslo", "days": 3}}]
CALL = "weather.now(city='Oslo', days=3)"
OBJECT = '{"name": "weather.now", "arguments": {"city": "Oslo", "days": 3}}'
TEXT_ARGUMENTS = '"{\\"city\\": \\"Oslo\\", \\"days\\": 3}"'


@each_row(
    "text",
    [
        CALL,
        f"[{CALL}]",
        f"[[{CALL}]]",
        f"```python\n[{CALL}]\n```",
        f"```\n{CALL}\n```",
        f"```tool_code\nprint({CALL})\n```",
        f"Sure, here it is:\n[{CALL}]\nI hope that helps.",
        f"Sure, here it is: [{CALL}] and more.",
        f"I will call this:\n\n- `{CALL}`\n\nfor you.",
        f"<think>Maybe [stop()]?</think>\n[{CALL}]",
        f"maybe [stop()]</think>[{CALL}]",
        f"x = {CALL}",
        f"await {CALL}",
        f"'{CALL}'",
        f'"[{CALL}]"',
        f"[{CALL}",
        "weather.now('Oslo', 3)",
        "weather.now('Oslo', days=3)",
        "weather.now({'city': 'Oslo', 'days': 3})",
        "weather.now(**{'city': 'Oslo', 'days': 3})",
        "weather.now(city='Oslo', days=+3)",
        "weather.now(city='Oslo', days=1+2)",
        "weather.now(city=“Oslo”, days=3)",
        OBJECT,
        f"[{OBJECT}]",
        f"```json\n{OBJECT}\n```",
        f"Of course! {OBJECT} Done.",
        f"<tool_call>\n{OBJECT}\n</tool_call>",
        f"<tool_call>\n{OBJECT}",
        f"<TOOLCALL>[{CALL}]</TOOLCALL>",
        f"<TOOLCALL>[{CALL}</TOOLCALL>",
        "<TOOLCALL>[weather.now('Oslo', 3)]</TOOLCALL>",
        f"<TOOLCALL>```json\n[{OBJECT}]\n```</TOOLCALL>",
        f"<function_call> {OBJECT} </function_call>",
        f"<|python_tag|>{OBJECT}<|eom_id|>",
        f"<|python_tag|>{CALL}<|eot_id|>",
        f"[TOOL_CALLS] [{OBJECT}]",
        '[TOOL_CALLS]weather.now[ARGS]{"city": "Oslo", "days": 3}',
        '[TOOL_CALLS]weather.now{"city": "Oslo", "days": 3}',
        '<function=weather.now>{"city": "Oslo", "days": 3}</function>',
        '{"weather.now": {"city": "Oslo", "days": 3}}',
        '{"name": "weather.now", "parameters": {"city": "Oslo", "days": 3}}',
        '{"function": "weather.now", "args": {"city": "Oslo", "days": 3}}',
        f'{{"name": "weather.now", "arguments": {TEXT_ARGUMENTS}}}',
        f'{{"tool_calls": [{{"type": "function", "function": {OBJECT}}}]}}',
        "{'name': 'weather.now', 'arguments': {'city': 'Oslo', 'days': 3}}",
        '<functions><function name="weather.now"><param name="city">Oslo</param>'
        '<param name="days" type="integer">3</param></function></functions>',
        '<functions><function name="weather.now"><param name="city" value="Oslo"/>'
        '<param name="days" value="3" type="integer"/></function></functions>',
    ],
)
def test_wrappings(text):
    assert tolerant_calls(text, OFFERED) == RIGHT


@pytest.mark.parametrize(
    "text",
    [
        f"{CALL}\nstop()",
        f"{CALL}; stop()",
        f"[{CALL}, stop()]",
        f'<tool_call>{OBJECT}</tool_call>\n<tool_call>{{"name": "stop"}}</tool_call>',
        f'{OBJECT}\n{{"name": "stop", "arguments": {{}}}}',
        f'{OBJECT}, {{"name": "stop", "arguments": {{}}}}',
        f"```python\n{CALL}\n```\nand\n```python\nstop()\n```",
        '[TOOL_CALLS]weather.now{"city": "Oslo", "days": 3}[TOOL_CALLS]stop{}',
        f'First {OBJECT} and then {{"name": "stop", "arguments": {{}}}}.',
        f"1. `{CALL}`\n2. `stop()`",
    ],
)
def test_several_calls(text):
    assert tolerant_calls(text, OFFERED) == [*RIGHT, {"stop": {}}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "You could use weather.now(city='Oslo') if you knew the day.",
        "The function stop() does not fit.",
        "No (really).",
        "{}",
        "[{}]",
        "[1, 2]",
        "5",
        "foo",
        "[None]",
        "{'city': 'Oslo'}",
        "<think>[stop()]",
        "weather.now('Oslo', 3, 4)",
        "weather.now(city=",
        '{"name": "weather.now", "arguments": "Oslo"}',
        "<tool_call></tool_call>",
        "(" * 10_000,
        "[" * 100_000,
        "{" * 100_000,
        "[f(" * 10_000,
        "<function=" * 1000,
        "```" * 1000,
    ],
)
def test_what_is_no_call(text):
    with pytest.raises(DecodeError):
        tolerant_calls(text, OFFERED)


def test_typed_values_of_xml_are_read_as_upstream_reads_them():
    text = (
        '<functions><function name="f"><param name="a" type="tuple">(1, \'b\')</param>'
        '<param name="b" value="{\'c\': &quot;it\'s&quot;}" type="dict"/></function></functions>'
    )
    assert tolerant_calls(text, ()) == [{"f": {"a": (1, "b"), "b": {"c": "it's"}}}]


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "[ ]", "[];", "```json\n[]\n```", "<tool_call>[]</tool_call>"),
        "Sure, here it is:\n<TOOLCALL>[]</TOOLCALL>",
    ],
)
def test_an_explicit_empty_list(text):
    assert tolerant_calls(text, OFFERED) == []


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("true", True),
        ("null", None),
        ("+5", 5),
        ("not True", False),
        ("--5", 5),
        ("Color.RED", "Color.RED"),
        ("{1, 2}", [1, 2]),
        ("f'a'", "a"),
        ("word", "word"),
        ("date(2020, 1, 1)", "date(2020, 1, 1)"),
    ],
)
def test_values_as_they_were_meant(source, value):
    assert tolerant_calls(f"f(a={source})", ()) == [{"f": {"a": value}}]


@pytest.mark.parametrize(
    "arguments",
    ['{"city": "Oslo", "days": 3}', "{'city': 'Oslo', 'days': 3}", {"city": "Oslo", "days": 3}],
)
@pytest.mark.parametrize("name", ["weather.now", "weather_now"])
def test_native_calls(name, arguments):
    answer = [{"name": name, "arguments": arguments}]
    assert tolerant_calls(answer, OFFERED) == RIGHT


@pytest.mark.parametrize("arguments", ["{", "[1]", 5, '{}}, {"name": "f"', "word"])
def test_native_calls_that_are_broken(arguments):
    answer = [{"name": "stop", "arguments": arguments}]
    with pytest.raises(DecodeError):
        tolerant_calls(answer, OFFERED)


@pytest.mark.parametrize("arguments", ["", None, "{}"])
def test_native_calls_without_arguments(arguments):
    assert tolerant_calls([{"name": "stop", "arguments": arguments}], OFFERED) == [{"stop": {}}]


def test_records_and_no_answer():
    calls = (ToolCall("1", "stop", "{}"),)
    assert tolerant_calls(calls, OFFERED) == [{"stop": {}}]
    with pytest.raises(DecodeError):
        tolerant_calls(None, OFFERED)


def test_java_and_javascript():
    java = [function("A.b", {"m": "HashMap", "n": "long"})]
    body = 'new HashMap<String, Object>() {{ put("k", 1); }}'
    assert tolerant_calls(f"```java\nA.b(m={body}, n=5L);\n```", java, "java") == [
        {"A.b": {"m": body, "n": "5L"}}
    ]
    assert tolerant_calls("A.b(n=5L)", java, "java") == [{"A.b": {"n": "5L"}}]
    native = '{"name": "A.b", "arguments": {"m": {"k": 1}, "n": 5}}'
    assert tolerant_calls(native, java, "java") == [{"A.b": {"m": body, "n": "5L"}}]
    script = [function("f", {"a": "array"})]
    assert tolerant_calls("<think>x</think>f(a=[1])", script, "javascript") == [{"f": {"a": "[1]"}}]
