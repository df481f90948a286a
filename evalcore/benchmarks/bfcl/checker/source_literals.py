"""Java and JavaScript literals as upstream's checker converts them; what does not convert stays
a string.

Kept on purpose: the elements of `new String[]{"a"}` keep their quotes, so that a right answer to an
`Array` of strings fails (see `Flag`). The searches are linear where upstream's backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from evalcore.benchmarks.call_decoding.call import strip_quotes

#: Longer source stays a string: no argument of the benchmark comes near, and searches stay short.
LONGEST = 20_000

#: From a text and the type of the elements to a value, or to the text itself.
_Conversion = Callable[[str, str | None], Any]

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
    Raises KeyError for a type without a conversion, ValueError for a number of too many digits."""
    return _JAVA_CONVERSIONS[kind](text, nested) if len(text) <= LONGEST else text


def javascript_value(text: str, kind: str, nested: str | None = None) -> Any:
    """As `java_value`, of a JavaScript literal."""
    return _JAVASCRIPT_CONVERSIONS[kind](text, nested) if len(text) <= LONGEST else text


def number_or_text(text: str) -> int | float | str:
    """What Python reads as a number is one; anything else stays as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _convert_matching(pattern: str, convert: Callable[[str], Any]) -> _Conversion:
    matches = re.compile(pattern).match
    return lambda text, nested: convert(text) if matches(text) else text


def _pass_through(text: str, nested: str | None) -> Any:
    return text


_convert_integer = _convert_matching(r"^-?\d+$", int)
_convert_boolean = _convert_matching(r"(?:true|false)\Z", lambda text: text == "true")


def _convert_array_list(text: str, nested: str | None) -> Any:
    inside = _find_inside(_AS_LIST, text, "))", 1)
    items = _find_added_items(text) if inside is None else inside.split(",")
    if items is None:
        return [] if _EMPTY_LIST.search(text) else text
    if nested in ("char", "String"):
        return [item.strip()[1:-1] for item in items]
    return [_convert_java_item(item.strip(), nested) for item in items]


def _find_inside(opening: re.Pattern[str], text: str, closing: str, least: int = 0) -> str | None:
    """What stands on one line between the two, at least so many characters."""
    for start in opening.finditer(text):
        begin = start.end()
        end = text.find(closing, begin + least, _line_end(text, begin))
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


def _convert_java_array(text: str, nested: str | None) -> Any:
    inside = _find_inside(_ARRAY, text, "}")
    if inside is None:
        return text
    return [_convert_java_item(item.strip(), nested) for item in inside.split(",") if item.strip()]


def _convert_hash_map(text: str, nested: str | None) -> Any:
    start = _MAP_START.search(text)
    body = _MAP_BODY.search(text, start.end()) if start else None
    if body:
        begin = _after_blanks(text, body.end())
        begin = _after_blanks(text, begin + text.startswith("{", begin))
        end = text.find("}", begin)
        if end != -1:
            puts = _find_map_puts(text[begin:end].rstrip())
            return {key: _convert_java_item(value.strip(), None) for key, value in puts}
    for start in _MAP_START.finditer(text):  # `new HashMap<...>()`, its types on one line
        empty = _MAP_EMPTY.search(text, start.end())
        if empty and empty.start() < _line_end(text, start.end()):
            return {}
    return text


def _find_map_puts(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each `put("key", value)`; neither holds a line end."""
    start = text.find('put("')
    while start != -1:
        key = after = start + len('put("')
        line_end = _line_end(text, key)
        for comma in (text.find('",', key, line_end), text.rfind('",', key, line_end)):
            begin = _after_blanks(text, comma + 2)
            end = text.find(")", begin, _line_end(text, begin)) if comma != -1 else -1
            if end != -1:
                yield text[key:comma], text[begin:end]
                after = end + 1
                break
        start = text.find('put("', after)


def _convert_java_item(text: str, nested: str | None) -> Any:
    """An element; where no type is declared a boolean, string, long, float, number or text."""
    if nested:
        return java_value(text, nested)
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    for kind in ("boolean", "long", "float"):
        value = _JAVA_CONVERSIONS[kind](text, None)
        if value is not text:
            return value
    return number_or_text(text)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end == -1 else end


def _after_blanks(text: str, start: int) -> int:
    blanks = _BLANK.match(text, start)
    return blanks.end() if blanks else start


_JAVA_CONVERSIONS: dict[str, _Conversion] = {
    **dict.fromkeys(("byte", "short", "integer"), _convert_integer),
    "float": _convert_matching(
        r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$", lambda text: float(text.rstrip("fF\n"))
    ),
    "double": _convert_matching(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$", float),
    "long": _convert_matching(r"^-?\d+[lL]$", lambda text: int(text.rstrip("lL\n"))),
    "boolean": _convert_boolean,
    **dict.fromkeys(("char", "String", "any"), _pass_through),
    "Array": _convert_java_array,
    "ArrayList": _convert_array_list,
    "HashMap": _convert_hash_map,
}

_TABLE = re.compile(r"\[\s*\[")
_NEW_TABLE = re.compile(r"new\s+Array\(\s*\[")
_LINK = re.compile(r",\s*\[")
_ROW = re.compile(r"\[([^\]\n]*)\]")
_LIST = re.compile(r"\[([^\]\n]*)\]|new\s+Array\(([^)\n]*)\)")
_OBJECT = re.compile(r"\{([^}\n]*)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def _convert_javascript_array(text: str, nested: str | None) -> Any:
    code = text.strip()
    table = _parse_nested_lists(code)
    if table is not None:
        return table
    match = _LIST.match(code)
    if match is None:
        return code
    inside = (match[2] if match[1] is None else match[1]).strip()
    items = [item.strip() for item in inside.split(",")] if inside else []
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
    """Where a list of lists that begins with `opening` ends, or 0. A row runs from its bracket to a
    closing one on the same line that is followed by the end of the list, or by a comma and another
    such row. Found from the right, in linear time."""
    start = opening.match(code)
    if start is None:
        return 0
    ends: dict[int, int] = {}
    following = -1
    at = code.rfind("]")
    while at >= start.end():
        position = _after_blanks(code, at + 1)
        link = _LINK.match(code, position)
        if code.startswith(closing, position):
            ends[at] = position + 1
        elif link and following != -1 and "\n" not in code[link.end() : following]:
            ends[at] = ends[following]
        following = at if at in ends else following
        at = code.rfind("]", 0, at)
    return 0 if following == -1 or "\n" in code[start.end() : following] else ends[following]


def _convert_object(text: str, nested: str | None) -> Any:
    code = text.strip()
    match = _OBJECT.match(code)
    if match is None:
        return code
    pairs = _PAIR.findall(match[1]) if ":" in match[1] else []
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
    bare = strip_quotes(text)
    return number_or_text(text) if bare is text else bare


_JAVASCRIPT_CONVERSIONS: dict[str, _Conversion] = {
    "String": lambda text, nested: strip_quotes(text),
    "integer": _convert_integer,
    "float": _convert_matching(r"^-?\d+(\.\d+)?$", float),
    "Bigint": _convert_matching(r"^-?\d+n$", lambda text: int(text[:-1])),
    "Boolean": _convert_boolean,
    "any": _pass_through,
    "array": _convert_javascript_array,
    "dict": _convert_object,
}
