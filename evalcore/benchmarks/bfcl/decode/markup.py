"""Prompt-mode answers in JSON and in the two XML forms, decoded as upstream does.

Upstream's regular expressions can take exponential time on a cut-off answer; the searches here
find the same stretch of text in linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from evalcore.benchmarks.bfcl.decode.call import (
    PARSING_ERRORS,
    POSITIONAL,
    parse_literal,
    to_decode_error,
)

_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def json_calls(text: str) -> Any:
    """The calls of `[{"function": name, "parameters": {...}}]`, wherever in the text it stands.

    Text that is no JSON gives no calls. Raises DecodeError for JSON that is no list, and for an
    object without the two keys.
    """
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
    """The calls of `<param name= value= type=/>` elements within <functions>.

    Raises DecodeError where there is no such element or a value does not fit its type.
    """
    return _xml_calls(text, _verbose_arguments)


def concise_xml_calls(text: str) -> Any:
    """The calls of `<param name= type=>value</param>` elements within <functions>.

    Raises DecodeError where there is no such element or a value does not fit its type.
    """
    return _xml_calls(text, _concise_arguments)


def _xml_calls(text: str, arguments: Callable[[Any], dict[str, Any]]) -> Any:
    start = text.find("<functions>")
    end = text.find("</functions>", start)
    if start == -1 or end == -1:
        raise to_decode_error("no <functions> element")
    try:
        # The text begins with an element: no document type, hence no entities of its own.
        root = ElementTree.fromstring(text[start : end + len("</functions>")])  # noqa: S314
        return [{item.attrib["name"]: arguments(item)} for item in root.findall("function")]
    except (*PARSING_ERRORS, ElementTree.ParseError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _verbose_arguments(function: Any) -> dict[str, Any]:
    holder = function.find("params")
    arguments = {}
    for item in (function if holder is None else holder).findall("param"):
        raw, kind = item.attrib.get("value", ""), item.attrib.get("type", "string")
        arguments[item.attrib.get("name", POSITIONAL)] = _convert_typed_value(raw, kind)
    return arguments


def _concise_arguments(function: Any) -> dict[str, Any]:
    return {
        item.attrib["name"]: _convert_typed_value(
            (item.text or "").strip(), item.attrib.get("type", "string")
        )
        for item in function.findall("param")
    }


_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "float": float,
    "boolean": lambda raw: raw.lower() == "true",
    "null": lambda raw: None,
    "array": parse_literal,
    "tuple": parse_literal,
    "object": parse_literal,
    "dict": parse_literal,
}


def _convert_typed_value(raw: str, kind: str) -> Any:
    return _CONVERSIONS.get(kind, str)(raw)
