"""A server with a quirk of a provider, what it answers, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.replies import events

Reply = tuple[int, Any] | tuple[int, Any, Mapping[str, str]]
Respond = Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Quirk:
    """`respond` gets the body of a request. Expected: `kind` of the failure, else an answer with
    `finish`, `text` and the names of its `calls`, after `requests` requests, of which the last had
    the fields of `sent` and none of `unsent`."""

    name: str
    respond: Respond
    kind: str = ""
    words: str = ""
    finish: str = "stop"
    text: str = ""
    calls: tuple[str, ...] = ()
    requests: int = 1
    sent: Mapping[str, Any] = field(default_factory=dict)
    unsent: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    retry_after: float | None = None


def message(content: Any = "ok", finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """The body of a chat completion; `more` are further fields of its message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}}
    return {"model": "m", "choices": [choice | {"finish_reason": finish}], "usage": {}}


def call(name: str = "add", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": "c1", "type": "function", "function": function} | more


def error(words: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": words, **more}}


def stream(*deltas: Any, end: bytes = b"data: [DONE]\n\n") -> bytes:
    """A body of events: a delta with its finish reason, a whole chunk, or a text as it is."""
    chunks = [
        delta
        if isinstance(delta, str) or "choices" in delta or "error" in delta
        else {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    return events(chunks, end)


def ended(reason: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def refuse(words: str, when: Callable[[dict[str, Any]], Any], status: int = 400) -> Respond:
    """Refuse the requests for which `when` holds, answer the others."""
    return lambda body: (status, error(words)) if when(body) else (200, message())


def always(*reply: Any) -> Respond:
    return lambda _: reply


def has(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda body: all(name in body for name in names)


#: A body of the Responses API.
RESPONSE = {
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ok"}],
        }
    ],
}
SENT = {"max_tokens": 4000, "temperature": 0, "top_p": 0.9, "seed": 1}


@dataclass
class QuirkServer:
    """The address of a server with quirks, and the bodies that it got."""

    base_url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


@asynccontextmanager
async def serve_quirk(respond: Respond) -> AsyncIterator[QuirkServer]:
    state = QuirkServer()

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        state.bodies.append(body)
        state.headers.append(request.headers)
        status, content, *headers = respond(body)
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        is_stream = raw.lstrip().startswith((b"data:", b":"))
        kind = "text/event-stream" if is_stream else "application/json"
        named = {"content-type": kind, **(headers[0] if headers else {})}
        return web.Response(status=status, body=raw, headers=named)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/v1/responses", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    state.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield state
    finally:
        await runner.cleanup()
