"""Calls in markup: elements with attributes, `<function=NAME>`, key and value tags, and Gemma's
notation. Whatever is cut before its end is no call.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from evalcore.call_formats.values import (
    OfferedTools,
    ParsedCall,
    ReadCalls,
    convert_tag_text,
    decode_json,
    read_arguments,
)

_MAX_DEPTH = 50
_PREFIX = r"(?:｜[A-Z]{2,8}｜ ?|[a-z]{2,8}:)?"


def repeated(
    read: Callable[[str, int, OfferedTools], tuple[ParsedCall, int] | None],
) -> Callable[[str, int, OfferedTools], ReadCalls | None]:
    """A reader of the calls that follow one another, each read by `read`."""

    def read_all(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
        calls: list[ParsedCall] = []
        while parsed := read(text, offset, tools):
            calls.append(parsed[0])
            offset = parsed[1]
        return (calls, offset) if calls else None

    return read_all


# A value may quote a call in the very same tags.

_CALL_OPENING = re.compile(
    rf"<{_PREFIX}(?:function=|function\s|invoke\s|(?:\w{{1,32}}[_|])?tool_call)"
)
_MAX_NESTED = 64


def _find_value_end(text: str, offset: int, tag: str) -> tuple[int, int] | None:
    """Where the end tag of a value stands. Tags of the same name within the value are skipped in
    pairs. Where they do not pair the first end tag counts, unless a quoted call stands before it:
    then the value was cut."""
    marks = re.compile(rf"(<{_PREFIX}{tag}(?=[=\s>]))|</{_PREFIX}{tag}>").finditer(text, offset)
    first: tuple[int, int] | None = None
    depth = 1
    for mark in islice(marks, _MAX_NESTED):
        depth += 1 if mark[1] else -1
        if not mark[1]:
            first = first or mark.span()
        if not depth:
            return mark.span()
    return None if first and _CALL_OPENING.search(text, offset, first[0]) else first


# `<function=NAME><parameter=KEY>VALUE</parameter></function>`

_FUNCTION = re.compile(r"\s*<function=[\"']?([\w.-]{1,128})[\"']?\s?(?:>|\(?(?=\{))")
_PARAMETER = re.compile(r"\s*<parameter=[\"']?([^<>\n\"']{1,128})[\"']?>")
_PARAMETER_LEFT_OPEN = re.compile(r"\n(?=<parameter=|</function>)")
_FUNCTION_END = re.compile(r"\s*\)?(?:</function>|(?=</tool_call>|</seed:tool_call>))")


def read_function_tag(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """A function element whose parameters are elements, or whose content is a JSON object."""
    opened = _FUNCTION.match(text, offset)
    if not opened:
        return None
    name, at = tools.resolve_name(opened[1]), opened.end()
    arguments: dict[str, Any] = {}
    while parameter := _PARAMETER.match(text, at):
        begin, value_end = parameter.end(), _find_value_end(text, parameter.end(), "parameter")
        stop = value_end[0] if value_end else len(text)
        quoted = _CALL_OPENING.search(text, begin, stop)
        left_open = None if quoted else _PARAMETER_LEFT_OPEN.search(text, begin, stop)
        if not value_end and not left_open:
            return None
        value = text[begin : left_open.start() if left_open else stop]
        key = parameter[1].strip()
        arguments[key] = convert_tag_text(value, tools.find_schema(name, key))
        at = left_open.end() if left_open else value_end[1] if value_end else at
    decoded = None if arguments else read_arguments(text, at)
    if decoded:
        arguments, at = decoded
    ended = _FUNCTION_END.match(text, at)
    if not ended:
        return (ParsedCall(name, arguments), at) if decoded else None
    return ParsedCall(name, arguments), ended.end()


# `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>` and its relatives.

_ELEMENT = re.compile(
    rf"\s*<{_PREFIX}(invoke|function|tool|tool_call|function_call|call)\s[^<>]{{0,100}}?"
    r"\bname\s*=\s*[\"']([^\"'<>]{1,128})[\"'][^<>]{0,200}>"
)
_ARGUMENT = re.compile(
    rf"\s*<{_PREFIX}(parameter|param|argument|arg)\s([^<>]{{0,100}}?"
    r"\bname\s*=\s*(?:\"([^\"<>]{1,128})\"|'([^'<>]{1,128})')[^>]{0,2000}?)(/?)>"
)
_CHILD = re.compile(r"\s*<([A-Za-z_][\w.-]{0,127})>")
_HOLDER = re.compile(r"\s*</?(?:params|parameters|arguments|args)>")
_ATTRIBUTE = re.compile(r"\b(string|type|value)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)


def read_element(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """An element that names a function, with elements as arguments or a JSON object."""
    opened = _ELEMENT.match(text, offset)
    if not opened:
        return None
    name = tools.resolve_name(opened[2])
    decoded = read_arguments(text, opened.end())
    parsed = decoded or _read_argument_elements(text, opened.end(), name, tools)
    if parsed is None:
        return None
    arguments, at = parsed
    ended = re.compile(rf"\s*</{_PREFIX}{opened[1]}>").match(text, at)
    return (ParsedCall(name, arguments), ended.end()) if ended else None


def read_tool_element(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """An element that bears the name of an offered function, with one element per argument."""
    opened = _CHILD.match(text, offset)
    if not opened or opened[1] not in tools:
        return None
    parsed = _read_argument_elements(text, opened.end(), opened[1], tools)
    if parsed is None:
        return None
    arguments, at = parsed
    ended = re.compile(rf"\s*</{re.escape(opened[1])}>").match(text, at)
    return (ParsedCall(opened[1], arguments), ended.end()) if ended else None


_NAME_ELEMENT = re.compile(
    r"\s*<(?:tool_|function_)?name>\s*([\w.-]{1,128})\s*</(?:tool_|function_)?name>\s*"
    r"<(arguments|parameters|args|params|input)>"
)


def read_name_element(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """`<name>NAME</name><arguments>...</arguments>`, the arguments in JSON or as elements."""
    opened = _NAME_ELEMENT.match(text, offset)
    if not opened:
        return None
    name = tools.resolve_name(opened[1])
    decoded = read_arguments(text, opened.end())
    parsed = decoded or _read_argument_elements(text, opened.end(), name, tools)
    if parsed is None:
        return None
    ended = re.compile(rf"\s*(?:</{opened[2]}>)?").match(text, parsed[1])
    closed = (
        decoded
        or text[: parsed[1]].rstrip().endswith(f"</{opened[2]}>")
        or (ended and ended[0].strip())
    )
    return (ParsedCall(name, parsed[0]), ended.end()) if ended and closed else None


def _read_argument_elements(
    text: str, offset: int, name: str, tools: OfferedTools
) -> tuple[dict[str, Any], int] | None:
    arguments: dict[str, Any] = {}
    while True:
        if holder := _HOLDER.match(text, offset):
            offset = holder.end()
        elif argument := _ARGUMENT.match(text, offset):
            key = argument[3] or argument[4]
            attributes = {
                m[1]: html.unescape(m[2] or m[3] or "") for m in _ATTRIBUTE.finditer(argument[2])
            }
            if argument[5]:  # <param name="a" value="1"/>
                value, offset = attributes.get("value", ""), argument.end()
            else:
                ended = _find_element_end(text, argument.end(), argument[1])
                if ended is None:
                    return None
                value, offset = ended
                if argument[1] == "param" and "<![CDATA[" not in text[argument.end() : offset]:
                    value = html.unescape(value).strip()
            arguments[key] = _convert_typed(value, attributes, tools.find_schema(name, key))
        elif child := _CHILD.match(text, offset):
            ended = _find_element_end(text, child.end(), child[1])
            if ended is None:
                return None
            arguments[child[1]] = convert_tag_text(ended[0], tools.find_schema(name, child[1]))
            offset = ended[1]
        else:
            return arguments, offset


def _find_element_end(text: str, offset: int, tag: str) -> tuple[str, int] | None:
    """The content of an element up to its first end tag, and the offset after that."""
    if text.startswith("<![CDATA[", offset):
        data = _CDATA.match(text, offset)
        ended = (
            re.compile(rf"</{_PREFIX}{re.escape(tag)}>").match(text, data.end()) if data else None
        )
        return (data[1], ended.end()) if data and ended else None
    closing = _find_value_end(text, offset, re.escape(tag))
    return (text[offset : closing[0]], closing[1]) if closing else None


def _convert_typed(text: str, attributes: dict[str, str], schema: Any) -> Any:
    if attributes.get("string") == "true":
        return text
    if "string" in attributes:
        return convert_tag_text(text, {"type": "any"})
    return convert_tag_text(text, {"type": attributes["type"]} if "type" in attributes else schema)


# `NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` (GLM, Hunyuan).

_KEYED_NAME = re.compile(
    r"\s*([A-Za-z_][\w.-]{0,127})(?:\\n)?\s*(?:<tool_sep(?::\w{1,32})?>)?"  # Ling writes \n out
)
_KEYED_PREFIX, _SUFFIX = r"(?:\w{1,32}[_|])?", r"(?::\w{1,32})?"
_KEY = re.compile(
    rf"\s*<{_KEYED_PREFIX}arg_key{_SUFFIX}>([^<]{{1,200}})</{_KEYED_PREFIX}arg_key{_SUFFIX}>"
    rf"\s*(?:<ifm\|arg_type>[^<]{{0,100}}</ifm\|arg_type>\s*)?<({_KEYED_PREFIX}arg_value{_SUFFIX})>"
)
_KEYED_END = re.compile(
    rf"\s*(?:</{_KEYED_PREFIX}tool_call{_SUFFIX}>|(?=<\|(?:observation|user)\|>))"
)


def read_key_values(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """A name with key and value elements up to the end tag of the call. Without any element the
    name has to be offered."""
    opened = _KEYED_NAME.match(text, offset)
    if not opened:
        return None
    name, at = tools.resolve_name(opened[1]), opened.end()
    arguments: dict[str, Any] = {}
    while key := _KEY.match(text, at):
        ended = _find_value_end(text, key.end(), re.escape(key[2]))
        if not ended:
            return None
        schema = tools.find_schema(name, key[1].strip())
        arguments[key[1].strip()] = convert_tag_text(text[key.end() : ended[0]], schema)
        at = ended[1]
    closed = _KEYED_END.match(text, at)
    if not closed or not (arguments or name in tools):
        return None
    return [ParsedCall(name, arguments)], closed.end()


# Solar's `NAME\\n<|tool_arg:start|>KEY<|tool_arg:value|>VALUE<|tool_arg:end|>`.

_SOLAR_NAME = re.compile(r"\s*([A-Za-z_][\w.-]{0,127})[ \t\r]*\n")
_SOLAR_KEY = re.compile(r"\s*<\|tool_arg:start\|>([^<]{1,200})<\|tool_arg:value\|>")
_SOLAR_VALUE_END = "<|tool_arg:end|>"
_SOLAR_END = re.compile(r"\s*<\|tool_call:end\|>")


def read_solar_call(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """A name on a line of its own with keys and values between tokens, up to the end of the
    call."""
    opened = _SOLAR_NAME.match(text, offset)
    if not opened:
        return None
    name, at = tools.resolve_name(opened[1]), opened.end()
    arguments: dict[str, Any] = {}
    while key := _SOLAR_KEY.match(text, at):
        end = text.find(_SOLAR_VALUE_END, key.end())
        if end < 0:
            return None
        schema = tools.find_schema(name, key[1])
        arguments[key[1]] = convert_tag_text(text[key.end() : end], schema)
        at = end + len(_SOLAR_VALUE_END)
    closed = _SOLAR_END.match(text, at)
    return ([ParsedCall(name, arguments)], closed.end()) if closed else None


# Gemma's `call:NAME{key:<escape>text<escape>,list:[1,2]}`.

_GEMMA_CALL = re.compile(r"\s*call:([\w.-]{1,128})\s*(?=\{)")
_GEMMA_KEY = re.compile(
    r"\s*(?:<escape>|<\|\"\|>|\")?([^:{}\[\]<>\"\n]{1,128}?)(?:<escape>|<\|\"\|>|\")?\s*:"
)
_GEMMA_QUOTES = ("<escape>", '<|"|>')
_GEMMA_BARE = re.compile(r"[^,{}\[\]]{1,200}")
_SPACE = re.compile(r"\s*")


def read_gemma_call(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """A call in Gemma's notation, whose closing brace is there."""
    opened = _GEMMA_CALL.match(text, offset)
    if not opened:
        return None
    try:
        arguments, at = _read_gemma_value(text, opened.end(), _MAX_DEPTH)
    except ValueError:
        return None
    return ParsedCall(tools.resolve_name(opened[1]), arguments), at


def _read_gemma_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """A value and the offset after it; raises ValueError where there is none."""
    at = _skip_space(text, at)
    if not depth:
        raise ValueError("nested too deeply")
    quote = next((mark for mark in _GEMMA_QUOTES if text.startswith(mark, at)), "")
    if quote:
        end = text.index(quote, at + len(quote))
        return text[at + len(quote) : end], end + len(quote)
    if text.startswith("{", at):
        return _read_gemma_object(text, at + 1, depth - 1)
    if text.startswith("[", at):
        return _read_gemma_list(text, at + 1, depth - 1)
    if text.startswith('"', at):
        if decoded := decode_json(text, at):
            return decoded
        raise ValueError("no end of a text")
    bare = _GEMMA_BARE.match(text, at)
    if not bare or bare.end() >= len(text):
        raise ValueError("no value")
    return convert_tag_text(bare[0].strip(), {}), bare.end()


def _read_gemma_object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    items: dict[str, Any] = {}
    while not text.startswith("}", at := _skip_space(text, at)):
        key = _GEMMA_KEY.match(text, at)
        if not key:
            raise ValueError("no key")
        items[key[1].strip()], at = _read_gemma_value(text, key.end(), depth)
        at = _skip_comma(text, at, "}")
    return items, at + 1


def _read_gemma_list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while not text.startswith("]", at := _skip_space(text, at)):
        item, at = _read_gemma_value(text, at, depth)
        items.append(item)
        at = _skip_comma(text, at, "]")
    return items, at + 1


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _skip_comma(text: str, at: int, end: str) -> int:
    at = _skip_space(text, at)
    if text.startswith(",", at):
        return at + 1
    if not text.startswith(end, at):
        raise ValueError("no comma")
    return at


# Kimi K3's XTML and MiniMax M3's nested elements.

_XTML_CALL = re.compile(r"\s*<\|open\|>call\s([^<>]{0,300})<\|sep\|>")
_XTML_ARGUMENT = re.compile(r"\s*<\|open\|>argument\s([^<>]{0,300})<\|sep\|>")
_XTML_ATTRIBUTE = re.compile(r"(\w{1,20})=\"([^\"]*)\"")
_XTML_CALL_END = re.compile(r"\s*<\|close\|>call<\|sep\|>")
_XTML_ARGUMENT_END = "<|close|>argument<|sep|>"


def read_xtml_call(text: str, offset: int, tools: OfferedTools) -> tuple[ParsedCall, int] | None:
    """A call of tokens `<|open|>`, `<|sep|>` and `<|close|>`, whose values bear their type."""
    opened = _XTML_CALL.match(text, offset)
    name = dict(_XTML_ATTRIBUTE.findall(opened[1])).get("tool", "") if opened else ""
    if not opened or not name:
        return None
    arguments, at = {}, opened.end()
    while argument := _XTML_ARGUMENT.match(text, at):
        attributes = dict(_XTML_ATTRIBUTE.findall(argument[1]))
        end = text.find(_XTML_ARGUMENT_END, argument.end())
        if end < 0 or "key" not in attributes:
            return None
        value, at = text[argument.end() : end], end + len(_XTML_ARGUMENT_END)
        kind = attributes.get("type", "string")
        converted = value if kind == "string" else convert_tag_text(value, {"type": kind})
        arguments[html.unescape(attributes["key"])] = converted
    ended = _XTML_CALL_END.match(text, at)
    return (ParsedCall(tools.resolve_name(name), arguments), ended.end()) if ended else None


_MINIMAX = "]<]minimax[>["
_MINIMAX_INVOKE = re.compile(rf"\s*{re.escape(_MINIMAX)}\s*<invoke name=\"([\w.-]{{1,128}})\">")
_MINIMAX_TAG = re.compile(rf"\s*{re.escape(_MINIMAX)}\s*<([\w.-]{{1,128}})>")


def read_minimax_invoke(
    text: str, offset: int, tools: OfferedTools
) -> tuple[ParsedCall, int] | None:
    """An invocation whose tags bear MiniMax M3's mark; objects and lists are elements as well."""
    opened = _MINIMAX_INVOKE.match(text, offset)
    if not opened:
        return None
    name = tools.resolve_name(opened[1])
    try:
        value, at = _read_minimax_content(text, opened.end(), "invoke", _MAX_DEPTH, name, tools)
    except ValueError:
        return None
    return (ParsedCall(name, value), at) if isinstance(value, dict) else None


def _read_minimax_content(
    text: str, at: int, tag: str, depth: int, name: str, tools: OfferedTools
) -> tuple[Any, int]:
    """The value of an element's content and the offset after its end tag."""
    closing = f"{_MINIMAX}</{tag}>"
    if not depth:
        raise ValueError("nested too deeply")
    pairs: list[tuple[str, Any]] = []
    begin = at
    while child := _MINIMAX_TAG.match(text, at):
        value, at = _read_minimax_content(text, child.end(), child[1], depth - 1, name, tools)
        pairs.append((child[1], value))
    end = text.index(closing, at)
    if pairs and not text[at:end].strip():
        items = [value for key, value in pairs if key == "item"]
        return items if len(items) == len(pairs) else dict(pairs), end + len(closing)
    content = text[begin:end]
    if tag == "invoke" and not content.strip():
        return {}, end + len(closing)
    return convert_tag_text(content, tools.find_schema(name, tag)), end + len(closing)
