"""The tools of an assistant: how they are described, how arguments are checked, how they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.agents import Tool
from evalcore.benchmarks.http_client import ToolError

_LONGEST_NAME = 60


def text_tool(
    name: str,
    description: str,
    required: Mapping[str, str] | None = None,
    optional: Mapping[str, str] | None = None,
) -> Tool:
    """A tool whose arguments, given with their descriptions, are all texts."""
    needed, possible = dict(required or {}), dict(optional or {})
    properties = {
        argument: {"type": "string", "description": explanation}
        for argument, explanation in (needed | possible).items()
    }
    schema = {"type": "object", "properties": properties, "required": list(needed)}
    return Tool(name, description, schema)


def validate_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments as texts; null stands for an optional one that is not given. A number is taken
    for its text, as in `"pages": 3`. Raises ToolError naming the argument that is missing, unknown
    or of another type."""
    properties, needed = tool.parameters["properties"], tool.parameters["required"]
    values = {name: value for name, value in arguments.items() if value is not None}
    for name in values:
        if name not in properties:
            available = ", ".join(properties) or "none"
            raise ToolError(
                f'{tool.name} has no argument "{str(name)[:_LONGEST_NAME]}"; its arguments: '
                f"{available}"
            )
    for name in needed:
        if name not in values:
            raise ToolError(f'{tool.name} needs the argument "{name}"')
    return {name: _convert_argument(tool, name, value) for name, value in values.items()}


def _convert_argument(tool: Tool, name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        kind = {bool: "a boolean", list: "a list", dict: "an object"}.get(type(value), "other")
        raise ToolError(f'the argument "{name}" of {tool.name} must be a string, not {kind}')
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than are turned into text
        raise ToolError(f'the argument "{name}" of {tool.name} is too long') from None
    return text.encode("utf-8", "replace").decode("utf-8")


__all__ = ["Tool"]
