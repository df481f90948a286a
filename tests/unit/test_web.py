"""What the server says besides the pages: health, and security headers on every answer."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from filelock import FileLock
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from evalcore.errors import UsageError
from evalcore.settings import Settings
from evalcore.store import index
from evalcore.store.index import Index
from evalcore.web import application
from evalcore.web.application import ROUTES, build_health_state
from evalcore.web.middleware import (
    HEADERS,
    POLICY,
    SecurityHeaders,
    build_content_policy,
    frame_ancestors,
)
from tests.support.page_stores import corrupt_run, evidence_run
from tests.support.server import serve


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "none"))
    return Settings(data=str(tmp_path), shipped=str(tmp_path / "none"))


@pytest.fixture
def client():
    async def broken(request):
        raise RuntimeError("on purpose")

    async def plain(request):
        return PlainTextResponse("hello", headers={"Referrer-Policy": "unsafe-url"})

    app = Starlette(
        routes=[*ROUTES, Route("/broken", broken), Route("/plain", plain)],
        middleware=[Middleware(SecurityHeaders)],
    )
    return TestClient(app, raise_server_exceptions=False)


def test_health_counts_runs_also_broken_ones(store, client):
    evidence_run(store.runs_dir)
    corrupt_run(store.runs_dir)
    answer = client.get("/api/v1/health")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    payload = answer.json()
    assert payload.pop("version")
    assert payload == {"status": "ok", "runs": 2, "index_readable": True}


@pytest.mark.parametrize(
    "damage",
    [b"{torn", b"", b"[]", b'{"runs": 5}', b'{"runs": {"a": {"run_id": 7}}}', b"\xff\x00" * 9],
    ids=["torn", "empty", "no object", "no table", "no header", "binary"],
)
def test_health_mends_an_unreadable_index(store, client, damage):
    evidence_run(store.runs_dir)
    store.index_path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):  # at the start of the server, and while it serves
        store.index_path.write_bytes(damage)
        answer = client.get("/api/v1/health")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        assert answer.json()["index_readable"]
        assert len(Index(store.index_path).headers()) == 1


def test_health_of_an_index_that_cannot_be_mended_is_503_until_it_can(store, client, monkeypatch):
    store.index_path.parent.mkdir(parents=True, exist_ok=True)
    store.index_path.write_text("{torn", encoding="utf-8")
    lock = FileLock(f"{store.index_path}.lock")
    with monkeypatch.context() as patch, lock:
        patch.setattr(index, "_MENDING_LOCK_SECONDS", 0.01)
        answer = client.get("/api/v1/health")
        assert answer.status_code == 503
        assert (answer.json()["status"], answer.json()["index_readable"]) == ("degraded", False)
    store.index_path.write_text("{}", encoding="utf-8")
    assert client.get("/api/v1/health").status_code == 200


def test_a_store_that_does_not_exist_yet_is_healthy(store):
    assert build_health_state(store)["runs"] == 0
    assert build_health_state(store)["status"] == "ok"


def test_only_reading_is_offered(store, client):
    assert client.post("/api/v1/health").status_code == 405


@pytest.mark.parametrize("path", ["/api/v1/health", "/plain", "/nosuch"])
def test_every_answer_carries_the_headers_once(store, client, path):
    headers = client.get(path).headers
    for name, value in HEADERS.items():
        assert headers.get_list(name) == [value]
    assert len(headers.get_list(POLICY)) == 1


def rules_of(text: str) -> dict[str, str]:
    return dict(rule.split(" ", 1) for rule in text.split("; "))


def test_the_policy_lets_nothing_foreign_in(store, client):
    rules = rules_of(client.get("/plain", headers={"Host": "board.example:8501"}).headers[POLICY])
    assert rules["default-src"] == "'self'"
    assert rules["object-src"] == "'none'"
    assert "http" not in rules["img-src"] + rules["script-src"] + rules["font-src"]
    assert rules["connect-src"] == "'self' ws://board.example:8501 wss://board.example:8501"
    assert rules["frame-ancestors"] == "'self'"
    for name, sources in rules.items():
        assert not {"*", "ws:", "wss:", "http:", "https:"} & set(sources.split()), name


@pytest.mark.parametrize(
    "host", ["", "*", "a.example b.example", "a;script-src *", "a'b", "http://a", "a:1:2", "ä.de"]
)
def test_a_host_that_is_none_stays_out_of_the_policy(host):
    assert rules_of(build_content_policy(host, "'self'"))["connect-src"] == "'self'"


def test_who_may_frame_the_board(store, client, monkeypatch):
    hub = "'self' https://huggingface.co https://*.hf.space"
    assert frame_ancestors((), {}) == "'self'"
    assert frame_ancestors((), {"SPACE_ID": "me/board"}) == hub
    assert frame_ancestors(("https://lab.example:8443",), {}) == "'self' https://lab.example:8443"
    monkeypatch.setenv("SPACE_ID", "me/board")
    monkeypatch.setenv("EVALBOARD_FRAME_ANCESTORS", "https://*.lab.example, https://huggingface.co")
    client.app.middleware_stack = None  # built anew, as at the next start
    rules = rules_of(client.get("/plain").headers[POLICY])
    assert rules["frame-ancestors"] == f"{hub} https://*.lab.example"


@pytest.mark.parametrize(
    "origin", ["*", "https:", "https://*", "lab.example", "https://a.example/x", "'none'", "a;b"]
)
def test_an_ancestor_that_is_no_origin_is_refused_and_lets_nobody_frame(
    store, client, monkeypatch, origin
):
    with pytest.raises(UsageError, match="EVALBOARD_FRAME_ANCESTORS"):
        frame_ancestors((origin,), {})
    monkeypatch.setenv("EVALBOARD_FRAME_ANCESTORS", origin)
    client.app.middleware_stack = None
    assert rules_of(client.get("/plain").headers[POLICY])["frame-ancestors"] == "'self'"


def test_a_store_that_cannot_be_searched_does_not_keep_the_server_down(monkeypatch, caplog):
    def fails(settings):
        raise PermissionError("the data folder is closed")

    monkeypatch.setattr("evalcore.runner.client.reconcile_runs", fails)
    assert application.reconcile_runs() == []
    assert "the data folder is closed" in caplog.text


@pytest.mark.slow
def test_the_real_server_sends_the_headers_on_shell_api_and_files(tmp_path):
    with serve(tmp_path) as served:
        for path in ("/", "/case", "/api/v1/health", "/_stcore/health"):
            with urllib.request.urlopen(served.url + path, timeout=180) as answer:
                assert {name: answer.headers[name] for name in HEADERS} == HEADERS
                assert f"ws://{served.url[7:]} " in answer.headers[POLICY]
        with urllib.request.urlopen(served.url + "/api/v1/health", timeout=180) as answer:
            assert json.load(answer)["status"] == "ok"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(served.url + "/_stcore/agent/interact", data=b"{}", timeout=180)
