"""Whether two result tables say the same.

The rules, each answering an error that published comparators make: rows form a multiset, so a lost
duplicate counts, unless the statement orders them; columns compare by position and their names are
only reported; NULL equals only NULL; numbers may differ by 1e-4 + 1e-6 of the larger, but two
integers must be equal; a boolean equals 0 or 1 and the words true and false; a date equals its
midnight timestamp, and UTC is the same as no zone; all other strings are exact.

Closeness is not transitive, so equal rows cannot be found by sorting alone: rows are split into
groups that cannot touch each other, and inside a group a maximum matching pairs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from evalcore.records import Record
from evalcore.sqlkit.cells import CellRules, Row
from evalcore.sqlkit.matching import match_rows
from evalcore.sqlkit.table import ResultTable

Reason = Literal["", "columns_count", "row_count", "rows", "order"]


class TableDiff(Record, frozen=True):
    """What a comparison found; `reason` is the first rule that failed, "" where none did.

    `missing` are the expected rows, `extra` the actual rows, that found no partner; both are empty
    for `columns_count`, where no row can have one, and for `order`. `same_columns` tells whether
    the names agree but for case; it decides nothing.
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
) -> TableDiff:
    """Compare by the rules of this module.

    `ordered` also asks for the same sequence. `coerce_strings` lets a number equal a string that
    spells it ('1' and 1), as a model may have written it.
    """
    same_columns = _fold_column_names(expected.columns) == _fold_column_names(actual.columns)
    if len(expected.columns) != len(actual.columns):
        return TableDiff(equal=False, reason="columns_count", same_columns=False)
    rules = CellRules(coerce_strings=coerce_strings)
    if _is_equal_in_order(expected.rows, actual.rows, rules.is_same_row):
        return TableDiff(equal=True, same_columns=same_columns)
    missing, extra = match_rows(expected.rows, actual.rows, rules)
    reason: Reason = "order" if ordered else ""
    if len(expected.rows) != len(actual.rows):
        reason = "row_count"
    elif missing:
        reason = "rows"
    return TableDiff(
        equal=not reason, reason=reason, missing=missing, extra=extra, same_columns=same_columns
    )


def _fold_column_names(names: tuple[str, ...]) -> list[str]:
    return [name.casefold() for name in names]


def _is_equal_in_order(
    left: tuple[Row, ...], right: tuple[Row, ...], same: Callable[..., bool]
) -> bool:
    return len(left) == len(right) and all(map(same, left, right))
