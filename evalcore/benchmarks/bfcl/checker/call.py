"""One call against one reference call: name, required, each given argument, omitted ones."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.checker.finding import Finding
from evalcore.benchmarks.bfcl.checker.types import (
    converted,
    expected_type,
    source_problem,
    type_problem,
)
from evalcore.benchmarks.bfcl.checker.values import (
    dict_problem,
    list_of_dicts_problem,
    list_problem,
    string_problem,
)
from evalcore.benchmarks.bfcl.decode.call import Call, shown

_PREFIX = "simple_function_checker"


def call_problem(
    function: dict[str, Any],
    call: Call,
    answer: dict[str, dict[str, list[Any]]],
    language: Language,
    underscores: bool,
) -> Finding | None:
    """The first thing wrong with a call, in upstream's order; None if it is accepted.

    `underscores`: the function was offered with `_` in place of `.` in its name.
    Raises what a schema or a value outside the dialect makes the rules raise (KeyError, TypeError,
    AttributeError, ValueError, OverflowError).
    """
    name = function["name"]
    name = name.replace(".", "_") if underscores else name
    if name not in call:
        message = f"{name} should be called, not {shown(next(iter(call), None))}"
        return Finding(f"{_PREFIX}:wrong_func_name", message)
    given, accepted = call[name], next(iter(answer.values()))
    for parameter in function["parameters"]["required"]:
        if parameter not in given:
            message = f"the required {parameter} is missing"
            return Finding(f"{_PREFIX}:missing_required", message, (parameter,))
    schemas = function["parameters"]["properties"]
    for parameter, value in given.items():
        if parameter not in schemas or parameter not in accepted:
            message = f"{shown(parameter)} is not expected"
            return Finding(f"{_PREFIX}:unexpected_param", message, (parameter,))
        found = _argument_problem(
            parameter, value, accepted[parameter], schemas[parameter], language
        )
        if found is not None:
            return found
    for parameter, answers in accepted.items():
        if parameter not in given and "" not in answers:
            message = f"{parameter} is missing and may not be left out"
            return Finding(f"{_PREFIX}:missing_optional", message, (parameter,))
    return None


def _argument_problem(
    parameter: str, value: Any, answers: list[Any], schema: dict[str, Any], language: Language
) -> Finding | None:
    expected = expected_type(schema, language)
    found = source_problem(parameter, value, language)
    if found is not None:
        return found
    value = converted(value, expected, language)
    found, variable = type_problem(parameter, value, answers, expected)
    if found is not None:
        return found
    if not variable:
        if expected.kind is dict:
            return dict_problem(parameter, value, answers)
        if expected.kind is list:
            rule = list_of_dicts_problem if expected.element is dict else list_problem
            return rule(parameter, value, answers)
        if expected.kind is str:
            return string_problem(parameter, value, answers)
    if value in answers:
        return None
    message = f"{shown(value)} is not accepted for {parameter}; accepted: {shown(answers)}"
    return Finding("value_error:others", message, (parameter,))
