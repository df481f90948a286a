"""The value at which a comparison turns, where arithmetic stands between column and constant."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

Number = int | float
_OPERATIONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
#: What undoes an operation with a constant on its right, and turns no comparison round.
_UNDONE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.sub,
    exp.Sub: operator.add,
    exp.Mul: operator.truediv,
    exp.Div: operator.mul,
}
_MAX_EXACT = 2**53  # beyond it fractions are not exact


def fold_constant(node: exp.Expr) -> Number | None:
    """The number that an expression of numbers alone gives, such as 12 * 25; None for others."""
    if isinstance(node, exp.Paren | exp.Cast):
        return fold_constant(node.this)
    if isinstance(node, exp.Neg):
        inner = fold_constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return None if node.is_string else _parse_exact_number(node.this)
    if type(node) not in _OPERATIONS:
        return None
    left, right = fold_constant(node.this), fold_constant(node.expression)
    return (
        None if left is None or right is None else _apply_operation(_OPERATIONS, node, left, right)
    )


def solve_for_column(node: exp.Expr, value: Number) -> tuple[exp.Expr, Number]:
    """What is left of `node` without its constants, and the value to hold it against.

    `units * 2 - 40` against 300 is `units` against 170. Constants on the left of an operator are
    left, and so are factors below 0, which would turn the comparison round.
    """
    while True:
        if isinstance(node, exp.Paren):
            node = node.this
            continue
        constant = fold_constant(node.expression) if type(node) in _UNDONE else None
        scaling = isinstance(node, exp.Mul | exp.Div)
        if constant is None or (scaling and constant <= 0):
            return node, value
        undone = _apply_operation(_UNDONE, node, value, constant)
        if undone is None:
            return node, value
        node, value = node.this, undone


def _apply_operation(
    table: dict[type[exp.Expr], Callable[[Any, Any], Any]],
    node: exp.Expr,
    left: Number,
    right: Number,
) -> Number | None:
    try:
        number = table[type(node)](left, right)
    except (ArithmeticError, ValueError):
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else round(number, 6)


def _parse_exact_number(text: str) -> Number | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else number
