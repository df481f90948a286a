"""The calculator: Python's arithmetic on numbers, walked over a syntax tree of a bounded size."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

ALLOWED_CHARACTERS = frozenset("0123456789+-*/(). ")
MAX_EXPRESSION_CHARS = 2_000
#: No integer may grow beyond this many bits; 2**1024 is already more than the result may be.
MAX_BITS = 20_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluate_arithmetic(expression: str) -> str:
    """The value of an expression of numbers, brackets and + - * / // **, to two decimals.

    Raises what Python does for one without a value: SyntaxError, ArithmeticError, TypeError; and
    ValueError for one that is too long or grows too large.
    """
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ValueError("the expression is too long")
    try:
        tree = ast.parse(expression.lstrip(" "), "<string>", "eval")
        return str(round(float(_evaluate_node(tree.body)), 2))
    except (MemoryError, RecursionError):
        raise ValueError("the expression is nested too deep") from None


def _evaluate_node(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        value = _evaluate_node(node.operand)
        return -value if isinstance(node.op, ast.USub) else +value
    if isinstance(node, ast.BinOp):
        left, right = _evaluate_node(node.left), _evaluate_node(node.right)
        _check_result_size(node.op, left, right)
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Call):
        raise TypeError(f"{type(_evaluate_node(node.func)).__name__!r} object is not callable")
    if isinstance(node, ast.Tuple) and not node.elts:
        return ()
    raise SyntaxError("invalid syntax (<string>, line 1)")


def _check_result_size(kind: ast.operator, left: Any, right: Any) -> None:
    """Raises ValueError where a product or power of integers would be too large."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = left.bit_length()
    if isinstance(kind, ast.Pow):
        bits *= max(right, 0) if bits > 1 else 1
    elif isinstance(kind, ast.Mult):
        bits += right.bit_length()
    if bits > MAX_BITS:
        raise ValueError("a number in the expression is too large")
