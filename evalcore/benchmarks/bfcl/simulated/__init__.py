"""Simulated APIs of our own for multi-turn cases, and the checks of their arguments.

An API is a plain class whose public methods are tools and whose public attributes are its state:
no clock, no network, no running numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar

import msgspec

# Checks of the arguments that a model wrote: the right type, of a bounded size, or an error.
# What is wrong in itself raises TypeError or ValueError; what is only wrong in the present state
# is the tool's answer `{"error": ...}`.

LONGEST_TEXT = 120

#: Parts of a scenario, bounded so that no sum of them leaves the calendar or divides by nothing.
Day = Annotated[str, msgspec.Meta(pattern=r"^(19|20|21)\d\d-[01]\d-[0-3]\d$")]
DayOrEmpty = Annotated[str, msgspec.Meta(pattern=r"^((19|20|21)\d\d-[01]\d-[0-3]\d)?$")]
Days = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

Answer = dict[str, Any]
_Scenario = TypeVar("_Scenario")
_Api = TypeVar("_Api")
_Row = TypeVar("_Row")


def check_text(name: str, value: object) -> str:
    """A text without surrounding blanks. Raises TypeError for another type, ValueError for an
    empty or a long one."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string")
    if len(value) > LONGEST_TEXT or not value.strip():
        raise ValueError(f"{name} must have 1 to {LONGEST_TEXT} characters")
    return value.strip()


def check_folded_text(name: str, value: object) -> str:
    """A text as names are compared, without regard to case and blanks. Raises as `check_text`."""
    return fold_text(check_text(name, value))


def fold_text(value: str) -> str:
    return " ".join(value.split()).casefold()


def check_integer(name: str, value: object, low: int, high: int) -> int:
    """An integer of low to high; 3.0 is 3. Raises TypeError for another type, else ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be an integer")
    if not low <= value <= high or value != int(value):  # nan and inf are out of every range
        raise ValueError(f"{name} must be an integer from {low} to {high}")
    return int(value)


def check_number(name: str, value: object, low: float, high: float) -> float:
    """A number of low to high, to one decimal. Raises TypeError for another type, else
    ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number")
    if not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low} to {high}")
    return round(float(value), 1)


def parse_scenario(data: object, kind: type[_Scenario]) -> _Scenario:
    """A scenario as its record, sharing nothing with `data`. Raises ValueError if it is none."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"no scenario of this API: {error}") from None


class ToolRefusal(Exception):
    """What a tool cannot do in the present state: its answer is `{"error": why}`."""


def answer_refusals(api: type[_Api]) -> type[_Api]:
    """Let every public method of an API answer a ToolRefusal."""
    for name, method in list(vars(api).items()):
        if not name.startswith("_"):
            setattr(api, name, _answer_refusal(method))
    return api


def _answer_refusal(method: Callable[..., Answer]) -> Callable[..., Answer]:
    @wraps(method)
    def run(*arguments: Any, **named: Any) -> Answer:
        try:
            return method(*arguments, **named)
        except ToolRefusal as refusal:
            return {"error": str(refusal)}

    return run


def find_row(rows: Mapping[str, _Row], kind: str, key: str) -> _Row:
    if key not in rows:
        raise ToolRefusal(f"no {kind} '{key}'")
    return rows[key]
