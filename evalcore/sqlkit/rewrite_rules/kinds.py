"""Comparisons of values of different kinds, which make an engine convert one of them."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.conditions import predicates, sides
from evalcore.sqlkit.rewrite_rules.reading import Reading
from evalcore.sqlkit.schema import kind_of_type

#: What a column of a kind is compared with at no cost.
_FITTING: dict[str, frozenset[str]] = {
    "integer": frozenset(("integer", "boolean")),
    "decimal": frozenset(("integer", "decimal", "float")),
    "float": frozenset(("integer", "decimal", "float")),
    "text": frozenset(("text", "json")),
    "date": frozenset(("date",)),
    "timestamp": frozenset(("timestamp", "date")),
    "time": frozenset(("time",)),
    "boolean": frozenset(("boolean", "integer")),
}
_NUMBERS = frozenset(("integer", "decimal", "float"))


def conversions(reading: Reading) -> int:
    """How many comparisons of a column are with a value of a kind that it is not.

    A column under a CAST to another kind counts as well. Columns of unknown tables do not.
    """
    return sum(_converts(reading, scope, node) for scope, node in predicates(reading))


def _converts(reading: Reading, scope: Scope, predicate: exp.Expr) -> bool:
    compared = sides(predicate)
    if any(_cast_away(reading, scope, side) for side in compared):
        return True
    columns = {_column_kind(reading, scope, side) for side in compared} - {""}
    values = {_value_kind(side) for side in compared} - {""}
    mixed = any(_clash(a, b) for a in columns for b in columns if a < b)
    return mixed or any(
        value not in _FITTING.get(kind, {value}) for kind in columns for value in values
    )


def _clash(a: str, b: str) -> bool:
    """Numbers of different kinds compare without harm to an index."""
    return a != b and not {a, b} <= _NUMBERS and b not in _FITTING.get(a, {b})


def _cast_away(reading: Reading, scope: Scope, side: exp.Expr) -> bool:
    if not isinstance(side, exp.Cast | exp.TryCast):
        return False
    kind, target = _column_kind(reading, scope, side.this), kind_of_type(side.to)
    return bool(kind) and target != kind


def _column_kind(reading: Reading, scope: Scope, side: exp.Expr) -> str:
    if not isinstance(side, exp.Column):
        return ""
    for table, name in reading.origin(side, scope).bases:
        found = reading.schema.table(table)
        column = found.column(name) if found else None
        if column is not None:
            return column.kind
    return ""


def _value_kind(side: exp.Expr) -> str:
    if isinstance(side, exp.Neg):
        return _value_kind(side.this)
    if isinstance(side, exp.Literal):
        if side.is_string:
            return "text"
        return "integer" if side.is_int else "decimal"
    if isinstance(side, exp.Cast | exp.TryCast) and isinstance(side.this, exp.Literal):
        return kind_of_type(side.to)
    return "boolean" if isinstance(side, exp.Boolean) else ""
