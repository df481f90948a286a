"""The Responses API of OpenAI."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    POLICY,
    add,
    error,
    named_events,
    ok,
    once,
    response,
    spoken,
)

incomplete = {"incomplete_details": {"reason": "max_output_tokens"}}
add("responses: plain", "responses", ok, response([spoken()]), text="ok")
add("responses: nothing", "responses", ok, response([]), text="")
add(
    "responses: limit",
    "responses",
    "model:length",
    response([spoken()], "incomplete", **incomplete),
)
add(
    "responses: limit before a word",
    "responses",
    "model:length",
    response([{"type": "reasoning", "summary": []}], "incomplete", **incomplete),
)
add(
    "responses: filtered",
    "responses",
    POLICY,
    response([], "incomplete", incomplete_details={"reason": "content_filter"}),
)
add(
    "responses: incomplete for no reason",
    "responses",
    "provider",
    response([spoken()], "incomplete", incomplete_details=None),
)
for status in ("failed", "cancelled", "in_progress", "queued", "odd"):
    add(f"responses: {status}", "responses", "provider", response([spoken()], status))
for code, label in {
    "server_error": "provider:retryable",
    "rate_limit_exceeded": "provider:rate_limited",
    "insufficient_quota": "provider:permanent",
    "bio_policy": POLICY,
    "odd": "provider",
}.items():
    failed = response([], "failed", **error("why", code=code))
    add(f"responses: failed by {code}", "responses", label, failed)
    add(
        f"responses stream: failed by {code}",
        "responses",
        label,
        named_events(("response.failed", {"type": "response.failed", "response": failed[1]})),
    )
add(
    "responses: too long",
    "responses",
    OVERFLOW,
    (
        400,
        error(
            "Your input exceeds the context window of this model. Please adjust your input "
            "and try again.",
            code="context_length_exceeded",
        ),
    ),
)
add(
    "responses: too long once begun",
    "responses",
    OVERFLOW,
    response(
        [],
        "failed",
        **error(
            "Your input exceeds the context window of this model.", code="context_length_exceeded"
        ),
    ),
)
add(
    "responses: a call",
    "responses",
    ok,
    response([{"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a": 1}'}]),
    calls=[("add", '{"a": 1}')],
)
add(
    "responses: a refusal",
    "responses",
    ok,
    response([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]),
    text="no",
)
add(
    "responses: items unknown",
    "responses",
    ok,
    response([{"type": "web_search_call", "id": "w"}, spoken()]),
    text="ok",
)
add(
    "responses: no output",
    "responses",
    "provider",
    (200, {"object": "response", "status": "completed"}),
)
add(
    "responses: temperature goes",
    "responses",
    ok,
    once(
        (
            400,
            error(
                "Unsupported parameter: 'temperature' is not supported with this model.",
                param="temperature",
            ),
        ),
        response([spoken()]),
        "temperature",
    ),
    text="ok",
)
add(
    "responses: no encrypted reasoning",
    "responses",
    ok,
    once(
        (400, error("Encrypted content is not supported with this model.", param="include")),
        response([spoken()]),
        "include",
    ),
    text="ok",
)
piece = (
    "response.output_text.delta",
    {"type": "response.output_text.delta", "output_index": 0, "delta": "ok"},
)
done = ("response.completed", {"type": "response.completed", "response": response([spoken()])[1]})
add("responses stream: plain", "responses", ok, named_events(piece, done), text="ok")
add("responses stream: cut", "responses", "provider", named_events(piece))
add(
    "responses stream: an empty end",
    "responses",
    ok,
    named_events(
        (
            "response.output_item.done",
            {"type": "response.output_item.done", "output_index": 0, "item": spoken()},
        ),
        ("response.completed", {"type": "response.completed", "response": response([])[1]}),
    ),
    text="ok",
)
add(
    "responses stream: an error",
    "responses",
    "provider",
    named_events(piece, ("error", {"type": "error", "code": "server_error", "message": "boom"})),
)
add(
    "responses stream: limit",
    "responses",
    "model:length",
    named_events(
        piece,
        (
            "response.incomplete",
            {
                "type": "response.incomplete",
                "response": response([spoken()], "incomplete", **incomplete)[1],
            },
        ),
    ),
)
add(
    "responses stream: in progress at the end",
    "responses",
    "provider",
    named_events(
        (
            "response.in_progress",
            {"type": "response.in_progress", "response": response([], "in_progress")[1]},
        ),
        piece,
    ),
)
_FLAGGED = {"code": "invalid_prompt", "message": "Your prompt was flagged as violating our policy."}
add("third: a prompt flagged", "responses", POLICY, response([], "failed", error=_FLAGGED))
