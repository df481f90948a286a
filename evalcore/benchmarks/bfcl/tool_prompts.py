"""How a target is asked for calls: natively with `build_function_tools`, or by a prompt that
describes them.

Modes: `native` (the server's own tool calls), `prompt` (upstream's style: a list of calls in the
syntax of the language) and `json` (slm-evals' style: an object with name and arguments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.base import ToolCallMode
from evalcore.benchmarks.bfcl.answers import NATIVE
from evalcore.benchmarks.bfcl.categories import find_category_language
from evalcore.benchmarks.bfcl.format_sensitivity import select_form_mode
from evalcore.benchmarks.call_decoding import prompt_mode
from evalcore.records import Completion, Message

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
#: Types of function descriptions as JSON Schema names them; others are described as text.
_JSON_TYPES = {
    "integer": "integer",
    "number": "number",
    "float": "number",
    "string": "string",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "object": "object",
}
_NAMES = {"python": "Python 3", "java": "Java 8", "javascript": "JavaScript"}

_PROMPT = """You compose function calls. A question and a set of functions are given: answer with
the calls that serve the purpose. If no function fits, say so; if a value that a function needs is
not given, say so as well.
When you call functions, reply with nothing but a list of calls:
[name_1(argument_1=value_1, argument_2=value_2), name_2(argument=value)]
Call within one turn all that the request needs, until it is fulfilled."""

_JSON = """You call functions. A question and a set of functions are given.
When you call a function, reply with nothing but one JSON object:
{"name": "<function_name>", "arguments": {"<argument>": <value>}}
Reply with a list of such objects where several calls are due. The name has to be exactly that of a
function. If no function fits, say so in a sentence."""


def select_decode_mode(mode: ToolCallMode, category: str) -> str:
    """The mode of `decode.MODES` in which an answer is read."""
    if mode == "native":
        return "fc"
    if mode == "json":
        return "prompt_name_arguments"
    return prompt_mode(find_category_language(category))


def select_read_mode(mode: ToolCallMode, category: str, form: str, done: Completion) -> str:
    """The mode in which an answer is read; to a form of upstream's prompt that of the form, but
    calls that came natively are read as such."""
    if not form:
        return select_decode_mode(mode, category)
    return NATIVE if done.tool_calls else select_form_mode(form)


def build_call_messages(
    messages: Sequence[Message],
    functions: Sequence[dict[str, Any]],
    category: str,
    mode: ToolCallMode,
) -> list[Message]:
    """The messages with the functions described in a system message; as they are if `native`. A
    system message that is there already follows the description."""
    if mode == "native":
        return list(messages)
    language = find_category_language(category)
    available_functions = [add_language_hint(function, language) for function in functions]
    listed = json.dumps(available_functions, ensure_ascii=False, indent=1)
    instruction = _PROMPT if mode == "prompt" else _JSON
    text = f"{instruction}\n\nThe functions, described in JSON:\n{listed}"
    first, *rest = messages or [Message("user")]
    if first.role == "system":
        return [Message("system", f"{text}\n\n{first.content}"), *rest]
    return [Message("system", text), *messages]


def build_function_tools(
    functions: Sequence[dict[str, Any]], category: str
) -> tuple[dict[str, Any], ...]:
    """The functions as a server takes them: names without dots, parameters in JSON Schema."""
    return tuple(
        _build_function_tool(add_language_hint(function, find_category_language(category)))
        for function in functions
    )


def to_wire_name(name: str) -> str:
    """A function's name in the characters that servers allow; upstream maps dots alike."""
    return _NOT_IN_NAMES.sub("_", name)


def add_language_hint(function: dict[str, Any], tongue: Language) -> dict[str, Any]:
    """The description with a word on the language; Java and JavaScript values are asked as text,
    since the check reads them as source. The order of the keys stays."""
    description = (
        f"{function.get('description', '')} The function follows the syntax of {_NAMES[tongue]}."
    )
    described = {**function, "description": description.strip()}
    if tongue == "python" or not isinstance(function.get("parameters"), dict):
        return described
    properties = (function["parameters"].get("properties") or {}).items()
    changed = {name: _describe_as_source(schema, tongue) for name, schema in properties}
    return described | {"parameters": {**function["parameters"], "properties": changed}}


def _describe_as_source(schema: dict[str, Any], tongue: Language) -> dict[str, Any]:
    hints = [str(schema.get("description", ""))]
    hints.append(f"A {_NAMES[tongue]} value of type {schema.get('type')}, written as source text.")
    items = schema.get("items")
    if isinstance(items, dict) and items.get("type"):
        hints.append(f"Its elements are of type {items['type']}.")
    remaining = {key: value for key, value in schema.items() if key not in ("items", "properties")}
    return {**remaining, "type": "string", "description": " ".join(filter(None, hints))}


def _build_function_tool(function: dict[str, Any]) -> dict[str, Any]:
    parameters = _to_json_schema(function.get("parameters") or {"type": "dict", "properties": {}})
    return {
        "type": "function",
        "function": {
            "name": to_wire_name(str(function.get("name"))),
            "description": str(function.get("description", "")),
            "parameters": parameters,
        },
    }


def _to_json_schema(schema: Any) -> Any:
    """A schema in JSON Schema's types; what has none there is a text. `optional` is no keyword."""
    if not isinstance(schema, dict):
        return schema
    changed: dict[str, Any] = {}
    for key, value in schema.items():
        rule = _BY_KEY.get(key)
        if rule is not None:
            changed[key] = rule(value)
        elif key != "optional":
            changed[key] = value
    if changed.get("type") == "array" and "items" not in changed:
        changed["items"] = {"type": "string"}
    return changed


_BY_KEY: dict[str, Callable[[Any], Any]] = {
    "type": lambda name: _JSON_TYPES.get(str(name), "string"),
    "properties": lambda properties: {
        name: _to_json_schema(schema) for name, schema in (properties or {}).items()
    },
    "items": _to_json_schema,
    "additionalProperties": _to_json_schema,
}
