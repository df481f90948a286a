"""Tool calls in every form of the common families, and hostile text that must stay text."""

from __future__ import annotations

import json

import pytest

from evalcore.call_formats import read_calls
from evalcore.targets.huggingface.chat import number_tool_calls
from tests.support.hangs import stop_hang

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    },
    {"name": "geo.find", "parameters": {}},
]
OSLO = ("weather", {"city": "Oslo", "days": 3})
ROME = ("geo.find", {"name": "Rome"})


def read_tool_calls(text, tools, first=0):
    reading = read_calls(text, tools)
    return reading.rest, number_tool_calls(reading.calls, first)


def read(text):
    rest, calls = read_tool_calls(text, TOOLS)
    return rest, [(call.name, json.loads(call.arguments)) for call in calls]


JSON = '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}'
LLAMA = '{"name": "weather", "parameters": {"city": "Oslo", "days": 3}}'
FIND = '{"name": "geo.find", "arguments": {"name": "Rome"}}'
CODER = """<tool_call>
<function=weather>
<parameter=city>
Oslo
</parameter>
<parameter=days>
3
</parameter>
</function>
</tool_call>"""


@pytest.mark.parametrize(
    ("text", "rest", "calls"),
    [
        (f"<tool_call>\n{JSON}\n</tool_call>", "", [OSLO]),
        (f"Well.\n<tool_call>{JSON}</tool_call>\nDone.", "Well.\n\nDone.", [OSLO]),
        (f"<tool_call>{JSON}</tool_call><tool_call>{FIND}</tool_call>", "", [OSLO, ROME]),
        (f"<tool_call>{JSON}", "", [OSLO]),
        (f"<tool_call>[{JSON}, {FIND}]</tool_call>", "", [OSLO, ROME]),
        (CODER, "", [OSLO]),
        (f"[TOOL_CALLS][{JSON}, {FIND}]", "", [OSLO, ROME]),
        (f"[TOOL_CALLS] [{JSON}]", "", [OSLO]),
        ('[TOOL_CALLS]weather[ARGS]{"city": "Oslo", "days": 3}', "", [OSLO]),
        (
            '[TOOL_CALLS]weather{"city": "Oslo", "days": 3}[TOOL_CALLS]geo.find{"name": "Rome"}',
            "",
            [OSLO, ROME],
        ),
        (LLAMA, "", [OSLO]),
        (f"<|python_tag|>{LLAMA}", "", [OSLO]),
        (f"{LLAMA}; {FIND}", "", [OSLO, ROME]),
        (f"{LLAMA}\n{FIND}\n", "", [OSLO, ROME]),
        ("[weather(city='Oslo', days=3)]", "", [OSLO]),
        ("[weather(city='Oslo', days=3), geo.find(name=\"Rome\")]", "", [OSLO, ROME]),
        ("<|python_tag|>weather(city='Oslo', days=3)", "", [OSLO]),
        ('{"type": "function", "function": ' + JSON + "}", "", [OSLO]),
        ('<tool_call>{"name": "unknown", "arguments": {}}</tool_call>', "", [("unknown", {})]),
        ('<tool_call>{"name": "weather"}</tool_call>', "", [("weather", {})]),
        ("[weather(days=-1, city=null)]", "", [("weather", {"days": -1, "city": None})]),
    ],
)
def test_calls_are_read(text, rest, calls):
    assert read(text) == (rest, calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather is fine.",
        '{"name": "other", "arguments": {}}',
        '{"name": "weather", "arguments": [1]}',
        '{"city": "Oslo"}',
        "[1, 2]",
        "[]",
        "[other(a=1)]",
        "[weather('Oslo')]",
        "[weather(city=open('x'))]",
        "[weather(city=1+1)]",
        "[weather(**{})]",
        "[weather(city=f'{1}')]",
        "[weather(city=b'x')]",
        "weather",
        '<tool_call>{"name": "weather", "arguments": {"city": "Os',
        '<tool_call>{"name": "weather", "arguments": {"days": NaN}}</tool_call>',
        '<tool_call>{"name": "rm -rf", "arguments": {}}</tool_call>',
        "<tool_call>nothing</tool_call>",
        "<tool_call><function=weather><parameter=city>Oslo</function></tool_call>",
        "[TOOL_CALLS]weather",
        "[TOOL_CALLS][{]",
        f"I would write {JSON} here.",
    ],
)
def test_what_does_not_parse_stays_text(text):
    assert read(text) == (text, [])


def test_a_broken_call_beside_a_good_one_stays_in_the_text():
    rest, calls = read(f"<tool_call>{{oops</tool_call><tool_call>{JSON}</tool_call>")
    assert calls == [OSLO]
    assert rest == "<tool_call>{oops</tool_call>"


def test_values_without_quotes_follow_the_schema():
    text = CODER.replace("Oslo", "007").replace("\n3\n", "\nthree\n")
    assert read(text)[1] == [("weather", {"city": "007", "days": "three"})]


def test_arguments_that_are_text_are_kept_as_written():
    _, calls = read_tool_calls(
        '<tool_call>{"name": "f", "arguments": "{\\"a\\": 1"}</tool_call>', TOOLS
    )
    assert calls[0].arguments == '{"a": 1'


def test_ids_go_on_from_the_conversation_and_have_nine_signs():
    _, calls = read_tool_calls(f"<tool_call>[{JSON}, {JSON}]</tool_call>", TOOLS, first=7)
    assert [call.id for call in calls] == ["call00007", "call00008"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "<tool_call>" * 50_000,
        "<tool_call>" + "<function=a>" * 40_000,
        "<tool_call><function=a>" + "<parameter=" * 40_000,
        "<tool_call>" + "[" * 200_000,
        "[TOOL_CALLS]" * 50_000,
        "[TOOL_CALLS]" + "a" * 500_000,
        "[weather(a=" + "(" * 9_000 + ")]",
        "[weather(a=" + "-" * 19_000 + "1)]",
        "[weather(a=" + "9" * 19_000 + ")]",
        "[weather" + ".a" * 9_000 + "(a=1)]",
        "[weather(a=" + "1 if 1 else " * 1_500 + "1)]",
        "<tool_call>" + '{"name": "f", "arguments": {"a": ' + "9" * 10_000 + "}}",
        "x" * 3_000_000,
        "\x00<tool_call>\ud800",
    ],
    ids=range(16),
)
def test_hostile_text_ends_soon_as_text(text):
    with stop_hang():
        _, calls = read_tool_calls(text, TOOLS)
        assert calls == ()
