"""The strict and the fuzzy rule: slm-evals' two meanings, decided correctly.

Both know every accepted alternative, parameters that may be left out, unknown arguments (wrong),
nested values, several calls in any order, and Java and JavaScript literals. They differ in values:

- strict: the same value, text by text; an integer serves for a float, nothing else is converted;
- fuzzy: texts without case, blanks and light punctuation, numbers by their value, at every depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.bfcl.checker.arguments import (
    TYPES,
    Finding,
    build_count_finding,
    build_name_finding,
    build_rejection,
    build_surplus_finding,
    convert_value,
    expected_type,
    normalize_string,
)
from evalcore.benchmarks.call_decoding.call import Call, find_properties
from evalcore.i18n import Note
from evalcore.records import Record

_Same = Callable[[Any, Any], bool]
_MAX_DEPTH = 20
_RULE = "simple_function_checker"


class CallMatch(Record, frozen=True):
    """`share` is the part of the arguments that are right; `finding` the first wrong one."""

    share: float
    finding: Finding | None = None


def match_calls(
    functions: list[dict[str, Any]],
    calls: list[Call],
    answers: list[dict[str, Any]],
    *,
    language: Language = "python",
    fuzzy: bool = False,
) -> CallMatch:
    """The best assignment of calls to reference calls; valid where `finding` is None. The share of
    several calls is their mean, missing and surplus calls counting 0."""
    if not calls or not answers:
        right = calls == answers
        return CallMatch(
            float(right), None if right else build_count_finding(_RULE, calls, answers)
        )
    same = _is_fuzzily_equal if fuzzy else _is_strictly_equal
    by_name = {function.get("name"): find_properties(function) for function in reversed(functions)}
    schemas = [by_name.get(next(iter(answer)), {}) for answer in answers]
    table = [
        [_match_call(call, answer, schema, language, same) for call in calls]
        for answer, schema in zip(answers, schemas, strict=True)
    ]
    pairs = _assign_calls(table)
    total = sum(table[row][column].share for row, column in pairs.items())
    share = total / max(len(calls), len(answers))
    if len(calls) != len(answers):
        return CallMatch(share, build_count_finding(_RULE, calls, answers))
    for row, column in sorted(pairs.items()):
        finding = table[row][column].finding
        if finding is not None:
            return CallMatch(share, structs.replace(finding, output=column, expected=row))
    return CallMatch(1.0)


def _assign_calls(table: list[list[CallMatch]]) -> dict[int, int]:
    """Calls for reference calls: as many right ones as possible (by augmenting paths), then the
    best of what is left."""
    taken: dict[int, int] = {}

    def try_assign(row: int, seen: set[int]) -> bool:
        for column, cell in enumerate(table[row]):
            if cell.finding is None and column not in seen:
                seen.add(column)
                if column not in taken or try_assign(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    for row in range(min(len(table), 100)):
        try_assign(row, set())
    pairs = {row: column for column, row in taken.items()}
    for row in range(len(table)):
        free = [column for column in range(len(table[row])) if column not in pairs.values()]
        if row not in pairs and free:
            pairs[row] = max(free, key=lambda column: table[row][column].share)
    return pairs


def _match_call(
    call: Call, answer: dict[str, Any], schema: dict[str, Any], language: Language, same: _Same
) -> CallMatch:
    name, accepted = next(iter(answer.items()))
    if name not in call:
        return CallMatch(0.0, build_name_finding(name, call))
    arguments = call[name]
    parameters = [*accepted, *(key for key in arguments if key not in accepted)]
    findings = [
        _match_argument(key, arguments, accepted, schema.get(key, {}), language, same)
        for key in parameters
    ]
    share = findings.count(None) / len(findings) if findings else 1.0
    return CallMatch(share, next(filter(None, findings), None))


def _match_argument(
    parameter: str,
    arguments: dict[str, Any],
    accepted: dict[str, Any],
    schema: dict[str, Any],
    language: Language,
    same: _Same,
) -> Finding | None:
    if parameter not in accepted:
        return build_surplus_finding(parameter)
    answers = accepted[parameter]
    if parameter not in arguments:
        if "" in answers:
            return None
        return Finding(
            f"{_RULE}:missing_required", Note("call_missing", parameter=parameter), (parameter,)
        )
    value = _tuples_to_lists(_convert_source_literal(arguments[parameter], schema, language))
    if any(_is_accepted(value, answer, same) for answer in answers):
        return None
    return build_rejection("value_error:others", (parameter,), value, answers)


def _convert_source_literal(value: Any, schema: dict[str, Any], language: Language) -> Any:
    """Java and JavaScript source text as a value; the elements of a list without their quotes."""
    type_names = TYPES[language]
    element = (schema.get("items") or {}).get("type", "any")
    if language == "python" or not isinstance(value, str):
        return value
    if schema.get("type") not in type_names or element not in type_names:
        return value
    try:
        parsed = convert_value(value, expected_type(schema, language), language)
    except (KeyError, ValueError):
        return value
    return [_strip_quotes(item) for item in parsed] if isinstance(parsed, list) else parsed


def _strip_quotes(item: Any) -> Any:
    quoted = isinstance(item, str) and len(item) > 1 and item[0] == item[-1] and item[0] in "\"'"
    return item[1:-1] if quoted else item


def _tuples_to_lists(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """Tuples as lists, at every depth that an accepted answer could have."""
    if isinstance(value, list | tuple) and depth:
        return [_tuples_to_lists(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth:
        return {key: _tuples_to_lists(item, depth - 1) for key, item in value.items()}
    return value


def _is_accepted(value: Any, answer: Any, same: _Same) -> bool:
    """Whether a value is the accepted one; a dictionary's members may have alternatives."""
    if isinstance(answer, dict):
        if not isinstance(value, dict) or not value.keys() <= answer.keys():
            return False
        return all(
            _is_member_accepted(value[key], alternatives, same)
            if key in value
            else "" in alternatives
            for key, alternatives in answer.items()
            if key in value or isinstance(alternatives, list)
        )
    if not isinstance(answer, list):
        return same(value, answer)
    if not isinstance(value, list) or len(value) != len(answer):
        return False
    return all(_is_accepted(item, other, same) for item, other in zip(value, answer, strict=True))


def _is_member_accepted(value: Any, alternatives: Any, same: _Same) -> bool:
    several = alternatives if isinstance(alternatives, list) else []
    return any(_is_accepted(value, alternative, same) for alternative in [*several, alternatives])


def _is_strictly_equal(value: Any, answer: Any) -> bool:
    if type(value) is type(answer):
        return bool(value == answer)
    return type(value) is int and type(answer) is float and bool(value == answer)


def _is_fuzzily_equal(value: Any, answer: Any) -> bool:
    if isinstance(value, str) and isinstance(answer, str):
        return normalize_string(value) == normalize_string(answer)
    if isinstance(value, bool | None) or isinstance(answer, bool | None):
        return value is answer
    numbers = isinstance(value, int | float) and isinstance(answer, int | float)
    return numbers and bool(value == answer)
