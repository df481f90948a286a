"""JSON and JSON lines from outside: bounded in bytes, lines and depth, and valid once rewritten.

Half of a surrogate pair, which UTF-8 cannot hold, becomes the replacement character: it is data
that somebody sent, and no reason to lose the rest. NaN, Infinity and 1e400 are no JSON numbers
(RFC 8259, section 6). A name that occurs twice in an object has its last value, as everywhere else,
unless `strict`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import DatasetError, IntakeError
from evalcore.i18n import Note

DEPTH_LIMIT = 100  # levels; whatever is deeper would end some later serializer or reader
FILE_LIMIT = 512 << 20  # bytes; logs of conversations make the largest official files
LINE_LIMIT = 64 << 20  # bytes
ROWS_LIMIT = 2_000_000
_DIGITS_LIMIT = 4300  # of an integer, as Python's own reader (CVE-2020-10735)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def parse_json(
    text: str | bytes, *, depth: int = DEPTH_LIMIT, strict: bool = False, drop: bool = False
) -> Any:
    """Return what a JSON text holds.

    `strict` refuses what readers disagree about as well: a name that occurs twice, and an integer
    of more than 64 bits. `drop` leaves a field out whose number is not finite or too long, in place
    of refusing the text; in a list it becomes None.

    Raises IntakeError for everything else that is not JSON, not UTF-8, or deeper than `depth`.
    """
    try:
        value = _decode_json_text(text, strict=strict, drop=drop)
    except RecursionError:
        raise IntakeError(Note("upload_deep")) from None
    except UnicodeDecodeError as error:
        raise IntakeError(Note("upload_bytes", at=error.start)) from None
    if is_deeper(value, depth):
        raise IntakeError(Note("upload_levels", depth=depth))
    return value


def _decode_json_text(text: str | bytes, *, strict: bool, drop: bool) -> Any:
    if not strict:
        try:
            return msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeError):
            pass  # the slower reader says why, or takes what is only odd
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_reject_duplicate_fields
            if strict
            else _drop_missing_fields
            if drop
            else None,
            parse_constant=_constant_to_nan if drop else _refuse_constant,
            parse_int=_bounded_int if strict else _int_or_infinity if drop else _limited_int,
            parse_float=float if drop else _finite_float,
        )
    except json.JSONDecodeError as error:
        raise IntakeError(Note("upload_not_json", message=error.msg, at=error.pos + 1)) from None
    if drop:
        value = _replace_missing(value)
    return replace_surrogates(value) if _MAYBE_SURROGATE.search(text) else value


def parse_json_or(text: str, fallback: Any) -> Any:
    """Return what Python's own reader makes of a text, or the fallback where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return fallback


def is_deeper(value: Any, depth: int) -> bool:
    """Whether plain data has more than `depth` levels of lists and mappings within each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        if not level:
            return False
        level = [
            child
            for holder in level
            for child in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(child, dict | list)
        ]
    return bool(level)


def check_depth(line: bytes, depth: int = DEPTH_LIMIT) -> None:
    """Raises IntakeError for a line of valid JSON that is deeper than `depth`; decodes it only
    where its brackets could be too many."""
    if line.count(b"[") + line.count(b"{") > depth:
        parse_json(line, depth=depth, drop=True)


def replace_surrogates(value: Any) -> Any:
    """Return plain data with each half of a surrogate pair replaced, in names as well; whole pairs
    become their character. Depth is that of `parse_json`."""
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {replace_surrogates(name): replace_surrogates(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(item) for item in value]
    return value


def read_rows(path: Path, *, drop: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines with their line numbers, from 1.

    Empty lines are passed over; a byte order mark is no part of the first line; only a line feed
    ends a line. One line is in memory at a time. `drop` as in `parse_json`.

    Raises DatasetError naming the line, for a file that cannot be read, for a line that is no JSON
    object, and beyond `FILE_LIMIT`, `LINE_LIMIT` and `ROWS_LIMIT`.
    """
    size = 0
    try:
        with path.open("rb") as file:
            for number in range(1, ROWS_LIMIT + 2):
                line = file.readline(LINE_LIMIT + 1)
                size += len(line)
                if not line:
                    return
                if size > FILE_LIMIT:
                    raise DatasetError(path, None, "", Note("large_file", size=FILE_LIMIT >> 20))
                if len(line) > LINE_LIMIT:
                    problem = f"is longer than {LINE_LIMIT >> 20} MB"
                    raise DatasetError(path, number, "", problem)
                if number > ROWS_LIMIT:
                    raise DatasetError(path, number, "", Note("long_file", most=ROWS_LIMIT))
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip():
                    yield number, _parse_json_row(path, number, text, drop)
    except OSError as error:
        raise DatasetError(path, None, "", Note("cannot_read", problem=error.strerror)) from None


def _parse_json_row(path: Path, number: int, line: bytes, drop: bool) -> dict[str, Any]:
    try:
        row = parse_json(line, drop=drop)
    except IntakeError as error:
        raise DatasetError(path, number, "", str(error)) from None
    if not isinstance(row, dict):
        raise DatasetError(path, number, "", Note("upload_not_object"))
    return row


def _reject_duplicate_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise IntakeError(Note("upload_field_twice", name=f"{twice[:60]!r}"))
    return fields


def _refuse_constant(name: str) -> Any:
    raise IntakeError(Note("upload_constant", name=name))


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise IntakeError(Note("upload_number_large", number=digits[:24]))
    return number


def _limited_int(digits: str) -> int:
    if len(digits) > _DIGITS_LIMIT:
        raise IntakeError(Note("upload_number_digits", number=digits[:24], count=len(digits)))
    return int(digits)


def _bounded_int(digits: str) -> int:
    if len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise IntakeError(Note("upload_number_bits", number=digits[:24]))
    return int(digits)


def _int_or_infinity(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_LIMIT else math.inf


def _constant_to_nan(name: str) -> float:
    return math.nan


def _is_missing(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _drop_missing_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: _replace_missing(value) for name, value in pairs if not _is_missing(value)}


def _replace_missing(value: Any) -> Any:
    """None in place of what is not finite in a list; objects are clean already."""
    if isinstance(value, list):
        return [_replace_missing(item) for item in value]
    return None if _is_missing(value) else value
