"""The content security policy in a real Chromium: the app connects and draws, and who frames it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.full_board import serve_board
from tests.support.server import free_port, serve


@contextmanager
def framing(board: str) -> Iterator[str]:
    """A page of another origin that shows the board in a frame."""
    page = f'<!doctype html><link rel="icon" href="data:,"><iframe src="{board}" name="board">'

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_the_app_connects_and_draws_its_charts_under_the_policy(tmp_path, page):
    """`page` fails on whatever the policy complains of in the console."""
    with serve_board(tmp_path) as served:
        page.goto(served.url)
        page.locator("[data-testid=stVegaLiteChart] :is(canvas, svg)").first.wait_for()
        policy = page.request.get(served.url).headers["content-security-policy"]
        page.goto("about:blank")  # else it looks for a server that has ended
    assert f"connect-src 'self' ws://{served.url[7:]} wss://{served.url[7:]};" in policy


@pytest.mark.parametrize("allowed", [True, False])
def test_only_the_origins_of_the_setting_frame_the_board(tmp_path, monkeypatch, chromium, allowed):
    monkeypatch.delenv("SPACE_ID", raising=False)
    port = free_port()
    with framing(f"http://localhost:{port}") as outer:
        monkeypatch.setenv("EVALBOARD_FRAME_ANCESTORS", outer if allowed else "https://lab.example")
        context = chromium.new_context(locale="en-US")
        tab, said = context.new_page(), []
        tab.on("console", lambda message: said.append(message.text))
        with serve(tmp_path, port):
            tab.goto(outer)
            if allowed:
                inner = tab.frame_locator("iframe[name=board]")
                inner.locator("[data-testid=stAppViewContainer] h1").first.wait_for(timeout=30_000)
                assert not [text for text in said if "Content Security Policy" in text]
            else:
                tab.wait_for_timeout(1000)
                assert any("frame-ancestors" in text for text in said), said
        context.close()
