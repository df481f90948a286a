"""Whether a value of the right type is among the accepted ones: strings, lists, dictionaries."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.checker.finding import Finding, Step
from evalcore.benchmarks.bfcl.decode.call import shorten_repr

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
