"""Which Python type a value must have: the schema's, or that of the first accepted answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.checker.finding import Finding, Step
from evalcore.benchmarks.bfcl.checker.java_values import java_value
from evalcore.benchmarks.bfcl.checker.javascript_values import javascript_value
from evalcore.benchmarks.bfcl.decode.call import shorten_repr

_PYTHON: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_JAVA: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
    "boolean": bool,
    "Set": set,
}
_JAVASCRIPT: dict[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
    "any": str,
}
TYPES: dict[Language, dict[str, type]] = {
    "python": _PYTHON,
    "java": _JAVA,
    "javascript": _JAVASCRIPT,
}
_WITH_ELEMENTS: dict[Language, tuple[str, ...]] = {
    "python": ("array", "tuple"),
    "java": ("Array", "ArrayList"),
    "javascript": ("array",),
}
_CONVERT = {"java": java_value, "javascript": javascript_value}
_NOT_SOURCE = {"java": "type_error:java", "javascript": "type_error:js"}


class ExpectedType(NamedTuple):
    """The Python type that a parameter's schema stands for, and that of its elements."""

    name: str
    kind: type
    element_name: str | None
    element: type | None


def expected_type(schema: dict[str, Any], language: Language) -> ExpectedType:
    """What a parameter's schema asks for; raises KeyError for a type outside the dialect."""
    name, types = schema["type"], TYPES[language]
    element = schema["items"]["type"] if name in _WITH_ELEMENTS[language] else None
    return ExpectedType(name, types[name], element, types[element] if element is not None else None)


def convert_value(value: Any, expected: ExpectedType, language: Language) -> Any:
    """The value after the conversions that a language grants.

    Python: an integer for a float, a tuple for a tuple's list. Java and JavaScript: source text.
    """
    if language != "python":
        return _CONVERT[language](value, expected.name, expected.element_name)
    if expected.name == "tuple" and type(value) is tuple:
        return list(value)
    return float(value) if expected.name == "float" and type(value) is int else value


def source_problem(parameter: str, value: Any, language: Language) -> Finding | None:
    """Java and JavaScript values arrive as source text; anything else is a type error."""
    if language == "python" or type(value) is str:
        return None
    message = f"{parameter} should be {language} source text, not {type(value).__name__}"
    return Finding(_NOT_SOURCE[language], message, (parameter,))


def first_type(answers: Any) -> type | None:
    """The type of the first accepted answer that is not the mark of an optional parameter."""
    return next((type(answer) for answer in answers if answer != ""), None)


def type_problem(
    parameter: str, value: Any, answers: Any, expected: ExpectedType
) -> tuple[Finding | None, bool]:
    """What is wrong with a value's type, and whether it counts as a variable.

    A value of another type than the schema's passes, as a "variable", if it has the type of the
    first accepted answer. Elements of a list must fit, one level deep, for one accepted answer.
    """
    answered = first_type(answers)
    kind = type(value)
    if kind is expected.kind:
        variable = answered is not None and answered is not kind
        misfit = (
            None
            if expected.element is None
            else _find_misfit_path(value, answers, expected.element)
        )
        if misfit is None:
            return None, variable
        if kind is answered:
            return _build_type_finding(
                "type_error:nested", parameter, value, expected, misfit
            ), True
    elif kind is answered:
        return None, True
    return _build_type_finding("type_error:simple", parameter, value, expected, ()), False


def _find_misfit_path(value: list[Any], answers: Any, element: type) -> tuple[Step, ...] | None:
    """None if the elements fit an accepted answer, else where the last one tried disagrees."""
    path: tuple[Step, ...] = ()
    for answer in answers:
        if type(answer) is not list:
            return None
        answered = first_type(answer)
        wrong = [i for i, item in enumerate(value) if type(item) not in (element, answered)]
        if not wrong:
            return None
        path = (wrong[0],)
    return path


def _build_type_finding(
    error_type: str, parameter: str, value: Any, expected: ExpectedType, within: tuple[Step, ...]
) -> Finding:
    expected_text = f"{expected.name} of {expected.element_name}" if within else expected.name
    message = (
        f"{parameter} should be {expected_text}, got {type(value).__name__} {shorten_repr(value)}"
    )
    return Finding(error_type, message, (parameter, *within))
