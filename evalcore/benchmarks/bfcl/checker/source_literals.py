"""Java and JavaScript literals as upstream's checker converts them; what does not convert stays
a string.

Upstream's quirks are kept on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

# Java literals as upstream's checker converts them; what does not convert stays a string.
# Kept on purpose: the elements of `new String[]{"a"}` keep their quotes, so that a right answer
# to an `Array` of strings fails (see `flagged`). The searches are linear where upstream's
# backtrack.

#: Longer source stays a string: no argument of the benchmark comes near, and searches stay short.
LONGEST = 20_000

_WHOLE = re.compile(r"^-?\d+$")
_JAVA_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_LONG = re.compile(r"^-?\d+[lL]$")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_ADDING = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD = re.compile(r"add\((.[^)\n]*+)\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_MAP_START = re.compile(r"new\s+HashMap<")
_MAP_BODY = re.compile(r">\s*\(\)\s*\{")
_MAP_EMPTY = re.compile(r">\s*\(\)")
_BLANK = re.compile(r"\s*")


def java_value(text: str, kind: str, nested: str | None = None) -> Any:
    """The value of a Java literal for a parameter of type `kind` with elements of type `nested`.

    Raises KeyError for a type without a conversion, ValueError for a number of too many digits.
    """
    return _JAVA_CONVERSIONS[kind](text, nested) if len(text) <= LONGEST else text


def _convert_integer(text: str, nested: str | None) -> Any:
    return int(text) if _WHOLE.match(text) else text


def _convert_java_float(text: str, nested: str | None) -> Any:
    return float(re.sub(r"[fF]$", "", text)) if _JAVA_FLOAT.match(text) else text


def _convert_double(text: str, nested: str | None) -> Any:
    return float(text) if _DOUBLE.match(text) else text


def _convert_long(text: str, nested: str | None) -> Any:
    return int(re.sub(r"[lL]$", "", text)) if _LONG.match(text) else text


def _convert_boolean(text: str, nested: str | None) -> Any:
    return text == "true" if text in ("true", "false") else text


def _pass_through(text: str, nested: str | None) -> Any:
    return text


def _convert_array_list(text: str, nested: str | None) -> Any:
    inside = _as_list_arguments(text)
    if inside is not None:
        return [_convert_list_element(item.strip(), nested) for item in inside.split(",")]
    added = _find_added_items(text)
    if added is not None:
        return [_convert_list_element(item.strip(), nested) for item in added]
    return [] if _EMPTY_LIST.search(text) else text


def _as_list_arguments(text: str) -> str | None:
    """What stands on one line from `Arrays.asList(` to the next `))`; at least a character."""
    for start in _AS_LIST.finditer(text):
        begin = start.end()
        end = text.find("))", begin + 1, _line_end(text, begin))
        if end != -1:
            return text[begin:end]
    return None


def _find_added_items(text: str) -> list[str] | None:
    """The arguments of `add(...)` within the double braces of an anonymous ArrayList."""
    start = _ADDING.search(text)
    if start is None:
        return None
    begin = _after_blanks(text, start.end())
    end = text.find("}}", begin + 1)
    if end != -1:
        return _ADD.findall(text[begin:end].rstrip())
    return [] if begin > start.end() and text.startswith("}}", begin) else None


def _convert_list_element(text: str, nested: str | None) -> Any:
    if nested in ("char", "String"):
        return text[1:-1]
    return java_value(text, nested) if nested else _convert_untyped_java(text)


def _convert_java_array(text: str, nested: str | None) -> Any:
    inside = _array_items(text)
    if inside is None:
        return text
    items = [item.strip() for item in inside.split(",") if item.strip()]
    return [java_value(item, nested) if nested else _convert_untyped_java(item) for item in items]


def _array_items(text: str) -> str | None:
    """What stands on one line between the braces of `new T[]{...}`."""
    for start in _ARRAY.finditer(text):
        end = text.find("}", start.end(), _line_end(text, start.end()))
        if end != -1:
            return text[start.end() : end]
    return None


def _convert_hash_map(text: str, nested: str | None) -> Any:
    start = _MAP_START.search(text)
    body = _MAP_BODY.search(text, start.end()) if start else None
    if body:
        begin = _after_blanks(text, body.end())
        begin = _after_blanks(text, begin + text.startswith("{", begin))
        end = text.find("}", begin)
        if end != -1:
            return {
                key: _convert_untyped_java(value.strip())
                for key, value in _find_map_puts(text[begin:end].rstrip())
            }
    return {} if _is_empty_map(text) else text


def _is_empty_map(text: str) -> bool:
    """`new HashMap<...>()`, its type arguments on one line, anywhere in the text."""
    for start in _MAP_START.finditer(text):
        end = _MAP_EMPTY.search(text, start.end())
        if end and end.start() < _line_end(text, start.end()):
            return True
    return False


def _find_map_puts(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each `put("key", value)`; neither holds a line end."""
    start = text.find('put("')
    while start != -1:
        key = start + len('put("')
        line_end = _line_end(text, key)
        after = key
        for comma in (text.find('",', key, line_end), text.rfind('",', key, line_end)):
            begin = _after_blanks(text, comma + 2)
            end = text.find(")", begin, _line_end(text, begin)) if comma != -1 else -1
            if end != -1:
                yield text[key:comma], text[begin:end]
                after = end + 1
                break
        start = text.find('put("', after)


def _convert_untyped_java(text: str) -> Any:
    """A literal whose type is not declared: boolean, string, long, float, else a number or text."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.match(text):
        return int(text[:-1])
    if _JAVA_FLOAT.match(text):
        return float(re.sub(r"[fF]$", "", text))
    return number_or_text(text)


def number_or_text(text: str) -> int | float | str:
    """What Python reads as a number is one; anything else stays as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end == -1 else end


def _after_blanks(text: str, start: int) -> int:
    blanks = _BLANK.match(text, start)
    return blanks.end() if blanks else start


_JAVA_CONVERSIONS: dict[str, Callable[[str, str | None], Any]] = {
    "byte": _convert_integer,
    "short": _convert_integer,
    "integer": _convert_integer,
    "float": _convert_java_float,
    "double": _convert_double,
    "long": _convert_long,
    "boolean": _convert_boolean,
    "char": _pass_through,
    "String": _pass_through,
    "any": _pass_through,
    "Array": _convert_java_array,
    "ArrayList": _convert_array_list,
    "HashMap": _convert_hash_map,
}


# JavaScript literals as upstream's checker converts them; what does not convert stays a string.

_JAVASCRIPT_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIG = re.compile(r"^-?\d+n$")
_TABLE = re.compile(r"\[\s*\[")
_NEW_TABLE = re.compile(r"new\s+Array\(\s*\[")
_LINK = re.compile(r",\s*\[")
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


def _convert_javascript_float(text: str, nested: str | None) -> Any:
    return float(text) if _JAVASCRIPT_FLOAT.match(text) else text


def _convert_bigint(text: str, nested: str | None) -> Any:
    return int(text[:-1]) if _BIG.match(text) else text


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
