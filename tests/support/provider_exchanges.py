"""Exchanges with providers, each labeled with whose matter it is before any code saw it.

`fine`: the answer is the model's own. `model:END`: the model's failure, with the end of the answer
that says so. `provider` or `provider:KIND`: the provider's failure, never scored. Labels follow the
providers' documents and public issues of 2024 to 2026.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.support.exchange_parts import EXCHANGES, TOOL, Exchange
from tests.support.exchanges import (  # noqa: F401 - each adds its own
    anthropic_messages,
    chat_answers,
    chat_calls,
    chat_doubts,
    chat_failures,
    chat_lengths,
    chat_parameters,
    chat_refusals,
    chat_stream_errors,
    chat_streams,
    gemini_contents,
    openai_responses,
)

__all__ = ["EXCHANGES", "TOOL", "Exchange", "serve_exchange"]


@asynccontextmanager
async def serve_exchange(exchange: Exchange) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that answers so, and the bodies that it gets."""
    bodies: list[dict[str, Any]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _read_head(reader):
                length = next((int(v) for k, v in head if k == "content-length"), 0)
                bodies.append(json.loads(await reader.readexactly(length) or b"{}"))
                message = _build_message(*exchange.respond(bodies[-1]))
                if exchange.cut is not None:
                    writer.write(message[: exchange.cut])
                    return
                writer.write(message)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1", bodies


async def _read_head(reader: asyncio.StreamReader) -> list[tuple[str, str]]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return []
    lines = [line.partition(":") for line in head.split("\r\n")]
    return [(name.lower(), value.strip()) for name, _, value in lines]


def _build_message(status: int, content: Any, headers: Mapping[str, str] | None = None) -> bytes:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {"content-type": "application/json", "content-length": len(raw), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + raw
