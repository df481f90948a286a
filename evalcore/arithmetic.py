"""Arithmetic read from a syntax tree and never run: the walk and the bounds that its users share.

Each user decides which operators, names and containers its expressions may hold, and how a
result that would be too large is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Evaluate = Callable[[ast.expr], Any]

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: operator.pow,
        ast.LShift: operator.lshift,
        ast.RShift: operator.rshift,
        ast.BitOr: operator.or_,
        ast.BitXor: operator.xor,
        ast.BitAnd: operator.and_,
        ast.MatMult: operator.matmul,
    }
)
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = MappingProxyType(
    {
        ast.UAdd: operator.pos,
        ast.USub: operator.neg,
        ast.Invert: operator.invert,
        ast.Not: operator.not_,
    }
)


def evaluate_tree(
    tree: ast.expr,
    apply: Callable[[type[ast.operator], Any, Any], Any],
    evaluate_other: Callable[[ast.expr, Evaluate], Any],
    check: Callable[[ast.expr], None] = lambda node: None,
) -> Any:
    """The value of an expression. `apply` gives the result of a binary operator, by `BINARY` once
    it has bounded it, `evaluate_other` the value of a node that is no constant and no operator;
    `check` sees every node first. Raises what these and the operators raise, RecursionError for a
    tree that is too deep."""

    def evaluate(node: ast.expr) -> Any:
        check(node)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](evaluate(node.operand))
        if isinstance(node, ast.BinOp):
            return apply(type(node.op), evaluate(node.left), evaluate(node.right))
        return evaluate_other(node, evaluate)

    return evaluate(tree)


def count_result_bits(kind: type[ast.operator], left: Any, right: Any) -> int:
    """At most how many bits a power, product or left shift of integers has; 0 for other operators
    and operands, whose results hardly grow."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return 0
    if kind is ast.Pow:
        return left.bit_length() * max(right, 0) if abs(left) > 1 else 0
    if kind is ast.LShift:
        return left.bit_length() + max(right, 0)
    return left.bit_length() + right.bit_length() if kind is ast.Mult else 0
