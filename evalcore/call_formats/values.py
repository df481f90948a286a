"""Values as models write them: JSON, Python literals and text between tags; calls as JSON objects.

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
    """The tools that were offered: their names, and the schemas of their parameters in order.
    `lenient` says whether their calls are read with good will."""

    def __init__(self, functions: Sequence[Mapping[str, Any]], *, lenient: bool = False) -> None:
        self.lenient = lenient
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
    """As `decode_json`; an object or list may be in Python's notation instead, a tuple is, and it
    may hold comments or be in typographic quotes."""
    while offset < len(text) and text[offset].isspace():
        offset += 1
    decoded = decode_json(text, offset)
    if decoded is not None or text[offset : offset + 1] not in ("{", "[", "("):
        return decoded
    end = find_closing_bracket(text, offset)
    try:
        return (parse_plain_literal(text[offset:end]), end) if end else _decode_odd(text, offset)
    except PARSING_ERRORS:
        return _decode_odd(text, offset)


#: What JSON does not have and models write: comments, typographic quotes and names without
#: quotes. Texts in straight quotes are skipped.
_ODDITIES = re.compile(
    r"(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|“(?P<quoted>[^”“]*)”|(?<=[{,])(?P<space>\s*)(?P<name>[A-Za-z_]\w{0,127})(?=\s*:)",
    re.DOTALL,
)
_ODD_START = re.compile(r"[\[{]\s*(?:\{\s*)?(?:“|[A-Za-z_]\w*\s*:)|.{0,2000}/[/*]", re.DOTALL)


def _decode_odd(text: str, offset: int) -> tuple[Any, int] | None:
    """A JSON value with oddities, and the offset after it in the text as it is."""
    part = text[offset : offset + MAX_LITERAL_CHARS]
    if not _ODD_START.match(part):
        return None
    plain, at = "", 0
    ends: list[tuple[int, int]] = [(0, 0)]
    for odd in _ODDITIES.finditer(part):
        plain += part[at : odd.start()] + _write_plainly(odd)
        at = odd.end()
        ends.append((len(plain), at))
    decoded = decode_json(plain + part[at:], 0)
    if decoded is None:
        return None
    there, here = max(pair for pair in ends if pair[0] <= decoded[1])
    return decoded[0], offset + here + decoded[1] - there


def _write_plainly(odd: re.Match[str]) -> str:
    if odd["text"]:
        return odd["text"]
    if odd["comment"]:
        return " "
    if odd["name"]:
        return f'{odd["space"]}"{odd["name"]}"'
    return json.dumps(odd["quoted"], ensure_ascii=False)


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
            return -plain_value_of(ast.Constant(value))
        case ast.List(elts=items):
            return [plain_value_of(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(map(plain_value_of, items))
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


# Calls as JSON objects, in the styles that models are trained on: `{"name", "arguments"}` with the
# synonyms of both keys, OpenAI's `{"function": {...}}` and `{"tool_calls": [...]}`,
# `{"<function name>": {...}}`, lists of them, one after another, and the same with Python's quotes
# and constants.

_NAMES = ("name", "function", "function_name", "tool", "tool_name", "action", "recipient_name")
_ARGUMENTS = (
    *(
        "arguments",
        "parameters",
        "args",
        "params",
        "input",
        "kwargs",
        "action_input",
        "tool_input",
        "tool_args",
    ),
)
_LISTS = ("tool_calls", "function_calls", "calls", "tool_uses")
_WRAPPERS = ("function", "function_call", "tool_call", "functionCall", "toolUse")
#: What Command R calls where it calls nothing.
_ABSTENTIONS = ("directly_answer", "directly-answer")
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,127}")
SEPARATORS = " \t\r\n,;"
_FENCE = re.compile(r"\s*```(?:json)?\s*")
#: A call object up to its arguments, and what may follow where its last brace is missing.
_UNCLOSED_CALL = re.compile(
    r"\{\s*[\"'](?:name|function|tool)[\"']\s*:\s*[\"']([\w.-]{1,128})[\"']\s*,"
    r"\s*[\"'](?:arguments|parameters|args|kwargs)[\"']\s*:\s*(?=\{)"
)
_AFTER_UNCLOSED = re.compile(r"\s*(?:\Z|<|```|\[TOOL_CALLS\]|\{)")

#: Calls, and the offset after them.
ReadCalls = tuple[list[ParsedCall], int]


def read_objects(
    text: str, offset: int, tools: OfferedTools, separators: str = SEPARATORS
) -> ReadCalls | None:
    """The calls of the JSON objects and lists that follow one another from an offset on. What is no
    call ends them; None where none begins there."""
    calls: list[ParsedCall] = []
    at = end = offset
    while True:
        while at < len(text) and text[at] in separators:
            at += 1
        if text[at : at + 1] not in ("{", "["):
            break
        doubled = text.startswith("{{", at)  # as templates escape braces
        decoded = decode_value(text, at + doubled)
        parsed = list_calls(decoded[0], tools) if decoded else None
        if decoded and parsed:
            calls += parsed
            at = end = decoded[1] + (doubled and text.startswith("}", decoded[1]))
        elif unclosed := None if decoded else _read_unclosed_object(text, at, tools):
            calls.append(unclosed[0])
            at = end = unclosed[1]
        elif listed := None if decoded else _read_unclosed_list(text, at, tools):
            return [*calls, *listed[0]], listed[1]
        else:
            break
    return (calls, end) if calls else None


def read_fenced_objects(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """As `read_objects`, in a code fence or not."""
    fence = _FENCE.match(text, offset)
    return read_objects(text, fence.end() if fence else offset, tools)


def _read_unclosed_object(
    text: str, offset: int, tools: OfferedTools
) -> tuple[ParsedCall, int] | None:
    """A call whose arguments are whole and whose last brace is missing. Nothing is completed: an
    argument that was cut leaves no call."""
    opened = _UNCLOSED_CALL.match(text, offset)
    decoded = decode_value(text, opened.end()) if opened else None
    if not opened or not decoded or not isinstance(decoded[0], dict):
        return None
    ended = _AFTER_UNCLOSED.match(text, decoded[1])
    name = tools.resolve_name(opened[1])
    return (ParsedCall(name, decoded[0]), decoded[1]) if ended else None


_LIST_HEAD = re.compile(r"\[\s*(?=\{)")


def _read_unclosed_list(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """The calls of a list whose last bracket alone is missing: the answer ends with a whole call,
    or with the mark of its end."""
    opened = _LIST_HEAD.match(text, offset)
    parsed = read_objects(text, opened.end(), tools) if opened else None
    return parsed if parsed and _ANSWER_END.match(text, parsed[1]) else None


_ANSWER_END = re.compile(r"\s*(?:\Z|</s>|<\|(?:eot_id|im_end|end|endoftext)\|>)")


def read_arguments(text: str, offset: int) -> tuple[dict[str, Any], int] | None:
    """The object of arguments that begins at an offset, in a code fence or not."""
    if fence := _FENCE.match(text, offset):
        offset = fence.end()
    decoded = decode_value(text, offset)
    return decoded if decoded and isinstance(decoded[0], dict) else None


def list_calls(value: Any, tools: OfferedTools, depth: int = 8) -> list[ParsedCall] | None:
    """The calls of a value in any style; None if a part of it is no call."""
    if not depth:
        return None
    if isinstance(value, list):
        parts = [list_calls(item, tools, depth - 1) for item in value]
        return None if None in parts else [call for part in parts if part for call in part]
    if not isinstance(value, dict):
        return None
    inner = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if inner is None:
        inner = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), dict)), None)
    if inner is not None:
        return list_calls(inner, tools, depth - 1)
    return _parse_call_object(value, tools)


def _parse_call_object(value: dict[Any, Any], tools: OfferedTools) -> list[ParsedCall] | None:
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    name = name.replace("\\_", "_") if name else name  # as Markdown escapes it
    if name is not None and _NAME.fullmatch(name):
        resolved = tools.resolve_name(name)
        if _is_no_call(value, arguments, tools.properties.get(resolved, {})):
            return None
        if name in _ABSTENTIONS and resolved not in tools:
            return []
        if arguments is None and (resolved in tools or any(key in value for key in _ARGUMENTS)):
            arguments = {}
        if isinstance(arguments, str):
            arguments = parse_argument_text(arguments)
            is_text = isinstance(arguments, str) and not arguments.lstrip().startswith("{")
            if is_text and resolved not in tools:
                return None
        return [ParsedCall(resolved, arguments)] if isinstance(arguments, dict | str) else None
    if value and all(key in tools and isinstance(value[key], dict) for key in value):
        return [ParsedCall(key, arguments) for key, arguments in value.items()]
    return None


#: What stands beside the name of a tool in its definition, or in a result that a model made up.
_NO_CALL_KEYS = frozenset({"description", "content", "result", "output", "response", "error"})


def _is_no_call(value: dict[Any, Any], arguments: Any, properties: Mapping[str, Any]) -> bool:
    """Whether an object that names a tool is its definition or a result of it: the arguments are a
    schema, or there are none and something else stands in their place."""
    if isinstance(arguments, dict) and arguments.get("type") in ("object", "dict"):
        described = "description" in value or isinstance(arguments.get("properties"), dict)
        return described and "type" not in properties
    return arguments is None and not _NO_CALL_KEYS.isdisjoint(value)


def parse_argument_text(text: str) -> dict[str, Any] | str:
    """The object that a text of arguments holds, in JSON or as a Python mapping, else the text."""
    if not text.strip():
        return {}
    decoded = decode_value(text, 0)
    whole = decoded is not None and not text[decoded[1] :].strip(" \t\r\n;,")
    return decoded[0] if decoded and whole and isinstance(decoded[0], dict) else text


def read_named_arguments(text: str, opened: re.Match[str], tools: OfferedTools) -> ReadCalls | None:
    """The object of arguments of a call whose name stands in the mark before it."""
    decoded = read_arguments(text, opened.end())
    if not decoded:
        return None
    return [ParsedCall(tools.resolve_name(opened["name"]), decoded[0])], decoded[1]


_LISTED_NAME = re.compile(r"[\s,;]*([A-Za-z_][\w.-]{0,127})\s*(?:\[ARGS\]\s*)?(?=\{)")


def read_listed_names(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """`name{...}, name{...}` after one mark."""
    calls: list[ParsedCall] = []
    while name := _LISTED_NAME.match(text, offset):
        decoded = read_arguments(text, name.end())
        if not decoded:
            break
        calls.append(ParsedCall(tools.resolve_name(name[1]), decoded[0]))
        offset = decoded[1]
    return (calls, offset) if calls else None


# ReAct: the name of a tool and its input on two lines.

_OBSERVATION = re.compile(r"^[ \t*]*observation\b", re.I | re.M)


def read_actions(text: str, opened: re.Match[str], tools: OfferedTools) -> ReadCalls | None:
    """The actions up to the first result that the model made up; an input that is no object is the
    only parameter's value."""
    calls: list[ParsedCall] = []
    action: re.Match[str] | None = opened
    end = opened.end()
    while action:
        name = tools.resolve_name(action["name"])
        parameters = list(tools.properties.get(name, ()))
        decoded = read_arguments(text, action.end())
        line = text[action.end() :].partition("\n")[0]
        if decoded:
            calls.append(ParsedCall(name, decoded[0]))
            end = decoded[1]
        elif len(parameters) == 1 and line.strip() and not line.strip().startswith(("{", "[")):
            calls.append(ParsedCall(name, {parameters[0]: line.strip()}))
            end = action.end() + len(line)
        else:
            break
        action = opened.re.search(text, end)
        made_up = _OBSERVATION.search(text, end, action.start() if action else len(text))
        if made_up:
            return calls, len(text)
    return (calls, end) if calls else None
