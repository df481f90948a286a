"""The content security policy in a real Chromium: the app connects and draws, and who frames it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

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


@pytest.mark.full
def test_the_app_connects_and_draws_its_charts_under_the_policy(full_board, page):
    """`page` fails on whatever the policy complains of in the console."""
    page.goto(full_board.url)
    page.locator("[data-testid=stVegaLiteChart] :is(canvas, svg)").first.wait_for()
    policy = page.request.get(full_board.url).headers["content-security-policy"]
    address = full_board.url.removeprefix("http://")
    assert f"connect-src 'self' ws://{address} wss://{address};" in policy


@pytest.mark.full
def test_only_the_origins_of_the_setting_frame_the_board(tmp_path, monkeypatch, tabs):
    monkeypatch.delenv("SPACE_ID", raising=False)
    port, tab = free_port(), tabs("en")
    board = f"http://localhost:{port}"
    with framing(board) as allowed, framing(board) as other:
        monkeypatch.setenv("EVALBOARD_FRAME_ANCESTORS", allowed)
        with serve(tmp_path, port), watched_console(tab) as messages:
            tab.goto(allowed)
            inner = tab.frame_locator("iframe[name=board]")
            inner.locator("[data-testid=stAppViewContainer] h1").first.wait_for()
            assert not [text for text in messages if "Content Security Policy" in text]
            with tab.expect_console_message(lambda message: "frame-ancestors" in message.text):
                tab.goto(other)


@contextmanager
def watched_console(tab) -> Iterator[list[str]]:
    """What the console says during the block; the tab is left empty."""
    messages: list[str] = []

    def listen(message) -> None:
        messages.append(message.text)

    tab.on("console", listen)
    yield messages
    tab.remove_listener("console", listen)
    tab.goto("about:blank")
