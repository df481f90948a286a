"""Chat completions: what is the provider's, for good or for a while."""

from __future__ import annotations

from tests.support.exchange_parts import (
    add,
    error,
)

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
