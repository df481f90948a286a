"""Chat completions: parameters that a server does not take, which we adapt."""

from __future__ import annotations

import json

from tests.support.exchange_parts import (
    add,
    chat,
    error,
    ok,
    once,
)

# Parameters that a server does not take: ours, adapted.


def refuse(words, when, status=400):  # type: ignore[no-untyped-def]
    return once((status, error(words)), chat(), when)


for name, words, when in (
    (
        "openai max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "max_tokens",
    ),
    (
        "openai temperature",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the "
        "default (1) value is supported.",
        "temperature",
    ),
    ("openai top_p", "Unsupported parameter: 'top_p' is not supported with this model.", "top_p"),
    ("openai stop", "Unsupported parameter: 'stop' is not supported with this model.", "stop"),
    (
        "mistral seed",
        '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]',
        "seed",
    ),
    (
        "any stream_options",
        "Unrecognized request argument supplied: stream_options",
        "stream_options",
    ),
    (
        "older vllm stream_options",
        "Stream options can only be defined when stream is True: stream_options not supported",
        "stream_options",
    ),
    ("xai stop", "Argument not supported on this model: stop", "stop"),
    (
        "anthropic both",
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        "top_p",
    ),
    ("fireworks", "Extra inputs are not permitted, field: 'seed', value: 1", "seed"),
    ("streaming off", "Streaming is not supported for this model", "stream"),
    ("azure max_tokens", "Unrecognized request argument supplied: max_tokens", "max_tokens"),
    ("watsonx", "Json document validation error: Unknown field 'seed'", "seed"),
):
    add(f"adapted: {name}", "chat", ok, refuse(words, when), text="ok")

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
