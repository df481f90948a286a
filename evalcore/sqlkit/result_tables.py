"""Result tables reduced to JSON values, and the rules by which two of them say the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

from evalcore.records import Record
from evalcore.sqlkit.row_matching import CellRules, Row, match_rows, parse_decimal

# Result tables: what an engine returned or a model predicted, reduced to JSON values.
# JSON has no dates, decimals or bytes, so each becomes one fixed form: a decimal an integer where
# it is whole, else a float where that has the same digits, else text; a date, time or timestamp ISO
# text (`2024-01-31 08:00:00`); bytes hexadecimal digits; NaN and the infinities the words NaN,
# Infinity, -Infinity; half of a surrogate pair, which UTF-8 cannot hold, the replacement character;
# what is nested deeper than 100 levels "…".

_DEEPEST = 100
_JSON_INTEGERS = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")


class ResultTable(Record, frozen=True):
    """Columns and rows in the order in which they came; `truncated` where a cap cut them off.

    `decimals` are the indexes of the columns that an engine gave as decimals, which are exact.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False
    decimals: tuple[int, ...] = ()

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
    if value == value.to_integral_value():
        whole = int(value)
        return whole if -_JSON_INTEGERS <= whole < _JSON_INTEGERS else str(whole)
    return float(value) if Decimal(repr(float(value))) == value else f"{value:f}"


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (str, _convert_text),
    (float, _convert_float),
    (Decimal, _convert_decimal),
    (datetime, lambda value: value.isoformat(sep=" ")),
    ((date, time), lambda value: value.isoformat()),
    ((bytes, bytearray, memoryview), lambda value: bytes(value).hex()),
)


# Whether two result tables say the same. The rules, each answering an error that published
# comparators make: rows form a multiset, so a lost duplicate counts, unless the statement orders
# them; columns compare by position and their names are only reported; NULL equals only NULL;
# numbers may differ by 1e-4 + 1e-6 of the larger (by exact rules: floats by their tolerance,
# decimals not), but two integers must be equal; a boolean equals 0 or 1 and the words true and
# false; a date equals its midnight timestamp, and UTC is the same as no zone; all other strings are
# exact. Closeness is not transitive, so equal rows cannot be found by sorting alone: rows are split
# into groups that cannot touch each other, and inside a group a maximum matching pairs them.

Reason = Literal["", "columns_count", "column_names", "row_count", "rows", "order"]


class TableDiff(Record, frozen=True):
    """What a comparison found; `reason` is the first rule that failed, "" where none did.

    `missing` are the expected rows, `extra` the actual rows, that found no partner; both are empty
    for `columns_count`, where no row can have one, and for `order`. `same_columns` tells whether
    the names agree but for case; it decides nothing here, and `column_names` is a reason of those
    who ask for names.
    """

    equal: bool
    reason: Reason = ""
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()
    same_columns: bool = True


def compare_tables(
    expected: ResultTable,
    actual: ResultTable,
    *,
    ordered: bool = False,
    coerce_strings: bool = False,
    rules: CellRules | None = None,
) -> TableDiff:
    """Compare by the rules of this module, or by other `rules` of cells.

    `ordered` also asks for the same sequence. `coerce_strings` lets a number equal a string that
    spells it ('1' and 1), as a model may have written it.
    """
    same_columns = _fold_column_names(expected.columns) == _fold_column_names(actual.columns)
    if len(expected.columns) != len(actual.columns):
        return TableDiff(equal=False, reason="columns_count", same_columns=False)
    rules = rules or CellRules(coerce_strings=coerce_strings)
    want, got = expected.rows, actual.rows
    if rules.exact:
        want, got = _restore_decimals(expected), _restore_decimals(actual)
    if _is_identical(want, got) or (
        len(want) == len(got) and all(map(rules.is_same_row, want, got))
    ):
        return TableDiff(equal=True, same_columns=same_columns)
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()
    if not _is_identical_bag(want, got):
        missing, extra = match_rows(want, got, rules)
    if rules.exact:
        missing, extra = _to_json_rows(missing), _to_json_rows(extra)
    reason: Reason = "order" if ordered else ""
    if len(expected.rows) != len(actual.rows):
        reason = "row_count"
    elif missing:
        reason = "rows"
    return TableDiff(
        equal=not reason, reason=reason, missing=missing, extra=extra, same_columns=same_columns
    )


def _restore_decimals(table: ResultTable) -> tuple[Row, ...]:
    """The rows with the columns of decimals as decimals again."""
    if not table.decimals:
        return table.rows
    return tuple(
        tuple(
            _restore_decimal(cell) if index in table.decimals else cell
            for index, cell in enumerate(row)
        )
        for row in table.rows
    )


def _restore_decimal(cell: Any) -> Any:
    if isinstance(cell, str):
        return parse_decimal(cell)
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    return Decimal(repr(cell)) if is_number else cell


def _to_json_rows(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(tuple(map(to_json_cell, row)) for row in rows)


def _fold_column_names(names: tuple[str, ...]) -> list[str]:
    return [name.casefold() for name in names]


# What Python takes for equal is the same by all rules, and found sooner. Nested cells, which have
# no hash, are left to the rules, whose depth is bounded.


def _is_identical(left: tuple[Row, ...], right: tuple[Row, ...]) -> bool:
    if len(left) != len(right):
        return False
    try:
        return hash(left) == hash(right) and left == right
    except TypeError:
        return False


def _is_identical_bag(left: tuple[Row, ...], right: tuple[Row, ...]) -> bool:
    if len(left) != len(right):
        return False
    try:
        return Counter(left) == Counter(right)
    except TypeError:
        return False
