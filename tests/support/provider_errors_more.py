"""A third round of error replies and odd streams, labeled as `provider_exchanges` has it.

Words and forms follow what users of these servers reported in public issues of 2024 to 2026.
"""

from __future__ import annotations

import json

from tests.support.provider_exchanges import (
    add,
    chat,
    claude,
    delta,
    error,
    events,
    gemini,
    google_error,
    ok,
    once,
    response,
)

OVERFLOW, POLICY, WRITTEN = "model:context_overflow", "model:content_filter", "model:unparsable"

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

# The prompt is too long, or our limit is.

for name, status, words in (
    ("bedrock", 400, "The model returned the following errors: Input is too long for requested m."),
    (
        "bedrock's anthropic",
        400,
        "The model returned the following errors: prompt is too long: 903884 tokens > 200000 max",
    ),
    (
        "openrouter, of text alone",
        400,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "34000 tokens (34000 of text input). Please reduce the length of either one.",
    ),
    ("sglang's length", 400, "Input length 72054 exceeds the maximum length 65536."),
    (
        "vertex",
        400,
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
    ),
    (
        "github",
        413,
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    ),
    ("zhipu", 400, "Prompt 超长"),
    ("dashscope in Chinese", 400, "输入长度超过模型最大上下文长度限制"),
    (
        "watsonx",
        400,
        "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
    ),
):
    add(f"third: overflow: {name}", "chat", OVERFLOW, (status, error(words)))
add(
    "third: overflow: bedrock without a wrapping",
    "chat",
    OVERFLOW,
    (400, {"message": "Input is too long for requested model."}),
)
for name, status, words in (
    ("bedrock", 400, "The maximum tokens you requested exceeds the model limit of 1000"),
    ("scaleway", 416, "max_completion_tokens is limited for this model to 1000"),
    (
        "vllm's own form",
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 7000 tokens "
        "(3000 in the messages, 4000 in the completion). Please reduce the length.",
    ),
    (
        "vllm, new words",
        400,
        "max_tokens=4000 cannot be greater than max_model_len=max_total_tokens=1000. Please "
        "request fewer output tokens.",
    ),
):

    def lowered(body, status=status, words=words):  # type: ignore[no-untyped-def]
        refused = {"object": "error", "message": words, "type": "BadRequestError", "code": status}
        return chat() if (body.get("max_tokens") or 0) <= 1096 else (status, refused)

    add(f"third: limit: {name}", "chat", ok, lowered, text="ok")

# Parameters that go.

for name, field, status, words in (
    ("claude", "temperature", 400, "`temperature` is deprecated for this model."),
    (
        "claude by litellm by bedrock",
        "temperature",
        400,
        "litellm.BadRequestError: BedrockException - "
        + json.dumps(
            {
                "message": "The model returned the following errors: "
                + json.dumps(error("`temperature` is deprecated for this model."))
            }
        ),
    ),
    (
        "openai's reasoning models",
        "stop",
        400,
        "Unsupported parameter: 'stop' is not supported with this model.",
    ),
    ("xai", "stop", 400, "Model grok-4 does not support parameter stop."),
    ("xai, otherwise", "stop", 400, "Argument not supported on this model: stop"),
    ("groq", "seed", 400, "property 'seed' is unsupported"),
    ("together", "seed", 422, "Input validation error: unknown field `seed`"),
    ("bedrock", "seed", 400, "extraneous key [seed] is not permitted"),
    ("cohere", "top_p", 400, "unknown field: parameter 'top_p' is not a valid field"),
):
    add(
        f"third: without {field}: {name}",
        "chat",
        ok,
        once((status, error(words)), chat(), field),
        text="ok",
    )
add(
    "third: without stop: a list of problems",
    "chat",
    ok,
    once(
        (
            422,
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "stop"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
        ),
        chat(),
        "stop",
    ),
    text="ok",
)
add(
    "third: claude's words without a wrapping",
    "chat",
    ok,
    once((400, {"message": "temperature is deprecated for this model."}), chat(), "temperature"),
    text="ok",
)

# Whose matter it is otherwise.

for name, label, status, content in (
    (
        "gemini by a gateway",
        POLICY,
        400,
        {"error": True, "message": "Message is being blocked for reason: SAFETY"},
    ),
    ("gemini's SDK", POLICY, 400, error("Candidate was blocked due to SAFETY")),
    (
        "openai's safety system",
        POLICY,
        400,
        error("Your request was rejected by our safety system"),
    ),
    (
        "llama.cpp's format",
        WRITTEN,
        500,
        error("The model produced output that does not match the expected peg-native format"),
    ),
    (
        "groq's day, which passes in minutes",
        "provider:rate_limited",
        429,
        error(
            "Rate limit reached for model `m` in organization `o` service tier `on_demand` on "
            "tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in "
            "9m38.016s.",
            code="rate_limit_exceeded",
        ),
    ),
    (
        "openrouter's free day",
        "provider:lasting",
        429,
        error("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000", code=429),
    ),
    (
        "cerebras",
        "provider:rate_limited",
        429,
        {"message": "Tokens per minute limit exceeded", "code": "token_quota_exceeded"},
    ),
    (
        "github's day",
        "provider",
        429,
        error(
            "Rate limit of 150 per 86400s exceeded for UserByModelByDay. Please wait 40000 "
            "seconds before retrying.",
            code="RateLimitReached",
        ),
    ),
    (
        "a model that loads",
        "provider:retryable",
        503,
        {"error": "Model m is currently loading", "estimated_time": 20.0},
    ),
    (
        "no credits this month",
        "provider:lasting",
        402,
        {"error": "You have exceeded your monthly included credits for Inference Providers."},
    ),
    (
        "a suspended account",
        "provider:lasting",
        412,
        error("Account a is suspended, possibly due to reaching the monthly spending limit"),
    ),
    ("a client that left", "provider", 499, {"message": "request cancelled by user"}),
    ("cloudflare", "provider:retryable", 524, b"<html>524: A timeout occurred</html>"),
    (
        "workers ai",
        "provider:retryable",
        500,
        {"success": False, "errors": [{"code": 7009, "message": "Upstream is unavailable"}]},
    ),
    (
        "workers ai with status 200",
        "provider",
        200,
        {"result": None, "success": False, "errors": [{"code": 7009, "message": "Upstream"}]},
    ),
    (
        "vertex without details",
        "provider:rate_limited",
        429,
        error("Resource exhausted", status="RESOURCE_EXHAUSTED", code=429),
    ),
    ("a path that is not there", "provider:lasting", 404, {"detail": "Not Found"}),
    (
        "zhipu's rate",
        "provider:rate_limited",
        429,
        error("您的账户已达到速率限制，请您控制请求频率", code="1302"),
    ),
    (
        "moonshot",
        "provider",
        429,
        error("The engine is overloaded", type="engine_overloaded_error"),
    ),
    (
        "an overdue balance",
        "provider:lasting",
        403,
        error("The request failed because your account has an overdue balance.", code="Overdue"),
    ),
    (
        "a limit that a person set",
        "provider:lasting",
        429,
        error(
            "Your account [1] has reached the set inference limit for the [m] model, and the model "
            "service has been paused.",
            code="SetLimitExceeded",
        ),
    ),
    ("tgi", "provider:rate_limited", 429, {"error": "Model is overloaded"}),
    (
        "mistral",
        "provider:rate_limited",
        429,
        {"object": "error", "message": "Service tier capacity exceeded for this model."},
    ),
    ("groq's flex tier", "provider:retryable", 498, error("capacity exceeded, try again later")),
    ("an answer to come", "provider", 202, {"requestId": "r"}),
    ("no content", "provider", 204, b""),
    ("envoy", "provider", 200, b"upstream connect error or disconnect/reset before headers"),
    ("a budget of a gateway", "provider:lasting", 400, error("Budget has been exceeded! Max: 5")),
    ("a message in parts unknown", "provider", 200, chat({"text": "ok"})[1]),
    ("nothing but an id", "provider", 200, {"id": "x", "choices": []}),
    ("an error that is empty", ok, 200, {**chat()[1], "error": {}}),
    ("an error that is null", ok, 200, {**chat()[1], "error": None}),
    ("an empty text for an error", ok, 200, {**chat()[1], "error": ""}),
):
    add(f"third: {name}", "chat", label, (status, content))

# Gemini's further reasons.

for reason, label in {
    "LANGUAGE": POLICY,
    "MISSING_THOUGHT_SIGNATURE": "provider",
    "OTHER": "provider",
    "FINISH_REASON_UNSPECIFIED": "provider",
    "TOO_MANY_TOOL_CALLS": WRITTEN,
    "MALFORMED_RESPONSE": WRITTEN,
}.items():
    add(f"third: gemini ended by {reason}", "gemini", label, gemini([{"text": "hal"}], reason))

# Replies in an odd order or form, and a refusal in escaped Chinese.

_TWO = [{"index": i, "message": {"content": text}} for i, text in ((1, "other"), (0, ok))]
add("third: alternatives out of order", "chat", "fine", (200, {"choices": _TWO}), text=ok)
_OLDER = {"index": 0, "text": ok, "finish_reason": "stop"}
add("third: the text of older completions", "chat", "fine", (200, {"choices": [_OLDER]}), text=ok)
_PIECES = [gemini([{"text": ok[:2]}], None)[1], gemini([{"text": ok[2:]}])[1]]
add("third: gemini's stream in one list", "gemini", "fine", (200, _PIECES), text=ok)
_REFUSED = (400, {"error": {"code": "1210", "message": "API 调用参数有误。参数 seed 不支持"}})
add("third: a parameter refused in Chinese", "chat", "fine", once(_REFUSED, chat(ok), "seed"))

# Answers and errors of the other dialects that say the same in another form.

add("third: claude's content as a text", "anthropic", "fine", claude(ok), text=ok)
_FLAGGED = {"code": "invalid_prompt", "message": "Your prompt was flagged as violating our policy."}
add("third: a prompt flagged", "responses", POLICY, response([], "failed", error=_FLAGGED))
_NONE_LEFT = "You exceeded your current quota. Quota exceeded for metric: requests, limit: 0"
add(
    "third: gemini's quota of nothing",
    "gemini",
    "provider:lasting",
    google_error(429, "RESOURCE_EXHAUSTED", _NONE_LEFT),
)

# A whole answer is one, though its connection ends before the body that was announced.

_WHOLE = events(ok, ("stop",))
_LONGER = {**_WHOLE[2], "content-length": len(_WHOLE[1]) + 5}
add("third: lost after its end", "chat", "fine", (*_WHOLE[:2], _LONGER), text=ok, cut=9_999)
