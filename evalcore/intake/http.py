"""Bodies of HTTP replies, read within bounds of memory whatever a server sends, and their JSON.

A body is read in pieces. It ends at so many bytes, packed or unpacked, and only so many large ones
are read at a time by this process. What is packed is unpacked in steps, the large steps in a
thread. An error's body is cut instead of refused, since its status and first words say what there
is to say.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import Any

from evalcore.errors import IntakeError
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json

#: What a request should offer to accept: the encodings that are unpacked here.
ACCEPT_ENCODING = "gzip, deflate"
#: Bytes of an error's body that are read; messages are cut far below.
ERROR_BYTES = 1 << 16
_SMALL = 1 << 18  # a body up to here needs no share of the memory for large ones
_INLINE = 1 << 16  # bytes that are unpacked at once on the event loop
_STEP = 1 << 20  # and in a thread
_PAUSE = 0.02  # seconds between two looks for free memory
#: Values of a JSON text at most: a text of 16 MB in brackets would take 20 times its size.
VALUE_LIMIT = 1_000_000
#: Characters of one answer at most, several times what any model writes: answers outlive their
#: replies, many at a time, and a character takes up to four bytes.
ANSWER_LIMIT = 2_000_000
_GZIP, _ZLIB, _RAW = 31, 15, -15
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_UNREAD = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})


class ReplyTooLarge(Exception):
    """A body has more bytes than one may have."""


class ReplyUnreadable(Exception):
    """A body is packed in a way that was not asked for, or its packing is broken; says how."""


@dataclass(frozen=True)
class ReplyLimits:
    """Bytes of one unpacked reply, and of all large ones that are read at a time."""

    per_reply: int = 16_000_000
    in_flight: int = 128_000_000


class BoundedBody:
    """The unpacked pieces of a body; iterate once, then call `release`. `cut` ends a body that is
    too large or broken where it is so, instead of raising ReplyTooLarge or ReplyUnreadable."""

    _reserved = 0  # bytes, by all bodies of this process

    def __init__(
        self, chunks: AsyncIterable[bytes], encoding: str, limits: ReplyLimits, *, cut: bool = False
    ) -> None:
        self._chunks, self._encoding, self._limits, self._cut = chunks, encoding, limits, cut
        self._share = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._read_bounded():
                yield piece
        except (ReplyTooLarge, ReplyUnreadable):
            if not self._cut:
                raise
        finally:
            self.release()

    def release(self) -> None:
        """Give the memory back to other bodies; safe to call twice."""
        BoundedBody._reserved -= self._share
        self._share = 0

    async def _read_bounded(self) -> AsyncIterator[bytes]:
        unpack = _create_unpacker(self._encoding)
        limit, packed, size = self._limits.per_reply, 0, 0
        async for chunk in self._chunks:
            packed += len(chunk)
            if packed > limit:
                raise ReplyTooLarge
            async for piece in unpack.decompress_chunk(chunk) if unpack else _yield_chunk(chunk):
                size += len(piece)
                if size > limit:
                    raise ReplyTooLarge
                if size > _SMALL and not self._share:
                    await self._reserve_memory()
                yield piece
        if unpack and packed:
            unpack.check_complete()

    async def _reserve_memory(self) -> None:
        """Wait until there is memory for a whole reply, bounded by the request's time limit."""
        room = max(self._limits.in_flight, self._limits.per_reply)
        while BoundedBody._reserved + self._limits.per_reply > room:
            await asyncio.sleep(_PAUSE)
        self._share = self._limits.per_reply
        BoundedBody._reserved += self._share


async def read_body(
    chunks: AsyncIterable[bytes], encoding: str, limits: ReplyLimits, *, cut: bool = False
) -> bytes:
    """Read a whole body, `encoding` being its Content-Encoding. Raises ReplyTooLarge and
    ReplyUnreadable, unless it is to be `cut`."""
    content = bytearray()
    async for piece in BoundedBody(chunks, encoding, limits, cut=cut):
        content += piece
    return bytes(content)


async def _yield_chunk(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


class _Unpacker:
    """One gzip or deflate stream; deflate comes with and without a zlib header (RFC 9110)."""

    def __init__(self) -> None:
        self._head = b""
        self._inflater: Any = None

    async def decompress_chunk(self, chunk: bytes) -> AsyncIterator[bytes]:
        if self._inflater is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            chunk, self._inflater = self._head, zlib.decompressobj(_detect_window_bits(self._head))
        piece = self._inflate_data(chunk, _INLINE)
        while piece:
            yield piece
            rest = self._inflater.unconsumed_tail
            piece = await asyncio.to_thread(self._inflate_data, rest, _STEP) if rest else b""

    def _inflate_data(self, data: bytes, max_length: int) -> bytes:
        try:
            return self._inflater.decompress(data, max_length)  # type: ignore[no-any-return]
        except zlib.error:
            raise ReplyUnreadable("packed in a way that cannot be read") from None

    def check_complete(self) -> None:
        if self._inflater is None or not self._inflater.eof:
            raise ReplyUnreadable("packed and ends too early")


def _detect_window_bits(head: bytes) -> int:
    if head[:2] == b"\x1f\x8b":
        return _GZIP
    has_zlib_header = head[0] & 15 == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return _ZLIB if has_zlib_header else _RAW


def _create_unpacker(encoding: str) -> _Unpacker | None:
    """None for what is not packed; raises ReplyUnreadable for what was never asked for. Some
    servers write what is no coding (`utf-8`), which means nothing."""
    names = [coding.strip().lower() for coding in encoding.split(",")]
    codings = [name for name in names if name in _PACKED | _UNREAD]
    if not codings:
        return None
    if len(codings) > 1 or codings[0] in _UNREAD:
        raise ReplyUnreadable(f"packed by {encoding[:20]}, which is not read")
    return _Unpacker()


_STRUCTURE = (b"[", b"{", b",")
_ESCAPE = re.compile(
    r"""\\(?:
        u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}  # a whole pair
        | (u[dD][89a-fA-F][0-9a-fA-F]{2})                         # half of one
        | .
    )""",
    re.VERBOSE | re.DOTALL,
)
_RAW_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


def decode_json(content: bytes) -> Any:
    """Decode the JSON of a reply; what is no finite number is left out. Raises IntakeError for what
    is no JSON, or holds so many values that it would take 20 times its size."""
    if sum(map(content.count, _STRUCTURE)) > VALUE_LIMIT:
        raise IntakeError(Note("many_values", most=f"{VALUE_LIMIT:,}"))
    content = content.removeprefix(codecs.BOM_UTF8)
    return parse_json(_RAW_SURROGATE.sub("\ufffd".encode(), content), drop=True)


def repair_escapes(text: str) -> str:
    """Replace the escapes of halves of surrogate pairs in a JSON text that is kept as it is."""
    return _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)
