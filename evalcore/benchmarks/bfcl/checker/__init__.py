"""The official check of decoded calls against the accepted ones, error types included.

`check_calls` takes the calls of a whole answer; `call_problem` judges a single one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.bfcl.checker.arguments import (
    Finding,
    build_count_finding,
    build_name_finding,
    build_rejection,
    build_surplus_finding,
    convert_value,
    dict_problem,
    expected_type,
    list_of_dicts_problem,
    list_problem,
    source_problem,
    string_problem,
    type_problem,
)
from evalcore.benchmarks.call_decoding.call import Call
from evalcore.i18n import Note, cut_note

_PREFIX = "simple_function_checker"
_RULES: dict[type, Callable[[str, Any, list[Any]], Finding | None]] = {
    dict: dict_problem,
    list: list_problem,
    str: string_problem,
}


def call_problem(
    function: dict[str, Any],
    call: Call,
    answer: dict[str, dict[str, list[Any]]],
    language: Language,
    underscores: bool,
) -> Finding | None:
    """The first thing wrong with a call, in upstream's order; None if it is accepted.
    `underscores`: the function was offered with `_` in place of `.` in its name. Raises what a
    schema or a value outside the dialect makes the rules raise (KeyError, TypeError,
    AttributeError, ValueError, OverflowError)."""
    name = function["name"]
    name = name.replace(".", "_") if underscores else name
    if name not in call:
        return build_name_finding(name, call)
    arguments, accepted = call[name], next(iter(answer.values()))
    for parameter in function["parameters"]["required"]:
        if parameter not in arguments:
            message = Note("call_required", parameter=parameter)
            return Finding(f"{_PREFIX}:missing_required", message, (parameter,))
    schemas = function["parameters"]["properties"]
    for parameter, value in arguments.items():
        if parameter not in schemas or parameter not in accepted:
            return build_surplus_finding(parameter)
        schema = schemas[parameter]
        finding = _argument_problem(parameter, value, accepted[parameter], schema, language)
        if finding is not None:
            return finding
    for parameter, answers in accepted.items():
        if parameter not in arguments and "" not in answers:
            message = Note("call_optional", parameter=parameter)
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
    rule = None if variable else _RULES.get(expected.kind)
    if rule is not None:
        rule = list_of_dicts_problem if rule is list_problem and expected.element is dict else rule
        return rule(parameter, value, answers)
    if value in answers:
        return None
    return build_rejection("value_error:others", (parameter,), value, answers)


_Problem = Finding | None
_PARALLEL = "parallel_function_checker_no_order"

#: Where upstream's own checker would crash, because a schema, a reference or a value is outside
#: what its rules foresee.
_CRASHES = (
    *(LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError),
    StopIteration,
)

#: Error types in the order in which the rules look for them: the later, the nearer to a match.
_STAGES = ("wrong_func_name", "missing_required", "unexpected_param", "type_error")


def check_calls(
    category: str,
    functions: list[dict[str, Any]],
    calls: list[Call],
    answers: list[dict[str, Any]],
    *,
    language: Language = "python",
    underscores: bool = False,
) -> Finding | None:
    """The official finding about an answer's calls; None if they are accepted. `answers` is the
    ground truth: one mapping {name: {parameter: accepted values}} a call, with `""` among the
    values where the parameter may be left out. Never raises for what a model wrote: where
    upstream's checker crashes, the error type is `checker_failed:` and the exception's name."""

    def find_problem(function: dict[str, Any], call: Call, answer: dict[str, Any]) -> _Problem:
        return call_problem(function, call, answer, language, underscores)

    try:
        if "parallel" in category:
            return _check_parallel_calls(functions, calls, answers, find_problem)
        several = "multiple" in category
        if len(calls) != (len(answers) if several else 1):
            rule = "multiple_function_checker" if several else _PREFIX
            return build_count_finding(rule, calls, answers)
        name = next(iter(answers[0]))
        function = _find_function(functions, name) if several else functions[0]
        return find_problem(function, calls[0], answers[0])
    except _CRASHES as error:
        kind = type(error).__name__
        message = Note("call_check_stops", kind=kind, message=error)
        return Finding(f"checker_failed:{kind}", cut_note(message, 300))


def measure_progress(finding: Finding) -> int:
    """How far the rules came before this finding; the higher, the nearer to a match."""
    kinds = [i for i, stage in enumerate(_STAGES) if stage in finding.error_type]
    return kinds[0] if kinds else len(_STAGES)


def _check_parallel_calls(
    functions: list[dict[str, Any]],
    calls: list[Call],
    answers: list[dict[str, Any]],
    find_problem: Callable[[dict[str, Any], Call, dict[str, Any]], _Problem],
) -> Finding | None:
    """Match greedily: each reference call takes the first unused call that fits it."""
    if len(calls) != len(answers):
        return build_count_finding(_PARALLEL, calls, answers)
    remaining = list(range(len(calls)))
    for index, answer in enumerate(answers):
        function = _find_function(functions, next(iter(answer)))
        nearest: tuple[int, Finding] | None = None
        for position in remaining:
            finding = find_problem(function, calls[position], answer)
            if finding is None:
                remaining.remove(position)
                break
            if nearest is None or measure_progress(finding) > measure_progress(nearest[1]):
                nearest = position, finding
        else:
            return _build_unmatched_finding(index, nearest)
    return None


def _build_unmatched_finding(index: int, nearest: tuple[int, Finding] | None) -> Finding:
    error_type = f"{_PARALLEL}:cannot_find_match"
    if nearest is None:
        return Finding(error_type, Note("call_none_left"), output=None, expected=index)
    position, finding = nearest
    message = Note("call_nearest", number=index + 1, place=position + 1, problem=finding.message)
    return Finding(error_type, message, finding.path, position, index, finding.error_type)


def _find_function(functions: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for function in functions:
        if function["name"] == name:
            return function
    raise KeyError(name)


__all__ = ["Finding"]
