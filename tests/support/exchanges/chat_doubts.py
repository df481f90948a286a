"""Chat completions: words that only look like another matter."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    POLICY,
    WRITTEN,
    add,
    chat,
    error,
    events,
    gemini,
    ok,
    once,
)

# A second round: words that only look like another matter, and errors within streams.

for name, status, content, label in (
    ("go's deadline", 500, {"error": "context deadline exceeded"}, "provider:retryable"),
    ("a canceled context", 500, {"error": "context canceled"}, "provider:retryable"),
    (
        "a tool's name",
        400,
        error("tools[0].function.name exceeds maximum length of 64"),
        "provider:permanent",
    ),
    (
        "a tool's text",
        400,
        error("tools.0.description: exceeds max length 1024"),
        "provider:permanent",
    ),
    ("too many stops", 400, error("stop exceeds maximum length of 4"), "provider:permanent"),
    ("a queue", 500, error("request queue exceeds maximum length"), "provider:retryable"),
    (
        "an account that is flagged",
        403,
        error("Your account has been flagged for violating our usage policies."),
        "provider:lasting",
    ),
    (
        "an access that ended",
        403,
        error(
            "Your access was terminated due to violation of our policies, please check your email."
        ),
        "provider:lasting",
    ),
    (
        "a proxy's page",
        403,
        b"<html>This content is blocked by your organization</html>",
        "provider:permanent",
    ),
    ("a body too large", 413, b"<html>413 Request Entity Too Large</html>", "provider:permanent"),
    (
        "a filter that failed",
        500,
        error("The content_filter service is unavailable"),
        "provider:retryable",
    ),
    ("images", 400, error("Number of input images exceeds the limit"), "provider:permanent"),
    ("a slow generation", 500, error("Generation exceeded max time"), "provider:retryable"),
    ("the word context", 400, error("Invalid context: unknown field"), "provider:permanent"),
    (
        "rate in tokens",
        400,
        error("input tokens exceed your rate limit per minute"),
        "provider:permanent",
    ),
    ("a gateway's timeout", 400, error("Upstream request timeout"), "provider:permanent"),
    ("a call's id of ours", 400, error("Invalid parameter: tool_call_id"), "provider:permanent"),
):
    add(f"looks like: {name}", "chat", label, (status, content))
for code, label in (
    ("rate_limit_exceeded", "provider:rate_limited"),
    ("insufficient_quota", "provider:permanent"),
    ("invalid_api_key", "provider:lasting"),
    ("model_not_found", "provider:lasting"),
    ("server_error", "provider:retryable"),
    ("overloaded_error", "provider:retryable"),
    ("context_length_exceeded", OVERFLOW),
    ("content_policy_violation", POLICY),
    ("something_else", "provider"),
):
    add(f"code in a stream: {code}", "chat", label, events("ok", error("why", code=code)))
    add(
        f"type in a stream: {code}", "chat", label, events("ok", error("why", type=code, code=None))
    )
    add(f"code of status 200: {code}", "chat", label, (200, error("why", code=code)))

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

# Replies in an odd order or form, and a refusal in escaped Chinese.

_TWO = [{"index": i, "message": {"content": text}} for i, text in ((1, "other"), (0, ok))]
add("third: alternatives out of order", "chat", "fine", (200, {"choices": _TWO}), text=ok)
_OLDER = {"index": 0, "text": ok, "finish_reason": "stop"}
add("third: the text of older completions", "chat", "fine", (200, {"choices": [_OLDER]}), text=ok)
_PIECES = [gemini([{"text": ok[:2]}], None)[1], gemini([{"text": ok[2:]}])[1]]
add("third: gemini's stream in one list", "gemini", "fine", (200, _PIECES), text=ok)
_REFUSED = (400, {"error": {"code": "1210", "message": "API 调用参数有误。参数 seed 不支持"}})
add("third: a parameter refused in Chinese", "chat", "fine", once(_REFUSED, chat(ok), "seed"))
