"""The Messages API: requests as it wants them, real-looking replies read, whole or streamed."""

from __future__ import annotations

import json

import pytest

from evalcore.records import Completion, Failure, GenerationRequest, Message, Sampling, ToolCall
from evalcore.targets.endpoint.anthropic import (
    AnthropicDialect,
    MessageStream,
    detect_platform,
    parse_message,
)
from evalcore.targets.endpoint.dialect import Capabilities

WHOLE, STREAMED = Capabilities(stream=False), Capabilities()
NOTHING_SET = Sampling()
THOUGHT = {"type": "thinking", "thinking": "Look it up.", "signature": "EqQBCg=="}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgB"}
TEXT = {"type": "text", "text": "I will look."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
USAGE = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 1000,
    "output_tokens": 90,
    "output_tokens_details": {"thinking_tokens": 70},
}


def message(*blocks, **fields):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
        **fields,
    }


def build(*messages, tools=(), sampling=NOTHING_SET, model="claude-opus-5", platform="anthropic"):
    dialect = AnthropicDialect(model, {}, platform)
    parameters = dialect.build_parameters(sampling, WHOLE)
    return dialect.build_request(GenerationRequest(messages, tuple(tools)), parameters, WHOLE)


def test_a_request_has_its_system_turn_apart():
    built = build(
        Message("system", "Be brief."),
        Message("user", "Hi."),
        tools=[{"type": "function", "function": {"name": "f", "description": "Does."}}],
        sampling=Sampling(max_tokens=500, temperature=0.0, seed=1, stop=("END", "\n")),
    )
    assert built.path == "/messages"
    assert built.headers == {"anthropic-version": "2023-06-01"}
    assert built.body == {
        "model": "claude-opus-5",
        "max_tokens": 500,
        "temperature": 0.0,
        "stop_sequences": ["END"],
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}],
        "tools": [
            {
                "name": "f",
                "description": "Does.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
    }


def test_the_limit_that_the_api_wants_is_never_left_out():
    dialect = AnthropicDialect("claude-opus-5", {})
    assert dialect.build_parameters(Sampling(), WHOLE)["max_tokens"] == 32_000
    small = Capabilities(stream=False, most_tokens=4096, refused=frozenset({"max_tokens"}))
    assert dialect.build_parameters(Sampling(), small)["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("claude-opus-5", "high", ({"type": "adaptive"}, {"effort": "high"})),
        ("claude-sonnet-4-6", "minimal", ({"type": "adaptive"}, {"effort": "low"})),
        ("claude-haiku-4-5", "low", ({"type": "enabled", "budget_tokens": 2048}, None)),
        ("claude-sonnet-4-20250514", "max", ({"type": "enabled", "budget_tokens": 8000}, None)),
        ("claude-opus-5", "none", ({"type": "disabled"}, None)),
        ("claude-opus-5", None, (None, None)),
    ],
)
def test_an_effort_becomes_what_the_model_knows(model, effort, sent):
    sampling = Sampling(max_tokens=16_000, reasoning_effort=effort)
    body = AnthropicDialect(model, {}).build_parameters(sampling, WHOLE)
    assert (body.get("thinking"), body.get("output_config")) == sent


def test_an_answer_is_read():
    done = parse_message(message(THOUGHT, TEXT, CALL, stop_reason="tool_use"), {"max_tokens": 9})
    assert isinstance(done, Completion)
    assert done.text == "I will look."
    assert done.reasoning == "Look it up."
    assert done.tool_calls == (ToolCall("toolu_1", "get_weather", '{"city": "Oslo"}'),)
    assert done.finish_reason == "tool_calls"
    assert (done.usage.input_tokens, done.usage.cached_tokens) == (1112, 1000)
    assert (done.usage.output_tokens, done.usage.reasoning_tokens) == (90, 70)
    assert done.model == "claude-opus-5"


def test_thoughts_go_back_unchanged_and_results_in_one_turn():
    second = {**CALL, "id": "toolu_2"}
    done = parse_message(message(THOUGHT, REDACTED, TEXT, CALL, second), {})
    assert isinstance(done, Completion)
    turn = Message("assistant", done.text, done.reasoning, done.tool_calls, opaque=done.opaque)
    body = build(
        Message("user", "?"),
        turn,
        Message("tool", "4 C", tool_call_id="toolu_1"),
        Message("tool", "", tool_call_id="toolu_2"),
        Message("user", "And?"),
    ).body
    assert body["messages"][1] == {
        "role": "assistant",
        "content": [THOUGHT, REDACTED, TEXT, CALL, second],
    }
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4 C"},
        {"type": "tool_result", "tool_use_id": "toolu_2"},
        {"type": "text", "text": "And?"},
    ]


def test_without_thoughts_a_turn_is_built_from_text_and_calls():
    call = ToolCall("call:1", "f", "not json")
    body = build(
        Message("user", "?"),
        Message("assistant", "Hm.", tool_calls=(call,)),
        Message("tool", "no", tool_call_id="call:1"),
    ).body
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "Hm."},
        {"type": "tool_use", "id": "call_1", "name": "f", "input": {"arguments": "not json"}},
    ]
    assert body["messages"][2]["content"][0]["tool_use_id"] == "call_1"


def test_empty_turns_are_left_out_and_a_person_begins():
    body = build(Message("assistant", "Hello!"), Message("assistant", " "), Message("user", "Hi"))
    roles = [turn["role"] for turn in body.body["messages"]]
    assert roles == ["user", "assistant", "user"]


def test_images_are_blocks():
    body = build(Message("user", "?", images=("data:image/jpeg;base64,AA", "https://x/y.png"))).body
    assert [block.get("source") for block in body["messages"][0]["content"]] == [
        None,
        {"type": "base64", "media_type": "image/jpeg", "data": "AA"},
        {"type": "url", "url": "https://x/y.png"},
    ]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        (None, "unknown"),
    ],
)
def test_ends_of_an_answer(reason, finish):
    done = parse_message(message(TEXT, stop_reason=reason), {})
    assert isinstance(done, Completion)
    assert done.finish_reason == finish


def error(kind: str):
    return {"type": "error", "error": {"type": kind, "message": "words"}, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("reply", "kind", "status"),
    [
        (error("overloaded_error"), "retryable", 529),
        (error("rate_limit_error"), "rate_limited", 429),
        (error("api_error"), "retryable", 500),
        (error("authentication_error"), "permanent", 401),
        (error("billing_error"), "permanent", 402),
        (error("news_error"), "malformed", 200),
        (message(stop_reason="pause_turn"), "malformed", 200),
        (message({"type": "text"}), "malformed", 200),
        (message({"type": "text", "text": 3}), "malformed", 200),
        (message(3), "malformed", 200),
        ("x", "malformed", 200),
    ],
)
def test_what_is_no_answer(reply, kind, status):
    failed = parse_message(reply, {})
    assert isinstance(failed, Failure)
    assert (failed.kind, failed.status) == (kind, status)


def test_on_bedrock_the_path_names_the_model():
    built = build(Message("user", "Hi."), model="eu.anthropic.opus-5:0", platform="bedrock")
    assert built.path == "/model/eu.anthropic.opus-5%3A0/invoke"
    assert built.body["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & built.body.keys()


def test_on_vertex_the_verb_says_whether_it_streams():
    dialect = AnthropicDialect("claude-opus-5@1", {}, "vertex")
    parameters = dialect.build_parameters(Sampling(), STREAMED)
    built = dialect.build_request(
        GenerationRequest((Message("user", "Hi."),)), parameters, STREAMED
    )
    assert built.path == "/models/claude-opus-5@1:streamRawPredict"
    assert built.body["anthropic_version"] == "vertex-2023-10-16"
    assert built.body["stream"] is True
    assert dialect.authorize("k", "", b"") == {"Authorization": "Bearer k"}


@pytest.mark.parametrize(
    ("address", "platform"),
    [
        ("https://api.anthropic.com/v1", "anthropic"),
        ("https://bedrock-mantle.us-east-1.api.aws/anthropic/v1", "anthropic"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "bedrock"),
        ("https://eu-aiplatform.googleapis.com/v1/p/l/publishers/anthropic", "vertex"),
    ],
)
def test_the_platform_is_seen_by_the_address(address, platform):
    assert detect_platform(address) == platform


def stream(*events) -> MessageStream:
    assembler = MessageStream()
    for event in events:
        assembler.add_event(event["type"], json.dumps(event).encode())
    return assembler


def delta(index: int, kind: str, field: str, text: str):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}}


def start(index: int, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


PIECES = (
    {"type": "message_start", "message": message(stop_reason=None, usage={"input_tokens": 5})},
    {"type": "ping"},
    start(0, {"type": "thinking", "thinking": "", "signature": ""}),
    delta(0, "thinking_delta", "thinking", "Look "),
    delta(0, "thinking_delta", "thinking", "it up."),
    delta(0, "signature_delta", "signature", "EqQBCg=="),
    start(1, {"type": "text", "text": ""}),
    delta(1, "text_delta", "text", "I will look."),
    start(2, {**CALL, "input": {}}),
    delta(2, "input_json_delta", "partial_json", '{"city"'),
    delta(2, "input_json_delta", "partial_json", ': "Oslo"}'),
)
END = (
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 7, "input_tokens": None},
    },
    {"type": "message_stop"},
)


def test_a_stream_reads_as_the_whole_message():
    assembler = stream(*PIECES, *END)
    assert assembler.is_complete
    done = parse_message(assembler.build_reply(), {})
    assert isinstance(done, Completion)
    assert done.tool_calls == (ToolCall("toolu_1", "get_weather", '{"city": "Oslo"}'),)
    assert done.finish_reason == "tool_calls"
    assert (done.usage.input_tokens, done.usage.output_tokens) == (5, 7)
    assert done.opaque["anthropic"][0] == THOUGHT
    assert done.text == "I will look."


def test_a_call_without_arguments_streams_none():
    done = parse_message(stream(start(0, {**CALL, "input": {}}), *END).build_reply(), {})
    assert isinstance(done, Completion)
    assert done.tool_calls[0].arguments == "{}"


def test_what_has_arrived_of_a_cut_stream_is_kept():
    assembler = stream(*PIECES[:-1])
    assert not assembler.is_complete
    done = parse_message(assembler.build_reply(), {})
    assert isinstance(done, Completion)
    assert done.text == "I will look."


def test_an_overload_in_a_stream_is_the_providers():
    failed = parse_message(stream(*PIECES, error("overloaded_error")).build_reply(), {})
    assert isinstance(failed, Failure)
    assert failed.kind == "retryable"


def test_an_empty_stream_is_no_reply():
    assert MessageStream().build_reply() is None
