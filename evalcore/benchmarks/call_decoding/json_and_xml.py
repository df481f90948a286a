"""Calls in JSON and XML: native tool calls and upstream's formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from evalcore.benchmarks.call_decoding.call import (
    POSITIONAL,
    parse_literal,
    require_answer_text,
    to_decode_error,
)
from evalcore.call_formats.values import PARSING_ERRORS
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
