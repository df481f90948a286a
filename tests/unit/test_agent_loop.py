"""An agent that works alone: calls, answers, limits, and what is sent back to its server."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.agent_loop import AgentLoop
from evalcore.benchmarks.agents import Tool
from evalcore.records import Completion, Message, ToolCall

TOOLS = (
    Tool("add", "Adds.", {"type": "object", "properties": {"a": {}, "b": {}}}),
    Tool("done", "Ends.", {"type": "object", "properties": {"answer": {}}}),
)
OPENING = (Message("system", "Work."), Message("user", "What is 2 + 3?"))


def called(name, *, id="", **arguments):
    return ToolCall(id, name, json.dumps(arguments))


def native(*calls, text=""):
    return Completion(text=text, tool_calls=calls, finish_reason="tool_calls")


async def work(answers, style="native", most=10):
    """What comes of the answers, and all that the agent was sent."""
    sent = []

    async def ask(messages):
        sent.append(list(messages))
        return answers[len(sent) - 1]

    async def call(name, arguments):
        return str(arguments["a"] + arguments["b"]) if name == "add" else f"Error: no tool {name}"

    return await AgentLoop(TOOLS, call, ask, style, "done").run(OPENING, most), sent


async def test_calls_are_answered_until_the_final_one():
    result, sent = await work([native(called("add", a=2, b=3)), native(called("done", answer="5"))])
    assert result.final == {"answer": "5"}
    assert result.calls == ({"name": "add", "arguments": '{"a": 2, "b": 3}', "result": "5"},)
    assert [m.role for m in sent[1]] == ["system", "user", "assistant", "tool"]
    assert sent[1][-1].tool_call_id == sent[1][-2].tool_calls[0].id == "call_0_0"
    assert result.ended == ""


async def test_turns_are_counted_by_how_their_calls_were_read():
    add = '{"name": "add", "arguments": {"a": 2, "b": 3}}'
    texts = [add, f"<tool_call>{add}</tool_call>", "TOOL_CALL: {", "It is 5."]
    found, _ = await work([Completion(text=text) for text in texts], style="json")
    assert found.call_readings == {"native": 1, "rescued": 1, "lost": 1}
    found, _ = await work([native(called("add", a=2, b=3)), Completion(text="5")])
    assert found.call_readings == {"native": 1}
    in_words = Completion(text=f"<tool_call>{add}</tool_call>")
    found, sent = await work([in_words, Completion(text="It is 5.")])
    assert "call the tool itself" in sent[1][-1].content, "it is no answer, and nobody's to read"
    assert (found.call_readings, found.calls) == ({"lost": 1}, ())


async def test_what_a_server_quotes_is_read_where_calls_are_text():
    add = '{"name": "add", "arguments": {"a": 2, "b": 3}}'
    quoted = Completion(text=f"<tool_call>{add}</tool_call>", finish_reason="unparsable")
    found, _ = await work([quoted, Completion(text="It is 5.")], style="json")
    assert found.call_readings == {"rescued": 1}
    found, _ = await work([quoted, Completion(text="It is 5.")])
    assert (found.call_readings, found.calls) == ({"lost": 1}, ())


async def test_words_without_a_call_are_the_answer():
    result, _ = await work([Completion(text="FINAL ANSWER: 5")])
    assert (result.last_text, result.final, result.ended) == ("FINAL ANSWER: 5", None, "")


async def test_calls_in_the_same_reply_before_the_final_one_are_made_and_later_ones_are_not():
    reply = native(called("add", a=1, b=1), called("done", answer="2"), called("add", a=9, b=9))
    result, _ = await work([reply])
    assert result.final == {"answer": "2"}
    assert [call["result"] for call in result.calls] == ["2"]


async def test_described_tools_are_called_in_text():
    reply = Completion(text='{"name": "add", "arguments": {"a": 2, "b": 3}}')
    result, sent = await work([reply, Completion(text="It is 5.")], style="json")
    assert sent[1][-1] == Message("user", "API output: 5")
    assert result.last_text == "It is 5."


@pytest.mark.parametrize(
    ("answer", "most", "ended"),
    [
        (native(called("add", a=1, b=1)), 3, "max_steps"),
        (native(ToolCall("x", "add", "[not an object")), 20, "max_parse_errors"),
        (Completion(text="", finish_reason="unparsable"), 20, "max_parse_errors"),
        (Completion(text="", finish_reason="context_overflow"), 20, "context_overflow"),
    ],
)
async def test_limits_end_it_with_their_name(answer, most, ended):
    result, _ = await work([answer] * most, most=most)
    assert result.ended == ended
    assert result.final is None


async def test_a_readable_call_starts_the_count_of_unreadable_ones_anew():
    bad, good = native(ToolCall("x", "add", "[")), native(called("add", a=1, b=1))
    result, _ = await work([bad, bad, bad, good, bad, bad, bad, Completion(text="2")])
    assert (result.last_text, result.ended) == ("2", "")


async def test_what_is_sent_back_is_json_though_the_transcript_keeps_what_was_written():
    result, sent = await work([native(ToolCall("x", "add", "[")), Completion(text="I give up")])
    assert sent[1][-2].tool_calls[0].arguments == "{}"
    assert result.messages[2].tool_calls[0].arguments == "["
    assert sent[1][-1].content.startswith("Error: ")


async def test_an_error_of_a_tool_is_a_result_like_any_other():
    result, _ = await work([native(called("fly")), Completion(text="no")])
    assert result.calls[0]["result"] == "Error: no tool fly"
