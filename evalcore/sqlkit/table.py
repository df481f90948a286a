"""Result tables: what an engine returned or a model predicted, reduced to JSON values.

JSON has no dates, decimals or bytes, so each becomes one fixed form: a decimal an integer where it
is whole and else a float; a date, time or timestamp ISO text (`2024-01-31 08:00:00`); bytes
hexadecimal digits; NaN and the infinities the words NaN, Infinity, -Infinity; half of a surrogate
pair, which UTF-8 cannot hold, the replacement character; what is nested deeper than 100 levels "…".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from evalcore.records import Record

_DEEPEST = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


class ResultTable(Record, frozen=True):
    """Columns and rows in the order in which they came; `truncated` where a cap cut them off."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False

    @classmethod
    def from_rows(
        cls, columns: Iterable[str], rows: Iterable[Sequence[Any]], *, truncated: bool = False
    ) -> ResultTable:
        """A table of any Python values, each normalised by `to_json_cell`."""
        return cls(
            columns=tuple(columns),
            rows=tuple(tuple(to_json_cell(cell) for cell in row) for row in rows),
            truncated=truncated,
        )


def to_json_cell(value: Any, depth: int = 0) -> Any:
    """One cell as a JSON value, by the forms the module names; what is unknown becomes its text."""
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, dict | list | tuple):
        return _convert_nested(value, depth + 1) if depth < _DEEPEST else "…"
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            return convert(value)
    return str(value)


def _convert_nested(value: dict[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> Any:
    if isinstance(value, dict):
        return {_convert_text(str(name)): to_json_cell(item, depth) for name, item in value.items()}
    return [to_json_cell(item, depth) for item in value]


def _convert_text(value: str) -> str:
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _convert_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _convert_decimal(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return _convert_float(float(value))
    return int(value) if value == value.to_integral_value() else float(value)


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (str, _convert_text),
    (float, _convert_float),
    (Decimal, _convert_decimal),
    (datetime, lambda value: value.isoformat(sep=" ")),
    ((date, time), lambda value: value.isoformat()),
    ((bytes, bytearray, memoryview), lambda value: bytes(value).hex()),
)
