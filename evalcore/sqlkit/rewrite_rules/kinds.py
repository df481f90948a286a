"""Comparisons of values of different kinds, which make an engine convert one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.conditions import (
    count_wrapped_and_bare,
    iter_predicates,
    list_sides,
)
from evalcore.sqlkit.rewrite_rules.reading import Base, ParsedQuery
from evalcore.sqlkit.schema import classify_type

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


def is_conversion_removed(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A column was compared with another kind of value, and is now with its own.

    It is not compared with anything of unknown kind instead, nor inside an expression.
    """
    was, now = _count_comparisons(before), _count_comparisons(after)
    hidden = count_wrapped_and_bare(after)[0] - count_wrapped_and_bare(before)[0]
    hidden += now["unknown"] - was["unknown"]
    better = was["misfit"] - now["misfit"]
    return any(base in now["fit"] - was["fit"] and base not in hidden for base in better)


def _count_comparisons(parsed: ParsedQuery) -> dict[Fit, Counter[Base]]:
    """How often each base column is compared with a value that fits, does not, or is unknown."""
    base_counts: dict[Fit, Counter[Base]] = {
        "fit": Counter(),
        "misfit": Counter(),
        "unknown": Counter(),
    }
    for scope, node in iter_predicates(parsed):
        compared = list_sides(node)
        columns = {_find_column_kind(parsed, scope, side) for side in compared} - {""}
        others = [side for side in compared if not _find_column_kind(parsed, scope, side)]
        values = {_find_value_kind(side) for side in others}
        if node.args.get("query") is not None:
            values.add("")
        for side in compared:
            for base, kind in _iter_compared_columns(parsed, scope, side):
                cast = isinstance(side, exp.Cast | exp.TryCast)
                fit: Fit = "misfit" if cast else _classify_fit(kind, columns, values)
                base_counts[fit][base] += 1
    return base_counts


def _classify_fit(kind: str, columns: set[str], values: set[str]) -> Fit:
    """What other columns and constants are to a column of one kind.

    Columns that are numbers of different kinds compare without harm to an index.
    """
    numbers = _NUMBERS if kind in _NUMBERS else frozenset()
    if any(_has_kind_clash(kind, other) for other in (columns - numbers) | values - {""}):
        return "misfit"
    return "unknown" if "" in values else "fit"


def _iter_compared_columns(
    parsed: ParsedQuery, scope: Scope, side: exp.Expr
) -> Iterator[tuple[Base, str]]:
    """The column that a side is, or casts to another kind, with its kind."""
    cast = isinstance(side, exp.Cast | exp.TryCast)
    column = side.this if cast else side
    kind = _find_column_kind(parsed, scope, column)
    harmless = cast and classify_type(side.args["to"]) == kind
    if isinstance(column, exp.Column) and kind and not harmless:
        for base in parsed.find_origin(column, scope).bases:
            yield base, kind


def _has_kind_clash(kind: str, other: str) -> bool:
    """Whether a column of one kind is converted when it is compared with another."""
    return other not in _FITTING.get(kind, {other})


def _find_column_kind(parsed: ParsedQuery, scope: Scope, side: exp.Expr) -> str:
    if not isinstance(side, exp.Column):
        return ""
    for table, name in parsed.find_origin(side, scope).bases:
        stored_table = parsed.schema.find_table(table)
        column = stored_table.find_column(name) if stored_table else None
        if column is not None:
            return column.kind
    return ""


def _find_value_kind(side: exp.Expr) -> str:
    if isinstance(side, exp.Neg):
        return _find_value_kind(side.this)
    if isinstance(side, exp.Literal):
        if side.is_string:
            return "text"
        return "integer" if side.is_int else "decimal"
    if isinstance(side, exp.Cast | exp.TryCast) and isinstance(side.this, exp.Literal):
        return classify_type(side.to)
    return "boolean" if isinstance(side, exp.Boolean) else ""
