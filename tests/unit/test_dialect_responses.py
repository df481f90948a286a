"""The Responses API: requests as it wants them, real-looking replies read, whole or streamed."""

from __future__ import annotations

import json

import pytest

from evalcore.records import Completion, Failure, GenerationRequest, Message, Sampling, ToolCall
from evalcore.targets.endpoint.dialect import Capabilities
from evalcore.targets.endpoint.responses import ResponsesDialect, ResponseStream, parse_response

WHOLE = Capabilities(stream=False)
NOTHING_SET = Sampling()
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Look it up."}],
    "encrypted_content": "gAAAAAB",
    "status": None,
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_a",
    "name": "get_weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}
USAGE = {
    "input_tokens": 81,
    "input_tokens_details": {"cached_tokens": 64},
    "output_tokens": 35,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 116,
}


def text_item(text: str, **fields):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": [part], **fields}


def response(*items, **fields):
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.5-2026-04-01",
        "output": list(items),
        "usage": USAGE,
        "error": None,
        "incomplete_details": None,
        **fields,
    }


def build(*messages: Message, tools=(), sampling=NOTHING_SET, model="gpt-5.5", **extra):
    dialect = ResponsesDialect(model, extra)
    parameters = dialect.build_parameters(sampling, WHOLE)
    request = GenerationRequest(messages, tuple(tools))
    built = dialect.build_request(request, parameters, WHOLE)
    assert built.path == "/responses"
    return built.body


def test_a_request_stores_nothing_and_asks_for_encrypted_reasoning():
    body = build(
        Message("system", "Be brief."),
        Message("user", "Hi."),
        tools=[TOOL],
        sampling=Sampling(max_tokens=500, temperature=0.0, reasoning_effort="low", seed=3),
    )
    assert body == {
        "model": "gpt-5.5",
        "temperature": 0.0,
        "max_output_tokens": 500,
        "reasoning": {"effort": "low"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi."},
        ],
        "tools": [{"type": "function", **TOOL, "strict": False}],
    }


def test_a_model_without_reasoning_is_not_asked_for_it():
    assert "include" not in build(Message("user", "Hi."), model="gpt-4.1")


def test_a_limit_below_the_least_is_raised():
    body = build(Message("user", "Hi."), sampling=Sampling(max_tokens=1))
    assert body["max_output_tokens"] == 16


def test_the_extra_body_wins_and_images_are_parts():
    image = "data:image/png;base64,AAAA"
    body = build(Message("user", "What?", images=(image,)), store=True)
    assert body["store"] is True
    assert body["input"][0]["content"] == [
        {"type": "input_text", "text": "What?"},
        {"type": "input_image", "image_url": image},
    ]


def test_an_answer_is_read():
    done = parse_response(response(REASONING, CALL), {"model": "m"})
    assert isinstance(done, Completion)
    assert done.tool_calls == (ToolCall("call_a", "get_weather", '{"city": "Oslo"}'),)
    assert done.reasoning == "Look it up."
    assert not done.text
    assert done.finish_reason == "tool_calls"
    assert (done.usage.input_tokens, done.usage.cached_tokens) == (81, 64)
    assert (done.usage.output_tokens, done.usage.reasoning_tokens) == (35, 20)
    assert done.sent == {"model": "m"}
    assert done.model == "gpt-5.5-2026-04-01"


def test_reasoning_goes_back_before_its_call_with_the_repaired_arguments():
    done = parse_response(response(REASONING, CALL), {})
    assert isinstance(done, Completion)
    repaired = ToolCall("call_a", "get_weather", "{}")
    turn = Message("assistant", tool_calls=(repaired,), opaque=done.opaque)
    body = build(Message("user", "?"), turn, Message("tool", "4 C", tool_call_id="call_a"))
    reasoning = {name: value for name, value in REASONING.items() if value is not None}
    assert body["input"][1:] == [
        reasoning,
        {"type": "function_call", "call_id": "call_a", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": "4 C"},
    ]


def test_a_turn_of_another_model_goes_back_as_text_and_calls():
    call = ToolCall("c", "f", "{}")
    turn = Message("assistant", "Let me see.", tool_calls=(call,), opaque={"gemini": [{"a": 1}]})
    assert build(Message("user", "?"), turn)["input"][1:] == [
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]


def test_commentary_is_no_answer():
    done = parse_response(
        response(text_item("I will add.", phase="commentary"), text_item("4", phase="final")), {}
    )
    assert isinstance(done, Completion)
    assert done.text == "4"
    assert done.reasoning == "I will add."
    assert done.opaque["responses"][0]["phase"] == "commentary"


@pytest.mark.parametrize(
    ("fields", "finish"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
        ),
        ({"status": None}, "unknown"),
        ({}, "stop"),
    ],
)
def test_ends_of_an_answer(fields, finish):
    done = parse_response(response(text_item("A"), **fields), {})
    assert isinstance(done, Completion)
    assert (done.text, done.finish_reason) == ("A", finish)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (response(status="failed", error={"code": "server_error", "message": "x"}), "retryable"),
        (
            response(status="failed", error={"code": "rate_limit_exceeded", "message": "x"}),
            "rate_limited",
        ),
        (
            response(status="failed", error={"code": "insufficient_quota", "message": "x"}),
            "permanent",
        ),
        (response(status="cancelled"), "retryable"),
        (response(status="in_progress"), "malformed"),
        (response(status="incomplete"), "malformed"),
        (response(output=None), "malformed"),
        (response({"type": "message", "content": 3}), "malformed"),
        (response(3), "malformed"),
        ([], "malformed"),
    ],
)
def test_what_is_no_answer(reply, kind):
    failed = parse_response(reply, {})
    assert isinstance(failed, Failure)
    assert failed.kind == kind


def test_a_refusal_by_policy_is_the_end_of_an_answer():
    reply = response(status="failed", error={"code": "bio_policy", "message": "no"})
    assert parse_response(reply, {}).finish_reason == "content_filter"


def stream(*events) -> ResponseStream:
    assembler = ResponseStream()
    for event in events:
        assembler.add_event(event["type"], json.dumps(event).encode())
    return assembler


PIECES = (
    {"type": "response.created", "response": response(status="in_progress")},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "message", "role": "assistant", "content": []},
    },
    {"type": "response.output_text.delta", "output_index": 0, "delta": "4"},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "2"},
)


def test_a_stream_ends_with_the_whole_response():
    whole = response(text_item("42"))
    assembler = stream(*PIECES, {"type": "response.completed", "response": whole})
    assert assembler.is_complete
    assert assembler.build_reply() == whole


def test_what_has_arrived_of_a_cut_stream_is_kept():
    assembler = stream(*PIECES)
    assert not assembler.is_complete
    done = parse_response(assembler.build_reply(), {})
    assert isinstance(done, Completion)
    assert (done.text, done.finish_reason) == ("42", "unknown")


def test_a_stream_whose_last_event_has_no_items_is_put_together():
    done_item = {"type": "response.output_item.done", "output_index": 0, "item": CALL}
    end = {"type": "response.completed", "response": response()}
    arguments = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{"}
    done = parse_response(stream(arguments, done_item, end).build_reply(), {})
    assert isinstance(done, Completion)
    assert done.tool_calls[0].arguments == '{"city": "Oslo"}'


def test_an_error_in_a_stream_is_the_providers():
    event = {"type": "error", "code": "server_error", "message": "The server had an error"}
    assembler = stream(*PIECES, event)
    assert assembler.is_complete
    failed = parse_response(assembler.build_reply(), {})
    assert isinstance(failed, Failure)
    assert failed.kind == "retryable"


def test_an_empty_stream_is_no_reply():
    assert ResponseStream().build_reply() is None
