"""Tool calls in what a model wrote, in the forms that the common families are trained to write.

Read are: JSON or markup between <tool_call> tags (Hermes, Qwen), [TOOL_CALLS] (Mistral), bare JSON
with `parameters`, after <|python_tag|> or not (Llama 3), a list of Python calls (Llama 3.2, 4).
What does not parse stays text. The text is hostile: sizes and depths are bounded, nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalcore.records import ToolCall
from evalcore.targets.huggingface.python_calls import python_calls

_LONGEST = 1_000_000
_MOST_CALLS = 256
_PYTHON_TAG = "<|python_tag|>"
_MISTRAL = "[TOOL_CALLS]"
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_MISTRAL_NAME = re.compile(
    r"\s*([A-Za-z_][\w.-]{0,127})(?:\[CALL_ID\]\w{1,64})?(?:\[ARGS\])?\s*(?=\{)"
)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


#: Models write raw line breaks into strings; NaN would make our own JSON unreadable.
_decoder = json.JSONDecoder(strict=False, parse_constant=_refuse)
_Pair = tuple[str, str]
#: Name and arguments of each call, and the text that is left.
_Found = tuple[str, list[_Pair]]


def read_calls(
    text: str, tools: Sequence[Mapping[str, Any]], first: int = 0
) -> tuple[str, tuple[ToolCall, ...]]:
    """The text outside of calls, and the calls, numbered from `first`.

    `tools` are those offered: calls without a marker of their own count only if one has their name.
    """
    if len(text) > _LONGEST:
        return text, ()
    offered = {str(function.get("name")): function for function in map(_function, tools)}
    readers: tuple[Callable[[], _Found], ...] = (
        lambda: _tagged(text, offered),
        lambda: _mistral(text),
        lambda: _bare(text, offered),
        lambda: _pythonic(text, offered),
    )
    for reader in readers:
        rest, pairs = reader()
        if 0 < len(pairs) <= _MOST_CALLS:
            return rest.strip(), tuple(
                # Nine letters and digits: the only ids that Mistral's templates take back.
                ToolCall(id=f"call{first + number:05d}", name=name, arguments=arguments)
                for number, (name, arguments) in enumerate(pairs)
            )
    return text, ()


def _tagged(text: str, offered: Mapping[str, Mapping[str, Any]]) -> _Found:
    rest, *pieces = text.split("<tool_call>")
    pairs: list[_Pair] = []
    for piece in pieces:
        body, _, after = piece.partition("</tool_call>")
        found = _objects(body) or _markup(body, offered)
        pairs += found
        rest += after if found else f"<tool_call>{piece}"
    return rest, pairs


def _mistral(text: str) -> _Found:
    rest, *pieces = text.split(_MISTRAL)
    pairs: list[_Pair] = []
    for piece in pieces:
        named = _MISTRAL_NAME.match(piece)
        read = _value(piece, named.end() if named else 0)
        value = {"name": named[1], "arguments": read[0]} if read and named else read and read[0]
        found = _pairs(value)
        pairs += found
        rest += piece[read[1] :] if read and found else _MISTRAL + piece
    return rest, pairs


def _bare(text: str, offered: Mapping[str, Any]) -> _Found:
    """The whole text is objects, between which only white space and semicolons stand."""
    marked = text.lstrip().startswith(_PYTHON_TAG)
    pairs = _objects(text.strip().removeprefix(_PYTHON_TAG))
    known = pairs and (marked or all(name in offered for name, _ in pairs))
    return ("", pairs) if known else (text, [])


def _pythonic(text: str, offered: Mapping[str, Any]) -> _Found:
    calls = python_calls(text.strip().removeprefix(_PYTHON_TAG).strip())
    if not calls or any(name not in offered for name, _ in calls):
        return text, []
    return "", [(name, _written(arguments)) for name, arguments in calls]


def _objects(body: str) -> list[_Pair]:
    """The calls of a body that is JSON objects or lists of them and nothing else."""
    pairs: list[_Pair] = []
    at, end = 0, len(body)
    while at < end:
        if body[at].isspace() or body[at] == ";":
            at += 1
            continue
        read = _value(body, at)
        found = _pairs(read[0]) if read else []
        if not read or not found:
            return []
        pairs += found
        at = read[1]
    return pairs


def _value(text: str, at: int) -> tuple[Any, int] | None:
    """The JSON value that begins at a place (white space skipped), and where it ends."""
    while at < len(text) and text[at].isspace():
        at += 1
    try:
        return _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _pairs(value: Any) -> list[_Pair]:
    """Name and arguments of the calls that a value describes; none if any part does not."""
    pairs = []
    for one in value if isinstance(value, list) else [value]:
        inner = one.get("function") if isinstance(one, dict) else None
        call = inner if isinstance(inner, dict) else one
        if not isinstance(call, dict):
            return []
        name = call.get("name", inner)
        arguments = call.get("arguments", call.get("parameters"))
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            return []
        if not isinstance(arguments, dict | str | None):
            return []
        pairs.append((name, arguments if isinstance(arguments, str) else _written(arguments or {})))
    return pairs


def _markup(body: str, offered: Mapping[str, Mapping[str, Any]]) -> list[_Pair]:
    """Calls as <function=NAME><parameter=NAME>VALUE</parameter></function> (Qwen's coders)."""
    before, *functions = body.split("<function=")
    pairs: list[_Pair] = []
    for function in functions:
        name, closed, inner = function.partition(">")
        arguments: dict[str, Any] = {}
        for parameter in inner.split("<parameter=")[1:]:
            key, opened, value = parameter.partition(">")
            value, ended, _ = value.partition("</parameter>")
            if not opened or not ended:
                return []
            plain = value.removeprefix("\n").removesuffix("\n")
            arguments[key.strip()] = _typed(plain, _schema(offered.get(name.strip()), key.strip()))
        whole = closed and "</function>" in inner and not before.strip()
        if not whole or not _NAME.fullmatch(name.strip()):
            return []
        pairs.append((name.strip(), _written(arguments)))
    return pairs


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A value written without quotes: text where the schema says so, else JSON if it is any."""
    if schema.get("type") == "string":
        return text
    read = _value(text, 0)
    return read[0] if read and not text[read[1] :].strip() else text


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool.get("function", tool)
    return inner if isinstance(inner, Mapping) else {}


def _schema(function: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found: Any = function or {}
    for key in ("parameters", "properties", name):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _written(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):  # numbers of thousands of digits
        return "{}"
