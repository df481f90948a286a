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

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, POSITIONAL, failed, literal

_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def json_calls(text: str) -> Any:
    """The calls of `[{"function": name, "parameters": {...}}]`, wherever in the text it stands.

    Text that is no JSON gives no calls. Raises DecodeError for JSON that is no list, and for an
    object without the two keys.
    """
    try:
        items = json.loads(_listed(text))
        return [{item["function"]: item["parameters"]} for item in items if isinstance(item, dict)]
    except json.JSONDecodeError:
        return []
    except PARSING_ERRORS as error:
        raise failed(f"{type(error).__name__}: {error}") from None


def _listed(text: str) -> str:
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
        raise failed("no <functions> element")
    try:
        # The text begins with an element: no document type, hence no entities of its own.
        root = ElementTree.fromstring(text[start : end + len("</functions>")])  # noqa: S314
        return [{item.attrib["name"]: arguments(item)} for item in root.findall("function")]
    except (*PARSING_ERRORS, ElementTree.ParseError) as error:
        raise failed(f"{type(error).__name__}: {error}") from None


def _verbose_arguments(function: Any) -> dict[str, Any]:
    holder = function.find("params")
    found = {}
    for item in (function if holder is None else holder).findall("param"):
        raw, kind = item.attrib.get("value", ""), item.attrib.get("type", "string")
        found[item.attrib.get("name", POSITIONAL)] = _typed(raw, kind)
    return found


def _concise_arguments(function: Any) -> dict[str, Any]:
    return {
        item.attrib["name"]: _typed((item.text or "").strip(), item.attrib.get("type", "string"))
        for item in function.findall("param")
    }


_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "float": float,
    "boolean": lambda raw: raw.lower() == "true",
    "null": lambda raw: None,
    "array": literal,
    "tuple": literal,
    "object": literal,
    "dict": literal,
}


def _typed(raw: str, kind: str) -> Any:
    return _CONVERSIONS.get(kind, str)(raw)
