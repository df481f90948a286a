"""Tool calls in what a model wrote, in the forms that the common families are trained to write.

Read are: JSON or markup between <tool_call> tags (Hermes, Qwen), [TOOL_CALLS] (Mistral), bare JSON
with `parameters`, after <|python_tag|> or not (Llama 3), a list of Python calls (Llama 3.2, 4).
What does not parse stays text. The text is hostile: sizes and depths are bounded, nothing is run.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalcore.records import ToolCall

_MAX_LITERAL_CHARS = 20_000
_MAX_BRACKET_DEPTH = 50
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}


class _NotALiteral(ValueError):
    pass


def parse_python_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of the calls of a text `[f(a=1), g.h(b="x")]`, or of a single call; empty
    where the text is anything else, or a value is no literal."""
    if (
        len(text) > _MAX_LITERAL_CHARS
        or not text.endswith((")", "]"))
        or _count_bracket_depth(text) > _MAX_BRACKET_DEPTH
    ):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        return [_parse_call_node(node) for node in nodes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _count_bracket_depth(text: str) -> int:
    """At least the depth of the brackets: those within strings are counted as well."""
    depth = deepest = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _parse_call_node(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if not isinstance(node, ast.Call) or node.args:
        raise _NotALiteral
    arguments = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise _NotALiteral
        arguments[keyword.arg] = _parse_literal_node(keyword.value)
    return _parse_dotted_name(node.func), arguments


def _parse_dotted_name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise _NotALiteral
    return ".".join([node.id, *reversed(parts)])


def _parse_literal_node(node: ast.expr) -> Any:
    """The value of a literal that JSON can hold."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id=word) if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_parse_literal_node(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                _parse_dict_key(key): _parse_literal_node(value)
                for key, value in zip(keys, values, strict=True)
            }
    raise _NotALiteral


def _parse_dict_key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _NotALiteral


_MAX_ANSWER_CHARS = 1_000_000
_MAX_CALLS = 256
_PYTHON_TAG = "<|python_tag|>"
_MISTRAL = "[TOOL_CALLS]"
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_MISTRAL_NAME = re.compile(
    r"\s*([A-Za-z_][\w.-]{0,127})(?:\[CALL_ID\]\w{1,64})?(?:\[ARGS\])?\s*(?=\{)"
)


def _refuse_json_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


#: Models write raw line breaks into strings; NaN would make our own JSON unreadable.
_decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_json_constant)
_NamedArguments = tuple[str, str]
#: Name and arguments of each call, and the text that is left.
_ParsedText = tuple[str, list[_NamedArguments]]


def read_tool_calls(
    text: str, tools: Sequence[Mapping[str, Any]], first: int = 0
) -> tuple[str, tuple[ToolCall, ...]]:
    """The text outside of calls, and the calls, numbered from `first`. `tools` are those offered:
    calls without a marker of their own count only if one has their name."""
    if len(text) > _MAX_ANSWER_CHARS:
        return text, ()
    offered = {str(function.get("name")): function for function in map(_unwrap_function, tools)}
    readers: tuple[Callable[[], _ParsedText], ...] = (
        lambda: _parse_tagged_calls(text, offered),
        lambda: _parse_mistral_calls(text),
        lambda: _parse_bare_calls(text, offered),
        lambda: _parse_pythonic_calls(text, offered),
    )
    for reader in readers:
        rest, pairs = reader()
        if 0 < len(pairs) <= _MAX_CALLS:
            return rest.strip(), tuple(
                # Nine letters and digits: the only ids that Mistral's templates take back.
                ToolCall(id=f"call{first + number:05d}", name=name, arguments=arguments)
                for number, (name, arguments) in enumerate(pairs)
            )
    return text, ()


def _parse_tagged_calls(text: str, offered: Mapping[str, Mapping[str, Any]]) -> _ParsedText:
    rest, *pieces = text.split("<tool_call>")
    pairs: list[_NamedArguments] = []
    for piece in pieces:
        body, _, after = piece.partition("</tool_call>")
        calls = _parse_json_calls(body) or _parse_markup_calls(body, offered)
        pairs += calls
        rest += after if calls else f"<tool_call>{piece}"
    return rest, pairs


def _parse_mistral_calls(text: str) -> _ParsedText:
    rest, *pieces = text.split(_MISTRAL)
    pairs: list[_NamedArguments] = []
    for piece in pieces:
        name_match = _MISTRAL_NAME.match(piece)
        decoded = _decode_json_value(piece, name_match.end() if name_match else 0)
        value = (
            {"name": name_match[1], "arguments": decoded[0]}
            if decoded and name_match
            else decoded and decoded[0]
        )
        calls = _list_named_arguments(value)
        pairs += calls
        rest += piece[decoded[1] :] if decoded and calls else _MISTRAL + piece
    return rest, pairs


def _parse_bare_calls(text: str, offered: Mapping[str, Any]) -> _ParsedText:
    """The whole text is objects, between which only white space and semicolons stand."""
    marked = text.lstrip().startswith(_PYTHON_TAG)
    pairs = _parse_json_calls(text.strip().removeprefix(_PYTHON_TAG))
    accepted = pairs and (marked or all(name in offered for name, _ in pairs))
    return ("", pairs) if accepted else (text, [])


def _parse_pythonic_calls(text: str, offered: Mapping[str, Any]) -> _ParsedText:
    calls = parse_python_calls(text.strip().removeprefix(_PYTHON_TAG).strip())
    if not calls or any(name not in offered for name, _ in calls):
        return text, []
    return "", [(name, _dump_arguments(arguments)) for name, arguments in calls]


def _parse_json_calls(body: str) -> list[_NamedArguments]:
    """The calls of a body that is JSON objects or lists of them and nothing else."""
    pairs: list[_NamedArguments] = []
    offset, end = 0, len(body)
    while offset < end:
        if body[offset].isspace() or body[offset] == ";":
            offset += 1
            continue
        decoded = _decode_json_value(body, offset)
        calls = _list_named_arguments(decoded[0]) if decoded else []
        if not decoded or not calls:
            return []
        pairs += calls
        offset = decoded[1]
    return pairs


def _decode_json_value(text: str, offset: int) -> tuple[Any, int] | None:
    """The JSON value that begins at a place (white space skipped), and where it ends."""
    while offset < len(text) and text[offset].isspace():
        offset += 1
    try:
        return _decoder.raw_decode(text, offset)
    except (ValueError, RecursionError):
        return None


def _list_named_arguments(value: Any) -> list[_NamedArguments]:
    """Name and arguments of the calls that a value describes; none if any part does not."""
    pairs = []
    for item in value if isinstance(value, list) else [value]:
        inner = item.get("function") if isinstance(item, dict) else None
        call = inner if isinstance(inner, dict) else item
        if not isinstance(call, dict):
            return []
        name = call.get("name", inner)
        arguments = call.get("arguments", call.get("parameters"))
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            return []
        if not isinstance(arguments, dict | str | None):
            return []
        pairs.append(
            (name, arguments if isinstance(arguments, str) else _dump_arguments(arguments or {}))
        )
    return pairs


def _parse_markup_calls(
    body: str, offered: Mapping[str, Mapping[str, Any]]
) -> list[_NamedArguments]:
    """Calls as <function=NAME><parameter=NAME>VALUE</parameter></function> (Qwen's coders)."""
    before, *functions = body.split("<function=")
    pairs: list[_NamedArguments] = []
    for function in functions:
        name, closed, inner = function.partition(">")
        arguments: dict[str, Any] = {}
        for parameter in inner.split("<parameter=")[1:]:
            key, opened, value = parameter.partition(">")
            value, ended, _ = value.partition("</parameter>")
            if not opened or not ended:
                return []
            plain = value.removeprefix("\n").removesuffix("\n")
            arguments[key.strip()] = _convert_markup_value(
                plain, _find_argument_schema(offered.get(name.strip()), key.strip())
            )
        whole = closed and "</function>" in inner and not before.strip()
        if not whole or not _NAME.fullmatch(name.strip()):
            return []
        pairs.append((name.strip(), _dump_arguments(arguments)))
    return pairs


def _convert_markup_value(text: str, schema: Mapping[str, Any]) -> Any:
    """A value written without quotes: text where the schema says so, else JSON if it is any."""
    if schema.get("type") == "string":
        return text
    decoded = _decode_json_value(text, 0)
    return decoded[0] if decoded and not text[decoded[1] :].strip() else text


def _unwrap_function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool.get("function", tool)
    return inner if isinstance(inner, Mapping) else {}


def _find_argument_schema(function: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    schema: Any = function or {}
    for key in ("parameters", "properties", name):
        schema = schema.get(key) if isinstance(schema, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def _dump_arguments(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):  # numbers of thousands of digits
        return "{}"
