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


class _NotEvaluated(Exception):
    """An expression that is not evaluated here: the engine has the word."""


def compile_checks(checks: Sequence[str], dialect: str) -> list[Condition]:
    """The checks as functions of a row by folded column name; what cannot be told holds."""
    return [
        _compile_condition(tree)
        for text in checks
        if (tree := _parse_check(text, dialect)) is not None
    ]


def _parse_check(text: str, dialect: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect=dialect, into=exp.Condition)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None


def _compile_condition(tree: exp.Expr) -> Condition:
    def is_satisfied(row: Mapping[str, Any]) -> bool:
        try:
            return _evaluate_expression(tree, row) is not False
        except (_NotEvaluated, TypeError, ZeroDivisionError):
            return True

    return is_satisfied


def _evaluate_expression(node: exp.Expr, row: Mapping[str, Any]) -> Any:
    """SQL's value of an expression: None is NULL or unknown."""
    if isinstance(node, exp.Paren):
        return _evaluate_expression(node.this, row)
    if isinstance(node, exp.Column):
        return row[node.name.lower()] if node.name.lower() in row else _raise_not_evaluated()
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else float(node.this)
    if isinstance(node, exp.Neg):
        return -_evaluate_expression(node.this, row)
    if isinstance(node, exp.And | exp.Or):
        return _evaluate_logical(node, row)
    if isinstance(node, exp.Not):
        inner = _evaluate_expression(node.this, row)
        return None if inner is None else not inner
    if isinstance(node, exp.Is):
        return (_evaluate_expression(node.this, row) is None) == isinstance(
            node.expression, exp.Null
        )
    if isinstance(node, exp.In) and node.expressions:
        return _evaluate_in(
            _evaluate_expression(node.this, row),
            [_evaluate_expression(item, row) for item in node.expressions],
        )
    if isinstance(node, exp.Between):
        value = _evaluate_expression(node.this, row)
        low, high = (
            _evaluate_expression(node.args["low"], row),
            _evaluate_expression(node.args["high"], row),
        )
        return None if None in (value, low, high) else low <= value <= high
    if type(node) in _OPERATORS:
        left, right = (
            _evaluate_expression(node.this, row),
            _evaluate_expression(node.expression, row),
        )
        return None if left is None or right is None else _OPERATORS[type(node)](left, right)
    return _raise_not_evaluated()


def _evaluate_logical(node: exp.And | exp.Or, row: Mapping[str, Any]) -> bool | None:
    decisive = isinstance(node, exp.Or)
    sides = (_evaluate_expression(node.this, row), _evaluate_expression(node.expression, row))
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive


def _evaluate_in(value: Any, items: list[Any]) -> bool | None:
    return None if value is None else value in items


def _raise_not_evaluated() -> Any:
    raise _NotEvaluated
