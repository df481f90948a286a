"""Streamed replies: the events of a stream of server-sent events, and the chunks of a chat
completion put together to the reply that it would have been unstreamed, for the same parser.

Servers differ in what they stream: deltas or whole messages, calls numbered or not, usage in a last
chunk, in every chunk or in the choice, an error in place of a chunk, an end by `[DONE]`, by a
finish reason or by neither. What has arrived is never dropped.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from evalcore.errors import IntakeError
from evalcore.i18n import Note
from evalcore.intake.http import decode_json
from evalcore.intake.json_text import DEPTH_LIMIT

#: How a body of server-sent events may begin, whatever its Content-Type says.
_STARTS = (b"data:", b"event:", b"id:", b"retry:", b": ", b":\n", b":\r")
_DONE = b"[DONE]"
_SMALL = 1 << 16  # bytes of an event that is decoded without looking for hostile content
_MOST_CALLS = 1_000
_MOST_ITEMS = 10_000  # parts of lists that a stream adds up to
_MOST_FIELDS = 100  # of a message


def is_event_stream(kind: str, start: bytes) -> bool:
    """Whether a body is a stream of events, by its Content-Type or by its first bytes."""
    start = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if kind.partition(";")[0].strip().lower() == "text/event-stream":
        return not start.startswith((b"{", b"["))  # JSON that is only called so
    return start.startswith(_STARTS)


class EventReader:
    """Server-sent events (HTML standard, 9.2.6) from pieces of a body of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._event = ""
        self._data: list[bytes] = []
        self._is_begun = False

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """The events that a further piece of the body completes: type and data."""
        self._rest += piece
        if b"\n" not in piece and b"\r" not in piece:
            return
        whole = bytes(self._rest)
        if not self._is_begun:
            self._is_begun, whole = True, whole.removeprefix(codecs.BOM_UTF8)
        held = b""
        if b"\r" in whole:
            if whole.endswith(b"\r"):  # perhaps half of a line's end
                whole, held = whole[:-1], b"\r"
            whole = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = whole.split(b"\n")
        self._rest = bytearray(rest + held)
        for line in lines:
            yield from self._take_line(line)

    def end(self) -> Iterator[tuple[str, bytes]]:
        """The event that the body's end leaves open, which servers that forget a blank line mean
        as one."""
        rest = bytes(self._rest).removesuffix(b"\r")
        yield from self._take_line(rest if self._is_begun else rest.removeprefix(codecs.BOM_UTF8))
        yield from self._take_line(b"")

    def _take_line(self, line: bytes) -> Iterator[tuple[str, bytes]]:
        if not line:
            for data in self._join_data():
                if data and not data.isspace():
                    yield self._event, data
            self._event, self._data = "", []
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            self._event = line[6:].strip().decode("utf-8", "replace")

    def _join_data(self) -> list[bytes]:
        """The data of an event; of several, where a server leaves no blank line between them."""
        if len(self._data) < 2:
            return self._data
        is_each_whole = all(
            line.strip() == _DONE or (line.startswith(b"{") and line.rstrip().endswith(b"}"))
            for line in self._data
        )
        return self._data if is_each_whole else [b"\n".join(self._data)]


def decode_event(data: bytes) -> Any:
    """Decode the JSON of one event; raises IntakeError as `decode_json` does."""
    if len(data) < _SMALL and data.count(b"[") + data.count(b"{") < DEPTH_LIMIT:
        try:
            return msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeError):
            pass  # the slower reader takes what is only odd
    return decode_json(data)


_FRAME_FIELDS = frozenset({"choices", "delta", "usage"})
_ERROR_FIELDS = frozenset({"message", "detail"})


def read_error(error: Any) -> Any:
    """The error of a field of that name; None for one without words, which gateways in Go send
    beside every answer."""
    return None if isinstance(error, dict) and not any(error.values()) else error or None


#: Fields in which some servers say what went wrong, in a frame without an answer.
_ERROR_WORDS = ("error_message", "error_msg", "errors")


def find_error(frame: Mapping[str, Any]) -> Any:
    """The error of a reply or chunk, whose fields some servers send in place of a frame."""
    error = read_error(frame.get("error"))
    words = next((frame[name] for name in _ERROR_WORDS if frame.get(name)), None)
    if not error and words and not frame.get("choices"):  # DeepInfra, Cloudflare
        return {"message": words, "code": frame.get("error_code"), "type": frame.get("error_type")}
    if error or (frame.get("object") != "error" and not frame.keys().isdisjoint(_FRAME_FIELDS)):
        return error
    return None if frame.keys().isdisjoint(_ERROR_FIELDS) else {**frame}


#: Fields of a frame that say nothing of how the answer went.
_HEAD_FIELDS = frozenset(
    {
        *("id", "object", "created", "model", "system_fingerprint", "service_tier", "provider"),
        *("type", "event", "time", "x_groq", "base_resp", "timings", "obfuscation"),
        *("prompt_filter_results", "nonce", "sequence_number", "citations", "search_results"),
    }
)


def is_odd_frame(frame: Mapping[str, Any]) -> bool:
    """Whether a chunk holds no part of an answer and something that is not known."""
    return frame.keys().isdisjoint(_FRAME_FIELDS) and not frame.keys() <= _HEAD_FIELDS


def find_choice(choices: Any) -> dict[str, Any] | None:
    """The first of the alternatives that a server numbers, in whichever order they stand."""
    listed = choices if isinstance(choices, list) else []
    numbered = (c for c in listed if isinstance(c, dict) and c.get("index") in (0, None))
    return next(numbered, None)


class ChatStream:
    """`StreamAssembler` of chat completions."""

    def __init__(self) -> None:
        self.is_complete = False
        self._error: Any = None
        self._odd: dict[str, Any] | None = None
        self._head: dict[str, Any] = {}
        self._choice: dict[str, Any] | None = None
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[str, list[Any]] = {}
        self._calls: list[dict[str, Any]] = []
        self._message: dict[str, Any] = {}

    def add_event(self, event: str, data: bytes) -> bool:
        if data.strip() == _DONE:
            self.is_complete = True
            return False
        chunk = decode_event(data)
        if chunk is None:
            return False
        if not isinstance(chunk, dict):
            raise IntakeError(Note("stream_no_object"))
        error = find_error(chunk) or (chunk if event == "error" else None)
        if error:
            self._error, self.is_complete = error, True
            return False
        if is_odd_frame(chunk):
            self._odd = chunk
        self._take_head(chunk)
        choices = chunk.get("choices")
        choice = find_choice(choices)
        return choice is not None and self._take_choice(choice)

    def build_reply(self) -> Any:
        if self._error:
            return {"error": self._error}
        is_explained = "base_resp" in self._head or (self._choice or {}).get("finish_reason")
        if self._odd and not is_explained:
            # what the server says there may be that it broke off
            return {"error": {"message": f"an unknown piece of the stream: {self._odd}"[:300]}}
        if self._choice is None:
            return self._head if "base_resp" in self._head else None
        message = dict(self._message)
        for name, parts in self._parts.items():
            message[name] = [_join_pieces(part) for part in parts]
        for name, texts in self._texts.items():
            text = "".join(texts)
            listed = message.get(name)
            message[name] = [*listed, text] if text and isinstance(listed, list) else text
        if self._calls:
            message["tool_calls"] = [
                call | {"function": _join_pieces(call["function"])} for call in self._calls
            ]
        return self._head | {"choices": [{"message": message, **self._choice}]}

    def _take_head(self, chunk: dict[str, Any]) -> None:
        """The model, and the usage wherever it stands (Groq has it in a field of its own); what
        MiniMax says in place of an answer."""
        stated = chunk.get("base_resp")
        if isinstance(stated, dict) and stated.get("status_code"):
            self._head["base_resp"], self.is_complete = stated, True
        if chunk.get("model"):
            self._head["model"] = chunk["model"]
        own = chunk.get("x_groq")
        usage = chunk.get("usage") or (own.get("usage") if isinstance(own, dict) else None)
        if usage:
            self._head["usage"] = usage

    def _take_choice(self, choice: dict[str, Any]) -> bool:
        if self._choice is None:
            self._choice = {}
        if choice.get("usage"):  # Moonshot
            self._head["usage"] = choice["usage"]
        for name in ("finish_reason", "error"):
            if choice.get(name) not in (None, "", "null", {}):
                self._choice[name], self.is_complete = choice[name], True
        delta = choice.get("delta")
        if isinstance(delta, dict):
            return self._take_delta(delta)
        whole = choice.get("message")
        if isinstance(whole, dict):  # a server that sends what it has, in place of what is new
            self._texts, self._parts, self._calls, self._message = {}, {}, [], {}
            return self._take_delta(whole)
        text = choice.get("text")  # of the older completions
        return isinstance(text, str) and self._take_delta({"content": text})

    def _take_delta(self, delta: dict[str, Any]) -> bool:
        is_content = False
        for name, value in delta.items():
            if value is None or name == "role":
                continue
            if name == "tool_calls":
                is_content = self._take_calls(value) or is_content
            elif isinstance(value, str):
                if value:
                    is_content = True
                self._texts.setdefault(name, []).append(value)
            elif isinstance(value, list):
                is_content = bool(value) or is_content
                self._take_parts(name, value)
            elif name == "function_call" and isinstance(value, dict):
                is_content = self._take_calls([{"index": 0, "function": value}])
            else:
                self._message[name] = value
        if len(self._texts) + len(self._parts) + len(self._message) > _MOST_FIELDS:
            raise IntakeError(Note("stream_fields", most=_MOST_FIELDS))
        return is_content

    def _take_parts(self, name: str, parts: list[Any]) -> None:
        """Add the parts of a list; one that goes on with the last is joined to it."""
        held = self._parts.setdefault(name, [])
        for part in parts:
            if held and _continues(held[-1], part):
                for field, value in part.items():
                    if value is not None:
                        _extend(held[-1], field, value, joined=field in _JOINED)
            else:
                held.append(part)
        if sum(map(len, self._parts.values())) > _MOST_ITEMS:
            raise IntakeError(Note("stream_items", most=f"{_MOST_ITEMS:,}"))

    def _take_calls(self, calls: Any) -> bool:
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise IntakeError(Note("stream_calls"))
        for delta in calls:
            function = delta.get("function")
            if not isinstance(function, dict):
                function = {}
            call = self._find_call(delta, function)
            for name, value in delta.items():
                if name != "function" and value not in (None, ""):
                    call[name] = value
            for name, value in function.items():
                if value not in (None, "", call["function"].get(name)) or name == "arguments":
                    _extend(call["function"], name, value, joined=True)
        return bool(calls)

    def _find_call(self, delta: dict[str, Any], function: dict[str, Any]) -> dict[str, Any]:
        """The call that a delta goes on with: by its number, else by its id, else the last. With
        another id and a name it is a new one, for some servers number all calls 0."""
        number, own_id, named = delta.get("index"), delta.get("id"), function.get("name")
        field, value = ("id", own_id) if number is None and own_id else ("index", number)
        same = (call for call in reversed(self._calls) if call.get(field) == value)
        call: dict[str, Any] | None = next(same, None)
        if call is not None and named:
            is_other = own_id and call.get("id") not in (None, own_id)
            is_whole = number is None and not own_id and "name" in call["function"]
            call = None if is_other or is_whole else call
        if call is None and not named and number is None and self._calls:
            return self._calls[-1]
        if call is not None:
            return call
        if len(self._calls) >= _MOST_CALLS:
            raise IntakeError(Note("stream_many_calls", most=f"{_MOST_CALLS:,}"))
        new: dict[str, Any] = {"function": {}}
        self._calls.append(new)
        return new


#: Fields of a part of which a stream sends pieces.
_JOINED = ("text", "thinking", "summary", "data")


def _continues(last: Any, part: Any) -> bool:
    """Whether a part of a thought or text goes on with the last: parts with a number of their own
    by that number, others by their type where it is a text."""
    if not (isinstance(last, dict) and isinstance(part, dict)):
        return False
    if last.get("type") != part.get("type"):
        return False
    if "index" in part or "index" in last:
        return last.get("index") == part.get("index")
    return part.get("type") in ("text", "thinking") and all(
        isinstance(holder.get(holder["type"]), str | _Pieces) for holder in (last, part)
    )


class _Pieces(list[str]):
    """A text of which pieces still come."""


def _extend(holder: dict[str, Any], field: str, value: Any, *, joined: bool) -> None:
    """Set a field, or add a piece to its text."""
    held = holder.get(field)
    if joined and isinstance(value, str) and isinstance(held, str | _Pieces):
        if isinstance(held, str):
            held = holder[field] = _Pieces([held])
        held.append(value)
    elif value is not None:
        holder[field] = value


def _join_pieces(holder: Any) -> Any:
    if not isinstance(holder, dict):
        return holder
    return {k: "".join(v) if isinstance(v, _Pieces) else v for k, v in holder.items()}
