"""Native tool calls, decoded as upstream does: each call's arguments are a JSON text."""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, to_decode_error
from evalcore.records import ToolCall


def name_and_arguments(item: Any) -> tuple[str, Any]:
    """The two parts of one call in any of the shapes that it is handed around in.

    A ToolCall, `{"name", "arguments"}`, or `{name: arguments}` as official result files have it.
    Raises DecodeError for anything else.
    """
    if isinstance(item, ToolCall):
        return item.name, item.arguments
    if isinstance(item, dict) and item:
        if item.keys() >= {"name", "arguments"}:
            name, arguments = item["name"], item["arguments"]
        else:
            name, arguments = next(iter(item.items()))
        if isinstance(name, str):
            return name, arguments
    raise to_decode_error("an item that is no tool call")


def native_calls(answer: Any) -> Any:
    """The tool calls of an answer. No calls and no text is an empty list; text is no call.

    Raises DecodeError for text, for None and for arguments that are no JSON text.
    """
    if answer == "":
        return []
    if not isinstance(answer, list | tuple):
        raise to_decode_error("no tool calls")
    calls = []
    for item in answer:
        name, arguments = name_and_arguments(item)
        if not isinstance(arguments, str):
            raise to_decode_error("arguments that are no JSON text")
        try:
            calls.append({name: json.loads(arguments)})
        except PARSING_ERRORS as error:
            raise to_decode_error(error) from None
    return calls
