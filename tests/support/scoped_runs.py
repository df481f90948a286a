"""A service that declares a scope, and cases of which some lie outside it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

DESCRIPTION = """
title: Small service
base_url: {url}
branches:
  - submit: {{url: /ask, json: {{sql: $sql}}}}
    extract: answer
scope:
  dialects: [SQLite]
"""


@pytest.fixture
def service() -> Iterator[tuple[str, list[str]]]:
    """The address of a service, and the statements that it was sent."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append(body["sql"])
            content = json.dumps({"answer": '{"has_syntax_error": "no"}'}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen
    server.shutdown()
    server.server_close()


def write_cases(folder: Path) -> str:
    """Ten well-formed statements, six of SQLite."""
    folder.mkdir()
    lines = [
        {
            "case_id": f"c{number}",
            "difficulty_level": "1",
            "dialect": "sqlite" if number < 6 else "postgres",
            "sql": f"SELECT {number} AS n",
            "expected": {"has_syntax_error": "no"},
        }
        for number in range(10)
    ]
    text = "\n".join(map(json.dumps, lines))
    (folder / "syntax_error_detection.jsonl").write_text(text)
    return str(folder)
