"""Shapes of records: which fields they have, of which types, and what is filled in.

A value is converted as tau2-bench's own models convert it: a number may be written as text, a
whole number without its fraction; texts are never made of anything else. What does not fit raises
`ShapeError`, which a tool reports to whoever called it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

Convert = Callable[[Any], Any]

#: Where a floating-point number is no longer taken for a whole one.
_LARGEST_WHOLE = 2.0**63
_WHOLE_TEXT = re.compile(r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?")
_MAX_DIGITS = 4300


class ShapeError(ValueError):
    """A value does not fit the shape of a record."""


def to_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ShapeError(f"a text is needed, not {_describe_type(value)}")
    return value


def to_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        lowered = value.lower()
        if lowered in ("true", "t", "yes", "y", "on", "1"):
            return True
        if lowered in ("false", "f", "no", "n", "off", "0"):
            return False
    raise ShapeError(f"true or false is needed, not {_describe_type(value)}")


def to_number(value: Any) -> float:
    """A floating-point number, also from its text; "inf" and "nan" are such texts."""
    if isinstance(value, int | float) or (isinstance(value, str) and value.strip().isascii()):
        try:
            return float(value)
        except (ValueError, OverflowError):
            raise ShapeError(f"a number is needed, not {value!r}"[:200]) from None
    raise ShapeError(f"a number is needed, not {_describe_type(value)}")


def to_whole(value: Any) -> int:
    """A whole number, also from a floating-point number of 64 bits or a text without a fraction."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    digits = _WHOLE_TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
    if digits is None or len(digits[1]) > _MAX_DIGITS:
        raise ShapeError(f"a whole number is needed, not {_describe_type(value)}"[:200])
    return int(digits[1])


def to_date(value: Any) -> str:
    """A date as `YYYY-MM-DD`."""
    if isinstance(value, datetime):
        value = value.date()
    try:
        return str(value if isinstance(value, date) else date.fromisoformat(to_text(value)))
    except ValueError:
        raise ShapeError(f"a date is needed, not {value!r}"[:200]) from None


def to_datetime(value: Any) -> str:
    """A time as `YYYY-MM-DD HH:MM:SS`."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(to_text(value))
    except ValueError:
        raise ShapeError(f"a date and a time are needed, not {value!r}"[:200]) from None
    return str(moment)


def choice_of(*choices: Any) -> Convert:
    def convert(value: Any) -> Any:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise ShapeError(f"one of {', '.join(map(str, choices))} is needed")

    return convert


def optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def list_of(convert: Convert) -> Convert:
    def convert_list(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ShapeError(f"a list is needed, not {_describe_type(value)}")
        return [convert(item) for item in value]

    return convert_list


def map_of(convert: Convert, keys: Convert = to_text) -> Convert:
    def convert_map(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise ShapeError(f"an object is needed, not {_describe_type(value)}")
        return {keys(key): convert(item) for key, item in value.items()}

    return convert_map


def first_fitting(*converts: Convert) -> Convert:
    """The first of several shapes that a value fits."""

    def convert(value: Any) -> Any:
        problems = []
        for each in converts:
            try:
                return each(value)
            except ShapeError as error:
                problems.append(str(error))
        raise ShapeError("; ".join(dict.fromkeys(problems))[:300])

    return convert


class Shape:
    """The fields of a record in their order; `defaults` are those that may be missing. Further
    fields are dropped, or refused where the shape is `closed`."""

    def __init__(
        self,
        fields: Mapping[str, Convert],
        defaults: Mapping[str, Any] | None = None,
        *,
        closed: bool = False,
    ) -> None:
        self.fields = dict(fields)
        self.defaults = dict(defaults or {})
        self.closed = closed

    def __call__(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ShapeError(f"an object is needed, not {_describe_type(value)}")
        if self.closed:
            extra = next((name for name in value if name not in self.fields), None)
            if extra is not None:
                raise ShapeError(f"the field {extra!r} is unknown"[:200])
        record = {}
        for name, convert in self.fields.items():
            if name in value:
                record[name] = self._convert_field(name, convert, value[name])
            elif name in self.defaults:
                default = self.defaults[name]
                record[name] = default() if callable(default) else default
            else:
                raise ShapeError(f"the field {name} is missing")
        return record

    @staticmethod
    def _convert_field(name: str, convert: Convert, value: Any) -> Any:
        try:
            return convert(value)
        except ShapeError as error:
            raise ShapeError(f"{name}: {error}") from None


def _describe_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(value), "nothing" if value is None else f"{value!r}"[:100])
