"""JavaScript literals as upstream's checker converts them; what does not convert stays a string."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.checker.java_values import LONGEST, number_or_text

_WHOLE = re.compile(r"^-?\d+$")
_JAVASCRIPT_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
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
    return _JAVASCRIPT_CONVERSIONS[kind](text, nested) if len(text) <= LONGEST else text


def _convert_string(text: str, nested: str | None) -> Any:
    quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")
    return text[1:-1] if quoted else text


def _convert_integer(text: str, nested: str | None) -> Any:
    return int(text) if _WHOLE.match(text) else text


def _convert_javascript_float(text: str, nested: str | None) -> Any:
    return float(text) if _JAVASCRIPT_FLOAT.match(text) else text


def _convert_bigint(text: str, nested: str | None) -> Any:
    return int(text[:-1]) if _BIG.match(text) else text


def _convert_boolean(text: str, nested: str | None) -> Any:
    return text == "true" if text in ("true", "false") else text


def _pass_through(text: str, nested: str | None) -> Any:
    return text


def _convert_javascript_array(text: str, nested: str | None) -> Any:
    code = text.strip()
    table = _parse_nested_lists(code)
    if table is not None:
        return table
    match = _LIST.match(code)
    if match is None:
        return code
    inside = match.group(1) if match.group(1) is not None else match.group(2)
    items = [item.strip() for item in inside.strip().split(",")] if inside.strip() else []
    try:
        return [
            javascript_value(item, nested) if nested else _convert_untyped_javascript(item)
            for item in items
        ]
    except (KeyError, ValueError):
        return code


def _parse_nested_lists(code: str) -> list[list[Any]] | None:
    """The rows of a list of lists, each split at its commas; None for anything else."""
    end = _table_end(code, _TABLE, "]") or _table_end(code, _NEW_TABLE, ")")
    if not end:
        return None
    rows = [row.strip() for row in _ROW.findall(code[:end])]
    rows[0] = rows[0].removeprefix("[")
    return [[_convert_untyped_javascript(item) for item in row.split(",")] for row in rows]


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
        position = after.end() if after else at + 1
        link = _LINK.match(code, position)
        if code.startswith(closing, position):
            ends[at] = position + 1
        elif link and following != -1 and "\n" not in code[link.end() : following]:
            ends[at] = ends[following]
        following = at if at in ends else following
        at = code.rfind("]", 0, at)
    if not start or following == -1 or "\n" in code[start.end() : following]:
        return 0
    return ends[following]


def _convert_object(text: str, nested: str | None) -> Any:
    code = text.strip()
    match = _OBJECT.match(code)
    if match is None:
        return code
    pairs = _PAIR.findall(match.group(1)) if ":" in match.group(1) else []
    return {key.strip().strip("'\""): _convert_member(value.strip()) for key, value in pairs}


def _convert_member(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _convert_javascript_array(text, None)
    return _convert_untyped_javascript(text.strip("'\""))


def _convert_untyped_javascript(text: str) -> Any:
    """A literal whose type is not declared: boolean, quoted string, else a number or text."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")
    return text[1:-1] if quoted else number_or_text(text)


_JAVASCRIPT_CONVERSIONS: dict[str, Callable[[str, str | None], Any]] = {
    "String": _convert_string,
    "integer": _convert_integer,
    "float": _convert_javascript_float,
    "Bigint": _convert_bigint,
    "Boolean": _convert_boolean,
    "any": _pass_through,
    "array": _convert_javascript_array,
    "dict": _convert_object,
}
