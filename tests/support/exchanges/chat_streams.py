"""Chat completions: streams, whole and broken."""

from __future__ import annotations

import json

from tests.support.exchange_parts import (
    add,
    call,
    chat,
    delta,
    error,
    events,
    ok,
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

# Streams that look broken and are whole.

add(
    "third: ollama's empty reasons",
    "chat",
    ok,
    events(
        *(
            {"choices": [{"index": 0, "delta": {"content": part}, "finish_reason": ""}]}
            for part in "ok"
        ),
        ("stop",),
    ),
    text="ok",
)
add(
    "third: gemini's reason under another name",
    "chat",
    ok,
    events(
        "o",
        {"choices": [{"index": 0, "delta": {"content": "k"}, "finish_reason": None}]}
        | {"finishReason": "stop"},
    ),
    text="ok",
)
add(
    "third: azure's filter results first",
    "chat",
    ok,
    events({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, "ok", ("stop",)),
    text="ok",
)
add(
    "third: azure's filter that did not run",
    "chat",
    ok,
    events(
        "ok",
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {},
                    "finish_reason": "stop",
                    "content_filter_result": {"error": {"code": "content_filter_error"}},
                }
            ]
        },
    ),
    text="ok",
)
add(
    "third: usage behind the end",
    "chat",
    ok,
    events("ok", ("stop",), {"choices": [], "usage": {"completion_tokens": 2}}),
    text="ok",
)
add(
    "third: a call whose name comes twice",
    "chat",
    ok,
    events(
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}]),
        ("tool_calls",),
    ),
    calls=[("add", "{}")],
)
add(
    "third: data without a blank and with CR LF",
    "chat",
    ok,
    (
        200,
        b'data:{"choices":[{"index":0,"delta":{"content":"ok"}}]}\r\n\r\n'
        b'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\ndata:[DONE]\r\n\r\n',
        {"content-type": "text/event-stream; charset=utf-8"},
    ),
    text="ok",
)

# A whole answer is one, though its connection ends before the body that was announced.

_WHOLE = events(ok, ("stop",))
_LONGER = {**_WHOLE[2], "content-length": len(_WHOLE[1]) + 5}
add("third: lost after its end", "chat", "fine", (*_WHOLE[:2], _LONGER), text=ok, cut=9_999)
