"""The Messages API of Anthropic."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    POLICY,
    add,
    claude,
    named_events,
    ok,
    once,
    say,
)

for stop, label in {
    "end_turn": ok,
    "stop_sequence": ok,
    "max_tokens": "model:length",
    "refusal": POLICY,
    "model_context_window_exceeded": "model:length",
    "pause_turn": "provider",
    "compaction": "provider",
    "odd": "provider",
}.items():
    add(f"claude: stop {stop}", "anthropic", label, claude([say()], stop), text="ok")
use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
add(
    "claude: a call",
    "anthropic",
    ok,
    claude([say("well"), use], "tool_use"),
    text="well",
    calls=[("add", '{"a": 1}')],
)
add("claude: nothing", "anthropic", ok, claude([], "end_turn"), text="")
add("claude: content null", "anthropic", "provider", claude(None))
add(
    "claude: no content",
    "anthropic",
    "provider",
    (200, {"type": "message", "stop_reason": "end_turn"}),
)
add(
    "claude: thoughts",
    "anthropic",
    ok,
    claude(
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "d"},
            say(),
        ]
    ),
    text="ok",
)
add(
    "claude: a block of a kind unknown",
    "anthropic",
    ok,
    claude([{"type": "server_tool_use", "id": "s", "name": "x", "input": {}}, say()]),
    text="ok",
)
add("claude: refused before a word", "anthropic", POLICY, claude([], "refusal"))
add(
    "claude: an error of status 200",
    "anthropic",
    "provider:retryable",
    (200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
)
add(
    "claude: overloaded",
    "anthropic",
    "provider:retryable",
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
)
add(
    "claude: filtered output",
    "anthropic",
    POLICY,
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Output blocked by content filtering policy",
            },
        },
    ),
)
add(
    "claude: too long",
    "anthropic",
    OVERFLOW,
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 210000 tokens > 200000 maximum",
            },
        },
    ),
)
add(
    "claude: no credit",
    "anthropic",
    "provider:lasting",
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API.",
            },
        },
    ),
)
add(
    "claude: key",
    "anthropic",
    "provider:lasting",
    (
        401,
        {
            "type": "error",
            "error": {"type": "authentication_error", "message": "invalid x-api-key"},
        },
    ),
)
add(
    "claude: model",
    "anthropic",
    "provider:lasting",
    (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: m"}}),
)
add(
    "claude: temperature goes",
    "anthropic",
    ok,
    once(
        (
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "`temperature` is deprecated for this model.",
                },
            },
        ),
        claude([say()]),
        "temperature",
    ),
    text="ok",
)
start = (
    "message_start",
    {
        "type": "message_start",
        "message": {
            "type": "message",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 3},
        },
    },
)
text_block = [
    (
        "content_block_start",
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ),
    ("ping", {"type": "ping"}),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
    ),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
]


def claude_end(reason):  # type: ignore[no-untyped-def]
    return [
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason},
                "usage": {"output_tokens": 2},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


add(
    "claude stream: plain",
    "anthropic",
    ok,
    named_events(start, *text_block, *claude_end("end_turn")),
    text="ok",
)
add("claude stream: cut", "anthropic", "provider", named_events(start, *text_block))
add(
    "claude stream: cut before its stop",
    "anthropic",
    ok,
    named_events(start, *text_block, claude_end("end_turn")[0]),
    text="ok",
)
add(
    "claude stream: overloaded",
    "anthropic",
    "provider",
    named_events(
        start,
        *text_block[:3],
        (
            "error",
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
    ),
)
add(
    "claude stream: refused midway",
    "anthropic",
    POLICY,
    named_events(start, *text_block, *claude_end("refusal")),
)
add(
    "claude stream: limit",
    "anthropic",
    "model:length",
    named_events(start, *text_block, *claude_end("max_tokens")),
)


def claude_call(*pieces):  # type: ignore[no-untyped-def]
    begin = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "add", "input": {}},
    }
    deltas = [
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            },
        )
        for piece in pieces
    ]
    return named_events(start, ("content_block_start", begin), *deltas, *claude_end("tool_use"))


add(
    "claude stream: a call",
    "anthropic",
    ok,
    claude_call("", '{"a"', ": 1}"),
    calls=[("add", '{"a": 1}')],
)
add(
    "claude stream: a call without arguments",
    "anthropic",
    ok,
    claude_call(""),
    calls=[("add", "{}")],
)
add(
    "claude stream: a call with broken arguments",
    "anthropic",
    ok,
    claude_call('{"a": '),
    calls=[("add", '{"a": ')],
)
add("third: claude's content as a text", "anthropic", "fine", claude(ok), text=ok)
