"""One call against one reference call: name, required, each given argument, omitted ones."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.checker.finding import Finding
from evalcore.benchmarks.bfcl.checker.types import (
    convert_value,
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
from evalcore.benchmarks.bfcl.decode.call import Call, shorten_repr

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
        message = f"{name} should be called, not {shorten_repr(next(iter(call), None))}"
        return Finding(f"{_PREFIX}:wrong_func_name", message)
    arguments, accepted = call[name], next(iter(answer.values()))
    for parameter in function["parameters"]["required"]:
        if parameter not in arguments:
            message = f"the required {parameter} is missing"
            return Finding(f"{_PREFIX}:missing_required", message, (parameter,))
    schemas = function["parameters"]["properties"]
    for parameter, value in arguments.items():
        if parameter not in schemas or parameter not in accepted:
            message = f"{shorten_repr(parameter)} is not expected"
            return Finding(f"{_PREFIX}:unexpected_param", message, (parameter,))
        finding = _argument_problem(
            parameter, value, accepted[parameter], schemas[parameter], language
        )
        if finding is not None:
            return finding
    for parameter, answers in accepted.items():
        if parameter not in arguments and "" not in answers:
            message = f"{parameter} is missing and may not be left out"
            return Finding(f"{_PREFIX}:missing_optional", message, (parameter,))
    return None


def _argument_problem(
    parameter: str, value: Any, answers: list[Any], schema: dict[str, Any], language: Language
) -> Finding | None:
    expected = expected_type(schema, language)
    finding = source_problem(parameter, value, language)
    if finding is not None:
        return finding
    value = convert_value(value, expected, language)
    finding, variable = type_problem(parameter, value, answers, expected)
    if finding is not None:
        return finding
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
    message = (
        f"{shorten_repr(value)} is not accepted for {parameter}; accepted: {shorten_repr(answers)}"
    )
    return Finding("value_error:others", message, (parameter,))
