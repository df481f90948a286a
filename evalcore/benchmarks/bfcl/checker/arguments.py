"""The check of one argument: its type, its value, and the finding with upstream's error type."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.bfcl.checker.source_literals import java_value, javascript_value
from evalcore.benchmarks.call_decoding.call import shorten_repr
from evalcore.records import Record

# What is wrong with an answer: upstream's error type, and where in the calls it was found.

#: One step of a path: an argument or dictionary key, or an index within a list.
Step = str | int


class Finding(Record, frozen=True):
    """The first mismatch of an answer.

    `path` leads from the argument's name into its value, and is empty where no argument is at
    fault. `output` and `expected` are the indices of the call among the answer's calls and among
    the reference's. `cause` is the error type of the call that came nearest, where `error_type`
    itself only says that no call matched.
    """

    error_type: str
    message: str
    path: tuple[Step, ...] = ()
    output: int | None = 0
    expected: int | None = 0
    cause: str = ""


# The error types of upstream in fourteen groups that a reader can tell apart.

Group = Literal[
    "name",
    "missing",
    "extra",
    "type",
    "value",
    "list",
    "dict",
    "count",
    "decode",
    "relevance",
    "state",
    "response",
    "ended",
    "checker",
]

_BY_TYPE: dict[str, Group] = {
    "simple_function_checker:wrong_func_name": "name",
    "simple_function_checker:missing_required": "missing",
    "simple_function_checker:missing_optional": "missing",
    "simple_function_checker:unexpected_param": "extra",
    "type_error:simple": "type",
    "type_error:nested": "type",
    "type_error:java": "type",
    "type_error:js": "type",
    "value_error:string": "value",
    "value_error:others": "value",
    "value_error:list/tuple": "list",
    "value_error:list_dict_count": "list",
    "list_dict_checker:unclear": "list",
    "value_error:dict_key": "dict",
    "value_error:dict_value": "dict",
    "dict_checker:unclear": "dict",
    "simple_function_checker:wrong_count": "count",
    "multiple_function_checker:wrong_count": "count",
    "parallel_function_checker_no_order:wrong_count": "count",
    "ast_decoder:decoder_failed": "decode",
    "ast_decoder:decoder_wrong_output_format": "decode",
    "irrelevance_error:decoder_success": "relevance",
    "relevance_error:decoder_failed": "relevance",
    "multi_turn:instance_state_mismatch": "state",
    "multi_turn:execution_response_mismatch": "response",
    "multi_turn:empty_turn_model_response": "response",
    "multi_turn:force_terminated": "ended",
    "multi_turn:inference_error": "ended",
    "execution_timeout": "ended",
    "execution_lost": "ended",
}

#: Every group, in the order in which a chart shows them.
GROUPS: tuple[Group, ...] = (
    "decode",
    "relevance",
    "count",
    "name",
    "missing",
    "extra",
    "type",
    "value",
    "list",
    "dict",
    "state",
    "response",
    "ended",
    "checker",
)


def classify_call_error(error_type: str, cause: str = "") -> Group | None:
    """The group of an error type; None for a valid answer.

    Where no call of a parallel answer matched, the group is that of the nearest call. Types
    outside upstream's list (its own crashes on such an answer) are of the group `checker`.
    """
    if not error_type:
        return None
    return _BY_TYPE.get(cause) or _BY_TYPE.get(error_type, "checker")


# Which Python type a value must have: the schema's, or that of the first accepted answer.

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


# Whether a value of the right type is among the accepted ones: strings, lists, dictionaries.

_IGNORED = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def normalize_string(text: str) -> str:
    """A string as it is compared: lower case, without blanks and `,./-_*^`, one kind of quote."""
    return text.translate(_IGNORED).lower()


def _normalize_value(value: Any) -> Any:
    return normalize_string(value) if type(value) is str else value


def _build_rejection(error_type: str, path: tuple[Step, ...], value: Any, accepted: Any) -> Finding:
    message = (
        f"{shorten_repr(value)} is not accepted for {path[0]}; accepted: {shorten_repr(accepted)}"
    )
    return Finding(error_type, message, path)


def string_problem(parameter: str, value: str, answers: list[Any]) -> Finding | None:
    """Strings equal after normalisation."""
    normalized = normalize_string(value)
    if any(type(answer) is str and normalize_string(answer) == normalized for answer in answers):
        return None
    return _build_rejection("value_error:string", (parameter,), value, answers)


def list_problem(parameter: str, value: list[Any], answers: list[Any]) -> Finding | None:
    """Lists equal in order; their own strings are normalised, those of nested lists are not."""
    items = [_normalize_value(item) for item in value]
    accepted = [[_normalize_value(item) for item in answer] for answer in answers]
    if items in accepted:
        return None
    index = max((_count_leading_matches(items, answer) for answer in accepted), default=0)
    path: tuple[Step, ...] = (parameter, index) if index < len(items) else (parameter,)
    return _build_rejection("value_error:list/tuple", path, value, answers)


def _count_leading_matches(items: list[Any], accepted: list[Any]) -> int:
    """How many leading elements agree."""
    pairs = zip(items, accepted, strict=False)
    return next(
        (i for i, (item, other) in enumerate(pairs) if item != other),
        min(len(items), len(accepted)),
    )


def dict_problem(parameter: str, value: dict[Any, Any], answers: list[Any]) -> Finding | None:
    """Dictionaries whose keys are known and whose values are accepted; the last answer's problem.

    A missing key is reported before a wrong value, as upstream does. Types are not compared.
    """
    finding: Finding | None = Finding(
        "dict_checker:unclear", f"no dictionary is accepted for {parameter}", (parameter,)
    )
    for answer in answers:
        if answer == "":
            continue
        wrong = _wrong_member(parameter, value, answer)
        finding = _missing_key(parameter, value, answer) or wrong
        if finding is None:
            return None
    return finding


def _missing_key(parameter: str, value: dict[Any, Any], answer: dict[str, Any]) -> Finding | None:
    for key, accepted in answer.items():
        if key not in value and "" not in accepted:
            message = f"key {shorten_repr(key)} of {parameter} is missing"
            return Finding("value_error:dict_key", message, (parameter, key))
    return None


def _wrong_member(parameter: str, value: dict[Any, Any], answer: dict[str, Any]) -> Finding | None:
    for key, member in value.items():
        path = (parameter, key if isinstance(key, str | int) else shorten_repr(key))
        if key not in answer:
            message = f"key {shorten_repr(key)} of {parameter} is unexpected"
            return Finding("value_error:dict_key", message, path)
        if _normalize_value(member) not in [_normalize_value(accepted) for accepted in answer[key]]:
            return _build_rejection("value_error:dict_value", path, member, answer[key])
    return None


def list_of_dicts_problem(parameter: str, value: list[Any], answers: list[Any]) -> Finding | None:
    """Lists of dictionaries, equal in length and order; the last answer's problem."""
    finding: Finding | None = Finding(
        "list_dict_checker:unclear", f"no list is accepted for {parameter}", (parameter,)
    )
    for answer in answers:
        if len(value) != len(answer):
            message = f"{parameter} should hold {len(answer)} dictionaries, not {len(value)}"
            finding = Finding("value_error:list_dict_count", message, (parameter,))
            continue
        finding = None
        for index, item in enumerate(value):
            mismatch = dict_problem(parameter, item, [answer[index]])
            if mismatch is not None:
                inner = (parameter, index, *mismatch.path[1:])
                finding = Finding(mismatch.error_type, mismatch.message, inner)
                break
        if finding is None:
            return None
    return finding
