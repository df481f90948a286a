"""ASGI middleware that compresses the scripts and style sheets of the pages.

Streamlit sends them as they are: 2.8 MB before a first visitor sees a table, of which gzip leaves
less than a third. Each is compressed once, as its name changes with its content.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_FILE = 8_000_000  # bytes that are held in memory while they are compressed
MAX_MEMORY = 32_000_000  # compressed bytes of all files together
_LEVEL = 6
_ASSET = re.compile(r"/static/[^?]+\.(?:js|css|svg)$")
_ACCEPTED = re.compile(
    r"(?:^|[\s,])(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?(?:[,\s]|$))[\d.]+)?(?:,|$)"
)


class CompressedFile(NamedTuple):
    """The headers of a response without those of its length, and its body by gzip."""

    headers: list[tuple[bytes, bytes]]
    body: bytes


class CompressedAssets:
    """ASGI middleware: sends a file that never changes by gzip to whoever accepts it.

    What is not a whole file of that kind passes as it is: ranges, revalidations, errors, and every
    answer without `immutable`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._files: dict[str, CompressedFile] = {}
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_whole_asset(scope):
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if (stored := self._files.get(path)) is not None:
            await _send_file(stored, send)
            return
        start: Message = {}
        parts: list[bytes] = []

        async def compress_body(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_compressible(message):
                start = message
                return
            if not start or message["type"] != "http.response.body":
                await send(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = await asyncio.to_thread(gzip.compress, b"".join(parts), _LEVEL, mtime=0)
            file = CompressedFile(_list_headers(start, len(body)), body)
            if path not in self._files and self._size + len(body) <= MAX_MEMORY:
                self._files[path] = file
                self._size += len(body)
            await _send_file(file, send)

        await self.app(scope, receive, compress_body)


def _is_whole_asset(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or not _ASSET.search(scope["path"]):
        return False
    headers = Headers(scope=scope)
    asks_for_part = any(name in headers for name in ("range", "if-none-match", "if-modified-since"))
    return not asks_for_part and bool(_ACCEPTED.search(headers.get("accept-encoding", "").lower()))


def _is_compressible(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and "immutable" in headers.get("cache-control", "")
        and "content-encoding" not in headers
        and length.isdecimal()
        and int(length) <= MAX_FILE
    )


def _list_headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    """Those of the answer; its tag and ranges are of the file as it was."""
    headers = MutableHeaders(raw=list(start["headers"]))
    for name in ("etag", "accept-ranges"):
        del headers[name]
    headers["content-length"] = str(length)
    headers["content-encoding"] = "gzip"
    headers.add_vary_header("Accept-Encoding")
    return headers.raw


async def _send_file(file: CompressedFile, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": list(file.headers)})
    await send({"type": "http.response.body", "body": file.body})
