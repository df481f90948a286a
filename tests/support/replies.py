"""What the loopback server answers: HTTP messages as bytes, good ones and every kind of bad one.

A reply is a function of the last user message alone, so that a run can be repeated and a prompt
recognised. A fault is bytes to send and what to do with the connection afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: A phrase that only one kind of SQL question holds, and a fixed answer in its form.
SQL_ANSWERS: tuple[tuple[str, str], ...] = (
    ("has_syntax_error", '{"has_syntax_error": "no"}'),
    ("statement_type", '{"sql_type": "DML", "statement_type": "SELECT"}'),
    ("temp_sort", '{"steps": [], "temp_sort": false}'),
    ('"rows"', '{"columns": ["count"], "rows": [[0]]}'),
)
_SUM = re.compile(r"Compute (-?\d+) \+ (-?\d+)")
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


def prompt_hash(prompt: str) -> str:
    """The name of a prompt in the statistics: 16 hex digits of its sha256."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def answer(prompt: str) -> str:
    """The text a well-behaved model would give."""
    match = _SUM.search(prompt)
    if match:
        return str(int(match[1]) + int(match[2]))
    for marker, fixed in SQL_ANSWERS:
        if marker in prompt:
            return fixed
    return f"echo {prompt_hash(prompt)}"


def http(
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    kind: str = "application/json",
    length: int | None = None,
) -> bytes:
    """One HTTP/1.1 message; `length` other than that of the body is how a cut body is made."""
    lines = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}",
        f"content-type: {kind}",
        f"content-length: {len(body) if length is None else length}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def completion(message: Mapping[str, Any], prompt: str, finish_reason: str = "stop") -> bytes:
    """The body of a chat completion that carries `message`."""
    tokens = len(prompt) // 4 + 1
    return json.dumps(
        {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "created": 0,
            "model": "loopback-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": 7,
                "total_tokens": tokens + 7,
                "prompt_tokens_details": {"cached_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }
    ).encode()


def text_reply(prompt: str, text: str | None = None) -> bytes:
    content = answer(prompt) if text is None else text
    return http(200, completion({"role": "assistant", "content": content}, prompt))


def events(chunks: Iterable[Any], end: bytes = b"data: [DONE]\n\n") -> bytes:
    """The body of a stream of server-sent events; a chunk that is a text goes out as it is."""
    lines = (
        chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\n\n" for chunk in chunks
    )
    return "".join(lines).encode() + end


def stream(body: bytes) -> bytes:
    """One HTTP message, its body sent in pieces as servers do that do not know its length."""
    pieces = [piece + b"\n\n" for piece in body.removesuffix(b"\n\n").split(b"\n\n")]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked"
    sent = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + b"\r\n\r\n" + sent + b"0\r\n\r\n"


def stream_reply(prompt: str, text: str | None = None) -> bytes:
    """The reply of `text_reply`, streamed in small pieces, with its usage at the end."""
    content = answer(prompt) if text is None else text
    whole = json.loads(completion({}, prompt))
    head = {"id": whole["id"], "object": "chat.completion.chunk", "model": whole["model"]}
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": content[at : at + 4]} for at in range(0, len(content), 4)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [head | {"choices": [choice]} for choice in choices]
    chunks.append(head | {"choices": [], "usage": whole["usage"]})
    return stream(events(chunks))


def error(
    status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> bytes:
    body = {"error": {"message": message, "type": "loopback", "param": None, "code": None, **more}}
    return http(status, json.dumps(body).encode(), headers)


@dataclass(frozen=True)
class Fault:
    """`then` close: end of file, reset: an abort of the connection, stall: nothing, ever, drip: the
    data in small pieces, endless: the data again and again."""

    data: bytes = b""
    then: Literal["keep", "close", "reset", "stall", "drip", "endless"] = "keep"


def _message(content: str | None) -> Fault:
    return Fault(http(200, completion({"role": "assistant", "content": content}, "")))


_PAGE = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
_GOOD = completion({"role": "assistant", "content": "this text will never arrive whole"}, "")

FAULTS: dict[str, Fault] = {
    "429": Fault(error(429, "slow down")),
    "429-retry-after": Fault(error(429, "slow down", {"retry-after": "0.05"})),
    "500": Fault(error(500, "internal error")),
    "503": Fault(error(503, "overloaded")),
    "400": Fault(error(400, "this request cannot be served")),
    "malformed": Fault(http(200, b'{"choices": [{"message": {"content": "hal')),
    "html": Fault(http(200, _PAGE, kind="text/html")),
    "error-body": Fault(error(200, "the engine is gone")),
    "no-choices": Fault(http(200, b'{"id": "x", "object": "chat.completion", "choices": []}')),
    "empty": _message(""),
    "null": _message(None),
    "reset": Fault(then="reset"),
    "close": Fault(then="close"),
    "cut": Fault(http(200, _GOOD[:60], length=len(_GOOD)), then="close"),
    "stall": Fault(then="stall"),
    "unparsable": Fault(error(500, "tool call could not be parsed: unexpected end of JSON")),
}

#: Numbers of tokens that no server may count; what they come with is a good answer.
_WRONG_USAGE = (
    {"prompt_tokens": -5, "completion_tokens": 10**30, "total_tokens": "many"},
    {"prompt_tokens": 1e300, "completion_tokens": None, "total_tokens": True},
    {"prompt_tokens": "7", "completion_tokens": [3], "prompt_tokens_details": "none"},
    [],
    "unknown",
)


def wrong_usage(prompt: str) -> Fault:
    """A good answer whose usage is nonsense, another for each prompt."""
    body = json.loads(completion({"role": "assistant", "content": answer(prompt)}, prompt))
    body["usage"] = _WRONG_USAGE[int(prompt_hash(prompt), 16) % len(_WRONG_USAGE)]
    return Fault(http(200, json.dumps(body).encode()))


#: Faults that a server can be made to mix (`/mix`), and the bytes on the wire of each; those of
#: `SOUND` are good answers all the same.
MIXED_FAULTS: dict[str, Callable[[str], Fault]] = {
    "429": lambda prompt: FAULTS["429-retry-after"],
    "5xx": lambda prompt: FAULTS["503" if len(prompt) % 2 else "500"],
    "reset": lambda prompt: FAULTS["reset"],
    "stall": lambda prompt: FAULTS["stall"],
    "slow drip": lambda prompt: Fault(text_reply(prompt), then="drip"),
    "malformed JSON": lambda prompt: FAULTS["malformed"],
    "empty body": lambda prompt: Fault(http(200, b"")),
    "wrong usage": wrong_usage,
    "endless body": lambda prompt: Fault(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b" " * 65_536, then="endless"
    ),
    "cut body": lambda prompt: FAULTS["cut"],
}
SOUND = frozenset({"slow drip", "wrong usage"})
