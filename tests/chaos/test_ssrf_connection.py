"""What was allowed by name is looked at again where the connection is made.

Names that mean another address at the second look, and proxies that look names up by themselves. A
server on the loopback counts what reaches it, and it must be nothing.
"""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from evalcore.access import egress
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client, request_policy
from evalcore.settings import Endpoint, Settings
from tests.support.counting_server import INSIDE, ask, bound_settings, counter, listing, to
from tests.support.loopback_server import serve


@pytest.fixture
def bound(tmp_path, monkeypatch) -> Settings:
    return bound_settings(tmp_path, monkeypatch)


def test_a_connection_test_of_a_visitor_reaches_no_private_server(bound):
    """Through the whole door: page, subprocess, target."""
    with counter() as server:
        settings = listing(bound, f"127.0.0.1:{server.port}", f"localhost:{server.port}")
        for host in ("127.0.0.1", "localhost"):
            options = {"base_url": f"http://{host}:{server.port}/v1"}
            with pytest.raises(UsageError, match="is not public"):
                client.test_connection("openai:x", options, {}, settings, visitor=INSIDE)
            with pytest.raises(UsageError, match="is not public"):
                client.launch_run(to(options["base_url"]), {}, settings, visitor=INSIDE)
        assert server.reached == 0


def test_a_name_that_changes_its_meaning_is_refused_at_the_connection(bound, monkeypatch):
    """Public when the run is planned, this machine when it is asked."""
    with counter() as server:
        settings = listing(bound, f"rebind.example:{server.port}")
        address = f"http://rebind.example:{server.port}/v1"
        answers = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])
        monkeypatch.setattr(egress, "resolve_host", lambda host, port: next(answers))
        request_policy.verify_request(to(address), settings, Secrets({}))
        with pytest.raises(TargetFailure, match="no connection is made"):
            asyncio.run(ask(TargetSpec("openai:x", {"base_url": address}), settings))
        assert server.reached == 0


def test_a_name_with_one_private_address_among_others_is_refused(bound, monkeypatch):
    mixed = ["93.184.216.34", "127.0.0.1"]
    monkeypatch.setattr(egress, "resolve_host", lambda host, port: mixed)
    with pytest.raises(UsageError, match="is not public"):
        request_policy.verify_request(to("http://allowed.example/v1"), bound, Secrets({}))
    with pytest.raises(TargetFailure):
        asyncio.run(ask(TargetSpec("openai:x", {"base_url": "http://allowed.example/v1"}), bound))


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(bound, monkeypatch):
    """The name is sent as Host, and is not looked up again: a server that answers to any number."""
    seen = []

    async def connect(addr_infos, **options):
        seen.extend(info[4][0] for info in addr_infos)
        raise OSError("no network in tests")

    monkeypatch.setattr(aiohttp.connector.aiohappyeyeballs, "start_connection", connect)
    result = ["93.184.216.34", "93.184.216.35"]
    lookups = iter([result])
    monkeypatch.setattr(egress, "resolve_host", lambda host, port: next(lookups))
    with pytest.raises(TargetFailure):
        asyncio.run(ask(TargetSpec("openai:x", {"base_url": "https://allowed.example/v1"}), bound))
    assert sorted(set(seen)) == result


def test_no_proxy_of_the_environment_is_used(bound, monkeypatch):
    """A proxy looks names up by itself, so that it would be asked for whatever was named."""
    with counter() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        settings = listing(bound, "127.0.0.1:9")
        with pytest.raises(TargetFailure):
            asyncio.run(
                ask(TargetSpec("openai:x", {"base_url": "http://127.0.0.1:9/v1"}), settings)
            )
        assert proxy.reached == 0


def test_within_reach_failures_are_told_apart_as_elsewhere():
    """The client that is held back is another one; what it says of a server must be the same."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    own = Endpoint(base_url=f"http://127.0.0.1:{port}/v1", local=True)
    settings = Settings(access="passcode", allow_endpoints=("own",), endpoints={"own": own})
    with pytest.raises(TargetFailure) as caught:
        asyncio.run(ask(TargetSpec("openai:own/x"), settings))
    assert caught.value.failure.kind == "retryable"
    with counter(b"") as silent:
        own = Endpoint(base_url=f"http://127.0.0.1:{silent.port}/v1", local=True)
        settings = Settings(access="passcode", allow_endpoints=("own",), endpoints={"own": own})
        with pytest.raises(TargetFailure) as caught:
            asyncio.run(ask(TargetSpec("openai:own/x"), settings))
        assert caught.value.failure.kind == "retryable"


def test_an_allowed_server_is_asked_as_ever():
    with serve() as server:
        own = Endpoint(base_url=server.base_url, local=True)
        settings = Settings(access="passcode", allow_endpoints=("own",), endpoints={"own": own})
        asyncio.run(ask(TargetSpec("openai:own/x"), settings))
        assert server.stats()["requests"] == 1
