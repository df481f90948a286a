"""Error replies of providers and their native APIs, labeled as `provider_exchanges` has it."""

from __future__ import annotations

from tests.support.provider_exchanges import (
    add,
    chat,
    claude,
    error,
    events,
    gemini,
    gemini_events,
    google_error,
    named_events,
    ok,
    once,
    response,
    say,
    spoken,
)

# The prompt is too long.

OVERFLOW = "model:context_overflow"
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

# Refused by policy: the model's.

POLICY = "model:content_filter"
for name, status, content in (
    (
        "azure",
        400,
        error(
            "The response was filtered due to the prompt triggering Azure OpenAI's content "
            "management policy.",
            code="content_filter",
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
    ),
    (
        "openai",
        400,
        error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage "
            "policy. Please try again with a different prompt.",
            code="invalid_prompt",
        ),
    ),
    (
        "openai by code",
        400,
        error("Your request was rejected by the safety system.", code="content_policy_violation"),
    ),
    ("deepseek", 400, error("Content Exists Risk", code="invalid_request_error")),
    (
        "dashscope",
        400,
        error("Input data may contain inappropriate content.", code="data_inspection_failed"),
    ),
    (
        "dashscope output",
        400,
        error("Output data may contain inappropriate content.", code="DataInspectionFailed"),
    ),
    (
        "moonshot",
        400,
        error(
            "The request was rejected because it was considered high risk", type="content_filter"
        ),
    ),
    ("zhipu", 400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    (
        "xai",
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Content violates usage guidelines. Team: t, API key ID: k, Model: m, "
            "Failed check: SAFETY_CHECK_TYPE_BIO",
        },
    ),
    (
        "volcengine",
        400,
        error(
            "The request failed because the input text may contain sensitive information.",
            code="InputTextSensitiveContentDetected",
        ),
    ),
    (
        "volcengine's other code",
        400,
        error(
            "The request failed because the output text may contain sensitive information.",
            code="OutputTextSensitiveContentDetected.PolicyViolation",
        ),
    ),
    (
        "openrouter",
        403,
        error(
            'm requires moderation on Anthropic. Your input was flagged for "violence".',
            code=403,
            metadata={"reasons": ["violence"], "flagged_input": "x"},
        ),
    ),
    (
        "openrouter quotes it",
        400,
        error(
            "Provider returned error",
            code=400,
            metadata={
                "raw": '{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}',
                "provider_name": "DeepSeek",
            },
        ),
    ),
    (
        "litellm",
        400,
        error(
            "litellm.BadRequestError: litellm.ContentPolicyViolationError: The response was "
            "filtered"
        ),
    ),
    (
        "cloudflare",
        400,
        {
            "success": False,
            "error": [{"code": 2016, "message": "Prompt blocked due to security configurations"}],
        },
    ),
    (
        "anthropic by chat",
        400,
        error("Output blocked by content filtering policy", type="invalid_request_error"),
    ),
    (
        "bedrock guardrail",
        400,
        error("Blocked by guardrail: the content violates the content policy"),
    ),
    ("gemini", 400, error("The prompt was blocked: PROHIBITED_CONTENT")),
    (
        "stepfun",
        451,
        error(
            "The content you provided or machine outputted is blocked.", type="censorship_blocked"
        ),
    ),
    (
        "baichuan",
        400,
        error(
            "The request was rejected because it contains sensitive content", code="content_filter"
        ),
    ),
    ("tencent", 400, error("Content was blocked: text is illegal", code="content_blocked_error")),
):
    add(f"policy: {name}", "chat", POLICY, (status, content))
add(
    "policy: azure in a stream",
    "chat",
    POLICY,
    events("ok", error("The response was filtered", code="content_filter")),
)
add(
    "policy: an error of status 200", "chat", POLICY, (200, error("flagged", code="content_filter"))
)

# The server could not read what the model wrote: the model's.

WRITTEN = "model:unparsable"
for name, status, content in (
    (
        "groq",
        400,
        error(
            "Failed to call a function. Please adjust your prompt. See 'failed_generation' "
            "for more details.",
            code="tool_use_failed",
            failed_generation="<function=add>",
        ),
    ),
    (
        "groq's schema",
        400,
        error(
            "Tool call validation failed: tool call validation failed: parameters for tool "
            "add did not match schema",
            code="tool_use_failed",
            failed_generation="[]",
        ),
    ),
    (
        "groq's unknown tool",
        400,
        error(
            "tool call validation failed: attempted to call tool 'sub' which was not in "
            "request.tools",
            code="tool_use_failed",
            failed_generation="x",
        ),
    ),
    (
        "groq without a code",
        400,
        error(
            "Tool call validation failed: tool call validation failed: attempted to call "
            "tool 'sub' which was not in request.tools",
            type="invalid_request_error",
            failed_generation="x",
        ),
    ),
    (
        "groq's output parser",
        400,
        error(
            "Parsing failed. The model generated output that could not be parsed. Please "
            "adjust your prompt. See 'failed_generation' for more details.",
            code="output_parse_failed",
            failed_generation="x",
        ),
    ),
    (
        "groq's json",
        400,
        error(
            "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for "
            "more details.",
            code="json_validate_failed",
            failed_generation="{",
        ),
    ),
    (
        "ollama",
        500,
        error("error parsing tool call: raw='{\"a\"', err=unexpected end of JSON input"),
    ),
    (
        "ollama's harmony",
        500,
        error(
            "harmony parser: no reverse mapping found for function name: error parsing tool call"
        ),
    ),
    ("llama.cpp", 500, error("Failed to parse input at pos 12: <tool_call>{", type="server_error")),
    ("vllm harmony", 500, error("Unexpected token 200002 while expecting start token 200006")),
    ("together", 500, error("Model output could not be parsed as a tool call")),
):
    add(f"written: {name}", "chat", WRITTEN, (status, content))

# The account, the key, the model: the provider's, lasting.

for name, status, content in (
    ("openai key", 401, error("Incorrect API key provided: sk-x.", code="invalid_api_key")),
    ("no key", 401, {"detail": "Not authenticated"}),
    (
        "openai quota",
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.",
            code="insufficient_quota",
            type="insufficient_quota",
        ),
    ),
    (
        "openai billing",
        429,
        error(
            "Your account is not active, please check your billing details on our website.",
            code="billing_not_active",
        ),
    ),
    (
        "openai hard limit",
        400,
        error("Billing hard limit has been reached", code="billing_hard_limit_reached"),
    ),
    ("deepseek balance", 402, error("Insufficient Balance")),
    (
        "openrouter credit",
        402,
        error(
            "This request requires more credits, or fewer max_tokens. You requested up to "
            "4000 tokens, but can only afford 12.",
            code=402,
        ),
    ),
    (
        "openrouter free",
        429,
        error(
            "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free "
            "model requests per day",
            code=429,
        ),
    ),
    ("zhipu arrears", 429, error("您的账户已欠费，请充值后重试", code="1113")),
    (
        "moonshot quota",
        429,
        error(
            "Your account is suspended, please check your plan and billing details",
            type="exceeded_current_quota_error",
        ),
    ),
    (
        "dashscope arrears",
        400,
        error(
            "Access denied, please make sure your account is in good standing.", code="Arrearage"
        ),
    ),
    (
        "volcengine",
        403,
        error(
            "The request failed because your account has an overdue balance.",
            code="AccountOverdueError",
        ),
    ),
    (
        "anthropic credit",
        400,
        error(
            "Your credit balance is too low to access the Anthropic API.",
            type="invalid_request_error",
        ),
    ),
    (
        "anthropic limit",
        400,
        error(
            "You have reached your specified API usage limits. You will regain access on "
            "2026-12-01 at 00:00 UTC.",
            type="invalid_request_error",
        ),
    ),
    (
        "anthropic disabled",
        400,
        error("This organization has been disabled.", type="invalid_request_error"),
    ),
    (
        "gemini key",
        400,
        error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"),
    ),
    (
        "gemini place",
        400,
        error("User location is not supported for the API use.", status="FAILED_PRECONDITION"),
    ),
    (
        "gemini day",
        429,
        error(
            "You exceeded your current quota. Quota metric: "
            "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            status="RESOURCE_EXHAUSTED",
        ),
    ),
    (
        "model unknown",
        404,
        error(
            "The model `m` does not exist or you do not have access to it.", code="model_not_found"
        ),
    ),
    (
        "model unknown by 400",
        400,
        error(
            "Invalid model name passed in model=m. Call `/v1/models` to view available "
            "models for your key."
        ),
    ),
    (
        "together model",
        404,
        error(
            "Unable to access model m. Please visit https://api.together.ai/models to view "
            "the list of supported models.",
            code="model_not_available",
        ),
    ),
    (
        "siliconflow model",
        400,
        {
            "code": 20012,
            "message": "Model does not exist. Please check it carefully.",
            "data": None,
        },
    ),
    ("openrouter model", 400, error("m is not a valid model ID", code=400)),
    ("openrouter no endpoints", 404, error("No endpoints found for m.", code=404)),
    ("ollama", 404, error('model "m" not found, try pulling it first')),
    (
        "lm studio",
        400,
        {
            "error": "No models loaded. Please load a model in the developer page or use the "
            "'lms load' command."
        },
    ),
    (
        "azure",
        404,
        error("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
    ),
    (
        "azure key",
        401,
        error("Access denied due to invalid subscription key or wrong API endpoint.", code="401"),
    ),
    (
        "groq decommissioned",
        400,
        error(
            "The model `m` has been decommissioned and is no longer supported.",
            code="model_decommissioned",
        ),
    ),
    (
        "litellm budget",
        400,
        error(
            "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", type="budget_exceeded"
        ),
    ),
    ("gateway", 403, b"<html><title>403 Forbidden</title></html>"),
    ("tenant header", 403, {"message": "Missing required header X-Tenant"}),
    (
        "hf credits",
        402,
        {"error": "You have exceeded your monthly included credits for Inference Providers."},
    ),
    (
        "cohere trial",
        429,
        {"message": "You are using a Trial key, which is limited to 1000 API calls / month."},
    ),
    ("mistral tier", 401, {"detail": "Unauthorized"}),
    ("nvidia credits", 402, {"detail": "Account 'x': Cloud credits expired"}),
):
    add(f"lasting: {name}", "chat", "provider:lasting", (status, content))

# An option that a person set and the model does not have: said, for the run stops at once.

for words in (
    "Unrecognized request argument supplied: reasoning_effort",
    "`reasoning_effort` is not supported with this model",
):
    add(f"option: {words[:20]}", "chat", "provider:lasting", (400, error(words)))

# Waits and outages: the provider's, passing.

for name, status, content in (
    (
        "openai rate",
        429,
        error(
            "Rate limit reached for m in organization o on tokens per min (TPM): Limit "
            "30000, Used 29000. Please try again in 2.5s.",
            code="rate_limit_exceeded",
        ),
    ),
    (
        "azure rate",
        429,
        error("Requests have exceeded call rate limit. Please retry after 6 seconds.", code="429"),
    ),
    ("zhipu concurrency", 429, error("您当前使用该API的并发数过高", code="1302")),
    ("zhipu overload", 429, error("该模型当前访问量过大，请您稍后再试", code="1305")),
    (
        "moonshot overload",
        429,
        error(
            "The engine is currently overloaded, please try again later",
            type="engine_overloaded_error",
        ),
    ),
    (
        "gemini minute",
        429,
        error(
            "You exceeded your current quota, please check your plan. Please retry in 41s.",
            status="RESOURCE_EXHAUSTED",
            details=[{"@type": "RetryInfo", "retryDelay": "41s"}],
        ),
    ),
    (
        "groq 413",
        413,
        error(
            "Request too large for model `m` on tokens per minute (TPM): Limit 6000, "
            "Requested 7000",
            code="rate_limit_exceeded",
        ),
    ),
    (
        "volcengine rate",
        429,
        error("The request has exceeded the TPM limit", code="AccountRateLimitExceeded"),
    ),
    (
        "litellm",
        429,
        error("No deployments available for selected model, Try again in 60 seconds."),
    ),
    ("a page", 429, b"<html>Too many requests</html>"),
    ("nothing", 429, b""),
):
    add(f"rate: {name}", "chat", "provider:rate_limited", (status, content))
for name, status, content in (
    (
        "openai",
        500,
        error(
            "The server had an error while processing your request. Sorry about that!",
            type="server_error",
        ),
    ),
    ("openai overloaded", 503, error("The engine is currently overloaded, please try again later")),
    ("nginx 502", 502, b"<html><center><h1>502 Bad Gateway</h1></center></html>"),
    ("nginx 504", 504, b"<html>504 Gateway Time-out</html>"),
    ("cloudflare 520", 520, b"error code: 520"),
    ("cloudflare 524", 524, b"error code: 524"),
    ("anthropic", 529, error("Overloaded", type="overloaded_error")),
    ("hf loading", 503, {"error": "Model m is currently loading", "estimated_time": 20.0}),
    ("llama.cpp loading", 503, error("Loading model", type="unavailable_error")),
    (
        "ollama crash",
        500,
        {"error": "model runner has unexpectedly stopped, this may be due to resource limitations"},
    ),
    (
        "vllm dead",
        500,
        error("EngineCore encountered an issue. See stack trace (above) for the root cause."),
    ),
    ("llama.cpp's grammar", 500, error("Unexpected empty grammar stack after accepting piece: =")),
    ("cuda", 500, error("CUDA out of memory. Tried to allocate 2.00 GiB")),
    ("vllm tool parser import", 500, error("Internal Server Error")),
    ("timeout", 408, error("Request timed out")),
    (
        "tgi",
        424,
        {"error": "Request failed during generation: Server error", "error_type": "generation"},
    ),
    ("conflict", 409, error("Conflict")),
    ("too early", 425, b""),
    (
        "openrouter upstream",
        502,
        error("Provider returned error", code=502, metadata={"raw": "upstream connect error"}),
    ),
):
    add(f"outage: {name}", "chat", "provider:retryable", (status, content))
add("client closed", "chat", "provider", (499, b""))
add("unknown 400", "chat", "provider:permanent", (400, error("The request is invalid.")))
add("redirect", "chat", "provider", (302, b"", {"location": "https://example.org/login"}))

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

# Anthropic Messages.

for stop, label in {
    "end_turn": ok,
    "stop_sequence": ok,
    "max_tokens": "model:length",
    "refusal": POLICY,
    "model_context_window_exceeded": "model:length",
    "pause_turn": "provider",
    "compaction": "provider",
    "odd": "provider",
}.items():
    add(f"claude: stop {stop}", "anthropic", label, claude([say()], stop), text="ok")
use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
add(
    "claude: a call",
    "anthropic",
    ok,
    claude([say("well"), use], "tool_use"),
    text="well",
    calls=[("add", '{"a": 1}')],
)
add("claude: nothing", "anthropic", ok, claude([], "end_turn"), text="")
add("claude: content null", "anthropic", "provider", claude(None))
add(
    "claude: no content",
    "anthropic",
    "provider",
    (200, {"type": "message", "stop_reason": "end_turn"}),
)
add(
    "claude: thoughts",
    "anthropic",
    ok,
    claude(
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "d"},
            say(),
        ]
    ),
    text="ok",
)
add(
    "claude: a block of a kind unknown",
    "anthropic",
    ok,
    claude([{"type": "server_tool_use", "id": "s", "name": "x", "input": {}}, say()]),
    text="ok",
)
add("claude: refused before a word", "anthropic", POLICY, claude([], "refusal"))
add(
    "claude: an error of status 200",
    "anthropic",
    "provider:retryable",
    (200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
)
add(
    "claude: overloaded",
    "anthropic",
    "provider:retryable",
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
)
add(
    "claude: filtered output",
    "anthropic",
    POLICY,
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Output blocked by content filtering policy",
            },
        },
    ),
)
add(
    "claude: too long",
    "anthropic",
    OVERFLOW,
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 210000 tokens > 200000 maximum",
            },
        },
    ),
)
add(
    "claude: no credit",
    "anthropic",
    "provider:lasting",
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API.",
            },
        },
    ),
)
add(
    "claude: key",
    "anthropic",
    "provider:lasting",
    (
        401,
        {
            "type": "error",
            "error": {"type": "authentication_error", "message": "invalid x-api-key"},
        },
    ),
)
add(
    "claude: model",
    "anthropic",
    "provider:lasting",
    (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: m"}}),
)
add(
    "claude: temperature goes",
    "anthropic",
    ok,
    once(
        (
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "`temperature` is deprecated for this model.",
                },
            },
        ),
        claude([say()]),
        "temperature",
    ),
    text="ok",
)
start = (
    "message_start",
    {
        "type": "message_start",
        "message": {
            "type": "message",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 3},
        },
    },
)
text_block = [
    (
        "content_block_start",
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ),
    ("ping", {"type": "ping"}),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
    ),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
]


def claude_end(reason):  # type: ignore[no-untyped-def]
    return [
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason},
                "usage": {"output_tokens": 2},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


add(
    "claude stream: plain",
    "anthropic",
    ok,
    named_events(start, *text_block, *claude_end("end_turn")),
    text="ok",
)
add("claude stream: cut", "anthropic", "provider", named_events(start, *text_block))
add(
    "claude stream: cut before its stop",
    "anthropic",
    ok,
    named_events(start, *text_block, claude_end("end_turn")[0]),
    text="ok",
)
add(
    "claude stream: overloaded",
    "anthropic",
    "provider",
    named_events(
        start,
        *text_block[:3],
        (
            "error",
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
    ),
)
add(
    "claude stream: refused midway",
    "anthropic",
    POLICY,
    named_events(start, *text_block, *claude_end("refusal")),
)
add(
    "claude stream: limit",
    "anthropic",
    "model:length",
    named_events(start, *text_block, *claude_end("max_tokens")),
)


def claude_call(*pieces):  # type: ignore[no-untyped-def]
    begin = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "add", "input": {}},
    }
    deltas = [
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            },
        )
        for piece in pieces
    ]
    return named_events(start, ("content_block_start", begin), *deltas, *claude_end("tool_use"))


add(
    "claude stream: a call",
    "anthropic",
    ok,
    claude_call("", '{"a"', ": 1}"),
    calls=[("add", '{"a": 1}')],
)
add(
    "claude stream: a call without arguments",
    "anthropic",
    ok,
    claude_call(""),
    calls=[("add", "{}")],
)
add(
    "claude stream: a call with broken arguments",
    "anthropic",
    ok,
    claude_call('{"a": '),
    calls=[("add", '{"a": ')],
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

# OpenAI Responses.

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
