"""The questions of blind tests, answered from what the recorder wrote (see `blind_tests`).

What was written down comes from a process of the patched code: it is bounded, typed, and plain data
of built-in types before it is compared with anything.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from evalcore.benchmarks.swe_bench.blind_tests import MAX_SHOWN, BlindCheck, BlindedTests
from evalcore.records import Record

_MAX_LINE = 1 << 20
_MAX_RECORDS = 20_000
#: What lines that the recorder did not write can make of reading them.
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


class CheckAnswer(Record, frozen=True):
    """How a question came out: `holds` is None where the value cannot be read outside. `proof` says
    that the expected value was held back."""

    key: str
    test: str = ""
    question: str = ""
    expected: str = ""
    value: str = ""
    holds: bool | None = None
    proof: bool = True
    once: bool = True


class _Opaque:
    """A value that cannot be read outside; equal to nothing."""

    def __init__(self, name: str, truth: bool | None) -> None:
        self.name, self.truth = name, truth

    def __repr__(self) -> str:
        return f"<{self.name}>"


class _Raised(NamedTuple):
    """An exception in the place of a value: the names of its classes, and what it says."""

    names: list[str]
    message: str


class _Unknown(Exception):
    """Raised where a question cannot be answered here."""


def read_records(blinded: BlindedTests, content: bytes) -> list[CheckAnswer]:
    """The answers to the questions that were asked; lines that cannot be read are left out."""
    answers = []
    for line in content.splitlines()[:_MAX_RECORDS]:
        try:
            key, operands = json.loads(line[:_MAX_LINE])
            check = blinded.checks[key]
            values = [_decode(operand) for operand in operands]
            answers.append(_answer_check(key, check, blinded.held, values))
        except _UNREADABLE:
            continue
    return answers


def _answer_check(
    key: str, check: BlindCheck, held: Mapping[str, Any], values: list[Any]
) -> CheckAnswer:
    """Raises IndexError, TypeError or KeyError where what was written does not fit the question."""
    left_over = iter(values)
    operands, proof = [], check.operator in ("true", "false")  # the operator is held back too
    for side in check.sides:
        if side in held and check.operator != "raises":
            operands.append(held[side])
            proof = True
        elif side == "token":
            written = next(left_over, _Opaque("absent", None))
            operands.append(_put_back(written, held))
            if _has_token(written, held):
                key, proof = f"{key}, {written!r}"[:MAX_SHOWN], True
        elif side == "value":
            operands.append(next(left_over, _Opaque("absent", None)))
    if check.operator == "raises":
        names, pattern = held[check.sides[0]]
        if len(values) > 1:
            key, pattern = f"{key}, {values[1]}", held[str(values[1])]
        operands, proof = [[names, pattern], values[0]], True
    try:
        holds: bool | None = bool(_decide(check.operator, operands))
    except (_Unknown, re.error, *_UNREADABLE):
        holds = None
    expected, value = _show_sides(check, operands)
    return CheckAnswer(
        key=key,
        test=check.test,
        question=check.text,
        expected=expected,
        value=value,
        holds=holds,
        proof=proof,
        once=check.once,
    )


def _has_token(value: Any, held: Mapping[str, Any]) -> bool:
    if isinstance(value, dict):
        return any(_has_token(item, held) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_has_token(item, held) for item in value)
    return isinstance(value, str) and value in held


def _put_back(value: Any, held: Mapping[str, Any]) -> Any:
    """An expected value with what was held back in the place of its tokens."""
    if isinstance(value, dict):
        return {name: _put_back(item, held) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_put_back(item, held) for item in value)
    return held.get(value, value) if isinstance(value, str) else value


def _show_sides(check: BlindCheck, operands: list[Any]) -> tuple[str, str]:
    if check.operator == "raises":
        got = operands[1].names[:1] if isinstance(operands[1], _Raised) else operands[1]
        return repr(operands[0])[:MAX_SHOWN], repr(got)[:MAX_SHOWN]
    is_right = len(check.sides) > 1 and check.sides[1] != "value"
    held_at = 1 if is_right else 0 if check.sides[0] != "value" else None
    shown = [repr(operand)[:MAX_SHOWN] for operand in operands]
    if held_at is None:
        return check.operator, " | ".join(shown)
    return f"{check.operator} {shown[held_at]}", shown[1 - held_at] if len(shown) > 1 else ""


_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
    "is": lambda left, right: type(left) is type(right) and left == right,
    "is not": lambda left, right: type(left) is not type(right) or left != right,
    "almost": lambda left, right: left == right or round(abs(left - right), 7) == 0,
}


def _decide(question: str, operands: list[Any]) -> bool:
    """Raises _Unknown, or what a comparison of built-in types raises."""
    if question == "raises":
        return _decide_raised(*operands)
    if any(isinstance(operand, _Raised) for operand in operands):
        return False
    if question in ("true", "false"):
        [value] = operands
        truth = value.truth if isinstance(value, _Opaque) else bool(value)
        if truth is None:
            raise _Unknown
        return truth is (question == "true")
    left, right = operands
    if question in ("is", "is not"):
        return _decide_identity(question, left, right)
    if _holds_opaque(left) or _holds_opaque(right):
        raise _Unknown
    if question.startswith("approx "):
        return _is_near(left, right, json.loads(question.removeprefix("approx ")))
    return bool(_ORDERS[question](left, right))


def _decide_identity(question: str, left: Any, right: Any) -> bool:
    """Of None, True, False and values of different types alone; all other identity is inside."""
    if not any(side is None or side is True or side is False for side in (left, right)):
        raise _Unknown
    return (left is right) is (question == "is")


def _decide_raised(expected: list[Any], written: Any) -> bool:
    names, pattern = expected
    if not isinstance(written, _Raised) or not set(names) & set(written.names):
        return False
    return pattern is None or re.search(pattern, written.message) is not None


def _is_near(value: Any, expected: Any, limits: Mapping[str, float]) -> bool:
    """As pytest.approx has it: relative 1e-6, absolute 1e-12, the wider of both."""
    if isinstance(expected, dict):
        return expected.keys() == value.keys() and all(
            _is_near(value[name], item, limits) for name, item in expected.items()
        )
    if isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(
            _is_near(one, item, limits) for one, item in zip(value, expected, strict=True)
        )
    if not isinstance(expected, int | float):
        return bool(value == expected)
    only_abs = "abs" in limits and "rel" not in limits
    near = 0.0 if only_abs else limits.get("rel", 1e-6) * abs(expected)
    return bool(value == expected or abs(value - expected) <= max(near, limits.get("abs", 1e-12)))


def _holds_opaque(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_opaque(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_opaque, value))
    return isinstance(value, _Opaque)


def _decode(content: Any) -> Any:
    """The value of what the recorder wrote. Raises ValueError, TypeError, OverflowError."""
    if not isinstance(content, dict):
        if content is None or isinstance(content, bool | str):
            return content
        raise TypeError
    if "raised" in content:
        names = [str(name) for name in list(content["raised"])[:100]]
        return _Raised(names, str(content.get("message", ""))[: MAX_SHOWN * 8])
    if "opaque" in content:
        truth = content.get("truth")
        return _Opaque(str(content["opaque"])[:100], truth if isinstance(truth, bool) else None)
    [(name, item)] = content.items()
    return _DECODERS[name](item)


def _decode_pairs(item: Any) -> dict[Any, Any]:
    pairs = [_decode(pair) for pair in item]
    return {key: value for key, value in pairs}  # noqa: C416 - TypeError for what is no pair


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda item: int(item, 16),
    "float": lambda item: float.fromhex(item),
    "bytes": lambda item: bytes.fromhex(item),
    "complex": lambda item: complex(float(item[0]), float(item[1])),
    "ratio": lambda item: Fraction(int(item[0], 16), int(item[1], 16)),
    "datetime": lambda item: datetime.fromisoformat(item),
    "date": lambda item: date.fromisoformat(item),
    "timedelta": lambda item: timedelta(*map(int, item)),
    "list": lambda item: [_decode(one) for one in item],
    "tuple": lambda item: tuple(_decode(one) for one in item),
    "set": lambda item: {_decode(one) for one in item},
    "dict": _decode_pairs,
}


def count_held(answers: Iterable[CheckAnswer]) -> dict[str, int]:
    """How often each question came out as it should, of those that always did and prove it."""
    counts: dict[str, int] = {}
    wrong = {answer.key for answer in answers if answer.holds is not True}
    for answer in answers:
        if answer.key not in wrong and answer.proof:
            counts[answer.key] = counts.get(answer.key, 0) + 1
    return counts


def find_unproved(required: Mapping[str, int], answers: Iterable[CheckAnswer]) -> list[CheckAnswer]:
    """The answers that are not what the reference patch gave: wrong, unreadable or absent."""
    by_key: dict[str, list[CheckAnswer]] = {}
    for answer in answers:
        by_key.setdefault(answer.key, []).append(answer)
    unproved = []
    for key, count in required.items():
        found = by_key.get(key, [])
        bad = next((one for one in found if one.holds is not True), None)
        if bad is not None:
            unproved.append(bad)
        elif len(found) < (count if found and found[0].once else 1):
            unproved.append(CheckAnswer(key=key, value=f"asked {len(found)} of {count} times"))
    return unproved
