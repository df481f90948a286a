"""Exchanges with providers, each labeled with whose matter it is before any code saw it.

`fine`: the answer is the model's own. `model:END`: the model's failure, with the end of the answer
that says so. `provider` or `provider:KIND`: the provider's failure, never scored. Labels follow the
providers' documents and public issues of 2024 to 2026.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
#: Status, body and headers of a reply; a body that is no bytes is sent as JSON.
Reply = tuple[Any, ...]
Respond = Callable[[Body], Reply]

TOOL = {"name": "add", "description": "sum", "parameters": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class Exchange:
    """What a server answers, and what must come of it. `respond` gets the body of each request;
    `cut` is how many bytes of the message are sent before the connection is lost."""

    name: str
    api: str
    label: str
    respond: Respond
    text: str | None = None
    calls: Sequence[tuple[str, str]] | None = None
    cut: int | None = None


EXCHANGES: list[Exchange] = []


def add(name: str, api: str, label: str, reply: Reply | Respond, **expected: Any) -> None:
    respond = reply if callable(reply) else lambda _: reply
    EXCHANGES.append(Exchange(name, api, label, respond, **expected))


def chat(content: Any = "ok", finish: Any = "stop", /, usage: Any = None, **message: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return 200, {"id": "x", "choices": [choice | {"finish_reason": finish}], "usage": usage}


def call(name: Any = "add", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    } | more


def error(words: str, /, **more: Any) -> dict[str, Any]:
    return {"error": {"message": words, **more}}


def events(*chunks: Any, end: str = "data: [DONE]\n\n", sep: str = "\n\n") -> Reply:
    """A stream of chat chunks: a text is a delta, a tuple a finish reason, a dict a chunk."""
    lines = []
    for chunk in chunks:
        if isinstance(chunk, bytes):
            lines.append(chunk.decode())
            continue
        if isinstance(chunk, str):
            chunk = {"choices": [{"index": 0, "delta": {"content": chunk}}]}
        elif isinstance(chunk, tuple):
            chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": chunk[0]}]}
        lines.append(f"data: {json.dumps(chunk)}{sep}")
    return 200, ("".join(lines) + end).encode(), {"content-type": "text/event-stream"}


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def named_events(*pairs: tuple[str, Any]) -> Reply:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in pairs)
    return 200, text.encode(), {"content-type": "text/event-stream"}


def claude(blocks: Any, stop: Any = "end_turn", **more: Any) -> Reply:
    usage = {"input_tokens": 3, "output_tokens": 2}
    fields = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": stop}
    return 200, {**fields, "usage": usage, **more}


def say(text: Any = "ok") -> dict[str, Any]:
    return {"type": "text", "text": text}


def gemini(parts: Any = None, finish: Any = "STOP", **more: Any) -> Reply:
    content = {} if parts is None else {"content": {"role": "model", "parts": parts}}
    return 200, {"candidates": [{**content, "finishReason": finish, **more}]}


def gemini_events(*chunks: Any) -> Reply:
    text = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    return 200, text.encode(), {"content-type": "text/event-stream"}


def google_error(status: int, name: str, words: str, **more: Any) -> Reply:
    return status, {"error": {"code": status, "message": words, "status": name, **more}}


def response(items: Any, status: Any = "completed", **more: Any) -> Reply:
    return 200, {"object": "response", "status": status, "output": items, "error": None, **more}


def spoken(text: str = "ok") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def once(first: Reply, then: Reply | None = None, when: str = "") -> Respond:
    """Refuse requests whose body has the field (dotted) `when`; answer the others."""

    def respond(body: Body) -> Reply:
        value: Any = body
        for part in when.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return first if value not in (None, False) else then or chat()

    return respond


# Chat completions: why an answer ended.

for word, label in {
    "stop": "fine",
    "eos": "fine",
    "eos_token": "fine",
    "stop_sequence": "fine",
    "end_turn": "fine",
    "COMPLETE": "fine",
    "STOP": "fine",
    "endoftext": "fine",
    "normal": "fine",
    "null": "fine",
    "": "fine",
    "length": "model:length",
    "max_tokens": "model:length",
    "MAX_TOKENS": "model:length",
    "model_length": "model:length",
    "token_limit": "model:length",
    "ERROR_LIMIT": "model:length",
    "model_context_window_exceeded": "model:length",
    "content_filter": "model:content_filter",
    "content-filter": "model:content_filter",
    "sensitive": "model:content_filter",
    "ERROR_TOXIC": "model:content_filter",
    "guardrail_intervened": "model:content_filter",
    "content_filter: RECITATION": "model:content_filter",
    "content_filter: SAFETY": "model:content_filter",
    "function_call_filter: UNEXPECTED_TOOL_CALL": "model:unparsable",
    "malformed_function_call": "model:unparsable",
    "malformed_model_output": "model:unparsable",
    "malformed_tool_use": "model:unparsable",
    "error": "provider",
    "ERROR": "provider",
    "abort": "provider",
    "aborted": "provider",
    "insufficient_system_resource": "provider",
    "network_error": "provider",
    "engine_overloaded": "provider",
    "cancelled": "provider",
    "USER_CANCEL": "provider",
    "TIMEOUT": "provider",
    "time_limit": "provider",
    "not_finished": "provider",
    "load": "provider",
    "unload": "provider",
    "repetition_truncation": "provider",
}.items():
    add(f"chat: finish {word!r}", "chat", label, chat("ok", word), text="ok")
    if word not in ("", "null"):
        add(f"chat: streamed finish {word!r}", "chat", label, events("ok", (word,)), text="ok")

add("chat: an error with part of an answer", "chat", "provider", chat("SELECT 1 FR", "error"))
add("chat: an error and nothing", "chat", "provider", chat("", "error"))
add("chat: finish reason is an object", "chat", "provider", chat("ok", {"type": "stop"}))

# Chat completions: bodies of status 200.

ok = "fine"
add(
    "one-api: an empty error beside an answer",
    "chat",
    ok,
    (200, {**chat()[1], "error": {"message": "", "type": "", "param": "", "code": None}}),
    text="ok",
)
add("any: error is null", "chat", ok, (200, {**chat()[1], "error": None}), text="ok")
add("any: error is an empty text", "chat", ok, (200, {**chat()[1], "error": ""}), text="ok")
add(
    "openrouter: an error of status 200",
    "chat",
    "provider:rate_limited",
    (200, error("Rate limited upstream", code=429)),
)
add(
    "openrouter: an error in the choice",
    "chat",
    "provider",
    (
        200,
        {
            "choices": [
                {
                    "message": {"role": "assistant", "content": "SEL"},
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "Upstream error"},
                }
            ]
        },
    ),
)
add(
    "openrouter: no credit by status 200",
    "chat",
    "provider:permanent",
    (200, error("Insufficient credits", code=402)),
)
add(
    "minimax: rate limit in base_resp",
    "chat",
    "provider:rate_limited",
    (200, {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}),
)
add(
    "minimax: no balance in base_resp",
    "chat",
    "provider:permanent",
    (
        200,
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
    ),
)
add(
    "minimax: sensitive input in base_resp",
    "chat",
    "model:content_filter",
    (
        200,
        {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
    ),
)
add(
    "minimax: sensitive output in base_resp",
    "chat",
    "model:content_filter",
    (
        200,
        {"choices": [], "base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}},
    ),
)
add(
    "minimax: an answer with base_resp 0",
    "chat",
    ok,
    (200, {**chat()[1], "base_resp": {"status_code": 0, "status_msg": ""}}),
    text="ok",
)
add(
    "fastchat: object error",
    "chat",
    "provider",
    (200, {"object": "error", "message": "NETWORK ERROR", "code": 50001}),
)
add("any: detail in place of choices", "chat", "provider", (200, {"detail": "Internal error"}))
add(
    "any: a message in place of choices",
    "chat",
    "provider",
    (200, {"message": "no healthy upstream"}),
)
add(
    "cloudflare: success false",
    "chat",
    "provider",
    (200, {"success": False, "errors": [{"code": 7009, "message": "Upstream timeout"}]}),
)
add("any: no choices", "chat", "provider", (200, {"choices": [], "usage": {"prompt_tokens": 3}}))
add("any: choices null", "chat", "provider", (200, {"choices": None}))
add(
    "any: message null",
    "chat",
    "provider",
    (200, {"choices": [{"message": None, "finish_reason": "stop"}]}),
)
add("any: an empty object", "chat", "provider", (200, {}))
add("any: null", "chat", "provider", (200, b"null"))
add("any: nothing", "chat", "provider", (200, b""))
add("any: a list", "chat", "provider", (200, b"[]"))
add("any: a text", "chat", "provider", (200, b'"upstream connect error"'))
add(
    "any: a page",
    "chat",
    "provider",
    (200, b"<!doctype html><title>Sign in</title>", {"content-type": "text/html"}),
)
add("any: plain words", "chat", "provider", (200, b"upstream connect error or disconnect/reset"))
add(
    "any: JSON cut by the server",
    "chat",
    "provider",
    (200, b'{"choices":[{"message":{"content":"SELECT'),
)
add(
    "deepseek: blank lines before the body",
    "chat",
    ok,
    (200, b"\n\n\r\n  \n" + json.dumps(chat()[1]).encode()),
    text="ok",
)
add(
    "any: a byte order mark",
    "chat",
    ok,
    (200, b"\xef\xbb\xbf" + json.dumps(chat()[1]).encode()),
    text="ok",
)
add(
    "any: half a surrogate pair",
    "chat",
    ok,
    (200, json.dumps(chat("a\ud83d")[1]).encode()),
    text="a\ufffd",
)
add("any: an answer of nothing", "chat", ok, chat(""), text="")
add("any: content null at stop", "chat", ok, chat(None), text="")
add(
    "any: no content at stop",
    "chat",
    ok,
    (200, {"choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}]}),
    text="",
)
add("any: thoughts only", "chat", ok, chat("", "stop", reasoning_content="hm"), text="")
add(
    "any: thoughts cut by the limit",
    "chat",
    "model:length",
    chat(None, "length", reasoning_content="hm"),
)
add("openrouter: reasoning field", "chat", ok, chat("ok", "stop", reasoning="hm"), text="ok")
add(
    "openai: a refusal field", "chat", ok, chat(None, "stop", refusal="I cannot."), text="I cannot."
)
add(
    "mistral: content as parts",
    "chat",
    ok,
    chat(
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "ok"},
        ]
    ),
    text="ok",
)
add("any: content as one part", "chat", ok, chat([{"type": "text", "text": "ok"}]), text="ok")
add("any: content is a number", "chat", "provider", chat(5))
add("any: content is an object", "chat", "provider", chat({"text": "ok"}))
add(
    "any: the message is a text",
    "chat",
    "provider",
    (200, {"choices": [{"message": "ok", "finish_reason": "stop"}]}),
)
add(
    "azure: results of a filter that failed",
    "chat",
    ok,
    (
        200,
        {
            "choices": [
                {
                    **chat()[1]["choices"][0],
                    "content_filter_results": {"error": {"code": "content_filter_error"}},
                }
            ]
        },
    ),
    text="ok",
)
add(
    "azure: filtered with part of the answer",
    "chat",
    "model:content_filter",
    chat("ok", "content_filter"),
)
add(
    "gemini: filtered without a message",
    "chat",
    "model:content_filter",
    (200, {"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT", "index": 0}]}),
)
add(
    "gemini: cut before the first word",
    "chat",
    "model:length",
    (200, {"choices": [{"finish_reason": "length", "index": 0}]}),
)
add("gemini: cut with an empty message", "chat", "model:length", chat(None, "length"))

# Chat completions: usage.

for number, usage in enumerate(
    (
        None,
        {},
        [],
        "none",
        {"prompt_tokens": None},
        {"prompt_tokens": "12", "completion_tokens": "3"},
        {"prompt_tokens": -1, "completion_tokens": -5},
        {"prompt_tokens": 10.0, "completion_tokens": 2.5},
        {"prompt_tokens": 1e300, "completion_tokens": 1e18},
        {"prompt_tokens": True},
        {"prompt_tokens": 3, "prompt_tokens_details": [], "completion_tokens_details": "x"},
        {"prompt_tokens": 3, "cost": "free"},
        {"prompt_tokens": 3, "cost": -1},
        {"cost": {"total_cost": None}},
        {"prompt_tokens": {"text": 3}},
    )
):
    add(f"chat: usage oddity {number}", "chat", ok, chat("ok", usage=usage), text="ok")

# Chat completions: calls.

add(
    "call: arguments are an object",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", {"a": 1})]),
    calls=[("add", '{"a": 1}')],
)
add(
    "call: arguments null",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", None)]),
    calls=[("add", "{}")],
)
add(
    "call: arguments empty",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", "")]),
    calls=[("add", "")],
)
add(
    "call: broken arguments are the model's",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", '{"a": ')]),
    calls=[("add", '{"a": ')],
)
add(
    "call: no ids",
    "chat",
    ok,
    chat(
        None,
        "tool_calls",
        tool_calls=[
            {"function": {"name": "add", "arguments": "{}"}},
            {"function": {"name": "sub", "arguments": "{}"}},
        ],
    ),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: ids are numbers",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(id=0), call("sub", id=1)]),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: one id for two",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(), call("sub")]),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: ended by stop",
    "chat",
    ok,
    chat(None, "stop", tool_calls=[call()]),
    calls=[("add", "{}")],
)
add(
    "call: no finish reason",
    "chat",
    ok,
    chat(None, None, tool_calls=[call()]),
    calls=[("add", "{}")],
)
add("call: an empty list", "chat", ok, chat("ok", "stop", tool_calls=[]), text="ok", calls=[])
add(
    "call: the older form",
    "chat",
    ok,
    chat(None, "function_call", function_call={"name": "add", "arguments": "{}"}),
    calls=[("add", "{}")],
)
add(
    "call: older form null beside content",
    "chat",
    ok,
    chat("ok", "stop", function_call=None),
    text="ok",
)
add(
    "call: a call without a function",
    "chat",
    "provider",
    chat(None, "tool_calls", tool_calls=[{"id": "c"}]),
)
add("call: null in the list", "chat", "provider", chat(None, "tool_calls", tool_calls=[None]))
add(
    "call: one call in place of a list",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=call()),
    calls=[("add", "{}")],
)
add(
    "call: no name is the model's",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(None)]),
    calls=[("", "{}")],
)
add("call: said to be, but none came", "chat", ok, chat("ok", "tool_calls"), text="ok", calls=[])
add(
    "call: blocks in the content",
    "chat",
    ok,
    chat(
        [
            {"type": "text", "text": "well"},
            {"type": "tool_use", "id": "t", "name": "add", "input": {}},
        ],
        "tool_use",
    ),
    text="well",
    calls=[("add", "{}")],
)
add(
    "call: name with marks of harmony",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add<|channel|>commentary")]),
    calls=[("add<|channel|>commentary", "{}")],
)
add(
    "call: cut by the limit",
    "chat",
    "model:length",
    chat(None, "length", tool_calls=[call("add", '{"a": 1, "b')]),
)
add(
    "call: function is flat",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[{"id": "c", "name": "add", "arguments": "{}"}]),
    calls=[("add", "{}")],
)

# Chat completions: streams.

two = events("o", "k", ("stop",))
add("stream: plain", "chat", ok, two, text="ok")
add(
    "stream: no end but a finish reason", "chat", ok, events("o", "k", ("stop",), end=""), text="ok"
)
add("stream: [DONE] without a finish reason", "chat", ok, events("o", "k"), text="ok")
add("stream: ends in the middle", "chat", "provider", events("o", "k", end=""))
add(
    "stream: ends in the middle of a chunk",
    "chat",
    "provider",
    events("o", end='data: {"choices": [{"ind'),
)
add("stream: lost in the middle", "chat", "provider", events("o", "k", ("stop",)), cut=150)
add("stream: lost before the first byte", "chat", "provider", two, cut=0)
add(
    "stream: lines end by CR LF",
    "chat",
    ok,
    events("o", "k", ("stop",), sep="\r\n\r\n", end="data: [DONE]\r\n\r\n"),
    text="ok",
)
add(
    "stream: lines end by CR",
    "chat",
    ok,
    events("o", "k", ("stop",), sep="\r\r", end="data: [DONE]\r\r"),
    text="ok",
)
add("stream: no blank lines", "chat", ok, events("o", "k", ("stop",), sep="\n"), text="ok")
add("stream: a byte order mark", "chat", ok, (200, b"\xef\xbb\xbf" + two[1], two[2]), text="ok")
add(
    "stream: no space after data:",
    "chat",
    ok,
    (200, two[1].replace(b"data: ", b"data:"), two[2]),
    text="ok",
)
add(
    "stream: comments",
    "chat",
    ok,
    events(b": OPENROUTER PROCESSING\n\n", "ok", b": ping\n\n", ("stop",)),
    text="ok",
)
add(
    "stream: empty data",
    "chat",
    ok,
    events(b"data:\n\n", "ok", b"data: \n\n", ("stop",)),
    text="ok",
)
add(
    "stream: data of nothing", "chat", ok, events({}, "ok", b"data: null\n\n", ("stop",)), text="ok"
)
add(
    "stream: ping events",
    "chat",
    ok,
    events(b'event: ping\ndata: {"type": "ping"}\n\n', "ok", ("stop",)),
    text="ok",
)
add(
    "stream: ids and retry lines",
    "chat",
    ok,
    events(b"id: 1\nretry: 100\n", "ok", ("stop",)),
    text="ok",
)
add(
    "stream: an event named message",
    "chat",
    ok,
    events(b"event: message\n", "ok", ("stop",)),
    text="ok",
)
add(
    "stream: [DONE] with blanks",
    "chat",
    ok,
    events("ok", ("stop",), end="data:   [DONE]  \n\n"),
    text="ok",
)
add(
    "stream: an event of done",
    "chat",
    ok,
    events("ok", ("stop",), end="event: done\ndata: [DONE]\n\n"),
    text="ok",
)
add(
    "stream: named as JSON",
    "chat",
    ok,
    (200, two[1], {"content-type": "application/json"}),
    text="ok",
)
add("stream: named as text", "chat", ok, (200, two[1], {"content-type": "text/plain"}), text="ok")
add("stream: JSON though a stream was asked for", "chat", ok, chat(), text="ok")
add(
    "stream: JSON named as a stream",
    "chat",
    ok,
    (200, json.dumps(chat()[1]).encode(), {"content-type": "text/event-stream"}),
    text="ok",
)
add(
    "stream: an error named as a stream",
    "chat",
    "provider",
    (
        200,
        json.dumps(error("overloaded", code=503)).encode(),
        {"content-type": "text/event-stream"},
    ),
)
add(
    "stream: an error in place of a chunk",
    "chat",
    "provider",
    events("ok", error("overloaded", code=503)),
)
add(
    "stream: an error event",
    "chat",
    "provider",
    events("ok", b'event: error\ndata: {"message": "overloaded"}\n\n'),
)
add(
    "stream: an error event of plain text",
    "chat",
    "provider",
    events("ok", b"event: error\ndata: overloaded\n\n"),
)
add(
    "vllm: an older error in a stream",
    "chat",
    "provider",
    events(
        "ok",
        {
            "object": "error",
            "message": "EngineDeadError",
            "type": "InternalServerError",
            "code": 500,
        },
    ),
)
add(
    "stream: code and message in place of a chunk",
    "chat",
    "provider",
    events("ok", {"code": 500, "message": "internal", "request_id": "r"}),
)
add(
    "stream: an error after a finish reason null",
    "chat",
    "provider",
    events(delta(content="o", role="assistant"), error("boom")),
)
add(
    "litellm: an error with a traceback",
    "chat",
    "provider",
    events(
        "ok", error("litellm.APIError: APIError: OpenAIException - boom", code="500", type=None)
    ),
)
add(
    "stream: usage in a last chunk",
    "chat",
    ok,
    events("ok", ("stop",), {"choices": [], "usage": {"prompt_tokens": 1}}),
    text="ok",
)
add(
    "stream: usage with choices null",
    "chat",
    ok,
    events("ok", ("stop",), {"choices": None, "usage": {"prompt_tokens": 1}}),
    text="ok",
)
add(
    "azure: filter results first",
    "chat",
    ok,
    events({"choices": [], "prompt_filter_results": []}, "ok", ("stop",)),
    text="ok",
)
add(
    "stream: nothing but usage",
    "chat",
    "provider",
    events({"choices": [], "usage": {"prompt_tokens": 1}}),
)
add("stream: nothing", "chat", "provider", events())
add("stream: finish reason alone", "chat", ok, events(delta(role="assistant"), ("stop",)), text="")
add(
    "stream: finish reason empty until the end",
    "chat",
    ok,
    events({"choices": [{"delta": {"content": "ok"}, "finish_reason": ""}]}, ("stop",)),
    text="ok",
)
add(
    "dashscope: finish reason 'null' until the end",
    "chat",
    ok,
    events({"choices": [{"delta": {"content": "ok"}, "finish_reason": "null"}]}, ("stop",)),
    text="ok",
)
add(
    "dashscope: cut while the finish reason was 'null'",
    "chat",
    "provider",
    events({"choices": [{"delta": {"content": "ok"}, "finish_reason": "null"}]}, end=""),
)
add(
    "stream: delta null at the end",
    "chat",
    ok,
    events("ok", {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}),
    text="ok",
)
add(
    "stream: a second choice",
    "chat",
    ok,
    events("ok", {"choices": [{"index": 1, "delta": {"content": "no"}}]}, ("stop",)),
    text="ok",
)
add(
    "stream: whole messages",
    "chat",
    ok,
    events(
        {"choices": [{"message": {"content": "o"}}]},
        {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]},
    ),
    text="ok",
)
add(
    "stream: reasoning then content",
    "chat",
    ok,
    events(delta(reasoning_content="hm"), "ok", ("stop",)),
    text="ok",
)
add(
    "stream: content parts",
    "chat",
    ok,
    events(
        delta(content=[{"type": "text", "text": "o"}]),
        delta(content=[{"type": "text", "text": "k"}]),
        ("stop",),
    ),
    text="ok",
)
add(
    "stream: a call in pieces",
    "chat",
    ok,
    events(
        delta(
            tool_calls=[
                {
                    "index": 0,
                    "id": "c",
                    "type": "function",
                    "function": {"name": "add", "arguments": ""},
                }
            ]
        ),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a"'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        ("tool_calls",),
    ),
    calls=[("add", '{"a": 1}')],
)
add(
    "stream: a call whole",
    "chat",
    ok,
    events(delta(tool_calls=[call("add", '{"a": 1}', index=0)]), ("stop",)),
    calls=[("add", '{"a": 1}')],
)
add(
    "stream: calls without numbers",
    "chat",
    ok,
    events(delta(tool_calls=[call("add")]), delta(tool_calls=[call("sub", id="c2")]), ("stop",)),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "stream: all calls numbered 0",
    "chat",
    ok,
    events(
        delta(tool_calls=[call("add", index=0)]),
        delta(tool_calls=[call("sub", id="c2", index=0)]),
        ("stop",),
    ),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "stream: calls numbered from 1",
    "chat",
    ok,
    events(
        delta(tool_calls=[call("add", index=1)]),
        delta(tool_calls=[call("sub", id="c2", index=2)]),
        ("stop",),
    ),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "stream: ids repeated in every piece",
    "chat",
    ok,
    events(
        delta(tool_calls=[call("add", '{"a"', index=0)]),
        delta(tool_calls=[call("add", ": 1}", index=0)]),
        ("tool_calls",),
    ),
    calls=[("add", '{"a": 1}')],
)
add(
    "stream: arguments as an object",
    "chat",
    ok,
    events(delta(tool_calls=[call("add", {"a": 1}, index=0)]), ("stop",)),
    calls=[("add", '{"a": 1}')],
)
add(
    "stream: two calls in turns",
    "chat",
    ok,
    events(
        delta(tool_calls=[call("add", "", index=0), call("sub", "", index=1, id="c2")]),
        delta(
            tool_calls=[
                {"index": 1, "function": {"arguments": "{}"}},
                {"index": 0, "function": {"arguments": "{}"}},
            ]
        ),
        ("tool_calls",),
    ),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "stream: a call cut by the limit",
    "chat",
    "model:length",
    events(delta(tool_calls=[call("add", '{"a', index=0)]), ("length",)),
)
add("stream: calls are no list", "chat", "provider", events(delta(tool_calls=5), ("stop",)))
add(
    "stream: a chunk of garbage", "chat", "provider", events("ok", b"data: {garbage\n\n", ("stop",))
)
add(
    "groq: a call that could not be read, in a stream",
    "chat",
    "model:unparsable",
    events(
        {
            "error": {
                "message": "Failed to call a function.",
                "code": "tool_use_failed",
                "failed_generation": "<function=add>",
            }
        }
    ),
)
add(
    "moonshot: usage in the choice",
    "chat",
    ok,
    events(
        "ok", {"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 3}}]}
    ),
    text="ok",
)


@asynccontextmanager
async def serve_exchange(exchange: Exchange) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that answers so, and the bodies that it gets."""
    bodies: list[dict[str, Any]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _read_head(reader):
                length = next((int(v) for k, v in head if k == "content-length"), 0)
                bodies.append(json.loads(await reader.readexactly(length) or b"{}"))
                message = _build_message(*exchange.respond(bodies[-1]))
                if exchange.cut is not None:
                    writer.write(message[: exchange.cut])
                    return
                writer.write(message)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1", bodies


async def _read_head(reader: asyncio.StreamReader) -> list[tuple[str, str]]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return []
    lines = [line.partition(":") for line in head.split("\r\n")]
    return [(name.lower(), value.strip()) for name, _, value in lines]


def _build_message(status: int, content: Any, headers: Mapping[str, str] | None = None) -> bytes:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {"content-type": "application/json", "content-length": len(raw), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + raw
