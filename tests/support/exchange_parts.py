"""What exchanges with providers are made of: replies of each API, and the table of all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
#: Status, body and headers of a reply; a body that is no bytes is sent as JSON.
Reply = tuple[Any, ...]
Respond = Callable[[Body], Reply]

TOOL = {"name": "add", "description": "sum", "parameters": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class Exchange:
    """What a server answers, and what must come of it. `respond` gets the body of each request;
    `cut` is how many bytes of the message are sent before the connection is lost."""

    name: str
    api: str
    label: str
    respond: Respond
    text: str | None = None
    calls: Sequence[tuple[str, str]] | None = None
    cut: int | None = None


EXCHANGES: list[Exchange] = []


def add(name: str, api: str, label: str, reply: Reply | Respond, **expected: Any) -> None:
    respond = reply if callable(reply) else lambda _: reply
    EXCHANGES.append(Exchange(name, api, label, respond, **expected))


def chat(content: Any = "ok", finish: Any = "stop", /, usage: Any = None, **message: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return 200, {"id": "x", "choices": [choice | {"finish_reason": finish}], "usage": usage}


def call(name: Any = "add", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    } | more


def error(words: str, /, **more: Any) -> dict[str, Any]:
    return {"error": {"message": words, **more}}


def events(*chunks: Any, end: str = "data: [DONE]\n\n", sep: str = "\n\n") -> Reply:
    """A stream of chat chunks: a text is a delta, a tuple a finish reason, a dict a chunk."""
    lines = []
    for chunk in chunks:
        if isinstance(chunk, bytes):
            lines.append(chunk.decode())
            continue
        if isinstance(chunk, str):
            chunk = {"choices": [{"index": 0, "delta": {"content": chunk}}]}
        elif isinstance(chunk, tuple):
            chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": chunk[0]}]}
        lines.append(f"data: {json.dumps(chunk)}{sep}")
    return 200, ("".join(lines) + end).encode(), {"content-type": "text/event-stream"}


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def named_events(*pairs: tuple[str, Any]) -> Reply:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in pairs)
    return 200, text.encode(), {"content-type": "text/event-stream"}


def claude(blocks: Any, stop: Any = "end_turn", **more: Any) -> Reply:
    usage = {"input_tokens": 3, "output_tokens": 2}
    fields = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": stop}
    return 200, {**fields, "usage": usage, **more}


def say(text: Any = "ok") -> dict[str, Any]:
    return {"type": "text", "text": text}


def gemini(parts: Any = None, finish: Any = "STOP", **more: Any) -> Reply:
    content = {} if parts is None else {"content": {"role": "model", "parts": parts}}
    return 200, {"candidates": [{**content, "finishReason": finish, **more}]}


def gemini_events(*chunks: Any) -> Reply:
    text = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    return 200, text.encode(), {"content-type": "text/event-stream"}


def google_error(status: int, name: str, words: str, **more: Any) -> Reply:
    return status, {"error": {"code": status, "message": words, "status": name, **more}}


def response(items: Any, status: Any = "completed", **more: Any) -> Reply:
    return 200, {"object": "response", "status": status, "output": items, "error": None, **more}


def spoken(text: str = "ok") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def once(first: Reply, then: Reply | None = None, when: str = "") -> Respond:
    """Refuse requests whose body has the field (dotted) `when`; answer the others."""

    def respond(body: Body) -> Reply:
        value: Any = body
        for part in when.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return first if value not in (None, False) else then or chat()

    return respond


ok = "fine"
OVERFLOW, POLICY, WRITTEN = "model:context_overflow", "model:content_filter", "model:unparsable"
