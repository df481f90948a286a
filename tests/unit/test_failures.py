"""What an HTTP error, a lost exchange or a wrong reply is classified as."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import httpx2
import pytest

from evalcore.i18n import translate_note
from evalcore.intake.http import ReplyUnreadable
from evalcore.records import Failure, from_json, to_json
from evalcore.targets import failures
from evalcore.targets.failures import (
    from_exception,
    from_status,
    parse_retry_after,
    sanitize_failure,
)

NOW = 1_800_000_000.0


def body(message="it broke", **more):
    return json.dumps({"error": {"message": message, **more}})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "rate_limited"),
        (408, "retryable"),
        (409, "retryable"),
        (424, "retryable"),
        (425, "retryable"),
        (500, "retryable"),
        (502, "retryable"),
        (503, "retryable"),
        (504, "retryable"),
        (529, "retryable"),
        (400, "permanent"),
        (401, "permanent"),
        (402, "permanent"),
        (403, "permanent"),
        (404, "permanent"),
        (413, "permanent"),
        (422, "permanent"),
        (302, "malformed"),
    ],
)
def test_kind_by_status(status, kind):
    failure = from_status(status, {}, body())
    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message.startswith(f"HTTP {status}: it broke")


def test_a_429_for_lack_of_credit_is_permanent_and_a_used_up_quota_is_not():
    spent = body("You exceeded your current quota", code="insufficient_quota")
    assert from_status(429, {"retry-after": "1"}, spent) == Failure(
        kind="permanent", message="HTTP 429: You exceeded your current quota", status=429
    )
    daily = body("You exceeded your current quota", code=429)
    assert from_status(429, {}, daily).kind == "rate_limited"


@pytest.mark.parametrize(
    "text",
    [
        "error parsing tool call: raw='{\"a\": ', err=unexpected end of JSON input",
        "Failed to parse tool call arguments as JSON",
        "json parser could not parse region as JSON",
        "Failed to parse input at pos 12: <tool_call>",
        "The model output could not be decoded",
        "function call is malformed",
    ],
)
def test_a_5xx_about_what_the_model_wrote_is_of_the_model(text):
    assert from_status(500, {}, body(text)).kind == "model_output"
    assert from_status(400, {}, body(text)).kind == "permanent"


def test_a_400_of_the_code_tool_use_failed_is_of_the_model():
    text = body("Failed to call a function", code="tool_use_failed")
    assert from_status(400, {}, text).kind == "model_output"
    quoted = body("Failed", code="tool_use_failed", failed_generation="<function=f>{}</function>")
    assert from_status(400, {}, quoted).model_text == "<function=f>{}</function>"
    in_stream = failures.from_error_body({"code": "tool_use_failed", "failed_generation": "f()"})
    assert (in_stream.kind, in_stream.model_text) == ("model_output", "f()")
    for other in (body("Failed", code="tool_use_failed", failed_generation=[1]), text, "[]"):
        assert from_status(400, {}, other).model_text == ""
    assert from_status(400, {}, body("x", failed_generation="SELECT")).model_text == "SELECT"


@pytest.mark.parametrize(
    "text", ["Internal Server Error", "invalid response from upstream", "could not parse config"]
)
def test_other_5xx_are_not(text):
    assert from_status(500, {}, text).kind == "retryable"


def test_a_refused_key_names_the_variable():
    assert "check the key in the variable MY_KEY" in from_status(401, {}, "", "MY_KEY").message
    unset = from_status(403, {}, "", "MY_KEY", key_sent=False).message
    assert "no key was sent; the variable MY_KEY should hold it" in unset
    assert "option api_key_env" in from_status(401, {}, "").message
    assert "model's name" in from_status(404, {}, "").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": {"message": "a"}}', "a"),
        ('{"error": "b"}', "b"),
        ('{"message": "c"}', "c"),
        ('{"detail": [{"loc": ["body", "seed"]}]}', '[{"loc": ["body", "seed"]}]'),
        ('[{"error": {"code": 429, "message": "d"}}]', "d"),
        ("<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        ("{}", "{}"),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=range(8),
)
def test_provider_message(text, message):
    assert failures.provider_message(text) == message


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "121"}, "", 121.0),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, "", 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, "", 0.0),
        ({"x-ratelimit-reset-requests": "6m1s", "x-ratelimit-remaining-requests": "0"}, "", 361),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-remaining-tokens": "0"}, "", 0.02),
        ({"x-ratelimit-reset-tokens": "20s", "x-ratelimit-remaining-tokens": "5"}, "", None),
        ({"x-ratelimit-reset": str(int(NOW + 7))}, "", 7.0),
        ({"x-ratelimit-reset": str(int((NOW + 7) * 1000))}, "", 7.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:12Z",
                "anthropic-ratelimit-requests-remaining": "0",
            },
            "",
            12.0,
        ),
        ({"x-ms-retry-after-ms": "250"}, "", 0.25),
        ({}, "Please try again in 1.2s.", 1.2),
        ({}, "Please try again in 300ms.", 0.3),
        ({}, '{"retryDelay": "34s"}', 34.0),
        ({}, "try again later", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "1e99"}, "", None),
        ({}, "", None),
    ],
    ids=range(21),
)
def test_retry_after(headers, text, seconds):
    retry_after = parse_retry_after(headers, text, now=NOW)
    assert retry_after == (None if seconds is None else pytest.approx(seconds))


def test_only_failures_worth_a_wait_carry_one():
    headers = {"retry-after": "3"}
    assert from_status(503, headers, "").retry_after == 3
    assert from_status(429, headers, "").retry_after == 3
    assert from_status(400, headers, "").retry_after is None


def caused(outer, inner):
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (TimeoutError(), "retryable", "time limit"),
        (ConnectionResetError(), "retryable", "reset"),
        (aiohttp.ServerDisconnectedError(), "retryable", "unanswered"),
        (aiohttp.SocketTimeoutError(), "retryable", "time limit"),
        (aiohttp.ClientPayloadError("400 of 900 bytes"), "malformed", "cut off"),
        (aiohttp.ClientOSError(104, "reset"), "retryable", "lost"),
        (aiohttp.InvalidURL("x"), "permanent", "base_url"),
        (ReplyUnreadable(), "malformed", "compression"),
        (asyncio.IncompleteReadError(b"", 3), "malformed", "IncompleteReadError"),
        (RuntimeError("secret text"), "malformed", "RuntimeError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_kind_by_exception_also_beneath_the_wrapping(error, kind, words):
    wrapped = caused(ValueError("wrapper"), caused(httpx2.ConnectTimeout("renamed"), error))
    for raised in (error, wrapped):
        failure = from_exception(raised)
        assert failure.kind == kind
        assert words in failure.message or raised is wrapped
        assert "secret text" not in failure.message


def test_an_error_in_a_reply_of_status_200():
    failure = failures.from_error_body({"message": "gone"})
    assert (failure.kind, failure.status) == ("malformed", 200)
    assert "gone" in failure.message
    for code in (429, "429"):
        inner = failures.from_error_body({"code": code, "message": "slow"})
        assert (inner.kind, inner.status) == ("rate_limited", 429)


def test_clean_scrubs_before_it_cuts_and_keeps_one_line():
    key = "Zq7plusEquals0123456789"
    failure = Failure(kind="permanent", message="x" * 490 + f" {key}\n\n tail " + "y" * 900)
    cleaned = sanitize_failure(failure, [key]).message
    assert len(cleaned) == 500
    assert "\n" not in cleaned
    assert "Zq7" not in cleaned
    assert cleaned.endswith("…")
    short = sanitize_failure(Failure(kind="permanent", message="a\n b"), []).message
    assert short == "a b"


def test_a_failure_is_told_in_the_language_of_the_reader_and_holds_no_key_in_either():
    key = "Zq7plusEquals0123456789"
    refused = from_status(401, {}, body(f"Incorrect API key: {key}\n"), "MY_KEY")
    stored = from_json(Failure, to_json(sanitize_failure(refused, [key])))
    assert key not in to_json(stored).decode()
    assert stored.message.startswith("HTTP 401: Incorrect API key: ")
    chinese = translate_note(stored.localizable_message, "zh")
    assert chinese.startswith("HTTP 401: Incorrect API key: ")
    assert chinese.endswith("：请检查环境变量 MY_KEY 中的密钥")
    lost = from_json(Failure, to_json(from_exception(ConnectionResetError())))
    assert lost.message == "the connection was reset (ConnectionResetError)"
    assert translate_note(lost.localizable_message, "zh") == "连接被重置（ConnectionResetError）"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "content_filter", "message": "The response was filtered"}),
        (400, {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        (400, {"message": "triggering Azure OpenAI's content management policy."}),
        (400, {"code": "data_inspection_failed", "message": "Input may be inappropriate."}),
        (400, {"message": "<400> InternalError.Algo.DataInspectionFailed: Input data may contain"}),
        (400, {"message": "Content Exists Risk", "type": "invalid_request_error"}),
        (400, {"status": "PROHIBITED_CONTENT", "message": "no"}),
        (400, {"message": "Invalid prompt: flagged as potentially violating our usage policy."}),
        (403, {"code": 403, "message": "openai/gpt-5 requires moderation on OpenAI."}),
        (400, {"type": "content_filter", "message": "rejected: considered high risk"}),
    ],
)
def test_a_refusal_by_policy_is_told_from_other_errors(status, error):
    assert failures.is_content_filter(status, json.dumps({"error": error}))
    assert failures.is_content_filter(status, json.dumps([{"error": error}]))
    assert not failures.is_content_filter(500, json.dumps({"error": error}))


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unsupported parameter: 'content_filter'", "code": "unsupported_parameter"},
        {"message": "your country is not supported", "code": "unsupported_country"},
        {"message": "invalid model"},
        "no",
        None,
    ],
)
def test_other_refusals_are_not_by_policy(error):
    assert not failures.is_content_filter(400, json.dumps({"error": error}))


def test_half_a_surrogate_pair_in_an_error_is_replaced():
    failure = from_status(500, {}, '{"error": {"message": "bad \\ud800 text"}}')
    assert failure.message == "HTTP 500: bad \ufffd text"
