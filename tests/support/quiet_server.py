"""What the servers that tests start have in common: an address of the loopback, and silence."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Of its requests nothing is printed."""

    def content(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The whole reply; to HEAD without its body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_json(self, value: object, status: int = 200) -> None:
        self.send(status, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def log_message(self, *_: Any) -> None:
        """Silence."""


class _Server(ThreadingHTTPServer):
    """It ends with its connections: a later server may be given the same port, and a client that
    keeps connections would go on to ask this one."""

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.open_connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open_connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open_connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in tuple(self.open_connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error of the server."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def listening(handler: type[Handler]) -> Iterator[int]:
    """The port of a server of the loopback, for as long as the block lasts."""
    server = _Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
