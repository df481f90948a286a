"""A request that meets the end of a reused connection is sent once more; any other is not."""

from __future__ import annotations

import asyncio

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure, GenerationRequest, Message, TargetSpec
from evalcore.settings import Endpoint, Settings
from evalcore.targets.application import ServiceRequest, ServiceSession
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.closing_server import ClosingServer, closing_server

#: The ways to a server: `bounded` is the client of a guarded board, `application` that of services.
CLIENTS = ("plain", "bounded", "application")
REQUESTS, AT_A_TIME = 24, 4


class Caller:
    """One client of a server; `ask` gives what a request came to."""

    def __init__(self, client: str, server: ClosingServer) -> None:
        self._url = f"{server.base_url}/chat/completions"
        self._wire = self._target = None
        if client == "application":
            self._wire = ServiceSession({}, {}, 20.0)
            return
        endpoint = Endpoint(base_url=server.base_url, local=True)
        access = "passcode" if client == "bounded" else "open"
        settings = Settings(access=access, allow_endpoints=("own",), endpoints={"own": endpoint})
        self._target = create_openai_target(TargetSpec("openai:own/x"), settings, Secrets({}))

    async def __aenter__(self) -> Caller:
        if self._target:
            await self._target.open(lambda line: None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await (self._target or self._wire).close()

    async def ask(self, text: str) -> str | Failure:
        try:
            if self._wire:
                sent = ServiceRequest("POST", self._url, json={"text": text})
                return (await self._wire.send_request(sent))["choices"][0]["message"]["content"]
            request = GenerationRequest(messages=(Message(role="user", content=text),))
            done: Completion = await self._target.generate(request)
            return done.text
        except TargetFailure as failed:
            return failed.failure

    async def ask_all(self) -> list[str | Failure]:
        """The outcomes of many requests, some at a time, so that many connections are reused."""
        free = asyncio.Semaphore(AT_A_TIME)

        async def limited(number: int) -> str | Failure:
            async with free:
                return await self.ask(f"question {number}")

        return await asyncio.gather(*map(limited, range(REQUESTS)))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("closing", ["second", "read", "head", "answer"])
async def test_a_connection_that_is_closed_between_requests_loses_none(client, closing) -> None:
    async with closing_server(closing) as server, Caller(client, server) as caller:
        assert await caller.ask_all() == ["fine"] * REQUESTS
        assert len(set(server.received)) == REQUESTS


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_error_that_closes_its_connection_costs_no_other_request(client) -> None:
    """uvicorn closes after every unhandled exception, without a word in its answer."""
    async with closing_server("second", error_every=3) as server, Caller(client, server) as caller:
        outcomes = await caller.ask_all()
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert {failure.status for failure in failed} == {500}
    assert len(failed) == REQUESTS // 3
    assert len(server.received) == REQUESTS


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_server_that_closes_a_new_connection_is_asked_once(client) -> None:
    async with closing_server("first") as server, Caller(client, server) as caller:
        for number in (1, 2):
            outcome = await caller.ask("crash")
            assert isinstance(outcome, Failure)
            assert outcome.kind == "retryable"
            assert len(server.received) == server.connections == number


@pytest.mark.parametrize("client", CLIENTS)
async def test_connections_are_reused(client) -> None:
    async with closing_server("never") as server, Caller(client, server) as caller:
        assert [await caller.ask("a"), await caller.ask("b")] == ["fine", "fine"]
        assert server.connections == 1
