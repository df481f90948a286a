"""What providers of chat completions really do, one entry per quirk.

An entry is what a server answers to the n-th request and what must come of it: an answer (the
model's own, or ours to adapt: `requests` says how many it may take), or a failure of the provider
of some kind. Sources: public issues and the providers' documents, as gathered in 2026.
"""

from __future__ import annotations

import json

from tests.support.common_quirks import COMMON_QUIRKS
from tests.support.quirk_server import (
    RESPONSE,
    Quirk,
    always,
    ended,
    error,
    has,
    message,
    refuse,
    stream,
)

_GEMINI_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
_SYSTEM = "Developer instruction is not enabled for models/gemma-3-27b-it"

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        "openai: max_tokens has another name",
        refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            has("max_tokens"),
        ),
        text="ok",
        requests=2,
        sent={"max_completion_tokens": 4000},
        unsent=("max_tokens",),
    ),
    Quirk(
        "openai: only the default temperature",
        refuse(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
            "(1) value is supported.",
            has("temperature"),
        ),
        text="ok",
        requests=2,
        unsent=("temperature",),
    ),
    Quirk(
        "openai: no stop strings",
        refuse("Unsupported parameter: 'stop' is not supported with this model.", has("stop")),
        text="ok",
        requests=2,
        unsent=("stop",),
        options={"stop": ["\n\n"]},
    ),
    Quirk(
        "openai: an unknown model",
        always(404, error("The model `m` does not exist", code="model_not_found")),
        kind="permanent",
        words="does not exist",
    ),
    Quirk(
        "openai: streaming asks for a verified organization",
        refuse(
            "Your organization must be verified to stream this model.",
            lambda body: body.get("stream"),
        ),
        text="ok",
        requests=2,
        unsent=("stream", "stream_options"),
    ),
    Quirk(
        "openai: tools with reasoning only on responses",
        lambda body: (
            (200, RESPONSE)
            if "input" in body
            else (
                400,
                error(
                    "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat"
                    "/completions. Please use /v1/responses or set reasoning_effort to 'none'."
                ),
            )
        ),
        text="ok",
        requests=2,
    ),
    Quirk(
        "openai: a model of responses only",
        lambda body: (
            (200, RESPONSE)
            if "input" in body
            else (404, error("This model is only supported in v1/responses and not in v1/chat."))
        ),
        text="ok",
        requests=2,
    ),
    Quirk(
        "openai: no quota left",
        always(429, error("You exceeded your current quota", code="insufficient_quota")),
        kind="permanent",
    ),
    Quirk(
        "openai: a limit of the minute",
        always(429, error("Rate limit reached for gpt-5. Please try again in 1m26.4s.")),
        kind="rate_limited",
        retry_after=86.4,
    ),
    Quirk(
        "openai: a limit beyond the model's",
        refuse(
            "max_tokens is too large: 4000. This model supports at most 1024 completion tokens, "
            "whereas you provided 4000.",
            lambda body: body["max_tokens"] > 1024,
        ),
        text="ok",
        requests=2,
        sent={"max_tokens": 1024},
    ),
    Quirk(
        "azure: the prompt is refused by policy",
        always(
            400,
            error(
                "The response was filtered",
                code="content_filter",
                innererror={"code": "ResponsibleAIPolicyViolation"},
            ),
        ),
        finish="content_filter",
    ),
    Quirk(
        "anthropic: temperature or top_p",
        refuse(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one.",
            has("temperature", "top_p"),
        ),
        text="ok",
        requests=2,
        sent={"temperature": 0},
        unsent=("top_p",),
    ),
    Quirk(
        "anthropic: overloaded",
        always(529, error("Overloaded", type="overloaded_error")),
        "retryable",
    ),
    Quirk(
        "anthropic: no credit",
        always(400, error("Your credit balance is too low to access the Anthropic API.")),
        kind="permanent",
    ),
    Quirk(
        "gemini: an error in a list, with a wait",
        always(
            429,
            [error("quota", code=429, details=[{"@type": "RetryInfo", "retryDelay": "41s"}])],
        ),
        kind="rate_limited",
        retry_after=41.0,
    ),
    Quirk(
        "gemini: the quota of a day",
        always(429, [error("quota", code=429, details=[{"quotaId": _GEMINI_DAY}])]),
        kind="permanent",
    ),
    Quirk(
        "gemini: a malformed call",
        always(200, message("", "function_call_filter: MALFORMED_FUNCTION_CALL")),
        kind="model_output",
    ),
    Quirk(
        "gemini: no message beside a filter",
        always(200, {"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT"}]}),
        finish="content_filter",
    ),
    Quirk(
        "gemma: no system turn",
        refuse(_SYSTEM, lambda body: body["messages"][0]["role"] == "system"),
        text="ok",
        requests=2,
    ),
    Quirk(
        "deepseek: blank lines before the body",
        always(200, b"\n\n\n" + json.dumps(message()).encode()),
        text="ok",
    ),
    Quirk(
        "deepseek: keep-alive comments in the stream",
        always(200, stream(": keep-alive\n\n", {"content": "o"}, {"content": "k"}, ended("stop"))),
        text="ok",
    ),
    Quirk(
        "deepseek: no resources, empty",
        always(200, message("", "insufficient_system_resource")),
        kind="retryable",
    ),
    Quirk(
        "deepseek: no resources, cut",
        always(200, stream({"content": "hal"}, ended("insufficient_system_resource"))),
        kind="retryable",
    ),
    Quirk(
        "qwen: thinking only streamed",
        lambda body: (
            (200, stream({"reasoning_content": "hm"}, {"content": "ok"}, ended("stop")))
            if body.get("stream")
            else (400, error("parameter.enable_thinking must be set to false for non-streaming"))
        ),
        text="ok",
        requests=2,
        sent={"stream": True},
        options={"stream": False},
    ),
    Quirk(
        "qwen: QwQ only streamed",
        lambda body: (
            (200, stream({"content": "ok"}, ended("stop")))
            if body.get("stream")
            else (400, error("This model only support stream mode, please enable the stream."))
        ),
        text="ok",
        requests=2,
        options={"stream": False},
    ),
    Quirk(
        "qwen: arrears",
        always(
            400, error("Access denied, please make sure your account is good", code="Arrearage")
        ),
        kind="permanent",
    ),
    Quirk(
        "mistral: no seed",
        refuse(
            '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not '
            'permitted"}]',
            has("seed"),
            422,
        ),
        text="ok",
        requests=2,
        unsent=("seed",),
    ),
    Quirk(
        "mistral: no stream_options",
        refuse("Extra inputs are not permitted: stream_options", has("stream_options"), 422),
        text="ok",
        requests=2,
        sent={"stream": True},
        unsent=("stream_options",),
    ),
    Quirk(
        "mistral: thinking in parts",
        always(
            200,
            message(
                [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "ok"},
                ]
            ),
        ),
        text="ok",
    ),
    Quirk(
        "groq: a call that the server could not read",
        always(
            400,
            error(
                "Failed to call a function.",
                code="tool_use_failed",
                failed_generation='<function=add>{"a": 1',
            ),
        ),
        kind="model_output",
    ),
    Quirk(
        "groq: too large for the tokens of a minute",
        always(
            413,
            error(
                "Request too large: Limit 6000, Requested 7000 on tokens per minute (TPM)",
                code="rate_limit_exceeded",
            ),
        ),
        kind="rate_limited",
    ),
    Quirk(
        "groq: usage in a field of its own",
        always(
            200,
            stream(
                {"content": "ok"}, ended("stop") | {"x_groq": {"usage": {"completion_tokens": 2}}}
            ),
        ),
        text="ok",
    ),
    Quirk(
        "openrouter: an error with status 200",
        always(200, error("Provider returned error", code=502)),
        kind="retryable",
    ),
    Quirk(
        "openrouter: an error in the choice",
        always(
            200,
            {
                "choices": [
                    {
                        "message": {"content": "hal"},
                        "finish_reason": "error",
                        **error("upstream", code=502),
                    }
                ]
            },
        ),
        kind="retryable",
    ),
    Quirk("openrouter: ended by an error, empty", always(200, message("", "error")), "retryable"),
    Quirk("openrouter: ended by an error", always(200, message("hal", "error")), "retryable"),
    Quirk(
        "openrouter: an error in the middle of the stream",
        always(
            200,
            stream(
                ": OPENROUTER PROCESSING\n\n",
                {"content": "hal"},
                error("Server disconnected", code="502"),
            ),
        ),
        kind="retryable",
    ),
    Quirk(
        "openrouter: the wait of the provider behind it",
        always(429, error("slow down", metadata={"headers": {"X-RateLimit-Reset": "7"}})),
        kind="rate_limited",
        retry_after=7.0,
    ),
    Quirk(
        "openrouter: a moderated prompt",
        always(403, error("openai/gpt-5 requires moderation on OpenAI. Your input was flagged")),
        finish="content_filter",
    ),
    Quirk(
        "vllm: prompt and limit together are too long",
        refuse(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (1000 in the messages, 4000 in the completion).",
            lambda body: body["max_tokens"] > 3096,
        ),
        text="ok",
        requests=2,
        sent={"max_tokens": 3096},
    ),
    Quirk(
        "vllm: the prompt alone is too long",
        always(
            400,
            error(
                "This model's maximum context length is 4096 tokens. However, your request has "
                "9000 input tokens. Please reduce the length of the input messages."
            ),
        ),
        finish="context_overflow",
    ),
    Quirk(
        "vllm: max_tokens is too large",
        refuse(
            "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum "
            "context length is 4096 tokens and your request has 1000 input tokens (4000 > 4096"
            " - 1000).",
            lambda body: body["max_tokens"] > 3096,
        ),
        text="ok",
        requests=2,
        sent={"max_tokens": 3096},
    ),
    Quirk("vllm: aborted", always(200, message("hal", "abort")), "retryable"),
    Quirk(
        "vllm: tools need a flag",
        always(400, error('"auto" tool choice requires --enable-auto-tool-choice and a parser')),
        kind="permanent",
        words="--enable-auto-tool-choice",
    ),
    Quirk(
        "ollama: no tools",
        always(400, error("registry.ollama.ai/library/phi does not support tools")),
        kind="permanent",
        words="does not support tools",
    ),
    Quirk(
        "ollama: no such model",
        always(404, {"error": 'model "x" not found, try pulling it first'}),
        kind="permanent",
        words="try pulling",
    ),
    Quirk("lm studio: an error as a text", always(500, {"error": "engine failed"}), "retryable"),
    Quirk(
        "lm studio: no models",
        always(404, {"error": "No models loaded. Please load a model"}),
        kind="permanent",
    ),
    Quirk(
        "lm studio: overflow",
        always(
            400,
            {
                "error": "Trying to keep the first 9000 tokens when context the overflows. But "
                "the model is loaded with context length of only 4096 tokens."
            },
        ),
        finish="context_overflow",
    ),
    *COMMON_QUIRKS,
)
