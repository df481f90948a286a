"""Calls in JSON and XML: native tool calls, upstream's formats, and JSON as models write it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any
from xml.etree import ElementTree

from evalcore.benchmarks.call_decoding.call import (
    PARSING_ERRORS,
    POSITIONAL,
    Call,
    parse_literal,
    require_answer_text,
    to_decode_error,
)
from evalcore.i18n import Note
from evalcore.records import ToolCall


def name_and_arguments(item: Any) -> tuple[str, Any]:
    """The two parts of a ToolCall, `{"name", "arguments"}`, or official files' `{name: arguments}`.
    Raises DecodeError for anything else."""
    if isinstance(item, ToolCall):
        return item.name, item.arguments
    if isinstance(item, dict) and item:
        if item.keys() >= {"name", "arguments"}:
            name, arguments = item["name"], item["arguments"]
        else:
            name, arguments = next(iter(item.items()))
        if isinstance(name, str):
            return name, arguments
    raise to_decode_error(Note("decode_no_call_item"))


def native_calls(answer: Any) -> Any:
    """The tool calls of an answer. No calls and no text is an empty list; text is no call. Raises
    DecodeError for text, for None and for arguments that are no JSON text."""
    if answer == "":
        return []
    if not isinstance(answer, list | tuple):
        raise to_decode_error(Note("call_no_tools"))
    calls = []
    for item in answer:
        name, arguments = name_and_arguments(item)
        if not isinstance(arguments, str):
            raise to_decode_error(Note("decode_no_json"))
        try:
            calls.append({name: json.loads(arguments)})
        except PARSING_ERRORS as error:
            raise to_decode_error(error) from None
    return calls


def name_arguments_calls(answer: Any) -> Any:
    """The calls of the reply that slm-evals asks for: `{"name", "arguments"}`, or a list of them.
    Raises DecodeError for other text and for objects without the two keys."""
    try:
        decoded = json.loads(require_answer_text(answer))
        items = decoded if isinstance(decoded, list) else [decoded]
        return [{item["name"]: item["arguments"]} for item in items]
    except PARSING_ERRORS as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


# Upstream's regular expressions can take exponential time on a cut-off answer; the searches here
# find the same stretch of text in linear time.

_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def json_calls(text: str) -> Any:
    """The calls of `[{"function": name, "parameters": {...}}]`, wherever in the text it stands.
    Text that is no JSON gives no calls. Raises DecodeError for JSON that is no list, and for an
    object without the two keys."""
    try:
        items = json.loads(_extract_list_text(text))
        return [{item["function"]: item["parameters"]} for item in items if isinstance(item, dict)]
    except json.JSONDecodeError:
        return []
    except PARSING_ERRORS as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _extract_list_text(text: str) -> str:
    """From the first bracket to the last, then from the first `[{` to the first `}]` after it."""
    first, last = text.find("["), text.rfind("]")
    if 0 <= first < last:
        text = text[first : last + 1]
    start = _LIST_START.search(text)
    end = _LIST_END.search(text, start.end()) if start else None
    return text[start.start() : end.end()] if start and end else text


def verbose_xml_calls(text: str) -> Any:
    """The calls of `<param name= value= type=/>` elements within <functions>. Raises DecodeError
    where there is no such element or a value does not fit its type."""
    return _xml_calls(text, _verbose_arguments)


def concise_xml_calls(text: str) -> Any:
    """As `verbose_xml_calls`, of `<param name= type=>value</param>`."""
    return _xml_calls(text, _concise_arguments)


def _xml_calls(text: str, arguments: Callable[[Any], dict[str, Any]]) -> Any:
    start = text.find("<functions>")
    end = text.find("</functions>", start)
    if start == -1 or end == -1:
        raise to_decode_error(Note("decode_no_functions"))
    try:
        # The text begins with an element: no document type, hence no entities of its own.
        root = ElementTree.fromstring(text[start : end + len("</functions>")])  # noqa: S314
        return [{item.attrib["name"]: arguments(item)} for item in root.findall("function")]
    except (*PARSING_ERRORS, ElementTree.ParseError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _verbose_arguments(function: Any) -> dict[str, Any]:
    holder = function.find("params")
    items = (function if holder is None else holder).findall("param")
    return {
        item.attrib.get("name", POSITIONAL): _convert_typed_value(
            item.attrib.get("value", ""), item
        )
        for item in items
    }


def _concise_arguments(function: Any) -> dict[str, Any]:
    items = function.findall("param")
    return {
        item.attrib["name"]: _convert_typed_value((item.text or "").strip(), item) for item in items
    }


_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "float": float,
    "boolean": lambda raw: raw.lower() == "true",
    "null": lambda raw: None,
    **dict.fromkeys(("array", "tuple", "object", "dict"), parse_literal),
}


def _convert_typed_value(raw: str, item: Any) -> Any:
    return _CONVERSIONS.get(item.attrib.get("type", "string"), str)(raw)


# The styles of JSON that models are trained on: `{"name", "arguments"}` with the synonyms of both
# keys, OpenAI's `{"function": {...}}` and `{"tool_calls": [...]}`, `{"<function name>": {...}}`,
# lists of them, one after another, and the same with Python's quotes and constants.

_NAMES = ("name", "function", "function_name", "tool", "tool_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "kwargs", "action_input")
_LISTS = ("tool_calls", "function_calls", "calls")
_DECODER = json.JSONDecoder()
_MAX_STARTS = 50
_NAMED_OBJECT = re.compile(r"[\s,;]*([\w.-]+)\s*(?:\[ARGS\]\s*)?(?=\{)")


def calls_in_json(text: str, function_names: Collection[str]) -> list[Call] | None:
    """Parse the calls of text that consists of JSON values only; None for anything else."""
    values = _parse_json_values(text)
    return None if values is None else _find_calls_in_value(values, function_names)


def calls_among_prose(text: str, function_names: Collection[str]) -> list[Call]:
    """The calls of all JSON objects and lists within prose, in order."""
    calls: list[Call] = []
    at = 0
    for _ in range(_MAX_STARTS):
        start = min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)
        if start == -1:
            break
        try:
            value, at = _DECODER.raw_decode(text, start)
        except PARSING_ERRORS:
            at = start + 1
            continue
        calls += _find_calls_in_value([value], function_names) or []
    return calls


def named_objects(text: str) -> str:
    """Mistral's `name{...}` and `name[ARGS]{...}`, one after another, as JSON with both keys. What
    does not follow the pattern ends the search."""
    objects, at = [], 0
    while name := _NAMED_OBJECT.match(text, at):
        try:
            arguments, at = _DECODER.raw_decode(text, name.end())
        except PARSING_ERRORS:
            break
        objects.append(json.dumps({"name": name.group(1), "arguments": arguments}))
    return "\n".join(objects)


def _parse_json_values(text: str) -> list[Any] | None:
    """The JSON values that the text consists of, with blanks, commas or semicolons between; else
    the one value that it is in Python's notation."""
    values = []
    at, text = 0, text.strip(" \t\r\n,;")
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except PARSING_ERRORS:
            try:
                return [parse_literal(text)] if text.startswith(("{", "[")) else None
            except PARSING_ERRORS:
                return None
        values.append(value)
        while at < len(text) and text[at] in " \t\r\n,;":
            at += 1
    return values or None


def _find_calls_in_value(
    value: Any, function_names: Collection[str], depth: int = 8
) -> list[Call] | None:
    """The calls of a value in any style; None if a part of it is no call."""
    if not depth:
        return None
    if isinstance(value, list):
        parts = [_find_calls_in_value(item, function_names, depth - 1) for item in value]
        flat = [call for part in parts if part is not None for call in part]
        return None if None in parts else flat
    if not isinstance(value, dict):
        return None
    inner = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if inner is None and isinstance(value.get("function"), dict):
        inner = value["function"]
    if inner is not None:
        return _find_calls_in_value(inner, function_names, depth - 1)
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
