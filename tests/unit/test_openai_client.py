"""The SDK of OpenAI as a client: what goes out and comes back is as by plain HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, GenerationRequest, Message, TargetSpec
from evalcore.settings import Settings
from evalcore.targets.endpoint.sdk import SdkTransport, choose_transport
from evalcore.targets.endpoint.target import create_openai_target
from evalcore.targets.endpoint.transport import Transport
from tests.support.exchange_parts import Exchange, chat, error, events, response, spoken
from tests.support.provider_exchanges import serve_exchange

REQUEST = GenerationRequest((Message("user", "hi"),))


async def ask(exchange: Exchange, **options: object) -> tuple[Completion, list[dict]]:
    async with serve_exchange(exchange) as (base_url, bodies):
        options = {"base_url": base_url, "api": exchange.api, "max_tokens": 64, **options}
        target = create_openai_target(
            TargetSpec("openai:m", options), Settings(request_timeout=20.0), Secrets({})
        )
        await target.open(lambda line: None)
        try:
            return await target.generate(REQUEST), bodies
        finally:
            await target.close()


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [True, False])
async def test_both_clients_send_the_same_and_read_the_same(api: str, stream: bool) -> None:
    whole = chat() if api == "chat" else response([spoken()])
    exchange = Exchange("plain", api, "fine", lambda body: whole)
    extra = {"extra_body": {"odd": {"nested": [1, None]}}, "stream": stream}
    by_http, plain = await ask(exchange, client="aiohttp", **extra)
    by_sdk, own = await ask(exchange, client="openai", **extra)
    assert own == plain
    assert (by_sdk.text, by_sdk.sent, by_sdk.usage) == (by_http.text, by_http.sent, by_http.usage)


async def test_a_stream_by_the_sdk_knows_its_first_piece() -> None:
    done, _ = await ask(
        Exchange("s", "chat", "fine", lambda _: events("o", "k", ("stop",))), client="openai"
    )
    assert done.text == "ok"
    assert done.time_to_first_token is not None


@pytest.mark.parametrize(
    ("status", "kind"), [(500, "retryable"), (429, "rate_limited"), (401, "permanent")]
)
async def test_the_sdk_tries_nothing_again(status: int, kind: str) -> None:
    seen: list[int] = []

    def refuse(body: dict) -> tuple:
        seen.append(status)
        return status, error("no"), {"x-should-retry": "true", "retry-after": "7"}

    with pytest.raises(TargetFailure) as caught:
        await ask(Exchange("refused", "responses", "provider", refuse), client="openai")
    assert caught.value.failure.kind == kind
    assert len(seen) == 1
    assert caught.value.failure.retry_after == (None if status == 401 else 7.0)


async def test_the_sdk_follows_no_redirect() -> None:
    seen: list[dict] = []

    def elsewhere(body: dict) -> tuple:
        seen.append(body)
        return 307, b"", {"location": "http://127.0.0.1:9/v1/responses"}

    with pytest.raises(TargetFailure):
        await ask(Exchange("elsewhere", "responses", "provider", elsewhere), client="openai")
    assert len(seen) == 1


async def test_a_huge_error_is_cut() -> None:
    page = error("x" * 3_000_000)
    with pytest.raises(TargetFailure) as caught:
        await ask(Exchange("huge", "chat", "provider", lambda _: (400, page)), client="openai")
    assert len(caught.value.failure.message) <= 500


def test_the_client_fits_the_dialect_the_server_and_what_is_installed(monkeypatch) -> None:
    assert choose_transport("k", "auto", "responses", None) is SdkTransport
    assert choose_transport("k", "auto", "chat", None) is Transport
    assert choose_transport("k", "openai", "chat", None) is SdkTransport
    assert choose_transport("k", "aiohttp", "responses", None) is Transport
    restricted = object()  # any policy
    assert choose_transport("k", "auto", "responses", restricted) is Transport
    for api, policy in (("gemini", None), ("chat", restricted)):
        with pytest.raises(UsageError, match="client openai supports"):
            choose_transport("k", "openai", api, policy)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("evalcore.targets.endpoint.sdk.find_spec", lambda name: None)
    assert choose_transport("k", "auto", "responses", None) is Transport
    with pytest.raises(UsageError, match="evalboard\\[openai\\]"):
        choose_transport("k", "openai", "chat", None)


def test_nothing_imports_the_sdk_before_it_is_used() -> None:
    import subprocess

    code = (
        "import sys, evalcore.targets.endpoint.target; "
        "print([m for m in ('openai', 'httpx2', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_sdk_names_no_account_and_no_key_of_the_environment(monkeypatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"canary-{name}-0123456789")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Canary: canary-custom")
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = json.dumps(chat()[1]).encode()
        head = f"HTTP/1.1 200 X\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1?api-version=1"
        options = {"base_url": base_url, "client": "openai", "auth": "api-key", "stream": False}
        spec = TargetSpec("openai:m", {**options, "api_key_env": "OWN_KEY"})
        target = create_openai_target(
            spec, Settings(request_timeout=20.0), Secrets({"OWN_KEY": "canary-own-0123456789"})
        )
        await target.open(lambda line: None)
        await target.generate(REQUEST)
        await target.close()
    [head] = heads
    assert head.startswith("POST /v1/chat/completions?api-version=1 ")
    assert "api-key: canary-own-0123456789" in head
    assert head.count("canary-") == 1
    assert "authorization:" not in head.lower()
