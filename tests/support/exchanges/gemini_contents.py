"""The API of Gemini."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    POLICY,
    WRITTEN,
    add,
    gemini,
    gemini_events,
    google_error,
    ok,
)

# Gemini.

for finish, label in {
    "STOP": ok,
    "MAX_TOKENS": "model:length",
    "SAFETY": POLICY,
    "RECITATION": POLICY,
    "LANGUAGE": POLICY,
    "BLOCKLIST": POLICY,
    "PROHIBITED_CONTENT": POLICY,
    "SPII": POLICY,
    "IMAGE_SAFETY": POLICY,
    "MALFORMED_FUNCTION_CALL": WRITTEN,
    "UNEXPECTED_TOOL_CALL": WRITTEN,
    "MALFORMED_RESPONSE": WRITTEN,
    "TOO_MANY_TOOL_CALLS": WRITTEN,
    "OTHER": "provider",
    "FINISH_REASON_UNSPECIFIED": "provider",
    "MISSING_THOUGHT_SIGNATURE": "provider",
    "NEVER_HEARD": "provider",
}.items():
    add(f"gemini: {finish}", "gemini", label, gemini([{"text": "ok"}], finish), text="ok")
    add(f"gemini: {finish} without parts", "gemini", label, gemini(None, finish), text="")
    add(
        f"gemini stream: {finish}",
        "gemini",
        label,
        gemini_events(
            {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": finish}]}
        ),
        text="ok",
    )
for reason in ("SAFETY", "OTHER", "PROHIBITED_CONTENT", "BLOCKLIST"):
    add(
        f"gemini: blocked by {reason}",
        "gemini",
        POLICY,
        (200, {"promptFeedback": {"blockReason": reason}}),
    )
add(
    "gemini: no candidates", "gemini", "provider", (200, {"usageMetadata": {"promptTokenCount": 3}})
)
add("gemini: candidates empty", "gemini", "provider", (200, {"candidates": []}))
add(
    "gemini: errors in a list",
    "gemini",
    "provider:retryable",
    (
        503,
        [{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}],
    ),
)
add(
    "gemini: internal",
    "gemini",
    "provider:retryable",
    google_error(500, "INTERNAL", "An internal error has occurred."),
)
add(
    "gemini: deadline",
    "gemini",
    "provider:retryable",
    google_error(504, "DEADLINE_EXCEEDED", "The request timed out."),
)
add(
    "gemini: key",
    "gemini",
    "provider:lasting",
    google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
)
add(
    "gemini: service disabled",
    "gemini",
    "provider:lasting",
    google_error(
        403,
        "PERMISSION_DENIED",
        "Generative Language API has not been used in project 1 before or it is disabled.",
    ),
)
add(
    "gemini: overflow",
    "gemini",
    OVERFLOW,
    google_error(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
)
add(
    "gemini: a call",
    "gemini",
    ok,
    gemini([{"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "s"}]),
    calls=[("add", '{"a": 1}')],
)
add(
    "gemini: a call without arguments",
    "gemini",
    ok,
    gemini([{"functionCall": {"name": "add"}}]),
    calls=[("add", "{}")],
)
add(
    "gemini: an error in the stream",
    "gemini",
    "provider",
    gemini_events(
        {"candidates": [{"content": {"parts": [{"text": "o"}]}}]},
        {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}},
    ),
)
add(
    "gemini: a stream that stops",
    "gemini",
    "provider",
    gemini_events({"candidates": [{"content": {"parts": [{"text": "o"}]}}]}),
)
add(
    "gemini: blocked in the stream",
    "gemini",
    POLICY,
    gemini_events({"promptFeedback": {"blockReason": "SAFETY"}}),
)
add(
    "gemini: thoughts are no answer",
    "gemini",
    ok,
    gemini([{"text": "hm", "thought": True}, {"text": "ok"}]),
    text="ok",
)
add(
    "gemini: parts null",
    "gemini",
    ok,
    (200, {"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}]}),
    text="",
)
add(
    "gemini: unset thinking level",
    "gemini",
    "provider:permanent",
    google_error(
        400, "INVALID_ARGUMENT", "Budget 0 is invalid. This model only works in thinking mode."
    ),
)

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
_NONE_LEFT = "You exceeded your current quota. Quota exceeded for metric: requests, limit: 0"
add(
    "third: gemini's quota of nothing",
    "gemini",
    "provider:lasting",
    google_error(429, "RESOURCE_EXHAUSTED", _NONE_LEFT),
)
