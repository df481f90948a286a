"""Messages on a pipe: four bytes of length, most significant first, then that much JSON."""

from __future__ import annotations

from typing import IO, Any

import msgspec

from evalcore.records import Record, to_json

_LENGTH = 4


class Hello(Record, frozen=True):
    """A child's first message: what it serves (`about`) and which limits hold."""

    about: dict[str, Any] = {}
    enforced: tuple[str, ...] = ()


class Reply(Record, frozen=True):
    """A child's answer: `result` as JSON, or what went wrong in `fault` ("memory", "error")."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    fault: str = ""
    message: str = ""


def write_frame(pipe: IO[bytes], value: Any) -> None:
    """Send one message."""
    body = to_json(value)
    pipe.write(len(body).to_bytes(_LENGTH, "big") + body)
    pipe.flush()


def read_frame(pipe: IO[bytes], limit: int | None = None) -> bytes | None:
    """The JSON of the next message, None at the end of the pipe or where it breaks off.

    Raises ValueError for a message longer than `limit` bytes, of which nothing is read.
    """
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    if limit is not None and length > limit:
        raise ValueError(f"a message of {length} bytes is over the limit of {limit}")
    body = pipe.read(length)
    return body if len(body) == length else None
