"""Servers that try to exhaust whoever asks them, each in its own way; for tests of memory.

    python -m tests.support.hostile_server MODE

prints its port and serves until the standard input ends. A reply is written piece by piece, so that
the server itself needs no memory for it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_MB = 1_000_000
#: So many requests are answered well first: enough for a client to send many at once.
GOOD_REPLIES = 64
_CHAT = b'{"choices": [{"finish_reason": "stop", "message": {"content": "'
_END = b'"}}]}'
_DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def _sized(size: int) -> bytes:
    return _HEAD + b"Content-Length: %d\r\n\r\n" % size


async def _endless(head: bytes, piece: bytes) -> AsyncIterator[bytes]:
    yield head
    while True:
        yield piece


async def _answer(size: int, filler: bytes = b"x" * 65_536) -> AsyncIterator[bytes]:
    """A completion whose text has so many bytes."""
    yield _sized(len(_CHAT) + size + len(_END)) + _CHAT
    for start in range(0, size, len(filler)):
        yield filler[: size - start]
    yield _END


async def _packed(encoding: str, size: int) -> AsyncIterator[bytes]:
    """A completion of so many bytes, a thousandth of them on the wire."""
    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    yield _HEAD + b"Content-Encoding: %b\r\n\r\n" % encoding.encode() + packer.compress(_CHAT)
    filler = b"x" * _MB
    for _ in range(size // _MB):
        yield packer.compress(filler)
    yield packer.compress(_END) + packer.flush()


async def _values(filler: bytes) -> AsyncIterator[bytes]:
    """15 MB of tiny values, which take many times their size once they are decoded."""
    start, end = b'{"choices": [', b"0]}"
    count = 15 * _MB // len(filler)
    yield _sized(len(start) + count * len(filler) + len(end)) + start
    piece = filler * 1000
    for _ in range(count // 1000):
        yield piece
    yield filler * (count % 1000) + end


@cache
def _inflating() -> bytes:
    return zlib.compress(b"x" * 500 * _MB)


#: What a request is answered with.
MODES = {
    "gzip bomb": lambda: _packed("gzip", 2000 * _MB),
    "deflate bomb": lambda: _packed("deflate", 2000 * _MB),
    "endless": lambda: _endless(_HEAD + b"\r\n", b"x" * 65_536),
    "endless chunks": lambda: _endless(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"
    ),
    "endless chunk extension": lambda: _endless(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 65_536
    ),
    "endless stream": lambda: _endless(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", _DELTA * 200
    ),
    "endless trailers": lambda: _endless(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n" * 1000
    ),
    "endless error": lambda: _endless(
        b"HTTP/1.1 500 No\r\nContent-Type: text/html\r\n\r\n", b"x" * 65_536
    ),
    "charset of an error": lambda: _endless(
        b"HTTP/1.1 500 No\r\nContent-Type: text/html; charset=zlib_codec\r\n\r\n" + _inflating(),
        b"x" * 1000,
    ),
    "endless headers": lambda: _endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1000),
    "endless header": lambda: _endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"x" * 65_536),
    "endless status": lambda: _endless(b"HTTP/1.1 200 ", b"x" * 65_536),
    "endless continue": lambda: _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "endless redirects": lambda: _endless(
        b"HTTP/1.1 307 Go\r\nLocation: /v1/chat/completions\r\n\r\n", b"x" * 65_536
    ),
    "answer of 200 MB": lambda: _answer(200 * _MB),
    "answer of 2 MB": lambda: _answer(19 * _MB // 10),
    "answer of 15 MB": lambda: _answer(15 * _MB),
    "escapes of 15 MB": lambda: _answer(15 * _MB - 15 * _MB % 6, rb"\u4e2d" * 10_000),
    "many lists": lambda: _values(b"[],"),
    "many objects": lambda: _values(b'{"a":1},'),
}


async def _serve(mode: str) -> None:
    requests = itertools.count()

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    await reader.readexactly(int(line.split(b":")[1]))
            good = next(requests) < GOOD_REPLIES
            async for piece in _answer(10) if good else MODES[mode]():
                writer.write(piece)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def watch() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(stop.set)

    server = await asyncio.start_server(reply, "127.0.0.1", 0, backlog=256)
    print(json.dumps(server.sockets[0].getsockname()[1]), flush=True)
    threading.Thread(target=watch, daemon=True).start()
    await stop.wait()


@contextmanager
def serve(mode: str) -> Iterator[str]:
    """The base_url of such a server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.hostile_server", mode],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())}/v1"
    finally:
        process.stdin.close()
        process.kill()
        process.wait(20)
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
