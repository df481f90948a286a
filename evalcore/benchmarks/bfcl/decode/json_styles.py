"""Calls written in JSON, in any of the styles that models are trained on.

Styles: `{"name", "arguments"}` with the synonyms of both keys, OpenAI's `{"function": {...}}` and
`{"tool_calls": [...]}`, `{"<function name>": {...}}`, lists of them, one after another, and the
same with Python's quotes and constants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, Call, parse_literal

_NAMES = ("name", "function", "function_name", "tool", "tool_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "kwargs", "action_input")
_LISTS = ("tool_calls", "function_calls", "calls")
_DECODER = json.JSONDecoder()
_MAX_STARTS = 50
_NAMED_OBJECT = re.compile(r"[\s,;]*([\w.-]+)\s*(?:\[ARGS\]\s*)?(?=\{)")


def calls_in_json(text: str, function_names: Collection[str]) -> list[Call] | None:
    """The calls of text that is nothing but JSON values; None if it is something else."""
    values = _parse_json_values(text)
    return None if values is None else _find_calls_in_value(values, function_names)


def calls_among_prose(text: str, function_names: Collection[str]) -> list[Call]:
    """The calls of all JSON objects and lists within prose, in order."""
    calls: list[Call] = []
    at, starts = 0, 0
    while starts < _MAX_STARTS:
        start = min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)
        if start == -1:
            break
        starts += 1
        try:
            value, at = _DECODER.raw_decode(text, start)
        except PARSING_ERRORS:
            at = start + 1
            continue
        calls += _find_calls_in_value([value], function_names) or []
    return calls


def named_objects(text: str) -> str:
    """Mistral's `name{...}` and `name[ARGS]{...}`, one after another, as JSON with both keys.

    What does not follow the pattern ends the search.
    """
    objects, at = [], 0
    while name := _NAMED_OBJECT.match(text, at):
        try:
            arguments, at = _DECODER.raw_decode(text, name.end())
        except PARSING_ERRORS:
            break
        objects.append(json.dumps({"name": name.group(1), "arguments": arguments}))
    return "\n".join(objects)


def _parse_json_values(text: str) -> list[Any] | None:
    """The JSON values that the text consists of, with blanks, commas or semicolons between."""
    values = []
    at, text = 0, text.strip(" \t\r\n,;")
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except PARSING_ERRORS:
            return _python_literal(text)
        values.append(value)
        while at < len(text) and text[at] in " \t\r\n,;":
            at += 1
    return values or None


def _python_literal(text: str) -> list[Any] | None:
    if not text.startswith(("{", "[")):
        return None
    try:
        return [parse_literal(text)]
    except PARSING_ERRORS:
        return None


def _find_calls_in_value(
    value: Any, function_names: Collection[str], depth: int = 8
) -> list[Call] | None:
    """The calls of a value in any style; None if a part of it is no call."""
    if isinstance(value, list) and depth:
        parts = [_find_calls_in_value(item, function_names, depth - 1) for item in value]
        flat = [call for part in parts if part is not None for call in part]
        return None if any(part is None for part in parts) else flat
    if not isinstance(value, dict) or not depth:
        return None
    for key in _LISTS:
        if isinstance(value.get(key), list):
            return _find_calls_in_value(value[key], function_names, depth - 1)
    if isinstance(value.get("function"), dict):
        return _find_calls_in_value(value["function"], function_names, depth - 1)
    return _parse_call_object(value, function_names)


def _parse_call_object(value: dict[Any, Any], function_names: Collection[str]) -> list[Call] | None:
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if name is not None:
        if arguments is None and name in function_names:
            arguments = {}
        arguments = parse_arguments(arguments)
        return [{name: arguments}] if isinstance(arguments, dict) else None
    if value and all(key in function_names and isinstance(value[key], dict) for key in value):
        return [{key: arguments} for key, arguments in value.items()]
    return None


def parse_arguments(arguments: Any) -> Any:
    """Arguments, or what their text holds in JSON or as a Python mapping; None for other text."""
    if not isinstance(arguments, str):
        return arguments
    values = _parse_json_values(arguments)
    return values[0] if values and len(values) == 1 else None
