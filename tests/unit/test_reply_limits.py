"""Bodies of replies: unpacked, bounded, and never more than a share of the memory at a time."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from evalcore.errors import IntakeError
from evalcore.intake.http import (
    VALUE_LIMIT,
    BoundedBody,
    ReplyLimits,
    ReplyTooLarge,
    ReplyUnreadable,
    decode_json,
    read_body,
)

TEXT = b'{"a": "' + b"words " * 20_000 + b'"}'
LIMITS = ReplyLimits(per_reply=200_000, in_flight=200_000)


def raw_deflate(content):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


async def chunks(content, size=1000):
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def endless(piece):
    while True:
        await asyncio.sleep(0)
        yield piece


@pytest.mark.parametrize("size", [1, 2, 777, 1 << 20])
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("", bytes),
        ("identity", bytes),
        ("utf-8", bytes),
        ("gzip", gzip.compress),
        (" GZIP ", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
    ],
)
async def test_a_body_comes_unpacked(encoding, pack, size):
    assert await read_body(chunks(pack(TEXT), size), encoding, LIMITS) == TEXT


@pytest.mark.parametrize("content", [b"x" * 200_001, b"x" * 900_000])
async def test_a_body_beyond_the_limit_is_refused_packed_or_not(content):
    for encoding, packed in (("", content), ("gzip", gzip.compress(content))):
        with pytest.raises(ReplyTooLarge):
            await read_body(chunks(packed), encoding, LIMITS)


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
async def test_an_endless_body_is_refused(encoding):
    with pytest.raises((ReplyTooLarge, ReplyUnreadable)):
        await read_body(endless(b"\0" * 5000), encoding, LIMITS)


async def test_endless_rubbish_behind_a_packed_body_is_refused():
    async def body():
        yield gzip.compress(b"{}")
        while True:
            yield b"x" * 1000

    with pytest.raises(ReplyTooLarge):
        await read_body(body(), "gzip", LIMITS)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", b"no gzip at all"),
        ("gzip", gzip.compress(TEXT, mtime=0)[:-20]),
        ("gzip", b"\x1f"),
        ("br", b"{}"),
        ("zstd", b"{}"),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT, mtime=0), mtime=0)),
        ("gzip,gzip", gzip.compress(TEXT, mtime=0)),
    ],
)
async def test_what_was_not_asked_for_or_is_broken_is_named(encoding, content):
    with pytest.raises(ReplyUnreadable, match="packed"):
        await read_body(chunks(content), encoding, LIMITS)
    assert TEXT.startswith(await read_body(chunks(content), encoding, LIMITS, cut=True))


async def test_the_body_of_an_error_is_cut():
    cut = await read_body(endless(b"x" * 1000), "", ReplyLimits(per_reply=10_500), cut=True)
    assert cut == b"x" * 10_000


async def test_large_bodies_wait_for_the_memory_of_others():
    """So many at a time as the limit holds; who is cancelled or breaks gives its share back."""
    limits = ReplyLimits(per_reply=1_000_000, in_flight=2_000_000)
    reading, most = 0, 0

    async def send_request(number):
        nonlocal reading, most
        body = BoundedBody(chunks(b"x" * 900_000, 100_000), "", limits)
        large = False
        size = 0
        async for piece in body:
            size += len(piece)
            if size > 400_000 and not large:
                large = True
                reading += 1
                most = max(most, reading)
            await asyncio.sleep(0)
            if number % 3 == 0 and large:
                body.release()
                break
        reading -= large

    await asyncio.wait_for(asyncio.gather(*map(send_request, range(12))), 60)
    assert most == 2
    stuck = [asyncio.create_task(read_body(endless(b""), "", limits)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)
    assert BoundedBody._reserved == 0


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (rb'"a\ud800b"', "a\ufffdb"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\ud800\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\ud83d\ude00\udc00"', "\U0001f600\ufffd"),
        (rb'"\\ud800 \ud800"', "\\ud800 \ufffd"),
        (rb'"\"\uDFFF\""', '"\ufffd"'),
        (b'"\xed\xa0\x80"', "\ufffd"),
        (b'{"a": [NaN, 1e999, 1.5, 1e5], "b": NaN}', {"a": [None, None, 1.5, 1e5]}),
        (b'{"n": 1%b}' % (b"0" * 30), {"n": 10**30}),
        (b'{"n": 1%b}' % (b"0" * 9000), {}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    ],
)
def test_what_a_strict_decoder_refuses_is_data(content, value):
    assert decode_json(content) == value


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"a":' * 50_000,
        b"[" + b"[]," * VALUE_LIMIT + b"[]]",
        b'"\xc3"',
        b'{"a": 1}x',
    ],
    ids=range(8),
)
def test_what_is_no_json_is_a_value_error(content):
    with pytest.raises(IntakeError):
        decode_json(content)
