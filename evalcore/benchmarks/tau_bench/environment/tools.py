"""Tools of a domain: their schemas, the check of their arguments, and those that all domains have.

Errors about the names of arguments are worded as upstream's Python words them, for agents read
them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from inspect import signature
from math import isfinite
from typing import Any

from evalcore.arithmetic import BINARY, Evaluate, count_result_bits, evaluate_tree
from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.agents import Tool as BaseTool
from evalcore.benchmarks.tau_bench.environment.database import Database, Entity
from evalcore.records import Record


class ToolError(Exception):
    """A tool does nothing and says why; the agent reads the message after `Error: `."""


class Tool(BaseTool, frozen=True):
    """A tool as an agent sees it, and what it does. `run` takes the database and arguments whose
    names fit the schema; it raises ToolError, or anything else where their values do not fit.
    `terminates` ends the conversation, whatever `run` says. With `open_arguments` it takes any
    arguments, whatever its schema says."""

    run: Callable[[Database, Mapping[str, Any]], str]
    writes: bool = False
    terminates: bool = False
    open_arguments: bool = False


class Domain(Record, frozen=True):
    """A shop or an airline. `database` is its first state, of which every episode has a fork;
    `label` says where its rules are not those of tau-bench itself, `says_done` whether an agent
    has to say that it is done."""

    name: str
    database: Database
    tools: tuple[Tool, ...]
    policy: str
    label: str = ""
    says_done: bool = False


def build_tool(
    function: Callable[..., str],
    description: str,
    schemas: Mapping[str, Schema],
    *,
    writes: bool = False,
    terminates: bool = False,
) -> Tool:
    """The tool of a function `(database, ...)` of the same name; it needs all arguments, whose
    schemas are in `schemas` by name."""

    def run(database: Database, arguments: Mapping[str, Any]) -> str:
        return function(database, **arguments)

    _, *names = signature(function).parameters
    properties = {name: schemas[name] for name in names}
    parameters = {"type": "object", "properties": properties, "required": names}
    return Tool(function.__name__, description, parameters, run, writes, terminates)


def text_schema(description: str, *choices: str) -> Schema:
    schema: Schema = {"type": "string", "description": description}
    return {**schema, "enum": list(choices)} if choices else schema


def text_list_schema(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def object_list_schema(description: str, properties: Mapping[str, Schema]) -> Schema:
    """The schema of a list of objects that have at least these properties."""
    item = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return {"type": "array", "items": item, "description": description}


def require_entity(database: Database, table: str, entity: str, what: str) -> Entity:
    """An entity to read. Raises ToolError where there is none."""
    value = database.get(table, entity)
    if value is None:
        raise ToolError(f"{what} not found")
    return value


# Arguments as an agent wrote them: of a bounded size, of the right names, of the right types. Each
# function gives the problem, or None.

MAX_VALUES = 5_000
MAX_CHARACTERS = 200_000
MAX_DEPTH = 16
MAX_NUMBER = 10**15


def find_bounds_problem(
    value: Any, max_values: int = MAX_VALUES, max_characters: int = MAX_CHARACTERS
) -> str:
    """What makes a value too much to work on, or no JSON; empty if nothing. Bounded are the number
    of values, the length of all texts, the depth and the numbers."""
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


def clamp_numbers(value: Any, levels: int = MAX_DEPTH + 1) -> Any:
    """The value with numbers beyond the bound, and what is no number, at the bound: a write of such
    a value leaves a database that no ground truth leaves, as it does upstream. What is nested
    deeper than `levels` stays as it is."""
    if levels and isinstance(value, dict):
        return {name: clamp_numbers(item, levels - 1) for name, item in value.items()}
    if levels and isinstance(value, list):
        return [clamp_numbers(item, levels - 1) for item in value]
    if isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
        return type(value)(-MAX_NUMBER if value < 0 else MAX_NUMBER)
    return value


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
    if tool.open_arguments:
        return ""
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
    """Where a value departs from its schema, and what it has to be; empty if nowhere. Knows `type`,
    `enum`, `items`, `properties` and `required`; further properties are allowed, and a number
    without a fraction is an integer."""
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


ALLOWED_CHARACTERS = "0123456789+-*/(). "
MAX_EXPRESSION_CHARS = 2_000
#: No integer may grow beyond this many bits; 2**1024 is already more than the result may be.
MAX_BITS = 20_000


def evaluate_arithmetic(expression: str) -> str:
    """Evaluate an expression of numbers, brackets and + - * / // **, to two decimals. Raises what
    Python raises for an expression without a value (SyntaxError, ArithmeticError, TypeError), and
    ValueError if it is too long or its value grows too large."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ValueError("the expression is too long")
    try:
        tree = ast.parse(expression.lstrip(" "), "<string>", "eval")
        return str(round(float(evaluate_tree(tree.body, _apply_operator, _evaluate_other)), 2))
    except (MemoryError, RecursionError):
        raise ValueError("the expression is nested too deep") from None


def _apply_operator(kind: type[ast.operator], left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        grows = kind in (ast.Pow, ast.Mult)
        bits = count_result_bits(kind, left, right) if grows else left.bit_length()
        if bits > MAX_BITS:
            raise ValueError("a number in the expression is too large")
    return BINARY[kind](left, right)


def _evaluate_other(node: ast.expr, evaluate: Evaluate) -> Any:
    if isinstance(node, ast.Call):
        raise TypeError(f"{type(evaluate(node.func)).__name__!r} object is not callable")
    if isinstance(node, ast.Tuple) and not node.elts:
        return ()
    raise SyntaxError("invalid syntax (<string>, line 1)")


def calculate(database: Database, expression: str) -> str:
    if not all(part in ALLOWED_CHARACTERS for part in expression):
        raise ToolError("invalid characters in expression")
    if not isinstance(expression, str):  # a list of characters, which upstream cannot evaluate
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    return evaluate_arithmetic(expression)


def get_user_details(database: Database, user_id: str) -> str:
    return json.dumps(require_entity(database, "users", user_id, "user"))


def think(database: Database, thought: str) -> str:
    return ""


def transfer_to_human_agents(database: Database, summary: str) -> str:
    return "Transfer successful"


_SCHEMAS = {
    "expression": text_schema("Numbers, + - * /, brackets and spaces, such as '2 * (3 + 4.5)'."),
    "thought": text_schema("The thought."),
    "summary": text_schema("What the user wants and what was done so far."),
}

GENERAL_TOOLS = (
    build_tool(
        calculate,
        "Work out an expression of numbers, for example a total or a difference of prices.",
        _SCHEMAS,
    ),
    build_tool(
        think,
        "Note a thought. It changes nothing and gives nothing; use it to plan or to check rules.",
        _SCHEMAS,
    ),
    build_tool(
        transfer_to_human_agents,
        "Hand the user over to a person, with a summary. This ends the conversation. Use it only "
        "for a request that none of the tools can handle under the policy.",
        _SCHEMAS,
        terminates=True,
    ),
)
