"""The check of one argument: its type, its value, and the finding with upstream's error type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from msgspec import structs

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.bfcl.checker.source_literals import java_value, javascript_value
from evalcore.benchmarks.call_decoding.call import Call, shorten_repr
from evalcore.i18n import Note
from evalcore.records import Record

#: One step of a path: an argument or dictionary key, or an index within a list.
Step = str | int


class Finding(Record, frozen=True):
    """The first mismatch of an answer, with upstream's error type. `path` leads from the argument's
    name into its value, empty where no argument is at fault. `output` and `expected` are the
    indices of the call among the answer's and the reference's. `cause` is the error type of the
    nearest call, where `error_type` only says that none matched."""

    error_type: str
    message: str
    path: tuple[Step, ...] = ()
    output: int | None = 0
    expected: int | None = 0
    cause: str = ""


_OfAnswer = Literal["decode", "relevance", "count"]
_OfCall = Literal["name", "missing", "extra", "type", "value", "list", "dict"]
_OfConversation = Literal["state", "response", "ended"]
#: The error types of upstream in groups that a reader can tell apart, in the order of charts.
Group = Literal[_OfAnswer, _OfCall, _OfConversation, "checker"]
GROUPS: tuple[Group, ...] = get_args(Group)

_ERROR_TYPES: dict[Group, tuple[str, ...]] = {
    "decode": ("ast_decoder:decoder_failed", "ast_decoder:decoder_wrong_output_format"),
    "relevance": ("irrelevance_error:decoder_success", "relevance_error:decoder_failed"),
    "count": (
        "simple_function_checker:wrong_count",
        "multiple_function_checker:wrong_count",
        "parallel_function_checker_no_order:wrong_count",
    ),
    "name": ("simple_function_checker:wrong_func_name",),
    "missing": (
        "simple_function_checker:missing_required",
        "simple_function_checker:missing_optional",
    ),
    "extra": ("simple_function_checker:unexpected_param",),
    "type": ("type_error:simple", "type_error:nested", "type_error:java", "type_error:js"),
    "value": ("value_error:string", "value_error:others"),
    "list": ("value_error:list/tuple", "value_error:list_dict_count", "list_dict_checker:unclear"),
    "dict": ("value_error:dict_key", "value_error:dict_value", "dict_checker:unclear"),
    "state": ("multi_turn:instance_state_mismatch",),
    "response": ("multi_turn:execution_response_mismatch", "multi_turn:empty_turn_model_response"),
    "ended": (
        "multi_turn:force_terminated",
        "multi_turn:inference_error",
        "execution_timeout",
        "execution_lost",
    ),
}
_BY_TYPE = {name: group for group, names in _ERROR_TYPES.items() for name in names}


def classify_call_error(error_type: str, cause: str = "") -> Group | None:
    """The group of an error type; None for a valid answer. Where no call of a parallel answer
    matched, the group is that of the nearest call. Types outside upstream's list (its own crashes
    on such an answer) are of the group `checker`."""
    if not error_type:
        return None
    return _BY_TYPE.get(cause) or _BY_TYPE.get(error_type, "checker")


TYPES: dict[Language, dict[str, type]] = {
    "python": {
        **{"string": str, "integer": int, "float": float, "boolean": bool, "array": list},
        **{"tuple": list, "dict": dict, "any": str},
    },
    "java": {
        **dict.fromkeys(("byte", "short", "integer", "long"), int),
        **dict.fromkeys(("float", "double"), float),
        **dict.fromkeys(("char", "String", "any"), str),
        **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
        **dict.fromkeys(("HashMap", "Hashtable"), dict),
        **{"boolean": bool, "Set": set},
    },
    "javascript": {
        **{"String": str, "integer": int, "float": float, "Bigint": int, "Boolean": bool},
        **{"dict": dict, "array": list, "any": str},
    },
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
    """Convert a value as the language permits: in Python an integer where a float is expected and a
    tuple to a list, in Java and JavaScript source text."""
    if language != "python":
        return _CONVERT[language](value, expected.name, expected.element_name)
    if expected.name == "tuple" and type(value) is tuple:
        return list(value)
    return float(value) if expected.name == "float" and type(value) is int else value


def source_problem(parameter: str, value: Any, language: Language) -> Finding | None:
    """Java and JavaScript values arrive as source text; anything else is a type error."""
    if language == "python" or type(value) is str:
        return None
    message = Note("call_source", parameter=parameter, tongue=language, kind=type(value).__name__)
    return Finding(_NOT_SOURCE[language], message, (parameter,))


def _first_type(answers: Any) -> type | None:
    return next((type(answer) for answer in answers if answer != ""), None)


def type_problem(
    parameter: str, value: Any, answers: Any, expected: ExpectedType
) -> tuple[Finding | None, bool]:
    """What is wrong with a value's type, and whether it counts as a variable. A value of another
    type than the schema's passes, as a "variable", if it has the type of the first accepted answer
    but the mark of an optional parameter. Elements of a list must fit, one level deep, for one
    accepted answer."""
    answered, kind = _first_type(answers), type(value)
    nested: tuple[Step, ...] = ()
    if kind is expected.kind:
        misfit = (
            None if expected.element is None else _find_misfit(value, answers, expected.element)
        )
        if misfit is None:
            return None, answered is not None and answered is not kind
        nested = misfit if kind is answered else ()
    elif kind is answered:
        return None, True
    variable = kind is expected.kind and kind is answered
    name = f"{expected.name} of {expected.element_name}" if nested else expected.name
    answered_value = f"{kind.__name__} {shorten_repr(value)}"
    message = Note("call_type", parameter=parameter, expected=name, answered=answered_value)
    error_type = "type_error:nested" if variable else "type_error:simple"
    return Finding(error_type, message, (parameter, *nested)), variable


def _find_misfit(value: list[Any], answers: Any, element: type) -> tuple[Step, ...] | None:
    """None if the elements fit an accepted answer, else where the last one tried disagrees."""
    path: tuple[Step, ...] = ()
    for answer in answers:
        if type(answer) is not list:
            return None
        fitting = (element, _first_type(answer))
        wrong = next((i for i, item in enumerate(value) if type(item) not in fitting), None)
        if wrong is None:
            return None
        path = (wrong,)
    return path


_IGNORED = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def normalize_string(text: str) -> str:
    """A string as it is compared: lower case, without blanks and `,./-_*^`, one kind of quote."""
    return text.translate(_IGNORED).lower()


def _normalize_value(value: Any) -> Any:
    return normalize_string(value) if type(value) is str else value


def build_name_finding(name: str, call: Call) -> Finding:
    message = Note("call_name", name=name, answered=shorten_repr(next(iter(call), None)))
    return Finding("simple_function_checker:wrong_func_name", message)


def build_surplus_finding(parameter: str) -> Finding:
    message = Note("call_surplus", parameter=shorten_repr(parameter))
    return Finding("simple_function_checker:unexpected_param", message, (parameter,))


def build_count_finding(rule: str, calls: Sequence[Call], answers: Sequence[Any]) -> Finding:
    message = Note("call_count", expected=len(answers), answered=len(calls))
    return Finding(f"{rule}:wrong_count", message, output=None, expected=None)


def build_rejection(error_type: str, path: tuple[Step, ...], value: Any, accepted: Any) -> Finding:
    message = Note(
        "call_value", value=shorten_repr(value), parameter=path[0], accepted=shorten_repr(accepted)
    )
    return Finding(error_type, message, path)


def string_problem(parameter: str, value: str, answers: list[Any]) -> Finding | None:
    normalized = normalize_string(value)
    if any(type(answer) is str and normalize_string(answer) == normalized for answer in answers):
        return None
    return build_rejection("value_error:string", (parameter,), value, answers)


def list_problem(parameter: str, value: list[Any], answers: list[Any]) -> Finding | None:
    """Lists equal in order; their own strings are normalised, those of nested lists are not."""
    items = [_normalize_value(item) for item in value]
    accepted = [[_normalize_value(item) for item in answer] for answer in answers]
    if items in accepted:
        return None
    index = max((_count_leading_matches(items, answer) for answer in accepted), default=0)
    path = (parameter, index)[: 1 + (index < len(items))]
    return build_rejection("value_error:list/tuple", path, value, answers)


def _count_leading_matches(items: list[Any], accepted: list[Any]) -> int:
    pairs = enumerate(zip(items, accepted, strict=False))
    differences = (index for index, (item, other) in pairs if item != other)
    return next(differences, min(len(items), len(accepted)))


def dict_problem(parameter: str, value: dict[Any, Any], answers: list[Any]) -> Finding | None:
    """Dictionaries whose keys are known and whose values are accepted; the last answer's problem. A
    missing key is reported before a wrong value, as upstream does. Types are not compared."""
    message = f"no dictionary is accepted for {parameter}"
    finding: Finding | None = Finding("dict_checker:unclear", message, (parameter,))
    for answer in answers:
        if answer == "":
            continue
        wrong = _wrong_member(parameter, value, answer)
        finding = _missing_key(parameter, value, answer) or wrong
        if finding is None:
            break
    return finding


def _missing_key(parameter: str, value: dict[Any, Any], answer: dict[str, Any]) -> Finding | None:
    for key, accepted in answer.items():
        if key not in value and "" not in accepted:
            message = Note("call_key_missing", entry=shorten_repr(key), parameter=parameter)
            return Finding("value_error:dict_key", message, (parameter, key))
    return None


def _wrong_member(parameter: str, value: dict[Any, Any], answer: dict[str, Any]) -> Finding | None:
    for key, member in value.items():
        path = (parameter, key if isinstance(key, str | int) else shorten_repr(key))
        if key not in answer:
            message = Note("call_key_extra", entry=shorten_repr(key), parameter=parameter)
            return Finding("value_error:dict_key", message, path)
        if _normalize_value(member) not in [_normalize_value(accepted) for accepted in answer[key]]:
            return build_rejection("value_error:dict_value", path, member, answer[key])
    return None


def list_of_dicts_problem(parameter: str, value: list[Any], answers: list[Any]) -> Finding | None:
    """Lists of dictionaries, equal in length and order; the last answer's problem."""
    message = f"no list is accepted for {parameter}"
    finding: Finding | None = Finding("list_dict_checker:unclear", message, (parameter,))
    for answer in answers:
        finding = _wrong_dict(parameter, value, answer)
        if finding is None:
            break
    return finding


def _wrong_dict(parameter: str, value: list[Any], answer: list[Any]) -> Finding | None:
    if len(value) != len(answer):
        message = Note(
            "call_dictionaries", parameter=parameter, expected=len(answer), answered=len(value)
        )
        return Finding("value_error:list_dict_count", message, (parameter,))
    for index, item in enumerate(value):
        mismatch = dict_problem(parameter, item, [answer[index]])
        if mismatch is not None:
            return structs.replace(mismatch, path=(parameter, index, *mismatch.path[1:]))
    return None
