"""The rules of multi-turn entries: equal states after each turn, no expected result missing.

Turn by turn the model's calls run on one set of APIs and the ground truth's on a twin. Where the
ground truth of a turn is not empty, the model has to have called something, every public attribute
has to be equal, and the turn's expected results have to be among all of the model's so far, in any
order. Calls in a turn whose ground truth is empty are run and not judged, as upstream does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import structs

from evalcore.benchmarks.bfcl.decode.call import shorten_repr, to_plain_value
from evalcore.records import Record, to_json

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"

_ABSENT = "(absent)"
_LONGEST_SHOWN = 2000
_MAX_SHOWN = 100
_MAX_EVIDENCE_BYTES = 20_000
_MAX_PATH_LENGTH = 40


class StateDifference(Record, frozen=True):
    """The first place where states differ: `path` leads from the attribute to the values."""

    api: str
    attribute: str
    path: tuple[str, ...]
    expected: Any
    actual: Any


class TurnCalls(Record, frozen=True):
    """What was run in a turn, as (call, result); both cut, at most 100 of each."""

    called: tuple[tuple[str, str], ...] = ()
    expected: tuple[tuple[str, str], ...] = ()


class ReplayOutcome(Record, frozen=True):
    """`error_type` is upstream's, empty if valid; `turn` counts from 0. `missing` are the expected
    results that no call gave. `turns` ends with the turn that failed."""

    error_type: str = ""
    message: str = ""
    turn: int | None = None
    difference: StateDifference | None = None
    missing: tuple[str, ...] = ()
    turns: tuple[TurnCalls, ...] = ()


class Runner(Protocol):
    """The APIs of one side, by class name, and a way to run the text of a call on them."""

    @property
    def instances(self) -> Mapping[str, object]: ...

    def run(self, text: str) -> str: ...


def check_turns(
    truth: Sequence[Sequence[str]],
    prediction: Sequence[Sequence[Sequence[str]]],
    model: Runner,
    twin: Runner,
) -> ReplayOutcome:
    """The verdict on a prediction with as many turns as the truth; `calls.steps` made its steps."""
    results: list[str] = []
    turns: list[TurnCalls] = []
    for number, (truth_calls, steps) in enumerate(zip(truth, prediction, strict=True)):
        called = [(call, model.run(call)) for step in steps for call in step]
        expected = [(call, twin.run(call)) for call in truth_calls]
        results += [result for _, result in called]
        turns.append(TurnCalls(_shorten_pairs(called), _shorten_pairs(expected)))
        if not truth_calls:
            continue
        outcome = _check_turn(number, bool(called), expected, results, model, twin)
        if outcome is not None:
            return structs.replace(outcome, turn=number, turns=tuple(turns))
    return ReplayOutcome(turns=tuple(turns))


def missing_results(expected: Sequence[str], results: Sequence[str]) -> list[str]:
    """The expected results that are not among the results, each of which counts once."""
    left = list(results)
    missing = []
    for result in expected:
        if result in left:
            left.remove(result)
        else:
            missing.append(result)
    return missing


def find_first_difference(
    actual: Mapping[str, object], expected: Mapping[str, object]
) -> StateDifference | None:
    """The first public attribute that differs, narrowed down to the values that do."""
    for api, twin in expected.items():
        for name, value in vars(twin).items():
            if name.startswith("_"):
                continue
            other = getattr(actual[api], name, _ABSENT)
            if _is_different(other, value):
                path, actual_value, expected_value = _narrow_difference(other, value)
                return StateDifference(
                    api,
                    name,
                    path,
                    _to_evidence_value(expected_value),
                    _to_evidence_value(actual_value),
                )
    return None


def _check_turn(
    number: int,
    called: bool,
    expected: Sequence[tuple[str, str]],
    results: Sequence[str],
    model: Runner,
    twin: Runner,
) -> ReplayOutcome | None:
    if not called:
        return ReplayOutcome(EMPTY_TURN, f"nothing was called in turn {number + 1}")
    difference = find_first_difference(model.instances, twin.instances)
    if difference is not None:
        location = ".".join((difference.api, difference.attribute, *difference.path))
        message = f"after turn {number + 1} the state differs: {_shorten_text(location)}"
        return ReplayOutcome(STATE, message, difference=difference)
    missing = missing_results([result for _, result in expected], results)
    if missing:
        message = f"up to turn {number + 1} no call gave {len(missing)} of the expected results"
        return ReplayOutcome(
            RESPONSE, message, missing=tuple(map(_shorten_text, missing[:_MAX_SHOWN]))
        )
    return None


def _is_different(actual: Any, expected: Any) -> bool:
    try:
        return bool(actual != expected)
    except Exception:  # too deep, or an odd value of a model: it is not what was expected
        return True


def _narrow_difference(actual: Any, expected: Any) -> tuple[tuple[str, ...], Any, Any]:
    """The path to the first child that differs, as far as both sides have it, and its values."""
    path: list[str] = []
    while len(path) < _MAX_PATH_LENGTH:
        ours, theirs = _list_children(actual), _list_children(expected)
        key = next(
            (
                key
                for key in [*theirs, *ours]
                if key not in ours or key not in theirs or _is_different(ours[key], theirs[key])
            ),
            None,
        )
        if type(actual) is not type(expected) or key is None:
            break
        path.append(_shorten_text(str(to_plain_value(key))))
        actual, expected = ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
    return tuple(path), actual, expected


def _list_children(value: Any) -> Mapping[Any, Any]:
    """The parts of a value by key, index or attribute; a parent is no part of its child."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    parts = getattr(value, "__dict__", {})
    return {key: part for key, part in parts.items() if not key.startswith("_") and key != "parent"}


def _to_evidence_value(value: Any) -> Any:
    simple = _simplify_value(value)
    return (
        simple
        if len(to_json(simple)) <= _MAX_EVIDENCE_BYTES
        else shorten_repr(value, _LONGEST_SHOWN)
    )


def _simplify_value(value: Any, depth: int = 6) -> Any:
    """The value as JSON, small enough to be shown."""
    parts = _list_children(value)
    if not parts and not isinstance(value, dict | list | tuple):
        simple = to_plain_value(value)
        return _shorten_text(simple) if isinstance(simple, str) else simple
    if not depth:
        return _shorten_text(shorten_repr(value))
    few = list(parts.items())[:_MAX_SHOWN]
    if isinstance(value, list | tuple):
        return [_simplify_value(part, depth - 1) for _, part in few]
    return {
        _shorten_text(str(to_plain_value(key))): _simplify_value(part, depth - 1)
        for key, part in few
    }


def _shorten_pairs(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_shorten_text(call), _shorten_text(result)) for call, result in pairs[:_MAX_SHOWN]
    )


def _shorten_text(text: str) -> str:
    return replace_surrogates(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")


def replace_surrogates(text: str) -> str:
    """The text without halves of surrogate pairs, which no file of ours can hold."""
    return text.encode("utf-8", "replace").decode()
