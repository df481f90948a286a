"""JavaScript literals as upstream's checker converts them; what does not convert stays a string."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.checker.java_values import LONGEST, number_or_text

_WHOLE = re.compile(r"^-?\d+$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIG = re.compile(r"^-?\d+n$")
_TABLE = re.compile(r"\[\s*\[")
_NEW_TABLE = re.compile(r"new\s+Array\(\s*\[")
_LINK = re.compile(r",\s*\[")
_BLANK = re.compile(r"\s*")
_ROW = re.compile(r"\[([^\]\n]*)\]")
_LIST = re.compile(r"\[([^\]\n]*)\]|new\s+Array\(([^)\n]*)\)")
_OBJECT = re.compile(r"\{([^}\n]*)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def javascript_value(text: str, kind: str, nested: str | None = None) -> Any:
    """The value of a JavaScript literal for a parameter of type `kind` with elements of `nested`.

    Raises KeyError for a type without a conversion, ValueError for a number of too many digits.
    """
    return _CONVERSIONS[kind](text, nested) if len(text) <= LONGEST else text


def _string(text: str, nested: str | None) -> Any:
    quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")
    return text[1:-1] if quoted else text


def _whole(text: str, nested: str | None) -> Any:
    return int(text) if _WHOLE.match(text) else text


def _float(text: str, nested: str | None) -> Any:
    return float(text) if _FLOAT.match(text) else text


def _big(text: str, nested: str | None) -> Any:
    return int(text[:-1]) if _BIG.match(text) else text


def _boolean(text: str, nested: str | None) -> Any:
    return text == "true" if text in ("true", "false") else text


def _verbatim(text: str, nested: str | None) -> Any:
    return text


def _array(text: str, nested: str | None) -> Any:
    code = text.strip()
    table = _table(code)
    if table is not None:
        return table
    found = _LIST.match(code)
    if found is None:
        return code
    inside = found.group(1) if found.group(1) is not None else found.group(2)
    items = [item.strip() for item in inside.strip().split(",")] if inside.strip() else []
    try:
        return [javascript_value(item, nested) if nested else _untyped(item) for item in items]
    except (KeyError, ValueError):
        return code


def _table(code: str) -> list[list[Any]] | None:
    """The rows of a list of lists, each split at its commas; None for anything else."""
    end = _table_end(code, _TABLE, "]") or _table_end(code, _NEW_TABLE, ")")
    if not end:
        return None
    rows = [row.strip() for row in _ROW.findall(code[:end])]
    rows[0] = rows[0].removeprefix("[")
    return [[_untyped(item) for item in row.split(",")] for row in rows]


def _table_end(code: str, opening: re.Pattern[str], closing: str) -> int:
    """Where a list of lists that begins with `opening` ends, or 0.

    A row runs from its bracket to a closing one on the same line that is followed by the end of
    the list, or by a comma and another such row. Found from the right, in linear time.
    """
    start = opening.match(code)
    ends: dict[int, int] = {}
    following = -1
    at = code.rfind("]") if start else -1
    while start and at >= start.end():
        after = _BLANK.match(code, at + 1)
        place = after.end() if after else at + 1
        link = _LINK.match(code, place)
        if code.startswith(closing, place):
            ends[at] = place + 1
        elif link and following != -1 and "\n" not in code[link.end() : following]:
            ends[at] = ends[following]
        following = at if at in ends else following
        at = code.rfind("]", 0, at)
    if not start or following == -1 or "\n" in code[start.end() : following]:
        return 0
    return ends[following]


def _object(text: str, nested: str | None) -> Any:
    code = text.strip()
    found = _OBJECT.match(code)
    if found is None:
        return code
    pairs = _PAIR.findall(found.group(1)) if ":" in found.group(1) else []
    return {key.strip().strip("'\""): _member(value.strip()) for key, value in pairs}


def _member(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _array(text, None)
    return _untyped(text.strip("'\""))


def _untyped(text: str) -> Any:
    """A literal whose type is not declared: boolean, quoted string, else a number or text."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")
    return text[1:-1] if quoted else number_or_text(text)


_CONVERSIONS: dict[str, Callable[[str, str | None], Any]] = {
    "String": _string,
    "integer": _whole,
    "float": _float,
    "Bigint": _big,
    "Boolean": _boolean,
    "any": _verbatim,
    "array": _array,
    "dict": _object,
}
