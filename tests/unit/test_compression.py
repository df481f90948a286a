"""Scripts of the pages are sent by gzip, once compressed; nothing else is touched."""

from __future__ import annotations

import gzip

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evalcore.web import middleware
from evalcore.web.middleware import CompressedAssets

SCRIPT = b"export const table = 'a table of scores';\n" * 200
CACHE = {"Cache-Control": "public, immutable, max-age=31536000", "ETag": '"abc"'}


@pytest.fixture
def asked() -> list[str]:
    """The paths that reached the app itself."""
    return []


@pytest.fixture
def client(asked) -> TestClient:
    def answer(request):
        asked.append(request.url.path)
        name = request.url.path.rpartition("/")[2]
        headers = {} if name.startswith("changing") else CACHE
        status = 404 if name.startswith("absent") else 200
        return Response(SCRIPT, status, headers, media_type="text/javascript")

    routes = [Route("/{path:path}", answer)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(CompressedAssets)]))


def read(client, path, encoding="gzip, deflate, br", **headers):
    """The answer with its body as it was sent."""
    with client.stream("GET", path, headers={"Accept-Encoding": encoding, **headers}) as answer:
        return answer, b"".join(answer.iter_raw())


def test_a_script_is_compressed_once(client, asked):
    for path in ("/static/js/index.abc.js", "/board/static/js/index.abc.js"):
        for _ in range(3):
            answer, body = read(client, path)
            assert gzip.decompress(body) == SCRIPT
            assert len(body) == int(answer.headers["content-length"]) < len(SCRIPT) / 3
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.headers["vary"] == "Accept-Encoding"
            assert answer.headers["cache-control"] == CACHE["Cache-Control"]
            assert "etag" not in answer.headers
        assert asked.count(path) == 1


@pytest.mark.parametrize(
    "encoding", ["", "br", "identity", "gzip;q=0", "deflate, gzip;q=0.0, br", "notgzip"]
)
def test_who_accepts_no_gzip_gets_the_file(client, encoding):
    read(client, "/static/js/index.abc.js")  # compressed for somebody else before
    answer, body = read(client, "/static/js/index.abc.js", encoding)
    assert body == SCRIPT
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/static/js//index.abc.js", "//static/js/index.abc.js//a.js"])
def test_another_spelling_of_a_name_is_not_stored(client, asked, path):
    for _ in range(2):
        assert "content-encoding" not in read(client, path)[0].headers
    assert len(asked) == 2


@pytest.mark.parametrize(
    "encoding", ["gzip", "GZIP", "gzip;q=0.5", "br;q=1.0, gzip;q=0.8", "x-gzip"]
)
def test_gzip_is_accepted_in_every_spelling(client, encoding):
    assert (
        read(client, "/static/js/index.abc.js", encoding)[0].headers["content-encoding"] == "gzip"
    )


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/v1/board", {}),
        ("/static/media/font.abc.woff2", {}),
        ("/static/js/changing.js", {}),
        ("/static/js/absent.js", {}),
        ("/static/js/index.abc.js", {"Range": "bytes=0-9"}),
        ("/static/js/index.abc.js", {"If-None-Match": '"abc"'}),
    ],
)
def test_everything_else_passes_as_it_is(client, asked, path, headers):
    for _ in range(2):
        answer, body = read(client, path, **headers)
        assert body == SCRIPT
        assert "content-encoding" not in answer.headers
    assert len(asked) == 2


def test_memory_is_bounded(client, asked, monkeypatch):
    monkeypatch.setattr(middleware, "MAX_MEMORY", 10)
    for _ in range(2):
        body = read(client, "/static/js/index.abc.js")[1]
        assert gzip.decompress(body) == SCRIPT
    assert len(asked) == 2, "compressed each time, kept never"


def test_a_large_file_passes(client, monkeypatch):
    monkeypatch.setattr(middleware, "MAX_FILE", len(SCRIPT) - 1)
    answer, body = read(client, "/static/js/index.abc.js")
    assert (body, answer.headers.get("content-encoding")) == (SCRIPT, None)
