"""Chat completions: answers and why they ended."""

from __future__ import annotations

import json

from tests.support.exchange_parts import (
    add,
    chat,
    error,
    events,
    ok,
)

# Chat completions: why an answer ended.

for word, label in {
    "stop": "fine",
    "eos": "fine",
    "eos_token": "fine",
    "stop_sequence": "fine",
    "end_turn": "fine",
    "COMPLETE": "fine",
    "STOP": "fine",
    "endoftext": "fine",
    "normal": "fine",
    "null": "fine",
    "": "fine",
    "length": "model:length",
    "max_tokens": "model:length",
    "MAX_TOKENS": "model:length",
    "model_length": "model:length",
    "token_limit": "model:length",
    "ERROR_LIMIT": "model:length",
    "model_context_window_exceeded": "model:length",
    "content_filter": "model:content_filter",
    "content-filter": "model:content_filter",
    "sensitive": "model:content_filter",
    "ERROR_TOXIC": "model:content_filter",
    "guardrail_intervened": "model:content_filter",
    "content_filter: RECITATION": "model:content_filter",
    "content_filter: SAFETY": "model:content_filter",
    "function_call_filter: UNEXPECTED_TOOL_CALL": "model:unparsable",
    "malformed_function_call": "model:unparsable",
    "malformed_model_output": "model:unparsable",
    "malformed_tool_use": "model:unparsable",
    "error": "provider",
    "ERROR": "provider",
    "abort": "provider",
    "aborted": "provider",
    "insufficient_system_resource": "provider",
    "network_error": "provider",
    "engine_overloaded": "provider",
    "cancelled": "provider",
    "USER_CANCEL": "provider",
    "TIMEOUT": "provider",
    "time_limit": "provider",
    "not_finished": "provider",
    "load": "provider",
    "unload": "provider",
    "repetition_truncation": "provider",
}.items():
    add(f"chat: finish {word!r}", "chat", label, chat("ok", word), text="ok")
    if word not in ("", "null"):
        add(f"chat: streamed finish {word!r}", "chat", label, events("ok", (word,)), text="ok")

add("chat: an error with part of an answer", "chat", "provider", chat("SELECT 1 FR", "error"))
add("chat: an error and nothing", "chat", "provider", chat("", "error"))
add("chat: finish reason is an object", "chat", "provider", chat("ok", {"type": "stop"}))

# Chat completions: bodies of status 200.

add(
    "one-api: an empty error beside an answer",
    "chat",
    ok,
    (200, {**chat()[1], "error": {"message": "", "type": "", "param": "", "code": None}}),
    text="ok",
)
add("any: error is null", "chat", ok, (200, {**chat()[1], "error": None}), text="ok")
add("any: error is an empty text", "chat", ok, (200, {**chat()[1], "error": ""}), text="ok")
add(
    "openrouter: an error of status 200",
    "chat",
    "provider:rate_limited",
    (200, error("Rate limited upstream", code=429)),
)
add(
    "openrouter: an error in the choice",
    "chat",
    "provider",
    (
        200,
        {
            "choices": [
                {
                    "message": {"role": "assistant", "content": "SEL"},
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "Upstream error"},
                }
            ]
        },
    ),
)
add(
    "openrouter: no credit by status 200",
    "chat",
    "provider:permanent",
    (200, error("Insufficient credits", code=402)),
)
add(
    "minimax: rate limit in base_resp",
    "chat",
    "provider:rate_limited",
    (200, {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}),
)
add(
    "minimax: no balance in base_resp",
    "chat",
    "provider:permanent",
    (
        200,
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
    ),
)
add(
    "minimax: sensitive input in base_resp",
    "chat",
    "model:content_filter",
    (
        200,
        {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
    ),
)
add(
    "minimax: sensitive output in base_resp",
    "chat",
    "model:content_filter",
    (
        200,
        {"choices": [], "base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}},
    ),
)
add(
    "minimax: an answer with base_resp 0",
    "chat",
    ok,
    (200, {**chat()[1], "base_resp": {"status_code": 0, "status_msg": ""}}),
    text="ok",
)
add(
    "fastchat: object error",
    "chat",
    "provider",
    (200, {"object": "error", "message": "NETWORK ERROR", "code": 50001}),
)
add("any: detail in place of choices", "chat", "provider", (200, {"detail": "Internal error"}))
add(
    "any: a message in place of choices",
    "chat",
    "provider",
    (200, {"message": "no healthy upstream"}),
)
add(
    "cloudflare: success false",
    "chat",
    "provider",
    (200, {"success": False, "errors": [{"code": 7009, "message": "Upstream timeout"}]}),
)
add("any: no choices", "chat", "provider", (200, {"choices": [], "usage": {"prompt_tokens": 3}}))
add("any: choices null", "chat", "provider", (200, {"choices": None}))
add(
    "any: message null",
    "chat",
    "provider",
    (200, {"choices": [{"message": None, "finish_reason": "stop"}]}),
)
add("any: an empty object", "chat", "provider", (200, {}))
add("any: null", "chat", "provider", (200, b"null"))
add("any: nothing", "chat", "provider", (200, b""))
add("any: a list", "chat", "provider", (200, b"[]"))
add("any: a text", "chat", "provider", (200, b'"upstream connect error"'))
add(
    "any: a page",
    "chat",
    "provider",
    (200, b"<!doctype html><title>Sign in</title>", {"content-type": "text/html"}),
)
add("any: plain words", "chat", "provider", (200, b"upstream connect error or disconnect/reset"))
add(
    "any: JSON cut by the server",
    "chat",
    "provider",
    (200, b'{"choices":[{"message":{"content":"SELECT'),
)
add(
    "deepseek: blank lines before the body",
    "chat",
    ok,
    (200, b"\n\n\r\n  \n" + json.dumps(chat()[1]).encode()),
    text="ok",
)
add(
    "any: a byte order mark",
    "chat",
    ok,
    (200, b"\xef\xbb\xbf" + json.dumps(chat()[1]).encode()),
    text="ok",
)
add(
    "any: half a surrogate pair",
    "chat",
    ok,
    (200, json.dumps(chat("a\ud83d")[1]).encode()),
    text="a\ufffd",
)
add("any: an answer of nothing", "chat", ok, chat(""), text="")
add("any: content null at stop", "chat", ok, chat(None), text="")
add(
    "any: no content at stop",
    "chat",
    ok,
    (200, {"choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}]}),
    text="",
)
add("any: thoughts only", "chat", ok, chat("", "stop", reasoning_content="hm"), text="")
add(
    "any: thoughts cut by the limit",
    "chat",
    "model:length",
    chat(None, "length", reasoning_content="hm"),
)
add("openrouter: reasoning field", "chat", ok, chat("ok", "stop", reasoning="hm"), text="ok")
add(
    "openai: a refusal field", "chat", ok, chat(None, "stop", refusal="I cannot."), text="I cannot."
)
add(
    "mistral: content as parts",
    "chat",
    ok,
    chat(
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "ok"},
        ]
    ),
    text="ok",
)
add("any: content as one part", "chat", ok, chat([{"type": "text", "text": "ok"}]), text="ok")
add("any: content is a number", "chat", "provider", chat(5))
add("any: content is an object", "chat", "provider", chat({"text": "ok"}))
add(
    "any: the message is a text",
    "chat",
    "provider",
    (200, {"choices": [{"message": "ok", "finish_reason": "stop"}]}),
)
add(
    "azure: results of a filter that failed",
    "chat",
    ok,
    (
        200,
        {
            "choices": [
                {
                    **chat()[1]["choices"][0],
                    "content_filter_results": {"error": {"code": "content_filter_error"}},
                }
            ]
        },
    ),
    text="ok",
)
add(
    "azure: filtered with part of the answer",
    "chat",
    "model:content_filter",
    chat("ok", "content_filter"),
)
add(
    "gemini: filtered without a message",
    "chat",
    "model:content_filter",
    (200, {"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT", "index": 0}]}),
)
add(
    "gemini: cut before the first word",
    "chat",
    "model:length",
    (200, {"choices": [{"finish_reason": "length", "index": 0}]}),
)
add("gemini: cut with an empty message", "chat", "model:length", chat(None, "length"))

# Chat completions: usage.

for number, usage in enumerate(
    (
        None,
        {},
        [],
        "none",
        {"prompt_tokens": None},
        {"prompt_tokens": "12", "completion_tokens": "3"},
        {"prompt_tokens": -1, "completion_tokens": -5},
        {"prompt_tokens": 10.0, "completion_tokens": 2.5},
        {"prompt_tokens": 1e300, "completion_tokens": 1e18},
        {"prompt_tokens": True},
        {"prompt_tokens": 3, "prompt_tokens_details": [], "completion_tokens_details": "x"},
        {"prompt_tokens": 3, "cost": "free"},
        {"prompt_tokens": 3, "cost": -1},
        {"cost": {"total_cost": None}},
        {"prompt_tokens": {"text": 3}},
    )
):
    add(f"chat: usage oddity {number}", "chat", ok, chat("ok", usage=usage), text="ok")
