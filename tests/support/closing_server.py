"""A server of chat completions that closes connections between requests, as real ones do.

Every answer promises by its silence that the connection stays open; what happens then is chosen.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from tests.support.replies import completion, http

#: When a connection is closed: as the second request arrives on it ("second", unread: a reset),
#: after reading it ("read"), amid the head of the answer to it ("head"), after answering it
#: ("never"), at once after each answer ("answer"), or at the first request, unanswered ("first").
Closing = Literal["second", "read", "head", "never", "answer", "first"]


@dataclass
class ClosingServer:
    """`received` are bodies that were read, `connections` counts; every `error_every`th answer is
    an HTTP 500, and none is where that is 0."""

    closing: Closing
    error_every: int = 0
    received: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._answer(reader, writer, "first")
            if self.closing == "second":
                await _readable(writer)
            elif self.closing in ("read", "head", "never"):
                await self._answer(reader, writer, self.closing)
        except (EOFError, ConnectionError):
            pass  # the client closed first
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, closing: Closing
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        self.received.append(await reader.readexactly(size))
        if closing == self.closing != "never":
            writer.write(b"HTTP/1.1 200 O" if closing == "head" else b"")
            return
        answers = len(self.received)
        if self.error_every and answers % self.error_every == 0:
            writer.write(http(500, b"Internal Server Error", kind="text/plain"))
        else:
            writer.write(http(200, completion({"role": "assistant", "content": "fine"}, "")))
        await writer.drain()


async def _readable(writer: asyncio.StreamWriter) -> None:
    """Wait for the next request without reading it: a close then sends a reset."""
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    line: socket.socket = socket.socket(fileno=writer.get_extra_info("socket").fileno())
    try:
        await asyncio.to_thread(line.recv, 1, socket.MSG_PEEK)
    finally:
        line.detach()


@asynccontextmanager
async def closing_server(closing: Closing, error_every: int = 0) -> AsyncIterator[ClosingServer]:
    """Run one on the loopback in the event loop of the test."""
    served = ClosingServer(closing, error_every)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
