"""No spelling of an address takes this server where a visitor cannot go.

Addresses in every spelling that means this machine, its network or a cloud's services for it, and
addresses that are another one than they seem. A server on the loopback counts what reaches it, and
it must be nothing.
"""

from __future__ import annotations

import asyncio

import pytest

from evalcore.access.egress import EgressPolicy, Origin, parse_origin
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client, request_policy
from evalcore.settings import Settings
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

#: Hosts that mean what is not of the open network. Each is put on the list of allowed hosts, so
#: that the address alone can be what is refused.
HOSTILE = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "00000177.1",
    "0",
    "0.0.0.0",
    "0x0",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.170.2",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]",
    "168.63.129.16",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
]
#: Addresses that are none, or another one than they seem.
MALFORMED = [
    "http://allowed.example@127.0.0.1/v1",
    "http://allowed.example:80@127.0.0.1/v1",
    "http://127.0.0.1\\@allowed.example/v1",
    "http://allowed.example\\.evil.example/v1",
    "http://127.0.0.1#@allowed.example/v1",
    "http://127.0.0.1?@allowed.example/v1",
    "http://allowed.example%2eevil.example/v1",
    "http://allowed.example%00.evil.example/v1",
    "http://allowed.example./v1",
    "http://allowed.example:8080/v1",
    "http://allowed.example.evil.example/v1",
    "http://１２７.０.０.１/v1",
    "http://①②⑦.⓪.⓪.①/v1",
    "http://[::1/v1",
    "http:///v1",
    "http:127.0.0.1/v1",
    "//127.0.0.1/v1",
    "ftp://allowed.example/v1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "unix:///var/run/docker.sock",
    "javascript:alert(1)",
    "http://allowed.example:99999/v1",
    "http://allowed.example:-1/v1",
]


@pytest.fixture
def bound(tmp_path, monkeypatch) -> Settings:
    return bound_settings(tmp_path, monkeypatch)


@pytest.mark.parametrize("host", HOSTILE)
def test_no_spelling_of_a_private_address_is_planned(bound, host):
    with counter() as server:
        name = host.strip("[]").lower()
        settings = listing(bound, f"{name}:{server.port}")
        with pytest.raises(
            UsageError, match=r"is not public|cannot be resolved|plain host|look like"
        ):
            request_policy.verify_request(
                to(f"http://{host}:{server.port}/v1"), settings, Secrets({})
            )
        assert server.reached == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("host", HOSTILE)
def test_nor_is_it_connected_to_by_the_worker(bound, host):
    """The worker asks nobody whether the name is harmless: the connection itself is refused."""
    with counter() as server:
        name = host.strip("[]").lower()
        settings = listing(bound, f"{name}:{server.port}")
        spec = TargetSpec("openai:x", {"base_url": f"http://{host}:{server.port}/v1"})
        with pytest.raises((TargetFailure, UsageError)):
            asyncio.run(ask(spec, settings))
        assert server.reached == 0


@pytest.mark.parametrize("host", HOSTILE)
def test_nor_by_a_service(host):
    with counter() as server:
        reach = EgressPolicy(Origin("http", host.strip("[]").lower(), server.port))
        wire = ServiceSession({"Authorization": KEY}, {"K": KEY}, 5.0, reach)
        outgoing = ServiceRequest("POST", f"http://{host}:{server.port}/a", json={})
        with pytest.raises((TargetFailure, UsageError)) as caught:
            asyncio.run(sent(wire, outgoing))
        assert server.reached == 0
        assert KEY not in str(caught.value)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("address", MALFORMED)
def test_an_address_is_what_it_seems_or_refused(bound, address):
    spec = TargetSpec("openai:x", {"base_url": address})
    with pytest.raises(UsageError):
        registry.create_target(spec, bound, Secrets({}))
    for door in (client.test_connection,):
        with pytest.raises(UsageError):
            door("openai:x", {"base_url": address}, {}, bound, visitor=INSIDE)


def test_an_origin_is_read_in_one_way_only():
    assert parse_origin("https://Api.Example.org/v1") == Origin("https", "api.example.org", 443)
    assert parse_origin("http://[2606:4700::1]:81/") == Origin("http", "2606:4700::1", 81)
