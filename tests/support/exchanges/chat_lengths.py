"""Chat completions: a prompt that is too long, or a limit that is ours to lower."""

from __future__ import annotations

from tests.support.exchange_parts import (
    OVERFLOW,
    add,
    chat,
    error,
    events,
    ok,
)

# The prompt is too long.

for name, status, words in (
    (
        "openai",
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted "
        "in 9000 tokens. Please reduce the length of the messages.",
    ),
    (
        "openai responses",
        400,
        "Your input exceeds the context window of this model. Please adjust your input and "
        "try again.",
    ),
    (
        "openai gpt-5",
        400,
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted "
        "in 300000 tokens. Please reduce the length of the messages.",
    ),
    ("groq", 400, "Please reduce the length of the messages or completion."),
    (
        "moonshot, whatever the limit",
        400,
        "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
    ),
    (
        "cerebras",
        400,
        "Please reduce the length of the messages or completion. Current length is 9000 "
        "while limit is 8192",
    ),
    (
        "xai",
        400,
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    ),
    ("fireworks", 400, "The prompt is too long: 140000, model maximum context length: 131071"),
    (
        "mistral",
        400,
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
        "maximum context length",
    ),
    (
        "cohere",
        400,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
        "5000. Try using a shorter prompt",
    ),
    ("ollama", 400, "input length exceeds maximum context length"),
    ("ollama's runner", 500, "the input length exceeds the context length"),
    (
        "sglang",
        400,
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    ),
    ("tgi", 422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
    (
        "vllm",
        400,
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192. "
        "Make sure that `max_model_len` is no smaller than the number of text tokens.",
    ),
    ("vllm: no room at all", 400, "max_tokens must be at least 1, got -120."),
    (
        "vllm: input tokens",
        400,
        "This model's maximum context length is 4096 tokens. However, your request has 5000 "
        "input tokens. Please reduce the length of the input messages.",
    ),
    ("zhipu", 400, "Prompt exceeds max length"),
    (
        "dashscope",
        400,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    ),
    ("volcengine", 400, "Total tokens of image and text exceed max message tokens. Request id: 02"),
    ("siliconflow", 400, "length of prompt_tokens (9000) must be less than max_seq_len (8192)."),
    ("bedrock", 400, "Input is too long for requested model."),
    (
        "lm studio",
        400,
        "Trying to keep the first 9000 tokens when context the overflows. However, the model "
        "is loaded with context length of only 4096 tokens, which is not enough.",
    ),
    (
        "llama.cpp",
        400,
        "the request exceeds the available context size (4096 tokens), try increasing it",
    ),
    (
        "together",
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: "
        "9000 `inputs` tokens and 100 `max_new_tokens`",
    ),
    (
        "litellm",
        400,
        "litellm.ContextWindowExceededError: litellm.BadRequestError: "
        "ContextWindowExceededError: prompt is too long: 210000 tokens > 200000 maximum",
    ),
    ("baidu", 400, "the length of messages exceeds the limit: prompt tokens too long"),
    ("nvidia", 400, "Input length 9000 exceeds maximum allowed token size 8192"),
    ("minimax", 400, "invalid params, context window exceeds limit (2013)"),
    ("perplexity", 400, "Conversation length exceeds the model's context window limit"),
    ("databricks", 400, "Requested token length 9000 exceeds maximum input length 8192"),
    ("copilot", 400, "prompt token count of 130000 exceeds the limit of 128000"),
):
    add(f"overflow: {name}", "chat", OVERFLOW, (status, error(words)))
add(
    "overflow: openai's code alone",
    "chat",
    OVERFLOW,
    (400, error("Too long.", code="context_length_exceeded")),
)
add(
    "overflow: llama.cpp by type",
    "chat",
    OVERFLOW,
    (
        400,
        error(
            "request (9000 tokens) exceeds the available context size (4096 tokens)",
            type="exceed_context_size_error",
            n_ctx=4096,
        ),
    ),
)
add(
    "overflow: openrouter quotes it",
    "chat",
    OVERFLOW,
    (
        400,
        error(
            "Provider returned error",
            code=400,
            metadata={
                "raw": '{"error":{"message":"This model\'s maximum context length is 8192 '
                'tokens. However, your messages resulted in 9000 tokens."}}'
            },
        ),
    ),
)
add(
    "overflow: in a stream",
    "chat",
    OVERFLOW,
    events(
        error(
            "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 9000 tokens.",
            code=400,
        )
    ),
)
add(
    "overflow: an error of status 200",
    "chat",
    OVERFLOW,
    (
        200,
        error(
            "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 9000 tokens.",
            code="400",
        ),
    ),
)

# The limit of the answer is ours to lower.

for name, status, words in (
    (
        "openai",
        400,
        "max_tokens is too large: 4000. This model supports at most 1000 completion tokens, "
        "whereas you provided 4000.",
    ),
    (
        "anthropic",
        400,
        "max_tokens: 4000 > 1000, which is the maximum allowed number of output tokens for m",
    ),
    (
        "groq",
        400,
        "`max_tokens` must be less than or equal to `1000`, the maximum value for "
        "`max_tokens` is less than the `context_window` for this model",
    ),
    ("dashscope", 400, "Range of max_tokens should be [1, 1000]"),
    ("deepseek", 400, "Invalid max_tokens value, the valid range of max_tokens is [1, 1000]"),
    (
        "gemini",
        400,
        "Unable to submit request because it has a maxOutputTokens value of 4000 but the "
        "supported range is from 1 (inclusive) to 1001 (exclusive). Update the value and "
        "try again.",
    ),
    (
        "vllm",
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum "
        "context length is 4096 tokens and your request has 3000 input tokens (4000 > "
        "4096 - 3000).",
    ),
    (
        "openai's messages and completion",
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 11000 "
        "tokens (7000 in the messages, 4000 in the completion). Please reduce the length.",
    ),
    (
        "sglang",
        400,
        "Requested token count exceeds the model's maximum context length of 4096 tokens. "
        "You requested a total of 7000 tokens: 3000 tokens from the input messages and "
        "4000 tokens for the completion.",
    ),
    (
        "openrouter",
        400,
        "This endpoint's maximum context length is 8192 tokens. However, you requested about "
        "11000 tokens (7000 of text input, 4000 in the output). Please reduce the length "
        "of either one.",
    ),
    (
        "together",
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: "
        "7000 `inputs` tokens and 4000 `max_new_tokens`",
    ),
    (
        "anthropic's sum",
        400,
        "input length and `max_tokens` exceed context limit: 198000 + 4000 > 200000, "
        "decrease input length or `max_tokens` and try again",
    ),
    (
        "moonshot",
        400,
        "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
    ),
    ("groq's sum", 400, "Please reduce the length of the messages or completion."),
    ("mistral", 422, "max_tokens must be less than or equal to 1000"),
    ("fireworks", 400, "max_tokens is too large, must be <= 1000"),
    ("cerebras", 422, "max_completion_tokens should be at most 1000"),
    ("nebius", 400, "max_tokens: Input should be less than or equal to 1000"),
):

    def lowered(body, status=status, words=words):  # type: ignore[no-untyped-def]
        return chat() if (body.get("max_tokens") or 0) < 4000 else (status, error(words))

    add(f"limit: {name}", "chat", ok, lowered, text="ok")

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
