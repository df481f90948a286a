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

from evalcore.benchmarks.bfcl.decode.call import plain, shown
from evalcore.records import Record, to_json

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"

_ABSENT = "(absent)"
_LONGEST_SHOWN = 2000
_MOST_SHOWN = 100
_MOST_BYTES = 20_000
_DEEPEST = 40


class Difference(Record, frozen=True):
    """The first place where states differ: `path` leads from the attribute to the values."""

    api: str
    attribute: str
    path: tuple[str, ...]
    expected: Any
    actual: Any


class Turn(Record, frozen=True):
    """What was run in a turn, as (call, result); both cut, at most 100 of each."""

    called: tuple[tuple[str, str], ...] = ()
    expected: tuple[tuple[str, str], ...] = ()


class Outcome(Record, frozen=True):
    """`error_type` is upstream's, empty if valid; `turn` counts from 0. `missing` are the expected
    results that no call gave. `turns` ends with the turn that failed."""

    error_type: str = ""
    message: str = ""
    turn: int | None = None
    difference: Difference | None = None
    missing: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()


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
) -> Outcome:
    """The verdict on a prediction with as many turns as the truth; `calls.steps` made its steps."""
    results: list[str] = []
    turns: list[Turn] = []
    for number, (wanted, steps) in enumerate(zip(truth, prediction, strict=True)):
        called = [(call, model.run(call)) for step in steps for call in step]
        expected = [(call, twin.run(call)) for call in wanted]
        results += [result for _, result in called]
        turns.append(Turn(_pairs(called), _pairs(expected)))
        if not wanted:
            continue
        found = _judge(number, bool(called), expected, results, model, twin)
        if found is not None:
            return structs.replace(found, turn=number, turns=tuple(turns))
    return Outcome(turns=tuple(turns))


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


def first_difference(
    actual: Mapping[str, object], expected: Mapping[str, object]
) -> Difference | None:
    """The first public attribute that differs, narrowed down to the values that do."""
    for api, twin in expected.items():
        for name, value in vars(twin).items():
            if name.startswith("_"):
                continue
            other = getattr(actual[api], name, _ABSENT)
            if _differ(other, value):
                path, seen, wanted = _narrowed(other, value)
                return Difference(api, name, path, _evidence(wanted), _evidence(seen))
    return None


def _judge(
    number: int,
    called: bool,
    expected: Sequence[tuple[str, str]],
    results: Sequence[str],
    model: Runner,
    twin: Runner,
) -> Outcome | None:
    if not called:
        return Outcome(EMPTY_TURN, f"nothing was called in turn {number + 1}")
    difference = first_difference(model.instances, twin.instances)
    if difference is not None:
        place = ".".join((difference.api, difference.attribute, *difference.path))
        message = f"after turn {number + 1} the state differs: {_cut(place)}"
        return Outcome(STATE, message, difference=difference)
    missing = missing_results([result for _, result in expected], results)
    if missing:
        message = f"up to turn {number + 1} no call gave {len(missing)} of the expected results"
        return Outcome(RESPONSE, message, missing=tuple(map(_cut, missing[:_MOST_SHOWN])))
    return None


def _differ(actual: Any, expected: Any) -> bool:
    try:
        return bool(actual != expected)
    except Exception:  # too deep, or an odd value of a model: it is not what was expected
        return True


def _narrowed(actual: Any, expected: Any) -> tuple[tuple[str, ...], Any, Any]:
    """The path to the first child that differs, as far as both sides have it, and its values."""
    path: list[str] = []
    while len(path) < _DEEPEST:
        ours, theirs = _children(actual), _children(expected)
        key = next(
            (
                key
                for key in [*theirs, *ours]
                if key not in ours or key not in theirs or _differ(ours[key], theirs[key])
            ),
            None,
        )
        if type(actual) is not type(expected) or key is None:
            break
        path.append(_cut(str(plain(key))))
        actual, expected = ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
    return tuple(path), actual, expected


def _children(value: Any) -> Mapping[Any, Any]:
    """The parts of a value by key, index or attribute; a parent is no part of its child."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    parts = getattr(value, "__dict__", {})
    return {key: part for key, part in parts.items() if not key.startswith("_") and key != "parent"}


def _evidence(value: Any) -> Any:
    simple = _plain(value)
    return simple if len(to_json(simple)) <= _MOST_BYTES else shown(value, _LONGEST_SHOWN)


def _plain(value: Any, depth: int = 6) -> Any:
    """The value as JSON, small enough to be shown."""
    parts = _children(value)
    if not parts and not isinstance(value, dict | list | tuple):
        simple = plain(value)
        return _cut(simple) if isinstance(simple, str) else simple
    if not depth:
        return _cut(shown(value))
    few = list(parts.items())[:_MOST_SHOWN]
    if isinstance(value, list | tuple):
        return [_plain(part, depth - 1) for _, part in few]
    return {_cut(str(plain(key))): _plain(part, depth - 1) for key, part in few}


def _pairs(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((_cut(call), _cut(result)) for call, result in pairs[:_MOST_SHOWN])


def _cut(text: str) -> str:
    return clean(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which no file of ours can hold."""
    return text.encode("utf-8", "replace").decode()
