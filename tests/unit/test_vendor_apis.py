"""The native dialects against servers as strict as the vendors', quirk by quirk: what each is."""

from __future__ import annotations

import json

import pytest

from evalcore.access.secrets import Secrets
from evalcore.cli.main import main
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import GenerationRequest, Message, Sampling, TargetSpec
from evalcore.runner.preflight import build_reply_turn
from evalcore.settings import Settings
from evalcore.targets.endpoint.models import list_served_models
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.vendor_server import ANSWER, KEY, MODEL, serve_vendors

PATHS = {"auto": "/v1", "chat": "/v1", "responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
NATIVE = ("responses", "anthropic", "gemini")
TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
QUESTION = (Message("system", "Be brief."), Message("user", "Weather in Lisbon?"))


def describe(server, api: str, **options) -> TargetSpec:
    values = {"base_url": server.origin + PATHS[api], "api_key_env": "VENDOR_KEY", **options}
    return TargetSpec(f"openai:{MODEL}", {"api": api} | values)


async def ask(server, api: str, *requests: GenerationRequest, key: str = KEY, **options):
    """The answers, each of which is a turn of the next request; and the target."""
    spec = describe(server, api, **options)
    target = create_openai_target(spec, Settings(), Secrets({"VENDOR_KEY": key}))
    await target.open(lambda line: None)
    try:
        return [await target.generate(request) for request in requests], target
    finally:
        await target.close()


def plain(**sampling) -> GenerationRequest:
    return GenerationRequest(QUESTION, sampling=Sampling(**sampling))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", NATIVE)
async def test_a_call_its_result_and_what_the_vendor_wants_back(api, stream):
    with serve_vendors() as server:
        first = GenerationRequest(QUESTION, (TOOL,))
        [called], _ = await ask(server, api, first, stream=stream)
        assert called.finish_reason == "tool_calls"
        assert called.tool_calls[0].arguments == '{"city": "Lisbon"}'
        assert called.opaque
        result = Message("tool", "sunny", tool_call_id=called.tool_calls[0].id)
        turns = (*QUESTION, build_reply_turn(called), result)
        [answer], target = await ask(server, api, GenerationRequest(turns, (TOOL,)), stream=stream)
    assert (answer.text, answer.finish_reason) == (ANSWER, "stop")
    assert answer.usage.output_tokens == 5
    assert answer.attempts == 1
    assert target.info.card["api"] == api
    assert (answer.time_to_first_token is not None) == stream


@pytest.mark.parametrize("api", NATIVE)
async def test_a_turn_without_what_it_needs_is_refused_by_the_server(api):
    with serve_vendors() as server:
        first = GenerationRequest(QUESTION, (TOOL,))
        [called], _ = await ask(server, api, first)
        bare = Message("assistant", tool_calls=called.tool_calls)
        result = Message("tool", "sunny", tool_call_id=called.tool_calls[0].id)
        with pytest.raises(TargetFailure) as refused:
            await ask(server, api, GenerationRequest((*QUESTION, bare, result), (TOOL,)))
    assert refused.value.failure.kind == "permanent"


#: Quirk by quirk: how an answer ends, after how many requests, and what is left out from then on.
ADAPTED = [
    (
        "responses",
        "no_temperature",
        {"temperature": 0.0},
        "stop",
        2,
        ["seed", "stop", "temperature"],
    ),
    ("responses", "cut_by_limit", {}, "length", 1, ["seed", "stop"]),
    ("responses", "overflow", {}, "context_overflow", 1, ["seed", "stop"]),
    ("responses", "policy", {}, "content_filter", 1, ["seed", "stop"]),
    ("anthropic", "one_of_two", {"temperature": 0.0, "top_p": 0.9}, "stop", 2, ["seed", "top_p"]),
    ("anthropic", "no_temperature", {"temperature": 0.0}, "stop", 2, ["seed", "temperature"]),
    (
        "anthropic",
        "",
        {"temperature": 0.0, "reasoning_effort": "low"},
        "stop",
        2,
        ["seed", "temperature"],
    ),
    ("anthropic", "small_limit", {}, "stop", 2, ["seed"]),
    ("anthropic", "full_context", {}, "stop", 2, ["seed"]),
    ("anthropic", "overflow", {}, "context_overflow", 1, ["seed"]),
    ("anthropic", "refusal", {}, "content_filter", 1, ["seed"]),
    ("anthropic", "cut_by_limit", {}, "length", 1, ["seed"]),
    ("gemini", "no_system", {}, "stop", 2, []),
    ("gemini", "small_limit", {"max_tokens": 100_000}, "stop", 2, []),
    ("gemini", "overflow", {}, "context_overflow", 1, []),
    ("gemini", "blocked", {}, "content_filter", 1, []),
    ("gemini", "safety", {}, "content_filter", 1, []),
]


@pytest.mark.parametrize(("api", "quirk", "sampling", "finish", "attempts", "dropped"), ADAPTED)
async def test_what_is_ours_is_adapted_once(api, quirk, sampling, finish, attempts, dropped):
    with serve_vendors(quirk) as server:
        [answer, again], target = await ask(server, api, plain(**sampling), plain(**sampling))
    assert (answer.finish_reason, answer.attempts) == (finish, attempts)
    assert again.attempts == (2 if quirk == "full_context" else 1)
    assert target.info.card["dropped"] == dropped


async def test_a_limit_is_lowered_to_what_the_model_takes():
    with serve_vendors("small_limit") as server:
        [answer], _ = await ask(server, "gemini", plain(max_tokens=100_000))
        assert answer.sent["maxOutputTokens"] == 65_536
        [answer], _ = await ask(server, "anthropic", plain())
        assert answer.sent["max_tokens"] == 8192


FAILED = [
    ("responses", "failed", "retryable"),
    ("responses", "cut_stream", "malformed"),
    ("anthropic", "overloaded", "retryable"),
    ("anthropic", "overloaded_midway", "retryable"),
    ("anthropic", "credit", "permanent"),
    ("anthropic", "new_end", "malformed"),
    ("anthropic", "cut_stream", "malformed"),
    ("gemini", "quota", "rate_limited"),
    ("gemini", "malformed_call", "model_output"),
    ("gemini", "other", "retryable"),
    ("gemini", "cut_stream", "malformed"),
]


@pytest.mark.parametrize(("api", "quirk", "kind"), FAILED)
async def test_what_is_the_providers_is_no_answer(api, quirk, kind):
    with serve_vendors(quirk) as server, pytest.raises(TargetFailure) as failed:
        await ask(server, api, plain())
    assert failed.value.failure.kind == kind
    assert failed.value.failure.retry_after == (41.0 if quirk == "quota" else None)


@pytest.mark.parametrize("api", NATIVE)
async def test_a_wrong_key_is_permanent_and_not_repeated(api):
    wrong = "another-canary-9876543210"
    with serve_vendors() as server, pytest.raises(TargetFailure) as failed:
        await ask(server, api, plain(), key=wrong)
    assert failed.value.failure.kind == "permanent"
    assert wrong not in failed.value.failure.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("quirk", ["tools_by_responses", "only_responses"])
async def test_a_model_that_names_the_responses_api_is_asked_there(quirk):
    request = GenerationRequest(QUESTION, (TOOL,))
    with serve_vendors(quirk) as server:
        [answer, _], target = await ask(server, "auto", request, request)
        assert answer.attempts == 2
        assert answer.tool_calls
        assert [path for path, _ in server.requests] == [
            "/v1/chat/completions",
            *["/v1/responses"] * 2,
        ]
        assert target.info.card["api"] == "responses"
        assert "v1/responses" in target.info.card["api_reason"]
        with pytest.raises(TargetFailure):  # a person who chose a dialect gets no other
            await ask(server, "chat", request)


async def test_a_server_without_the_named_api_keeps_its_own():
    with serve_vendors("named_in_vain") as server:
        target = create_openai_target(
            describe(server, "auto"), Settings(), Secrets({"VENDOR_KEY": KEY})
        )
        await target.open(lambda line: None)
        for _ in range(2):
            with pytest.raises(TargetFailure, match="only supported in v1/responses"):
                await target.generate(plain())
        await target.close()
        assert [path for path, _ in server.requests] == [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/chat/completions",
        ]
        assert target.info.card["api"] == "chat"


async def test_encrypted_reasoning_is_not_asked_for_where_it_is_refused():
    with serve_vendors("no_encrypted") as server:
        request = plain(reasoning_effort="low")
        [answer], _ = await ask(server, "responses", request)
    assert answer.attempts == 2
    assert "include" not in answer.sent


async def test_headers_of_a_gateway_go_with_every_request():
    with serve_vendors() as server:
        await ask(server, "anthropic", plain(), headers={"X-Tenant": "$VENDOR_KEY", "X-Team": "a"})
    _, headers = server.requests[0]
    assert (headers["x-tenant"], headers["x-team"]) == (KEY, "a")


@pytest.mark.parametrize(
    ("api", "quirk", "names"),
    [
        ("responses", "", ["gpt-a", "gpt-b"]),
        ("chat", "bare_list", ["a", "b"]),
        ("anthropic", "", ["claude-a", "claude-b"]),
        ("gemini", "", ["gemini-a", "gemini-b"]),
    ],
)
async def test_a_key_lists_what_it_reaches(api, quirk, names):
    with serve_vendors(quirk) as server:
        spec = describe(server, api)
        models = await list_served_models(spec, Settings(), Secrets({"VENDOR_KEY": KEY}))
    assert [model.id for model in models] == names


async def test_a_server_without_a_list_says_so():
    with serve_vendors("no_list") as server, pytest.raises(TargetFailure, match="404"):
        await list_served_models(describe(server, "chat"), Settings(), Secrets({"VENDOR_KEY": KEY}))


def test_the_command_lists_models_and_names_what_it_does_not_know(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("VENDOR_KEY", KEY)
    options = ["--target-option", "api_key_env=VENDOR_KEY", "--data", str(tmp_path)]
    with serve_vendors() as server:
        address = server.origin + "/v1"
        assert main(["models", address, *options, "--target-option", "api=anthropic"]) == 0
        assert capsys.readouterr().out.split() == [
            "claude-a",
            "200,000",
            "tokens",
            "Claude",
            "A",
            "claude-b",
        ]
        assert main(["models", address, *options, "--json"]) == 0
        assert [model["id"] for model in json.loads(capsys.readouterr().out)] == ["gpt-a", "gpt-b"]
    assert main(["models", "nowhere", *options]) == 2
    assert "one of: openai, deepseek" in capsys.readouterr().err


def test_a_run_says_that_the_server_named_another_api(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("VENDOR_KEY", KEY)
    data = ["--data", str(tmp_path)]
    with serve_vendors("tools_by_responses") as server:
        options = [f"base_url={server.origin}/v1", "api_key_env=VENDOR_KEY"]
        words = ["run", "--target", f"openai:{MODEL}", "--benchmarks", "bfcl", "--max-samples", "2"]
        words += [part for option in options for part in ("--target-option", option)]
        assert main([*words, *data]) == 0
        assert sum(path.endswith("/chat/completions") for path, _ in server.requests) == 1
        assert all(body.get("tools") for body in server.bodies)
    assert "the server named another API: responses: HTTP 400" in capsys.readouterr().out
    [run] = (tmp_path / "runs").iterdir()
    kinds = [json.loads(line)["kind"] for line in (run / "events.jsonl").read_text().splitlines()]
    assert kinds.count("api") == 1
    assert "tool calls were asked for by prompt" not in capsys.readouterr().out


async def test_azure_takes_its_key_and_version_its_own_way():
    with serve_vendors() as server:
        options = {"api_key_env": "VENDOR_KEY", "auth": "api-key", "api_version": "2024-10-21"}
        base_url = f"{server.origin}/openai/deployments/house"
        spec = TargetSpec("openai:gpt", {"base_url": base_url, **options})
        target = create_openai_target(spec, Settings(), Secrets({"VENDOR_KEY": KEY}))
        await target.open(lambda line: None)
        await target.generate(plain())
        await target.close()
    [(path, headers)] = server.requests
    assert path == "/openai/deployments/house/chat/completions?api-version=2024-10-21"
    assert headers["api-key"] == KEY
    assert "authorization" not in headers


async def test_a_visitor_lists_models_where_they_may_ask_only():
    with serve_vendors() as server:
        settings = Settings(access="passcode", allow_endpoints=("openai",))
        with pytest.raises(UsageError):
            await list_served_models(
                describe(server, "chat"), settings, Secrets({"VENDOR_KEY": KEY})
            )
        assert not server.requests
