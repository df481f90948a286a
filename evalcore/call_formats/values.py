"""Values as models write them: JSON, Python literals, text between tags, and where they end.

The text is hostile: sizes and depths are bounded, and nothing is run. A value that JSON cannot hold
is no value.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

#: What hostile text makes parsers and conversions raise.
PARSING_ERRORS = (
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
#: The name of answers in messages of Python's parser; nothing that it warns of (a model's odd
#: escapes) concerns a log.
SOURCE = "<answer>"
warnings.filterwarnings("ignore", module=SOURCE)

MAX_LITERAL_CHARS = 100_000
_MAX_DEPTH = 60
_BRACKETS = re.compile(r"[\[\](){}\"'\\]")
_CLOSED_BY = {"]": "[", ")": "(", "}": "{"}
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}


class OfferedTools:
    """The tools that were offered: their names, and the schemas of their parameters in order."""

    def __init__(self, functions: Sequence[Mapping[str, Any]]) -> None:
        self.properties: dict[str, Mapping[str, Any]] = {}
        for tool in functions:
            inner = tool.get("function", tool)
            function = inner if isinstance(inner, Mapping) else {}
            parameters = function.get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
            self.properties[str(function.get("name"))] = (
                properties if isinstance(properties, Mapping) else {}
            )

    def __contains__(self, name: str) -> bool:
        return name in self.properties

    def resolve_name(self, name: str) -> str:
        """The offered name that a written name means: itself, or what is left of it without the
        namespace that some templates put before it."""
        bare = _NAMESPACE.sub("", name)
        return bare if name not in self.properties and bare in self.properties else name

    def find_schema(self, name: str, parameter: str) -> Mapping[str, Any]:
        schema = self.properties.get(self.resolve_name(name), {}).get(parameter)
        return schema if isinstance(schema, Mapping) else {}


_NAMESPACE = re.compile(r"^(?:functions|default_api|tools?|multi_tool_use)\.|\.call$")


class ParsedCall(NamedTuple):
    """A call as it was written. `arguments` are a mapping, or text where that holds no object."""

    name: str
    arguments: dict[str, Any] | str


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number out of range")
    return number


#: Models write raw line breaks into strings; NaN would make our own JSON unreadable.
_decoder = json.JSONDecoder(
    strict=False, parse_constant=_refuse_constant, parse_float=_parse_finite
)


def decode_json(text: str, offset: int) -> tuple[Any, int] | None:
    """The JSON value that begins at an offset (white space skipped), and the offset after it."""
    while offset < len(text) and text[offset].isspace():
        offset += 1
    try:
        return _decoder.raw_decode(text, offset)
    except PARSING_ERRORS:
        return None


def decode_value(text: str, offset: int) -> tuple[Any, int] | None:
    """As `decode_json`; an object or list may be in Python's notation instead."""
    while offset < len(text) and text[offset].isspace():
        offset += 1
    decoded = decode_json(text, offset)
    if decoded is not None or text[offset : offset + 1] not in ("{", "["):
        return decoded
    end = find_closing_bracket(text, offset)
    if end is None:
        return None
    try:
        return parse_plain_literal(text[offset:end]), end
    except PARSING_ERRORS:
        return None


def find_json_end(text: str, offset: int) -> int:
    """The offset up to which an object that begins at `offset` is JSON, or a Python mapping: after
    it, or where it breaks. A string that is not closed reaches to the end of the text."""
    try:
        return _decoder.raw_decode(text, offset)[1]
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string"):
            return len(text)
        quoted = text[offset + 1 : offset + 40].lstrip().startswith("'")
        return (find_closing_bracket(text, offset) or len(text)) if quoted else error.pos
    except PARSING_ERRORS:
        return offset + 1


def find_closing_bracket(text: str, start: int) -> int | None:
    """The offset after the bracket that closes the one at `start`, brackets within quotes skipped;
    None where it is not closed in time."""
    opened: list[str] = []
    quote, escaped = "", -1
    for mark in _BRACKETS.finditer(text, start, start + MAX_LITERAL_CHARS):
        sign, at = mark[0], mark.start()
        if at == escaped:
            continue
        if sign == "\\":
            escaped = at + 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _CLOSED_BY:
            if not opened or opened.pop() != _CLOSED_BY[sign]:
                return None
            if not opened:
                return at + 1
        else:
            opened.append(sign)
            if len(opened) > _MAX_DEPTH:
                return None
    return None


def parse_plain_literal(text: str) -> Any:
    """The value of a literal of Python, or with JSON's constants, that JSON can hold. Raises one of
    PARSING_ERRORS for anything else."""
    tree = ast.parse(text.strip(), SOURCE, mode="eval").body
    return plain_value_of(tree)


def plain_value_of(node: ast.expr) -> Any:
    """The value of a literal's node that JSON can hold; raises ValueError for any other node."""
    match node:
        case ast.Constant(value=str() | int() | None as value):
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
        case ast.Name(id=word) if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [plain_value_of(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_plain_key_of(key): plain_value_of(value) for key, value in pairs}
    raise ValueError("no literal")


def _plain_key_of(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("no text as a key")


_TEXT_TYPES = frozenset({"string", "str", "text", "char", "enum", "varchar"})


def convert_tag_text(text: str, schema: Mapping[str, Any]) -> Any:
    """The value that text between tags means: text where the schema asks for text alone, else
    JSON or a Python literal if it is any. The line break after the opening tag and the one before
    the closing tag belong to the tags."""
    plain = text.removeprefix("\n").removesuffix("\n")
    word = plain.strip().lower()
    types = set(_list_schema_types(schema))
    if "null" in types and word == "null":
        return None
    types -= {"null"}
    takes_text = bool(types & _TEXT_TYPES)
    if takes_text and (types <= _TEXT_TYPES or not word.startswith(("{", "["))):
        return plain
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if not word and types & {"array", "object"}:
        return [] if "array" in types else {}
    decoded = decode_value(plain, 0)
    return decoded[0] if decoded and not plain[decoded[1] :].strip() else plain


def _list_schema_types(schema: Mapping[str, Any]) -> Iterator[str]:
    """The types that a schema allows, in lower case; none where it names none."""
    types = schema.get("type")
    yield from (name.lower() for name in _as_list(types) if isinstance(name, str))
    for key in ("anyOf", "oneOf"):
        for option in _as_list(schema.get(key)):
            if isinstance(option, Mapping) and isinstance(option.get("type"), str):
                yield option["type"].lower()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
