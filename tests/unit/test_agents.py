"""What an agent's answer means, in every dress in which small models put a call."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents import MAX_CALLS, parse_text_turn
from evalcore.records import Completion, ToolCall
from tests.support import tau

TOOLS = tau.retail().tools
ORDER = '{"name": "get_order_details", "arguments": {"order_id": "#W1"}}'
EXPECTED_CALLS = [("get_order_details", {"order_id": "#W1"})]


def list_calls(text: str) -> list[tuple[str, object]]:
    return [(call.name, call.kwargs) for call in parse_text_turn(text, TOOLS).calls]


@pytest.mark.parametrize(
    "text",
    [
        ORDER,
        f"  {ORDER}\n",
        f"```json\n{ORDER}\n```",
        f"```\n{ORDER}\n```\nI will wait for the result.",
        f"TOOL_CALL: {ORDER}",
        f"<tool_call>\n{ORDER}\n</tool_call>",
        f"<tool_call>{ORDER}",
        f"[TOOL_CALLS] [{ORDER}]",
        '[TOOL_CALLS]get_order_details{"order_id": "#W1"}',
        '<function=get_order_details>{"order_id": "#W1"}</function>',
        f"<|python_tag|>{ORDER}",
        f"Sure, let me look that up: {ORDER} One moment.",
        f"[{ORDER}]",
        f"<think>Which tool {{is}} it?</think>{ORDER}",
        "{'name': 'get_order_details', 'arguments': {'order_id': '#W1'}}",
        "I look: {'name': 'get_order_details', 'arguments': {'order_id': '#W1'}} now",
        '{"name": "get_order_details", "parameters": {"order_id": "#W1"}}',
        '{"name": "get_order_details", "kwargs": {"order_id": "#W1"}}',
        '{"tool": "get_order_details", "args": {"order_id": "#W1"}}',
        '{"function": {"name": "get_order_details", "arguments": "{\\"order_id\\": \\"#W1\\"}"}}',
        '{"tool_calls": [{"name": "get_order_details", "arguments": {"order_id": "#W1"}}]}',
        '{"get_order_details": {"order_id": "#W1"}}',
        '{"name": "get_order_details", "arguments": {"order_id": "#W1"}',
        '{"name": "get_order_details", "arguments": {"order_id": "#W1",}}',
        'get_order_details(order_id="#W1")',
        f"Thought: I need the order.\nAction: {ORDER}",
        f"Thought: I need it.\nAction: {ORDER}\nObservation: pending\nAction: {ORDER}",
        f"<tool_call>{ORDER}</tool_call>\n<tool_response>{{}}</tool_response>\n<tool_call>{ORDER}",
        'Thought: I look.\nAction: get_order_details\nAction Input: {"order_id": "#W1"}',
        '**Action:** get_order_details\n**Action Input:** {"order_id": "#W1"}',
        f'The lamp [5" wide] {{nice}} first: {ORDER}',
    ],
)
def test_a_call_is_read_in_any_dress(text):
    assert list_calls(text) == EXPECTED_CALLS


def test_several_calls_keep_their_order():
    both = [("think", {"thought": "first {"}), *EXPECTED_CALLS]
    text = '{"name": "think", "arguments": {"thought": "first {"}}'
    assert list_calls(f"{text}\n{ORDER}") == both
    assert list_calls(f"[{text}, {ORDER}]") == both
    assert list_calls(f"<tool_call>{text}</tool_call><tool_call>{ORDER}</tool_call>") == both


def test_too_many_calls_at_once_are_a_problem():
    assert parse_text_turn("\n".join([ORDER] * (MAX_CALLS + 1)), TOOLS).problem
    assert len(list_calls("\n".join([ORDER] * MAX_CALLS))) == MAX_CALLS


def test_an_unknown_tool_is_a_call_that_the_environment_refuses():
    assert list_calls('{"name": "open_door", "arguments": {}}') == [("open_door", {})]


@pytest.mark.parametrize(
    "text",
    [
        "What is your order number?",
        "Your order has {two} items [a lamp and a cup].",
        'Here is the lamp: {"name": "Lamp", "price": 3}',
        "I may think about get_order_details later.",
        "",
    ],
)
def test_text_without_a_call_is_said_to_the_user(text):
    turn = parse_text_turn(text, TOOLS)
    assert (turn.user_message, turn.calls, turn.problem) == (text, (), "")


@pytest.mark.parametrize(
    "text",
    [
        'TOOL_CALL: {"name": get_order_details}',
        '<tool_call>{"name": "get_order_details", "arguments": </tool_call>',
        '{"name": "get_order_details", "arguments": {"order_id": "#W',
        "Thought: hm.\nAction: look it up somehow",
        '{"name": 5, "arguments": {}}',
        '{"name": "think", "arguments": ' + "[" * 100_000,
    ],
)
def test_what_was_meant_as_a_call_and_cannot_be_read_is_a_problem(text):
    turn = parse_text_turn(text, TOOLS)
    assert turn.problem
    assert not turn.calls
    assert not turn.user_message


def test_respond_is_said_to_the_user():
    text = 'Thought: ask.\nAction: {"name": "respond", "arguments": {"content": "Which order?"}}'
    assert parse_text_turn(text, TOOLS).user_message == "Which order?"


def test_beside_a_call_nothing_is_said():
    both = f'{{"name": "respond", "arguments": {{"content": "Hi"}}}}\n{ORDER}'
    turn = parse_text_turn(both, TOOLS)
    assert not turn.user_message
    assert [call.name for call in turn.calls] == ["get_order_details"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Thought: he is rude.\nWhich order?", "Which order?"),
        ("Thought: he is\nrude.\nResponse: Which order?", "Which order?"),
        ("Thought: done.\nFinal Answer: It is cancelled.", "It is cancelled."),
    ],
)
def test_a_thought_is_never_said(text, message):
    assert parse_text_turn(text, TOOLS).user_message == message


def test_a_thought_alone_is_a_problem():
    turn = parse_text_turn("Thought: I wonder.", TOOLS)
    assert turn.problem
    assert not turn.user_message


def test_half_a_surrogate_pair_reaches_nobody():
    text = '{"name": "respond", "arguments": {"content": "a \\ud800 b"}}'
    assert parse_text_turn(text, TOOLS).user_message == "a ? b"


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a":' * 50_000, "[{" * 90_000, '"' * 200_000])
def test_hostile_braces_take_linear_time(text):
    assert parse_text_turn(text, TOOLS).calls == ()


def native(*pairs: tuple[str, str], text: str = "") -> agents.AgentTurn:
    made = tuple(ToolCall("", name, arguments) for name, arguments in pairs)
    return agents.parse_turn(Completion(text=text, tool_calls=made), "native", TOOLS)


def test_native_calls_and_text():
    turn = native(("get_order_details", '{"order_id": "#W1"}'), ("think", ""), text="Wait.")
    assert [(call.name, call.kwargs) for call in turn.calls] == [*EXPECTED_CALLS, ("think", {})]
    assert not turn.user_message
    assert native(text="Hi").user_message == "Hi"


@pytest.mark.parametrize("arguments", ["[]", "nonsense", "{", '"#W1"', "1e999", "{" + "[" * 9000])
def test_native_arguments_that_are_no_object_are_a_problem(arguments):
    [call] = native(("think", arguments)).calls
    assert call.problem
    assert call.kwargs == {}


def test_huge_native_arguments_are_not_read():
    [call] = native(("think", json.dumps({"thought": "x" * 300_000}))).calls
    assert call.problem


def test_a_call_that_the_server_could_not_read_is_a_problem():
    assert agents.parse_turn(Completion(finish_reason="unparsable"), "json", TOOLS).problem


def test_tools_are_described_only_where_they_are_not_sent():
    assert agents.describe_tools(TOOLS, "native") == ""
    for style, alone in (("json", False), ("react", False), ("json", True)):
        text = agents.describe_tools(TOOLS, style, alone=alone)
        assert all(tool.name in text for tool in TOOLS)
        assert ("user" in text.partition("# Form")[2]) is not alone
    assert {tool["function"]["name"] for tool in agents.build_tool_schemas(TOOLS)} == {
        t.name for t in TOOLS
    }


@pytest.mark.parametrize(
    ("asking", "chosen", "style"),
    [
        ("native", "react", "native"),
        ("prompt", "react", "react"),
        ("prompt", "json", "json"),
        ("json", "react", "json"),
    ],
)
def test_the_style_follows_from_how_the_target_is_asked(asking, chosen, style):
    assert agents.choose_style(asking, chosen) == style
