"""Limits of requests and uploads: the registry of permits and bytes, and the wall in front."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from evalcore.access import policy
from evalcore.access.policy import (
    GRACE,
    IN_SUM,
    PER_FILE,
    PER_SESSION,
    UploadRefused,
    UploadRegistry,
)
from evalcore.settings import ROOT
from evalcore.web import middleware
from evalcore.web.middleware import BODY, HEAD, QUERY, RequestLimits

ROUTE = "/_stcore/upload_file"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Sessions:
    """The runtime of a test: who is connected, and what was removed and closed."""

    def __init__(self) -> None:
        self.active: set[str] = {"a", "b", "c"}
        self.removed: list[str] = []
        self.closed: list[str] = []

    def is_active(self, session: str) -> bool:
        return session in self.active

    def remove_file(self, session: str, file: str) -> None:
        self.removed.append(file)

    def close(self, session: str) -> None:
        self.closed.append(session)


async def app(scope, receive, send):
    """Read the whole body, as Streamlit does; an upload is answered by 204."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    upload = scope["method"] == "PUT" and ROUTE in scope["path"]
    answer = Response(status_code=204) if upload else PlainTextResponse(str(size))
    await answer(scope, receive, send)


@pytest.fixture
def registry() -> UploadRegistry:
    return UploadRegistry(Clock())


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


@pytest.fixture
def client(registry, sessions) -> TestClient:
    return TestClient(RequestLimits(app, sessions, registry))


def store(registry: UploadRegistry, session: str, file: str, size: int) -> list[str]:
    removed = registry.begin_upload(session, size)
    registry.end_upload(session, size, file, size)
    return removed


def test_only_a_session_with_a_permit_uploads_and_only_to_itself(client, registry):
    assert client.put(f"{ROUTE}/a/1", content=b"x").status_code == 403
    registry.permit_session("a", "/datasets")
    assert client.put(f"{ROUTE}/a/1", content=b"x").status_code == 204
    assert client.put(f"{ROUTE}/b/1", content=b"x").status_code == 403
    assert client.put(f"/board{ROUTE}/b/1", content=b"x").status_code == 403, "below a path too"
    registry.restrict_session("a", "/datasets")
    assert client.put(f"{ROUTE}/a/1", content=b"x").status_code == 204
    registry.restrict_session("a", "/runs")
    assert client.put(f"{ROUTE}/a/1", content=b"x").status_code == 403


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "GET", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", [f"{ROUTE}/a/1", "/_stcore/agent/interact", "/auth/login", "/"])
def test_bodies_of_everything_else_are_small(client, registry, method, path):
    registry.permit_session("a", "/datasets")
    assert client.request(method, path, content=b"x" * BODY).status_code == 200
    assert client.request(method, path, content=b"x" * (BODY + 1)).status_code == 413
    parts = (b"x" * 1000 for _ in range(70))  # of a length that is not declared
    assert client.request(method, path, content=parts).status_code == 413


@pytest.mark.parametrize(
    "path", [f"{ROUTE}/a", f"{ROUTE}/a/1/", f"{ROUTE}/a/1/2", f"{ROUTE}//1", "/x/y"]
)
def test_a_put_to_no_upload_is_small_too(client, registry, path):
    registry.permit_session("a", "/datasets")
    assert client.put(path, content=b"x" * (BODY + 1)).status_code in (403, 413)


def test_a_file_is_bounded_declared_or_not(client, registry, sessions):
    registry.permit_session("a", "/datasets")
    head = {"Content-Length": str(PER_FILE + 1)}
    assert client.put(f"{ROUTE}/a/1", content=b"x", headers=head).status_code == 413
    block = b"x" * (1 << 20)
    parts = (block for _ in range((PER_FILE >> 20) + 1))
    assert client.put(f"{ROUTE}/a/2", content=parts).status_code == 413
    assert registry.count_total_bytes() == 0, "what was refused is not counted"
    short = {"Content-Length": "10"}
    assert client.put(f"{ROUTE}/a/3", content=b"x" * 11, headers=short).status_code == 413
    wrong = {"Content-Length": "ten"}
    assert client.put(f"{ROUTE}/a/4", content=b"x", headers=wrong).status_code == 204
    assert registry.count_total_bytes() == 1


def test_the_oldest_files_of_a_session_make_room(registry):
    registry.permit_session("a", "/runs")
    assert [store(registry, "a", str(n), PER_SESSION // 2) for n in range(4)] == [
        [],
        [],
        ["0"],
        ["1"],
    ]
    assert registry.count_total_bytes() == PER_SESSION // 2 * 2


def test_many_small_files_are_bounded_too(client, registry, sessions):
    registry.permit_session("a", "/runs")
    for number in range(50):
        assert client.put(f"{ROUTE}/a/{number}", content=b"x").status_code == 204
    assert sessions.removed == [str(number) for number in range(30)]
    assert client.delete(f"{ROUTE}/a/49").status_code == 200
    assert registry.count_total_bytes() == 19


def test_all_sessions_together_are_bounded(registry):
    for session in "abcdefgh":
        registry.permit_session(session, "/runs")
    sizes = [IN_SUM // 4] * 4
    for session, size in zip("abcd", sizes, strict=True):
        store(registry, session, "1", size)
    with pytest.raises(UploadRefused) as refused:
        registry.begin_upload("e", 10)
    assert refused.value.status == 503
    registry.remove_file("a", "1")
    registry.begin_upload("e", 10)


def test_parallel_uploads_never_exceed_the_sum(registry):
    for number in range(40):
        registry.permit_session(str(number), "/runs")
    highest = 0

    def upload(number: int) -> None:
        nonlocal highest
        try:
            registry.begin_upload(str(number % 40), PER_FILE)
        except UploadRefused:
            return
        highest = max(highest, registry.count_total_bytes())
        registry.end_upload(
            str(number % 40), PER_FILE, str(number), PER_FILE if number % 3 else None
        )

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(upload, range(400)))
    assert 0 < highest <= IN_SUM
    assert registry.count_total_bytes() <= IN_SUM


def test_a_session_uploads_a_few_files_at_a_time(registry):
    registry.permit_session("a", "/runs")
    for _ in range(policy.REQUESTS_PER_SESSION):
        registry.begin_upload("a", 1)
    with pytest.raises(UploadRefused) as refused:
        registry.begin_upload("a", 1)
    assert refused.value.status == 429


def test_what_a_session_held_is_freed_when_it_has_ended(sessions):
    clock = Clock()
    registry = UploadRegistry(clock)
    for session in ("a", "b"):
        registry.permit_session(session, "/runs")
        store(registry, session, "1", 100)
    sessions.active.discard("a")
    assert registry.expire_sessions(sessions.is_active) == []
    clock.now += GRACE - 1
    assert registry.expire_sessions(sessions.is_active) == [], "a short break loses nothing"
    sessions.active.add("a")
    assert registry.expire_sessions(sessions.is_active) == []
    sessions.active.discard("a")
    registry.expire_sessions(sessions.is_active)
    clock.now += GRACE
    assert registry.expire_sessions(sessions.is_active) == ["a"]
    assert (registry.count_total_bytes(), registry.count_sessions()) == (100, 1)


def test_a_session_without_permit_and_files_leaves_no_trace(registry):
    for number in range(1000):
        registry.permit_session(str(number), "/runs")
        registry.restrict_session(str(number), "/")
        registry.restrict_session(f"never-{number}", "/")
    assert registry.count_sessions() == 0


def test_an_upload_that_never_goes_on_ends(monkeypatch, registry, sessions):
    monkeypatch.setattr(middleware, "IDLE", 0.05)
    registry.permit_session("a", "/runs")
    sent = []

    async def silent():
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "path": f"{ROUTE}/a/1",
        "query_string": b"",
        "headers": [(b"content-length", b"1000")],
    }
    asyncio.run(RequestLimits(app, sessions, registry)(scope, silent, send))
    assert sent[0]["status"] == 408
    assert registry.count_total_bytes() == 0


def test_long_addresses_and_heads_are_refused(client):
    assert client.get("/?q=" + "x" * (QUERY - 10)).status_code == 200
    assert client.get("/?q=" + "x" * QUERY).status_code == 414
    assert client.get("/" + "x" * (QUERY + 1)).status_code == 414
    assert client.get("/", headers={"X-More": "x" * HEAD}).status_code == 431


def websocket(headers=(), client=("198.51.100.1", 1)) -> dict:
    path = "/_stcore/stream"
    return {"type": "websocket", "path": path, "query_string": b"", "headers": headers} | {
        "client": client
    }


async def connected(wall: RequestLimits, scopes: list[dict]) -> list[int | None]:
    """The codes by which connections are closed that are all open at once, None for accepted."""
    leave, codes = asyncio.Event(), []

    async def serve_request(scope):
        closed: list[dict] = []

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            closed.append(message)

        await wall(scope, receive, send)
        codes.append(closed[0].get("code") if closed else None)

    async def stay(scope, receive, send):
        await leave.wait()

    wall.app = stay
    tasks = [asyncio.create_task(serve_request(scope)) for scope in scopes]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    leave.set()
    await asyncio.gather(*tasks)
    return codes


def test_the_connections_of_an_address_and_of_all_are_bounded(registry, sessions):
    wall = RequestLimits(app, sessions, registry)
    same = asyncio.run(connected(wall, [websocket() for _ in range(80)]))
    assert same.count(1013) == 80 - middleware.CONNECTIONS_PER_ADDRESS
    many = [websocket(client=(f"198.51.{n // 200}.{n % 200}", 1)) for n in range(600)]
    assert asyncio.run(connected(wall, many)).count(1013) == 600 - middleware.CONNECTIONS
    hidden = [websocket([(b"x-forwarded-for", b"8.8.8.8")], ("10.0.0.1", 1)) for _ in range(100)]
    assert 1013 not in asyncio.run(connected(wall, hidden)), "a proxy is many visitors"
    assert wall._connections.total() == len(wall._connections) == 0


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        (None, True),
        ("https://board.example", True),
        ("http://BOARD.example", True),
        ("https://lab.example:8443", True),  # configured
        ("https://evil.example", False),
        ("https://board.example:8501", False),
        ("https://board.example.evil.example", False),
        ("https://board.example@evil.example", False),
        ("http://localhost:3000", False),
        ("null", False),
        ("", False),
        ("http://[::1", False),
    ],
)
def test_only_pages_of_the_board_open_websockets(registry, sessions, origin, accepted):
    wall = RequestLimits(app, sessions, registry, allowed_hosts=["lab.example"])
    headers = [(b"host", b"board.example")]
    headers += [] if origin is None else [(b"origin", origin.encode())]
    code = asyncio.run(connected(wall, [websocket(headers)]))[0]
    assert code == (None if accepted else 1008)


def test_measures_of_the_server_are_for_its_own_machine(registry, sessions):
    def status(client: str, **headers: str) -> int:
        asked = TestClient(RequestLimits(app, sessions, registry), client=(client, 1))
        return asked.get("/_stcore/metrics", headers=headers).status_code

    assert status("127.0.0.1") == 200
    assert status("198.51.100.1") == 404
    assert status("127.0.0.1", **{"X-Forwarded-For": "198.51.100.1"}) == 404


def test_pages_draw_uploaders_by_the_one_widget_that_permits_them():
    """`st.file_uploader`, and the other widgets that take bytes from the browser's files."""
    drawn = {
        str(path.relative_to(ROOT))
        for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
        if re.search(
            r"\.(file_uploader|camera_input|audio_input)\(|accept_(file|audio)",
            path.read_text("utf-8"),
        )
    }
    assert drawn == {"pages/shared/visitor.py"}
