"""Nobody from outside makes this server ask a server that he cannot ask himself.

Addresses in every spelling that means this machine, its network or a cloud's services for it; names
that mean them at the second look; redirects to them. A server on the loopback counts what reaches
it, and it must be nothing.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evalcore import access, addresses, passcode
from evalcore.access import Visitor
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import GenerationRequest, Message, TargetSpec
from evalcore.runner import allowed, client
from evalcore.runner.request import RunRequest
from evalcore.secrets import Secrets
from evalcore.settings import Endpoint, Settings
from evalcore.targets import registry
from evalcore.targets.application_http import Outgoing, Wire
from evalcore.targets.reach import Origin, Reach, origin_of
from tests.support.loopback_server import serve

INSIDE = Visitor(proved=True)
KEY = "sk-0123456789abcdef0123"
ASKED = GenerationRequest(messages=(Message(role="user", content="hello"),))

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


class Counter:
    """A server on the loopback that counts connections; `answer` is sent to each."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.reached = answer, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.reached += 1
            with connection:
                connection.recv(65536)
                connection.sendall(self.answer)


@contextmanager
def counter(answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") -> Iterator[Counter]:
    made = Counter(answer)
    try:
        yield made
    finally:
        made.socket.close()


@pytest.fixture
def bound(tmp_path, monkeypatch) -> Settings:
    """Settings of a passcode board that allow one host."""
    monkeypatch.setenv(passcode.VARIABLE, "correct horse battery")
    monkeypatch.setattr(access, "_own_machine", None)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return Settings(
        access="passcode",
        allow_endpoints=("allowed.example", "allowed.example:443"),
        allow_applications=("sqlflash",),
        data=str(tmp_path / "data"),
        shipped=str(tmp_path / "none"),
        request_timeout=5.0,
        run_budget=0.0,
    )


def listing(settings: Settings, *hosts: str) -> Settings:
    import msgspec

    return msgspec.structs.replace(settings, allow_endpoints=hosts)


def to(address: str) -> RunRequest:
    return RunRequest(
        target="openai:x", target_options={"base_url": address}, benchmarks=("sql_understanding",)
    )


@pytest.mark.parametrize("host", HOSTILE)
def test_no_spelling_of_a_private_address_is_planned(bound, host):
    with counter() as server:
        name = host.strip("[]").lower()
        settings = listing(bound, f"{name}:{server.port}")
        with pytest.raises(UsageError, match=r"not a public one|not known|plain host|look like"):
            allowed.verify(to(f"http://{host}:{server.port}/v1"), settings, Secrets({}))
        assert server.reached == 0


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
        reach = Reach(Origin("http", host.strip("[]").lower(), server.port))
        wire = Wire({"Authorization": KEY}, {"K": KEY}, 5.0, reach)
        outgoing = Outgoing("POST", f"http://{host}:{server.port}/a", json={})
        with pytest.raises((TargetFailure, UsageError)) as caught:
            asyncio.run(sent(wire, outgoing))
        assert server.reached == 0
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("address", MALFORMED)
def test_an_address_is_what_it_seems_or_refused(bound, address):
    spec = TargetSpec("openai:x", {"base_url": address})
    with pytest.raises(UsageError):
        registry.create(spec, bound, Secrets({}))
    for door in (client.test_connection,):
        with pytest.raises(UsageError):
            door("openai:x", {"base_url": address}, {}, bound, visitor=INSIDE)


def test_a_connection_test_of_a_visitor_reaches_no_private_server(bound):
    """Through the whole door: page, subprocess, target."""
    with counter() as server:
        settings = listing(bound, f"127.0.0.1:{server.port}", f"localhost:{server.port}")
        for host in ("127.0.0.1", "localhost"):
            options = {"base_url": f"http://{host}:{server.port}/v1"}
            with pytest.raises(UsageError, match="not a public one"):
                client.test_connection("openai:x", options, {}, settings, visitor=INSIDE)
            with pytest.raises(UsageError, match="not a public one"):
                client.launch(to(options["base_url"]), {}, settings, visitor=INSIDE)
        assert server.reached == 0


def test_a_name_that_changes_its_meaning_is_refused_at_the_connection(bound, monkeypatch):
    """Public when the run is planned, this machine when it is asked."""
    with counter() as server:
        settings = listing(bound, f"rebind.example:{server.port}")
        address = f"http://rebind.example:{server.port}/v1"
        answers = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])
        monkeypatch.setattr(addresses, "look_up", lambda host, port: next(answers))
        allowed.verify(to(address), settings, Secrets({}))
        with pytest.raises(TargetFailure, match="no connection is made"):
            asyncio.run(ask(TargetSpec("openai:x", {"base_url": address}), settings))
        assert server.reached == 0


def test_a_name_with_one_private_address_among_others_is_refused(bound, monkeypatch):
    mixed = ["93.184.216.34", "127.0.0.1"]
    monkeypatch.setattr(addresses, "look_up", lambda host, port: mixed)
    with pytest.raises(UsageError, match="not a public one"):
        allowed.verify(to("http://allowed.example/v1"), bound, Secrets({}))
    with pytest.raises(TargetFailure):
        asyncio.run(ask(TargetSpec("openai:x", {"base_url": "http://allowed.example/v1"}), bound))


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(bound, monkeypatch):
    """The name is sent as Host, and is not looked up again: a server that answers to any number."""
    seen = []

    async def connect(self, request):
        import httpx2

        seen.append((request.url.host, request.headers["host"], request.extensions))
        raise httpx2.ConnectError("no network in tests")

    import httpx2

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", connect)
    found = ["93.184.216.34", "93.184.216.35"]
    monkeypatch.setattr(addresses, "look_up", lambda host, port: found)
    with pytest.raises(TargetFailure):
        asyncio.run(ask(TargetSpec("openai:x", {"base_url": "https://allowed.example/v1"}), bound))
    assert [host for host, _, _ in seen] == found
    assert {name for _, name, _ in seen} == {"allowed.example"}
    assert all(more["sni_hostname"] == "allowed.example" for _, _, more in seen)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("scheme", ["http://127.0.0.1:{port}/v1", "//127.0.0.1:{port}/", "/v1/x"])
def test_no_redirect_is_followed(status, scheme):
    """An operator's own server is asked as named; where it sends us is its choice, not his."""
    with counter() as target:
        place = scheme.format(port=target.port).encode()
        head = f"HTTP/1.1 {status} Moved\r\ncontent-length: 0\r\nlocation: ".encode()
        with counter(head + place + b"\r\nconnection: close\r\n\r\n") as moved:
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
            reach = Reach(Origin("http", "127.0.0.1", moved.port), public=False)
            outgoing = Outgoing("POST", f"http://127.0.0.1:{moved.port}/a", json={})
            with pytest.raises(TargetFailure, match="another host"):
                asyncio.run(sent(Wire({}, {}, 5.0, reach), outgoing))
            assert (moved.reached, target.reached) == (1, 0)


def test_the_path_of_a_service_leads_to_no_other_host():
    """What a case holds is put into the path; it must not become the host."""
    reach = Reach(Origin("http", "allowed.example", 80))
    for url in (
        "http://allowed.example@127.0.0.1/",
        "http://127.0.0.1/",
        "https://allowed.example/",
    ):
        with pytest.raises((TargetFailure, UsageError)):
            asyncio.run(sent(Wire({}, {}, 5.0, reach), Outgoing("GET", url)))


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


def test_a_typed_address_of_a_service_is_a_visitors_address(bound, monkeypatch):
    """The variable of a description's address may be typed; then it counts as named by him."""
    monkeypatch.delenv("SQLFLASH_URL", raising=False)
    with counter() as server:
        described = registry.create(TargetSpec("app:sqlflash"), bound, Secrets({})).described
        [variable] = described.address_variables
        keys = dict.fromkeys(described.key_variables, KEY)
        typed = keys | {variable: f"http://127.0.0.1:{server.port}"}
        target = registry.create(TargetSpec("app:sqlflash"), bound, Secrets(typed))
        with pytest.raises(UsageError, match="allow_endpoints"):
            asyncio.run(target.open(lambda line: None))
        with pytest.raises(UsageError, match="allow_endpoints"):
            client.test_connection("app:sqlflash", {}, typed, bound, visitor=INSIDE)
        assert server.reached == 0
    monkeypatch.setenv(variable, "http://10.0.0.9")
    own = registry.create(TargetSpec("app:sqlflash"), bound, Secrets(keys))
    assert own.reach() == Reach(Origin("http", "10.0.0.9", 80), public=False)


def test_only_a_server_of_the_operators_own_may_be_in_his_network(bound):
    endpoints = {
        "lab": Endpoint(base_url="http://10.0.0.5:8000/v1", local=True),
        "odd": Endpoint(base_url="http://10.0.0.6/v1"),
    }
    import msgspec

    settings = msgspec.structs.replace(
        bound, endpoints=endpoints, allow_endpoints=("lab", "odd", "10.0.0.5:8000")
    )
    named = RunRequest(target="openai:lab/x", benchmarks=("sql_understanding",))
    allowed.verify(named, settings, Secrets({}))
    for request in (
        RunRequest(target="openai:odd/x", benchmarks=("sql_understanding",)),
        to("http://10.0.0.5:8000/other"),
    ):
        with pytest.raises(UsageError, match="not a public one"):
            allowed.verify(request, settings, Secrets({}))


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
        client.launch(request, {}, bound, visitor=INSIDE)
    listed = listing(bound, "169.254.169.254")
    with pytest.raises(UsageError, match="not a public one"):
        client.launch(request, {}, listed, visitor=INSIDE)


def test_an_origin_is_read_in_one_way_only():
    assert origin_of("https://Api.Example.org/v1") == Origin("https", "api.example.org", 443)
    assert origin_of("http://[2606:4700::1]:81/") == Origin("http", "2606:4700::1", 81)


async def ask(spec: TargetSpec, settings: Settings) -> None:
    target = registry.create(spec, settings, Secrets({"OPENAI_API_KEY": KEY}))
    await target.open(lambda line: None)
    try:
        await target.generate(ASKED)
    finally:
        await target.close()


async def sent(wire: Wire, outgoing: Outgoing) -> None:
    try:
        await wire.send(outgoing)
    finally:
        await wire.close()


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
