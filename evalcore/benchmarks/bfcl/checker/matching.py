"""The strict and the fuzzy rule: slm-evals' two meanings, decided correctly.

Both know every accepted alternative, parameters that may be left out, unknown arguments (wrong),
nested values, several calls in any order, and Java and JavaScript literals. They differ in values:

- strict: the same value, text by text; an integer serves for a float, nothing else is converted;
- fuzzy: texts without case, blanks and light punctuation, numbers by their value, at every depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.checker.finding import Finding
from evalcore.benchmarks.bfcl.checker.types import TYPES, converted, expected_type
from evalcore.benchmarks.bfcl.checker.values import normal
from evalcore.benchmarks.bfcl.decode.call import Call, shown
from evalcore.records import Record

_Same = Callable[[Any, Any], bool]
_DEEPEST = 20


class Match(Record, frozen=True):
    """`share` is the part of the arguments that are right; `finding` the first wrong one."""

    share: float
    finding: Finding | None = None


def match(
    functions: list[dict[str, Any]],
    calls: list[Call],
    answers: list[dict[str, Any]],
    *,
    language: Language = "python",
    fuzzy: bool = False,
) -> Match:
    """The best assignment of calls to reference calls; valid where `finding` is None.

    The share of several calls is their mean, missing and surplus calls counting 0.
    """
    if not calls or not answers:
        return Match(float(calls == answers), None if calls == answers else _count(calls, answers))
    same = _fuzzy if fuzzy else _strict
    schemas = [_schema(functions, next(iter(answer))) for answer in answers]
    table = [
        [_call(call, answer, schema, language, same) for call in calls]
        for answer, schema in zip(answers, schemas, strict=True)
    ]
    pairs = _assigned(table)
    total = sum(table[row][column].share for row, column in pairs.items())
    share = total / max(len(calls), len(answers))
    if len(calls) != len(answers):
        return Match(share, _count(calls, answers))
    for row, column in sorted(pairs.items()):
        found = table[row][column].finding
        if found is not None:
            place = Finding(found.error_type, found.message, found.path, column, row)
            return Match(share, place)
    return Match(1.0)


def _count(calls: list[Call], answers: list[Any]) -> Finding:
    message = f"{len(answers)} calls are expected, not {len(calls)}"
    return Finding("simple_function_checker:wrong_count", message, output=None, expected=None)


def _assigned(table: list[list[Match]]) -> dict[int, int]:
    """Calls for reference calls: as many right ones as possible (by augmenting paths), then the
    best of what is left."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, cell in enumerate(table[row]):
            if cell.finding is None and column not in seen:
                seen.add(column)
                if column not in taken or place(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    for row in range(min(len(table), 100)):
        place(row, set())
    pairs = {row: column for column, row in taken.items()}
    for row in range(len(table)):
        free = [column for column in range(len(table[row])) if column not in pairs.values()]
        if row not in pairs and free:
            pairs[row] = max(free, key=lambda column: table[row][column].share)
    return pairs


def _schema(functions: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for function in functions:
        if function.get("name") == name:
            return (function.get("parameters") or {}).get("properties") or {}
    return {}


def _call(
    call: Call, answer: dict[str, Any], schema: dict[str, Any], language: Language, same: _Same
) -> Match:
    name, accepted = next(iter(answer.items()))
    if name not in call:
        message = f"{name} should be called, not {shown(next(iter(call), None))}"
        return Match(0.0, Finding("simple_function_checker:wrong_func_name", message))
    given, right = call[name], 0
    findings = []
    for parameter in [*accepted, *(key for key in given if key not in accepted)]:
        found = _argument(parameter, given, accepted, schema.get(parameter, {}), language, same)
        right += found is None
        findings += [found] if found else []
    total = len(accepted.keys() | given.keys())
    return Match(right / total if total else 1.0, findings[0] if findings else None)


def _argument(
    parameter: str,
    given: dict[str, Any],
    accepted: dict[str, Any],
    schema: dict[str, Any],
    language: Language,
    same: _Same,
) -> Finding | None:
    if parameter not in accepted:
        message = f"{shown(parameter)} is not expected"
        return Finding("simple_function_checker:unexpected_param", message, (parameter,))
    answers = accepted[parameter]
    if parameter not in given:
        if "" in answers:
            return None
        message = f"{parameter} is missing"
        return Finding("simple_function_checker:missing_required", message, (parameter,))
    value = _plain(_literal(given[parameter], schema, language))
    if any(_accepts(value, answer, same) for answer in answers):
        return None
    message = f"{shown(value)} is not accepted for {parameter}; accepted: {shown(answers)}"
    return Finding("value_error:others", message, (parameter,))


def _literal(value: Any, schema: dict[str, Any], language: Language) -> Any:
    """Java and JavaScript source text as a value; the elements of a list without their quotes."""
    known = TYPES[language]
    element = (schema.get("items") or {}).get("type", "any")
    if language == "python" or not isinstance(value, str):
        return value
    if schema.get("type") not in known or element not in known:
        return value
    try:
        found = converted(value, expected_type(schema, language), language)
    except (KeyError, ValueError):
        return value
    return [_unquoted(item) for item in found] if isinstance(found, list) else found


def _unquoted(item: Any) -> Any:
    quoted = isinstance(item, str) and len(item) > 1 and item[0] == item[-1] and item[0] in "\"'"
    return item[1:-1] if quoted else item


def _plain(value: Any, depth: int = _DEEPEST) -> Any:
    """Tuples as lists, at every depth that an accepted answer could have."""
    if isinstance(value, list | tuple) and depth:
        return [_plain(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth:
        return {key: _plain(item, depth - 1) for key, item in value.items()}
    return value


def _accepts(value: Any, answer: Any, same: _Same) -> bool:
    """Whether a value is the accepted one; a dictionary's members may have alternatives."""
    if isinstance(answer, dict):
        if not isinstance(value, dict) or not value.keys() <= answer.keys():
            return False
        return all(
            _member(value[key], alternatives, same) if key in value else "" in alternatives
            for key, alternatives in answer.items()
            if key in value or isinstance(alternatives, list)
        )
    if isinstance(answer, list):
        return (
            isinstance(value, list)
            and len(value) == len(answer)
            and all(_accepts(one, other, same) for one, other in zip(value, answer, strict=True))
        )
    return same(value, answer)


def _member(value: Any, alternatives: Any, same: _Same) -> bool:
    if isinstance(alternatives, list) and any(_accepts(value, one, same) for one in alternatives):
        return True
    return _accepts(value, alternatives, same)


def _strict(value: Any, answer: Any) -> bool:
    if type(value) is type(answer):
        return bool(value == answer)
    return type(value) is int and type(answer) is float and bool(value == answer)


def _fuzzy(value: Any, answer: Any) -> bool:
    if isinstance(value, str) and isinstance(answer, str):
        return normal(value) == normal(answer)
    if isinstance(value, bool | None) or isinstance(answer, bool | None):
        return value is answer
    numbers = isinstance(value, int | float) and isinstance(answer, int | float)
    return numbers and bool(value == answer)
