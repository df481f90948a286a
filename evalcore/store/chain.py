"""The chain of a journal: each line ends in a link that covers it and every line before it.

A link is the last field of a line, `"chain":"<16 hex digits>"`, which readers of records pass over.
Lines that older versions or importers wrote have none; the chain covers them all the same, because
the next link is computed over them too. A link has no key: it shows what a disk, a copy or an
editor did to a journal. That nobody rewrote the whole of it is what a seal shows (`store.seal`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from evalcore.records import Record

#: The link before the first line.
START = "0" * 16
_TAIL = re.compile(rb'(,|\{)"chain":"([0-9a-f]{16})"\}\n?\Z')
_TAIL_BYTES = 32  # more than a tail ever has


class ChainBreak(Record, frozen=True):
    """A line (from 1) that does not follow from those before it: a line was changed, dropped, added
    or moved here."""

    line: int


def link_line(payload: bytes, previous: str) -> tuple[bytes, str]:
    """A JSON object as a line that ends in its link, and that link."""
    link = _compute_link(payload, previous)
    comma = b"" if payload == b"{}" else b","
    return b'%s%s"chain":"%s"}\n' % (payload[:-1], comma, link.encode()), link


def split_line(line: bytes) -> tuple[bytes, str]:
    """The object of a line without its link, and the link, "" where it has none."""
    tail = _TAIL.search(line[-_TAIL_BYTES:])
    if tail is None:
        return line.removesuffix(b"\n"), ""
    start = len(line) - len(tail[0])
    return line[:start] + (b"}" if tail[1] == b"," else b"{}"), tail[2].decode()


def relink_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines with a chain of their own; a torn last line stays as it is."""
    link = START
    for line in lines:
        if line.endswith(b"\n"):
            line, link = link_line(split_line(line)[0], link)
        yield line


def find_last_link(path: Path) -> str:
    """The link that the next line of a journal follows; `START` for an empty one. Whole lines only:
    a torn one has to be cut off first. Raises OSError."""
    with path.open("rb") as file:
        if not (link := _read_tail_link(file)):
            file.seek(0)
            link = START
            for line in file:
                payload, own = split_line(line)
                link = own or _compute_link(payload, link)
    return link


def find_chain_break(lines: Iterable[tuple[int, bytes]]) -> ChainBreak | None:
    """The first numbered line that does not follow from those before it, None where all do."""
    link, linked = START, False
    for number, line in lines:
        payload, own = split_line(line)
        link = _compute_link(payload, link)
        if own != link if own else linked:
            return ChainBreak(number)
        linked = bool(own)
    return None


def _read_tail_link(file: BinaryIO) -> str:
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = _TAIL.search(file.read())
    return tail[2].decode() if tail else ("" if size else START)


def _compute_link(payload: bytes, previous: str) -> str:
    return hashlib.blake2b(previous.encode() + payload, digest_size=8).hexdigest()
