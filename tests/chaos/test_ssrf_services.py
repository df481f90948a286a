"""Nothing that is asked on behalf of a visitor leads on to a server of its own choice.

Redirects, the addresses of services, judges and simulated users. A server on the loopback counts
what reaches it, and it must be nothing.
"""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from evalcore.access.egress import EgressPolicy, Origin
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client, request_policy
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Endpoint, Settings
from evalcore.targets import registry
from evalcore.targets.application import ServiceRequest, ServiceSession
from tests.support.counting_server import (
    INSIDE,
    KEY,
    ask,
    bound_settings,
    counter,
    listing,
    sent,
    to,
)


@pytest.fixture
def bound(tmp_path, monkeypatch) -> Settings:
    return bound_settings(tmp_path, monkeypatch)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("scheme", ["http://127.0.0.1:{port}/v1", "//127.0.0.1:{port}/", "/v1/x"])
def test_no_redirect_is_followed(status, scheme):
    """An operator's own server is asked as named; where it sends us is its choice, not theirs."""
    with counter() as target:
        encoded = scheme.format(port=target.port).encode()
        head = f"HTTP/1.1 {status} Moved\r\ncontent-length: 0\r\nlocation: ".encode()
        with counter(head + encoded + b"\r\nconnection: close\r\n\r\n") as moved:
            own = Endpoint(base_url=f"http://127.0.0.1:{moved.port}/v1", local=True)
            settings = Settings(access="passcode", allow_endpoints=("own",), endpoints={"own": own})
            with pytest.raises(TargetFailure):
                asyncio.run(ask(TargetSpec("openai:own/x"), settings))
            assert (moved.reached, target.reached) == (1, 0)


def test_a_service_is_redirected_within_itself_only():
    with counter() as target:
        answer = (
            f"HTTP/1.1 307 Moved\r\ncontent-length: 0\r\nlocation: http://127.0.0.1:{target.port}/"
            "\r\nconnection: close\r\n\r\n"
        )
        with counter(answer.encode()) as moved:
            reach = EgressPolicy(Origin("http", "127.0.0.1", moved.port), public=False)
            outgoing = ServiceRequest("POST", f"http://127.0.0.1:{moved.port}/a", json={})
            with pytest.raises(TargetFailure, match="another host"):
                asyncio.run(sent(ServiceSession({}, {}, 5.0, reach), outgoing))
            assert (moved.reached, target.reached) == (1, 0)


def test_the_path_of_a_service_leads_to_no_other_host():
    """What a case holds is put into the path; it must not become the host."""
    reach = EgressPolicy(Origin("http", "allowed.example", 80))
    for url in (
        "http://allowed.example@127.0.0.1/",
        "http://127.0.0.1/",
        "https://allowed.example/",
    ):
        with pytest.raises((TargetFailure, UsageError)):
            asyncio.run(sent(ServiceSession({}, {}, 5.0, reach), ServiceRequest("GET", url)))


def test_a_typed_address_of_a_service_is_a_visitors_address(bound, monkeypatch):
    """The variable of a description's address may be typed; then it counts as named by them."""
    monkeypatch.delenv("SQLFLASH_URL", raising=False)
    with counter() as server:
        service = registry.create_target(TargetSpec("app:sqlflash"), bound, Secrets({}))
        [variable] = service.description.address_variables
        keys = dict.fromkeys(service.description.key_variables, KEY)
        typed = keys | {variable: f"http://127.0.0.1:{server.port}"}
        target = registry.create_target(TargetSpec("app:sqlflash"), bound, Secrets(typed))
        with pytest.raises(UsageError, match="allow_endpoints"):
            asyncio.run(target.open(lambda line: None))
        with pytest.raises(UsageError, match="allow_endpoints"):
            client.test_connection("app:sqlflash", {}, typed, bound, visitor=INSIDE)
        assert server.reached == 0
    monkeypatch.setenv(variable, "http://10.0.0.9")
    own = registry.create_target(TargetSpec("app:sqlflash"), bound, Secrets(keys))
    assert own.egress_policy() == EgressPolicy(Origin("http", "10.0.0.9", 80), public=False)


def test_only_a_server_of_the_operators_own_may_be_in_his_network(bound):
    endpoints = {
        "lab": Endpoint(base_url="http://10.0.0.5:8000/v1", local=True),
        "odd": Endpoint(base_url="http://10.0.0.6/v1"),
    }
    settings = msgspec.structs.replace(
        bound, endpoints=endpoints, allow_endpoints=("lab", "odd", "10.0.0.5:8000")
    )
    named = RunRequest(target="openai:lab/x", benchmarks=("sql_understanding",))
    request_policy.verify_request(named, settings, Secrets({}))
    for request in (
        RunRequest(target="openai:odd/x", benchmarks=("sql_understanding",)),
        to("http://10.0.0.5:8000/other"),
    ):
        with pytest.raises(UsageError, match="is not public"):
            request_policy.verify_request(request, settings, Secrets({}))


@pytest.mark.parametrize("kind", ["judge", "user"])
def test_judges_and_simulated_users_are_held_to_the_same(bound, kind):
    model = "openai:x?base_url=http://169.254.169.254/latest"
    options = {"tau_bench": {"use_llm_user": True, "user_model": model}}
    request = (
        RunRequest(target="control:null", benchmarks=("sql_understanding",), judges=(model,))
        if kind == "judge"
        else RunRequest(target="control:null", benchmarks=("tau_bench",), options=options)
    )
    with pytest.raises(UsageError, match="allow_endpoints"):
        client.launch_run(request, {}, bound, visitor=INSIDE)
    listed = listing(bound, "169.254.169.254")
    with pytest.raises(UsageError, match="is not public"):
        client.launch_run(request, {}, listed, visitor=INSIDE)
