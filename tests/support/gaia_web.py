"""A small web on the loopback: pages by path, redirects, and servers that misbehave."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import quiet_server

Page = tuple[int, dict[str, str], bytes]


class Web:
    """`pages` maps a path to (status, headers, body); `seen` holds (path, headers, body) of each
    request; the path /drip sends a header now and then, for half a minute."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.pages: dict[str, list[Page]] = {}
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.stop = threading.Event()
        self.dripped_out = False

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> str:
        """Add one more reply for a path (the last one stays); returns the address."""
        content = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages.setdefault(path, []).append((status, named, content))
        return self.base + path

    def put_json(self, path: str, value: Any, status: int = 200) -> str:
        return self.put(path, json.dumps(value), status, content_type="application/json")

    def put_packed(self, path: str, body: bytes) -> str:
        return self.put(
            path, gzip.compress(body), content_encoding="gzip", content_type="text/html"
        )


@contextmanager
def serve() -> Iterator[Web]:
    """A web of one block."""

    class Handler(quiet_server.Handler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.content()
            web.seen.append((self.path, dict(self.headers), body))
            path = self.path.partition("?")[0]
            if path == "/drip":
                return self.drip()
            replies = web.pages.get(path, [(404, {}, b"")])
            status, headers, content = replies.pop(0) if len(replies) > 1 else replies[0]
            self.send(status, headers, content)
            return None

        def drip(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            try:
                for _ in range(600):
                    self.wfile.write(b"X: y\r\n")
                    self.wfile.flush()
                    if web.stop.wait(0.05):
                        return
                web.dripped_out = True
            except OSError:
                return

    with quiet_server.listening(Handler) as port:
        web = Web(port)
        try:
            yield web
        finally:
            web.stop.set()
