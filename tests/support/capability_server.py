"""A chat server on the loopback that can do what a test says, and counts what it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class CapabilityServer:
    """`refused` are parameters that are answered with a 400; `tools`: called, ignored or refused;
    `failure` is a status and words that every request gets; `tokens` are counted of an answer."""

    refused: tuple[str, ...] = ()
    tools: str = "called"
    failure: tuple[int, str] | None = None
    tokens: int | None = 10
    text: str = "ready"
    bodies: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""

    def answer(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.failure:
            return self.failure[0], {"error": {"message": self.failure[1]}}
        for name in self.refused:
            if name in body:
                words = f"Unsupported parameter: '{name}' is not supported with this model."
                return 400, {"error": {"message": words, "param": name}}
        if body.get("tools") and self.tools == "refused":
            return 400, {"error": {"message": "this model does not support tools"}}
        return 200, self._completion(body)

    def _completion(self, body: Mapping[str, Any]) -> dict[str, Any]:
        calls = body.get("tools") and self.tools == "called"
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        finish = "stop"
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 1000
        if "messages" in body and calls and body["messages"][-1]["role"] != "tool":
            function = {"name": "get_weather", "arguments": '{"city": "Lisbon"}'}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call00001", "type": "function", "function": function}],
            }
            finish = "tool_calls"
        elif limit < 20:
            finish = "length"
        answer = {"text": self.text} if "prompt" in body else {"message": message}
        reply: dict[str, Any] = {
            "model": "able-1",
            "choices": [{"index": 0, "finish_reason": finish, **answer}],
        }
        if self.tokens is not None:
            reply["usage"] = {"prompt_tokens": 100, "completion_tokens": self.tokens}
        return reply


@contextmanager
def serve_capabilities(**abilities: Any) -> Iterator[CapabilityServer]:
    state = CapabilityServer(**abilities)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                state.bodies.append(body)
                status, reply = state.answer(body)
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
