"""Rows of slm-evals as entries of BFCL: one call as an object, a question as text, schemas of any
dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.case_file import CaseLine
from evalcore.errors import IntakeError
from evalcore.intake.json_text import parse_json

#: What a row without a category is.
_CATEGORY = "simple_python"
#: Types of JSON Schema by the names that BFCL has for them.
_TYPES = {"object": "dict", "number": "float", "null": "any", "list": "array", "str": "string"}
_KNOWN_TYPES = ("string", "integer", "float", "boolean", "array", "tuple", "dict", "any")
_FORM = 'must be {"name": FUNCTION, "arguments": {...}}, or a list of {FUNCTION: {NAME: [VALUES]}}'
_MAX_DEPTH = 32


def is_slm_row(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of slm-evals, rather than of BFCL."""
    question, truth = row.get("question"), row.get("ground_truth")
    if "question" not in row:
        return "input" in row
    return isinstance(truth, dict | str) or (isinstance(question, str) and "ground_truth" in row)


def convert_slm_row(line: CaseLine) -> dict[str, Any]:
    """The row as BFCL has it. Raises DatasetError naming file, line and field."""
    row = dict(line.row)
    question = row.pop("input", "") if "question" not in row else row["question"]
    if isinstance(question, str):
        if not question.strip():
            line.raise_field_error("question", "is missing; it is a text or a list of messages")
        question = [[{"role": "user", "content": question}]]
    elif question and all(isinstance(message, dict) for message in question):
        question = [question]
    functions = row.get("function", [])
    functions = functions if isinstance(functions, list) else [functions]
    return row | {
        "id": str(row.get("id") or f"row_{line.number}"),
        "category": row.get("category") or _CATEGORY,
        "question": question,
        "function": [_convert_function(line, function) for function in functions],
        "ground_truth": _convert_truth(line, row.get("ground_truth")),
    }


def _convert_function(line: CaseLine, function: Any) -> dict[str, Any]:
    inner = function.get("function", function) if isinstance(function, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        line.raise_field_error("function", "every function must be an object with a name")
    schema = inner.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    if "properties" not in schema and schema and "type" not in schema:
        schema = {"properties": schema}  # parameters without the frame of an object
    parameters = _convert_schema(line, {"type": "dict", "properties": {}, **schema}, 0)
    required = parameters.get("required")
    parameters["required"] = required if isinstance(required, list) else []
    return inner | {"description": str(inner.get("description") or ""), "parameters": parameters}


def _convert_schema(line: CaseLine, schema: Any, depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        line.raise_field_error("function", "holds a schema that is no object or nested too deep")
    kind = schema.get("type", "any")
    if isinstance(kind, list):  # ["string", "null"]
        kind = next((name for name in kind if name != "null"), "any")
    kind = _TYPES.get(str(kind), str(kind))
    converted = schema | {"type": kind if kind in _KNOWN_TYPES else "any"}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        converted["properties"] = {
            name: _convert_schema(line, inner, depth + 1) for name, inner in properties.items()
        }
    if "items" in schema:
        converted["items"] = _convert_schema(line, schema["items"], depth + 1)
    return converted


def _convert_truth(line: CaseLine, truth: Any) -> list[Any]:
    """The accepted call of a row; a list is taken to be BFCL's own form, or several such calls."""
    if isinstance(truth, str):
        try:
            truth = parse_json(truth)
        except IntakeError:
            line.raise_field_error("ground_truth", f"is not valid JSON; it {_FORM}")
    calls = truth if isinstance(truth, list) else [truth]
    return [_convert_call(line, call) for call in calls]


def _convert_call(line: CaseLine, call: Any) -> dict[str, Any]:
    if not isinstance(call, dict):
        line.raise_field_error("ground_truth", _FORM)
    name = call.get("name") or call.get("function_name")
    if name is None and len(call) == 1:
        return call
    arguments = call.get("arguments", call.get("args", {}))
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments)
        except IntakeError:
            line.raise_field_error("ground_truth", "its arguments are not valid JSON")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        line.raise_field_error("ground_truth", _FORM)
    return {name: {key: [_accept_value(value)] for key, value in arguments.items()}}


def _accept_value(value: Any) -> Any:
    """A value as an accepted one: of an object each key has its own accepted values."""
    if isinstance(value, dict):
        return {key: [_accept_value(item)] for key, item in value.items()}
    if isinstance(value, list):
        return [_accept_value(item) if isinstance(item, dict) else item for item in value]
    return value
