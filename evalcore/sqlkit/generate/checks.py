"""Whether a row keeps the CHECK conditions of its table, as far as they are simple."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

Condition = Callable[[Mapping[str, Any]], bool]

_OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


class _Unknown(Exception):
    """An expression that is not evaluated here: the engine has the word."""


def conditions(checks: Sequence[str], dialect: str) -> list[Condition]:
    """The checks as functions of a row by folded column name; what cannot be told holds."""
    return [_condition(tree) for text in checks if (tree := _parsed(text, dialect)) is not None]


def _parsed(text: str, dialect: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect=dialect, into=exp.Condition)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None


def _condition(tree: exp.Expr) -> Condition:
    def holds(row: Mapping[str, Any]) -> bool:
        try:
            return _value(tree, row) is not False
        except (_Unknown, TypeError, ZeroDivisionError):
            return True

    return holds


def _value(node: exp.Expr, row: Mapping[str, Any]) -> Any:
    """SQL's value of an expression: None is NULL or unknown."""
    if isinstance(node, exp.Paren):
        return _value(node.this, row)
    if isinstance(node, exp.Column):
        return row[node.name.lower()] if node.name.lower() in row else _unknown()
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else float(node.this)
    if isinstance(node, exp.Neg):
        return -_value(node.this, row)
    if isinstance(node, exp.And | exp.Or):
        return _logical(node, row)
    if isinstance(node, exp.Not):
        inner = _value(node.this, row)
        return None if inner is None else not inner
    if isinstance(node, exp.Is):
        return (_value(node.this, row) is None) == isinstance(node.expression, exp.Null)
    if isinstance(node, exp.In) and node.expressions:
        return _in(_value(node.this, row), [_value(item, row) for item in node.expressions])
    if isinstance(node, exp.Between):
        value = _value(node.this, row)
        low, high = _value(node.args["low"], row), _value(node.args["high"], row)
        return None if None in (value, low, high) else low <= value <= high
    if type(node) in _OPERATORS:
        left, right = _value(node.this, row), _value(node.expression, row)
        return None if left is None or right is None else _OPERATORS[type(node)](left, right)
    return _unknown()


def _logical(node: exp.And | exp.Or, row: Mapping[str, Any]) -> bool | None:
    decisive = isinstance(node, exp.Or)
    sides = (_value(node.this, row), _value(node.expression, row))
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive


def _in(value: Any, items: list[Any]) -> bool | None:
    return None if value is None else value in items


def _unknown() -> Any:
    raise _Unknown
