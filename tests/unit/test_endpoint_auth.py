"""How requests prove whose they are: headers by provider, signatures for Amazon, printed keys."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.settings import Endpoint, Settings
from evalcore.targets.endpoint.auth import (
    Authorizer,
    AwsCredentials,
    read_aws_credentials,
    resolve_headers,
    run_key_command,
    sign_aws_request,
)
from evalcore.targets.endpoint.select import adjust_base_url, choose_api, find_named_api
from evalcore.targets.endpoints import resolve_route

AZURE = "https://house.openai.azure.com/openai/deployments/gpt"
AWS = (
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/eu.anthropic.claude-opus-5-v1%3A0/invoke"
)
MANTLE = "https://bedrock-mantle.eu-central-1.api.aws/v1/models?limit=10&after_id=x"
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def dialect_way(key: str, url: str, body: bytes) -> dict[str, str]:
    return {"x-own": key}


@pytest.mark.parametrize(
    ("endpoint", "headers"),
    [
        (Endpoint("https://a.example"), {"x-own": "k"}),
        (Endpoint("https://a.example", auth="bearer"), {"Authorization": "Bearer k"}),
        (Endpoint("https://a.example", auth="x-api-key"), {"x-api-key": "k"}),
        (Endpoint(AZURE), {"api-key": "k"}),
        (Endpoint(AZURE, auth="bearer"), {"Authorization": "Bearer k"}),
        (Endpoint("https://house.services.ai.azure.com/anthropic"), {"x-own": "k"}),
    ],
)
def test_the_key_goes_where_the_provider_looks_for_it(endpoint, headers):
    assert Authorizer(endpoint, "k").build_headers("u", b"", dialect_way) == headers


#: Computed by botocore 1.44.5 from the same requests.
@pytest.mark.parametrize(
    ("url", "body", "token", "signature"),
    [
        (AWS, b'{"a": 1}', "", "1bc2997e501f45acd8f27ccbc26ec580f5ba4becd4fcc0aaa739f8559cc77561"),
        (MANTLE, b"", "", "5ed843d3c1c36a08f0e91e8e4a40e86f57679ff52a83024e32a2a36d8b7ed5de"),
        (
            AWS,
            b'{"a": 1}',
            "tok+/=",
            "6dddb846fe5c6e41595e088d3afa051e1beddbe2788e14c7fa36b613cb2c154a",
        ),
        (MANTLE, b"", "tok+/=", "9bef841905d7efa55e3a15b316801e2ab8e6b30872e797591791e6c4d3abce98"),
    ],
)
def test_signatures_are_those_of_amazons_own_library(url, body, token, signature):
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    headers = sign_aws_request(AwsCredentials("AKIDEXAMPLE", secret, token), url, body, NOON)
    assert headers["Authorization"].rpartition("Signature=")[2] == signature
    assert headers["X-Amz-Date"] == "20261123T120000Z"
    assert headers.get("X-Amz-Security-Token", "") == token


def test_a_signature_needs_a_region():
    with pytest.raises(UsageError, match="names its region"):
        sign_aws_request(AwsCredentials("a", "b"), "https://gateway.example/x", b"{}")


def test_credentials_come_from_variables_or_a_command(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    assert read_aws_credentials(None) == AwsCredentials("a", "b")
    printed = {"Version": 1, "AccessKeyId": "c", "SecretAccessKey": "d", "SessionToken": "e"}
    assert read_aws_credentials(json.dumps(printed)) == AwsCredentials("c", "d", "e")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for printed in (None, "{}", "[1]", "token"):
        with pytest.raises(UsageError, match="sigv4"):
            read_aws_credentials(printed)


def command(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


async def test_a_key_by_command_is_fetched_once_and_again_where_it_is_refused(tmp_path):
    path = tmp_path / "count"
    path.write_text("")
    code = f"from pathlib import Path\np = Path({str(path)!r})\np.write_text(p.read_text() + 'x')\n"
    printing = command(code + "print('token-' + p.read_text())")
    authorizer = Authorizer(Endpoint("https://a.example", api_key_command=printing), None)
    assert await authorizer.refresh()
    assert not await authorizer.refresh()
    assert authorizer.build_headers("u", b"", dialect_way) == {"Authorization": "Bearer token-x"}
    assert await authorizer.refresh(rejected="token-x")
    assert await authorizer.refresh(rejected="token-x")  # another request was refused with the old
    assert authorizer.secrets == ["token-xx"]


@pytest.mark.parametrize(
    ("printing", "problem"),
    [
        (command("raise SystemExit(3)"), "ended with code 3"),
        (command("print()"), "printed no key"),
        (command("print('two words')"), "printed no key"),
        (("/nowhere/at-all",), "cannot be started"),
        ((), "cannot be started"),
        ("'", "cannot be started"),
    ],
)
async def test_a_command_that_prints_no_key_is_named(printing, problem):
    with pytest.raises(UsageError, match=problem):
        await run_key_command(printing)


async def test_amazons_credentials_by_command_sign():
    printed = json.dumps({"AccessKeyId": "c", "SecretAccessKey": "d", "SessionToken": "e"})
    endpoint = Endpoint(AWS, auth="sigv4", api_key_command=command(f"print({printed!r})"))
    authorizer = Authorizer(endpoint, None)
    await authorizer.refresh()
    headers = authorizer.build_headers(AWS, b"{}", dialect_way)
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=c/")
    assert "e" in authorizer.secrets


def test_headers_take_their_secrets_from_variables():
    secrets = Secrets({"TENANT": "t-1"})
    assert resolve_headers({"X-Tenant": "$TENANT", "X-Team": "sql"}, secrets) == {
        "X-Tenant": "t-1",
        "X-Team": "sql",
    }
    for headers, problem in (
        ({"X-Tenant": "$MISSING_TENANT"}, "MISSING_TENANT of X-Tenant is not set"),
        ({"Host": "x"}, "is not a header"),
        ({"X A": "x"}, "is not a header"),
        ({"X-A": "a\r\nX-B: b"}, "no header can have"),
    ):
        with pytest.raises(UsageError, match=problem):
            resolve_headers(headers, secrets)


@pytest.mark.parametrize(
    ("base_url", "model", "api"),
    [
        ("https://api.openai.com/v1", "gpt-4.1", "chat"),
        ("https://api.openai.com/v1", "gpt-5.2", "chat"),
        ("https://api.openai.com/v1", "gpt-5.4-mini", "responses"),
        ("https://api.openai.com/v1", "gpt-5.6-terra", "responses"),
        ("https://api.openai.com/v1", "gpt-6", "responses"),
        ("https://api.openai.com/v1", "o3-pro", "responses"),
        ("https://api.openai.com/v1", "gpt-5.1-codex", "responses"),
        ("https://house.openai.azure.com/openai/v1", "gpt-5.4", "responses"),
        ("https://gateway.example/v1", "gpt-5.4", "chat"),
        ("https://api.anthropic.com/v1", "claude-opus-5", "anthropic"),
        ("https://api.deepseek.com/anthropic", "deepseek-chat", "anthropic"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "anthropic.claude", "anthropic"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "gpt-oss", "chat"),
        ("https://generativelanguage.googleapis.com/v1beta", "gemini-3-pro", "gemini"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", "chat"),
        ("https://x-aiplatform.googleapis.com/v1/projects/p/publishers/google", "g", "gemini"),
        (
            "https://x-aiplatform.googleapis.com/v1/p/publishers/anthropic",
            "c",
            "anthropic",
        ),
    ],
)
def test_the_dialect_is_chosen_by_address_and_model(base_url, model, api):
    assert choose_api(Endpoint(base_url), model) == api
    compatible = base_url.endswith("/openai")
    assert choose_api(Endpoint(base_url, api="gemini"), model) == "chat" if compatible else "gemini"
    assert choose_api(Endpoint(base_url, api="gemini"), model, "chat") == "chat"


@pytest.mark.parametrize(
    ("status", "words", "api"),
    [
        (400, "... not supported for gpt-5.6 in /v1/chat/completions. Use /v1/responses", True),
        (404, "This model is only supported in v1/responses and not in v1/chat/completions", True),
        (400, "this model does not support tools", False),
        (500, "use /v1/responses", False),
    ],
)
def test_a_refusal_may_name_the_dialect(status, words, api):
    assert find_named_api("chat", status, words) == ("responses" if api else None)
    assert find_named_api("responses", status, words) is None


@pytest.mark.parametrize(
    ("base_url", "api", "adjusted"),
    [
        ("https://generativelanguage.googleapis.com/v1beta", "chat", "/v1beta/openai"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini", "/v1beta"),
        ("https://generativelanguage.googleapis.com", "gemini", "/v1beta"),
        ("https://gateway.example", "gemini", "/v1beta"),
        ("https://api.deepseek.com/anthropic", "anthropic", "/anthropic/v1"),
        ("https://api.anthropic.com", "anthropic", "/v1"),
        ("https://gateway.example/claude", "anthropic", "/claude"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "anthropic", "/"),
        ("https://x-aiplatform.googleapis.com/v1/publishers/anthropic", "anthropic", ""),
        (f"{AZURE}?api-version=1", "responses", "/openai?api-version=1"),
        (f"{AZURE}?api-version=1", "chat", "/openai/deployments/gpt?api-version=1"),
    ],
)
def test_an_address_is_that_of_the_dialect(base_url, api, adjusted):
    found = adjust_base_url(base_url, api).partition("//")[2].partition("/")[2]
    assert found == adjusted[1:] or (not adjusted and adjust_base_url(base_url, api) == base_url)


def test_a_proxy_of_this_machine_is_asked_by_chat_completions():
    """As most proxies are; what it stands for says nothing of what it speaks."""
    route = resolve_route("openai:anthropic/claude-opus-5", Settings(), "http://127.0.0.1:4000/v1")
    assert choose_api(route.endpoint, route.model) == "chat"
    own = resolve_route("openai:anthropic/claude-opus-5", Settings())
    assert choose_api(own.endpoint, own.model) == "anthropic"


def test_what_an_endpoint_sends_goes_nowhere_else():
    endpoint = Endpoint(
        "https://house.example/v1",
        api="anthropic",
        auth="sigv4",
        headers={"X-Tenant": "$TENANT"},
        api_key_command=("print-key",),
        api_version="2024-10-21",
    )
    settings = Settings(endpoints={"house": endpoint})
    own = resolve_route("openai:house/m", settings).endpoint
    assert own.base_url == "https://house.example/v1?api-version=2024-10-21"
    assert (own.headers, own.auth, own.api_key_command) == (
        endpoint.headers,
        "sigv4",
        ("print-key",),
    )
    moved = resolve_route("openai:house/m", settings, "https://other.example/v1").endpoint
    assert moved.base_url == "https://other.example/v1"
    assert (moved.headers, moved.auth, moved.api, moved.api_key_command) == ({}, "auto", "auto", ())
    versioned = resolve_route("openai:m", settings, AZURE, "K", "2025-01-01").endpoint
    assert versioned.base_url == f"{AZURE}?api-version=2025-01-01"


@pytest.mark.parametrize("option", ["headers", "auth"])
def test_a_visitor_names_no_headers_or_credentials(option):
    from evalcore.records import TargetSpec
    from evalcore.targets.endpoints import check_endpoint

    values = {"headers": {"X-A": "b"}, "auth": "sigv4"}
    settings = Settings(access="passcode", allow_endpoints=("openai",))
    with pytest.raises(UsageError, match=option):
        check_endpoint(TargetSpec("openai:m", {option: values[option]}), settings, Secrets())
