"""Calls as JSON objects, in the styles that models are trained on.

`{"name", "arguments"}` with the synonyms of both keys, OpenAI's `{"function": {...}}` and
`{"tool_calls": [...]}`, `{"<function name>": {...}}`, lists of them, one after another, and the
same with Python's quotes and constants.
"""

from __future__ import annotations

import re
from typing import Any

from evalcore.call_formats.values import (
    OfferedTools,
    ParsedCall,
    decode_value,
)

_NAMES = ("name", "function", "function_name", "tool", "tool_name", "action", "recipient_name")
_ARGUMENTS = (
    *("arguments", "parameters", "args", "params", "input", "kwargs", "action_input", "tool_input"),
)
_LISTS = ("tool_calls", "function_calls", "calls", "tool_uses")
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
        decoded = decode_value(text, at)
        parsed = list_calls(decoded[0], tools) if decoded else None
        if decoded and parsed:
            calls += parsed
            at = end = decoded[1]
        elif unclosed := None if decoded else _read_unclosed_object(text, at, tools):
            calls.append(unclosed[0])
            at = end = unclosed[1]
        else:
            break
    return (calls, end) if calls else None


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
    if inner is None and isinstance(value.get("function"), dict):
        inner = value["function"]
    if inner is not None:
        return list_calls(inner, tools, depth - 1)
    return _parse_call_object(value, tools)


def _parse_call_object(value: dict[Any, Any], tools: OfferedTools) -> list[ParsedCall] | None:
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if name is not None and _NAME.fullmatch(name):
        resolved = tools.resolve_name(name)
        if arguments is None and (resolved in tools or any(key in value for key in _ARGUMENTS)):
            arguments = {}
        if isinstance(arguments, str):
            arguments = parse_argument_text(arguments)
        return [ParsedCall(resolved, arguments)] if isinstance(arguments, dict | str) else None
    if value and all(key in tools and isinstance(value[key], dict) for key in value):
        return [ParsedCall(key, arguments) for key, arguments in value.items()]
    return None


def parse_argument_text(text: str) -> dict[str, Any] | str:
    """The object that a text of arguments holds, in JSON or as a Python mapping, else the text."""
    if not text.strip():
        return {}
    decoded = decode_value(text, 0)
    whole = decoded is not None and not text[decoded[1] :].strip(" \t\r\n;,")
    return decoded[0] if decoded and whole and isinstance(decoded[0], dict) else text


# ReAct: the name of a tool and its input on two lines.

ACTION = re.compile(
    r"^[ \t*]*action[ \t*]*:[ \t*`]*(?P<name>[\w.-]{1,128})[ \t*`]*\n"
    r"\s{0,20}\**action[ _]input[ \t*]*:[ \t*`]*",
    re.I | re.M,
)
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
        action = ACTION.search(text, end)
        made_up = _OBSERVATION.search(text, end, action.start() if action else len(text))
        if made_up:
            return calls, len(text)
    return (calls, end) if calls else None
