"""Comparisons of values of different kinds, which make an engine convert one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.conditions import predicates, sides, wrapped_and_bare
from evalcore.sqlkit.rewrite_rules.reading import Base, Reading
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
Fit = Literal["fit", "misfit", "unknown"]


def fits_again(before: Reading, after: Reading) -> bool:
    """A column was compared with another kind of value, and is now with its own.

    It is not compared with anything of unknown kind instead, nor inside an expression.
    """
    was, now = _comparisons(before), _comparisons(after)
    hidden = wrapped_and_bare(after)[0] - wrapped_and_bare(before)[0]
    hidden += now["unknown"] - was["unknown"]
    better = was["misfit"] - now["misfit"]
    return any(base in now["fit"] - was["fit"] and base not in hidden for base in better)


def _comparisons(reading: Reading) -> dict[Fit, Counter[Base]]:
    """How often each base column is compared with a value that fits, does not, or is unknown."""
    found: dict[Fit, Counter[Base]] = {"fit": Counter(), "misfit": Counter(), "unknown": Counter()}
    for scope, node in predicates(reading):
        compared = sides(node)
        columns = {_column_kind(reading, scope, side) for side in compared} - {""}
        others = [side for side in compared if not _column_kind(reading, scope, side)]
        values = {_value_kind(side) for side in others}
        if node.args.get("query") is not None:
            values.add("")
        for side in compared:
            for base, kind in _columns(reading, scope, side):
                cast = isinstance(side, exp.Cast | exp.TryCast)
                fit: Fit = "misfit" if cast else _fit(kind, columns, values)
                found[fit][base] += 1
    return found


def _fit(kind: str, columns: set[str], values: set[str]) -> Fit:
    """What other columns and constants are to a column of one kind.

    Columns that are numbers of different kinds compare without harm to an index.
    """
    numbers = _NUMBERS if kind in _NUMBERS else frozenset()
    if any(_clash(kind, other) for other in (columns - numbers) | values - {""}):
        return "misfit"
    return "unknown" if "" in values else "fit"


def _columns(reading: Reading, scope: Scope, side: exp.Expr) -> Iterator[tuple[Base, str]]:
    """The column that a side is, or casts to another kind, with its kind."""
    cast = isinstance(side, exp.Cast | exp.TryCast)
    column = side.this if cast else side
    kind = _column_kind(reading, scope, column)
    harmless = cast and kind_of_type(side.args["to"]) == kind
    if isinstance(column, exp.Column) and kind and not harmless:
        for base in reading.origin(column, scope).bases:
            yield base, kind


def _clash(kind: str, other: str) -> bool:
    """Whether a column of one kind is converted when it is compared with another."""
    return other not in _FITTING.get(kind, {other})


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
