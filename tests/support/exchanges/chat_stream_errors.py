"""Chat completions: errors within streams."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    WRITTEN,
    add,
    error,
    events,
    ok,
)

# Errors within a stream that have a form of their own.

for name, label, chunk in (
    (
        "deepinfra's fields",
        OVERFLOW,
        {
            "choices": None,
            "error_type": "BadRequestError",
            "error_message": "This model's maximum context length is 8192 tokens. However, your "
            "messages resulted in 9000 tokens.",
        },
    ),
    (
        "vllm's error without a name",
        "provider:retryable",
        {"object": "error", "message": "EngineCore died", "type": "InternalServerError"}
        | {"param": None, "code": 500},
    ),
    (
        "tgi",
        "provider",
        {"error": "Request failed during generation: CUDA out of memory", "error_type": "gen"},
    ),
    ("ollama", "provider", {"error": "an error was encountered while running the model"}),
    (
        "llama.cpp's parser",
        WRITTEN,
        error("Failed to parse input at pos 12: </tool_call>", code=500, type="server_error"),
    ),
    (
        "sglang",
        "provider",
        error("The server is shutting down", object="error", code=503),
    ),
):
    add(f"third: in a stream: {name}", "chat", label, events(chunk))
    add(f"third: late in a stream: {name}", "chat", label, events("o", chunk))
add(
    "third: an event named error",
    "chat",
    "provider:retryable",
    (
        200,
        b'data: {"choices": [{"index": 0, "delta": {"content": "o"}}]}\n\n'
        b'event: error\ndata: {"code": 500, "message": "upstream closed"}\n\n',
        {"content-type": "text/event-stream"},
    ),
)

# A piece of no form that is known, where the server never says why the answer ended.

for name, chunk in (
    ("a status", {"status": "error", "reason": "worker died"}),
    ("a code and a msg", {"code": 1302, "msg": "rate"}),
    ("no success", {"success": False, "result": None}),
    ("a reason alone", {"finish_reason": "error"}),
    ("a failure", {"id": "x", "object": "chat.completion.chunk", "failure": {"kind": "gone"}}),
    ("a cause", {"exception": "RuntimeError: CUDA"}),
):
    add(f"third: then {name}", "chat", "provider", events("o", chunk))
add(
    "third: then minimax's rate",
    "chat",
    "provider:rate_limited",
    events(
        {
            "base_resp": {"status_code": 1002, "status_msg": "rate limit"},
            "trace_id": "t",
        }
    ),
)
for name, chunk in (
    ("a ping", {"type": "ping"}),
    ("a heartbeat", {"object": "heartbeat", "time": 1}),
    ("an empty piece", {}),
    ("usage", {"id": "x", "usage": {"completion_tokens": 2}}),
    ("a head", {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}),
):
    add(f"third: {name} and no reason", "chat", ok, events(chunk, "ok", chunk), text="ok")
add(
    "third: an odd piece before a reason",
    "chat",
    ok,
    events({"status": "queued", "position": 3}, "ok", ("stop",), {"timings": {"ms": 3}}),
    text="ok",
)
