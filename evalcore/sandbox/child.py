"""The inside of a worker process: load a service, give up every right, then answer requests.

Started by `worker_process` with two pipes as standard input and output. The service is named
"module:factory"; `factory(options)` loads all it will ever need and returns a `Service`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import IO, Any, Protocol

import msgspec

from evalcore.records import Record, from_json, to_json
from evalcore.sandbox.frames import Hello, Reply, read_frame, write_frame
from evalcore.sandbox.limits import apply_limits, renew_cpu
from evalcore.sandbox.lockdown import lock_down


class Start(Record, frozen=True):
    """The parent's first message. `seconds` of processor time are granted to each request."""

    service: str
    options: dict[str, Any]
    memory_bytes: int
    seconds: float


class Service(Protocol):
    """What a worker process serves: `about` is told to the parent once."""

    about: dict[str, Any]

    def __call__(self, request: Mapping[str, Any]) -> Any:
        """The JSON-encodable result of one request."""


def main() -> None:
    """Serve until the parent closes the pipe."""
    requests, replies = _take_pipes()
    first = read_frame(requests)
    if first is None:
        return
    start = from_json(Start, first)
    module, _, factory = start.service.partition(":")
    service: Service = getattr(import_module(module), factory)(start.options)
    _answer_request(service, b"{}")  # imports whatever the way of an answer imports lazily
    enforced = apply_limits(start.memory_bytes)
    renew_cpu(start.seconds)
    lock_down()
    write_frame(replies, Hello(about=service.about, enforced=enforced))
    while (request := read_frame(requests)) is not None:
        renew_cpu(start.seconds)
        write_frame(replies, _answer_request(service, request))


def _answer_request(service: Service, request: bytes) -> Reply:
    try:
        return Reply(result=msgspec.Raw(to_json(service(msgspec.json.decode(request)))))
    except MemoryError:
        return Reply(fault="memory", message="the process ran out of memory")
    except Exception as error:  # the parent decides what an unforeseen error means
        return Reply(fault="error", message=f"{type(error).__name__}: {error}"[:2000])


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes for ourselves; what prints to standard output now prints to nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return requests, replies
