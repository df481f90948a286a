"""When two cells of a result are the same value, and which cells can be at all.

`key` and `positions` are necessary conditions of `same`: cells that are the same have equal keys
and positions within `compute_tolerance`. The matching of rows uses them to compare only what can be
equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

ABSOLUTE, RELATIVE = 1e-4, 1e-6
Row = tuple[Any, ...]

#: Deeper lists never compare equal: it keeps hostile nesting off the stack.
_MAX_DEPTH = 32
_WORDS = {"true": True, "false": False}
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*\Z", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?)?\Z", re.ASCII
)
_UTC = {"Z", "+00", "+0000", "+00:00", "-00:00"}


def compute_tolerance(left: float, right: float) -> float:
    """How far two numbers may lie apart and still be the same."""
    return ABSOLUTE + RELATIVE * max(abs(left), abs(right))


def normalize_timestamp(text: str) -> str:
    """A date or timestamp in one spelling (with time, no UTC mark); other text as it is."""
    match = _TIMESTAMP.match(text)
    if not match:
        return text
    day, clock, seconds, fraction, zone = match.groups()
    fraction = (fraction or "").rstrip("0").rstrip(".")
    zone = "" if zone in _UTC else zone or ""
    return f"{day} {clock or '00:00'}{seconds or ':00'}{fraction}{zone}"


class CellRules:
    """Equality of cells and rows. `coerce_strings`: a number may equal a string that spells it."""

    def __init__(self, *, coerce_strings: bool = False) -> None:
        self._coerce = coerce_strings

    def is_same_row(self, left: Row, right: Row) -> bool:
        return len(left) == len(right) and all(map(self.is_same_cell, left, right))

    def is_same_cell(self, left: Any, right: Any, depth: int = 0) -> bool:
        """Whether two JSON values are the same cell."""
        if left is None or right is None:
            return left is right
        if isinstance(left, str) and isinstance(right, str):
            return left == right or normalize_timestamp(left) == normalize_timestamp(right)
        if isinstance(left, list | tuple | dict) or isinstance(right, list | tuple | dict):
            return depth < _MAX_DEPTH and self._is_same_nested(left, right, depth + 1)
        if isinstance(left, bool) or isinstance(right, bool):
            truth = self._to_truth_value(left)
            return truth is not None and truth == self._to_truth_value(right)
        a, b = self.to_finite_number(left), self.to_finite_number(right)
        if a is None or b is None:
            return bool(left == right)
        if isinstance(left, int) and isinstance(right, int):
            return left == right
        return abs(a - b) <= compute_tolerance(a, b)

    def _is_same_nested(self, left: Any, right: Any, depth: int) -> bool:
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(
                self.is_same_cell(left[name], right[name], depth) for name in left
            )
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            return len(left) == len(right) and all(
                self.is_same_cell(a, b, depth) for a, b in zip(left, right, strict=True)
            )
        return False

    def _to_truth_value(self, value: Any) -> bool | None:
        """The truth value that a cell can stand for beside a boolean."""
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return _WORDS[value.strip().lower()]
        number = self.to_finite_number(value)
        return {0.0: False, 1.0: True}.get(number) if number is not None else None

    def to_finite_number(self, value: Any) -> float | None:
        """The finite number a cell may be compared by, None where there is none."""
        if isinstance(value, str):
            value = value if self._coerce and _NUMBER.match(value) else None
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def compute_group_key(self, value: Any, depth: int = 0) -> object:
        """Equal for cells that are the same, so that rows fall into groups by it."""
        if isinstance(value, list | tuple | dict):
            if depth == _MAX_DEPTH:
                return None
            names = tuple(sorted(value)) if isinstance(value, dict) else None
            return names, tuple(
                self.compute_group_key(item, depth + 1) for item in _list_nested_cells(value)
            )
        if self.compute_cell_position(value) is not None:
            return float
        return normalize_timestamp(value) if isinstance(value, str) else (type(value), value)

    def iter_cell_positions(self, value: Any, depth: int = 0) -> Iterator[float]:
        """Where a cell, or what is nested in it, lies on the number line, in an order of its own.

        Cells of equal keys have equally many.
        """
        if isinstance(value, list | tuple | dict):
            for item in _list_nested_cells(value) if depth < _MAX_DEPTH else ():
                yield from self.iter_cell_positions(item, depth + 1)
        elif (position := self.compute_cell_position(value)) is not None:
            yield position

    def compute_cell_position(self, value: Any) -> float | None:
        """Where a cell lies on the number line if it can equal any number or boolean."""
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return float(_WORDS[value.strip().lower()])
        return self.to_finite_number(value)


def _list_nested_cells(value: list[Any] | tuple[Any, ...] | dict[str, Any]) -> Iterable[Any]:
    return [value[name] for name in sorted(value)] if isinstance(value, dict) else value
