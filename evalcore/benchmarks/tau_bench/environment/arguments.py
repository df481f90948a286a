"""Arguments as an agent wrote them: of a bounded size, of the right names, of the right types.

The texts about names are those that upstream's Python says, for agents read them. Each function
gives the problem, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from evalcore.benchmarks.agents.tool import Schema
from evalcore.benchmarks.tau_bench.environment.tool import Tool

MAX_VALUES = 5_000
MAX_CHARACTERS = 200_000
MAX_DEPTH = 16
MAX_NUMBER = 10**15


def find_bounds_problem(
    value: Any, max_values: int = MAX_VALUES, max_characters: int = MAX_CHARACTERS
) -> str:
    """What makes a value too much to work on, or no JSON; empty if nothing.

    Bounded are the number of values, the length of all texts, the depth and the numbers.
    """
    values, characters, pending = 0, 0, [(value, 0)]
    while pending:
        current, depth = pending.pop()
        values += 1
        if isinstance(current, dict):
            if not all(isinstance(key, str) and _is_plain_value(key) for key in current):
                return "the names in an object must be texts"
            characters += sum(map(len, current))
            inner = list(current.values())
        elif isinstance(current, list):
            inner = current
        else:
            inner = []
            characters += len(current) if isinstance(current, str) else 0
            if not _is_plain_value(current):
                return "a number is not finite or too large, or a value is no JSON or no Unicode"
        if depth > MAX_DEPTH or values + len(pending) + len(inner) > max_values:
            return "the arguments are nested too deep or have too many values"
        if characters > max_characters:
            return "the arguments are too long"
        pending += [(item, depth + 1) for item in inner]
    return ""


def _is_plain_value(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value) and abs(value) <= MAX_NUMBER
    if isinstance(value, int):
        return abs(value) <= MAX_NUMBER
    if isinstance(value, str):  # half of a surrogate pair could be written to no file
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    return value is None


def find_name_problem(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Which argument the tool does not know or misses, in the words of Python; empty if none."""
    required = tool.parameters["required"]
    function = "".join(word.capitalize() for word in tool.name.split("_")) + ".invoke()"
    for name in arguments:
        if name not in required:
            return f"{function} got an unexpected keyword argument {name!r}"
    missing = [repr(name) for name in required if name not in arguments]
    if not missing:
        return ""
    plural = "s" if len(missing) > 1 else ""
    return (
        f"{function} missing {len(missing)} required positional argument{plural}: "
        + _join_words(missing)
    )


def _join_words(words: list[str]) -> str:
    if len(words) < 3:
        return " and ".join(words)
    return ", ".join(words[:-1]) + f", and {words[-1]}"


def find_type_problem(schema: Schema, value: Any, path: str = "") -> str:
    """Where a value departs from its schema, and what it has to be; empty if nowhere.

    Knows `type`, `enum`, `items`, `properties` and `required`; further properties are allowed, and
    a number without a fraction is an integer.
    """
    kind = schema["type"]
    if not _has_type(kind, value):
        return f"{path or 'the value'} must be of type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} must be one of: {', '.join(schema['enum'])}"
    if kind == "array":
        parts = ((schema["items"], item, f"{path}[{at}]") for at, item in enumerate(value))
        return next(filter(None, (find_type_problem(*part) for part in parts)), "")
    if kind == "object":
        return _find_property_problem(schema, value, path)
    return ""


def _find_property_problem(schema: Schema, value: Mapping[str, Any], path: str) -> str:
    for name in schema["required"]:
        if name not in value:
            return f"{path} needs {name!r}"
    for name, inner in schema["properties"].items():
        if name in value:
            problem = find_type_problem(inner, value[name], f"{path}.{name}" if path else name)
            if problem:
                return problem
    return ""


def _has_type(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    types: dict[str, Any] = {"string": str, "number": int | float, "array": list, "object": dict}
    return isinstance(value, types[kind])
