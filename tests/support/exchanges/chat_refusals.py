"""Chat completions: refused by policy, or because of what the model wrote."""

from __future__ import annotations

from tests.support.exchange_parts import (
    POLICY,
    WRITTEN,
    add,
    error,
    events,
)

# Refused by policy: the model's.

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
