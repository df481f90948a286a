"""Arithmetic on constants inside an argument (`60*5`, `'a'+'b'`), folded without evaluating code.

Upstream evaluates such an expression as Python, names and calls included. Here only literals and
operators are folded, and every operation that could cost much memory or time is refused first.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import to_decode_error

_MAX_BITS = 100_000
_MAX_ITEMS = 100_000
_MAX_FORMATTED = 1_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
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
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def fold_constants(node: ast.expr) -> Any:
    """The value of an expression of literals and operators.

    Raises DecodeError for any other expression and for a result that would be too large, and what
    the operators raise (TypeError, ArithmeticError, ValueError) for operands that do not fit.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)](fold_constants(node.operand))
    if isinstance(node, ast.BinOp):
        left, right = fold_constants(node.left), fold_constants(node.right)
        _refuse_large(type(node.op), left, right)
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.List):
        return [fold_constants(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(fold_constants(item) for item in node.elts)
    if isinstance(node, ast.Set):
        return {fold_constants(item) for item in node.elts}
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {
            fold_constants(key): fold_constants(value) for key, value in pairs if key is not None
        }
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return fold_constants(node.value)[fold_constants(node.slice)]
    raise to_decode_error(f"{type(node).__name__} is not evaluated")


def _refuse_large(kind: type[ast.operator], left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if _count_result_bits(kind, left, right) > _MAX_BITS:
            raise to_decode_error("a number of too many digits")
    elif kind is ast.Mult:
        for sequence, times in ((left, right), (right, left)):
            many = isinstance(times, int) and hasattr(sequence, "__len__")
            if many and len(sequence) * times > _MAX_ITEMS:
                raise to_decode_error("a sequence of too many items")
    elif kind is ast.Mod and isinstance(left, str | bytes):
        _refuse_formats(left, right)


def _count_result_bits(kind: type[ast.operator], left: int, right: int) -> int:
    if kind is ast.Pow:
        return left.bit_length() * max(right, 0) if abs(left) > 1 else 0
    if kind is ast.LShift:
        return left.bit_length() + max(right, 0)
    return left.bit_length() + right.bit_length() if kind is ast.Mult else 0


def _refuse_formats(left: str | bytes, right: Any) -> None:
    text = left.decode("latin-1") if isinstance(left, bytes) else left
    parts = right if isinstance(right, tuple) else (right,)
    plain = all(
        isinstance(part, bool | int | float)
        or (isinstance(part, str | bytes) and len(part) <= _MAX_FORMATTED)
        for part in parts
    )
    digits = max(
        (len(run) for run in "".join(c if c.isdigit() else " " for c in text).split()), default=0
    )
    if not plain or len(text) > _MAX_FORMATTED or "*" in text or digits > 3:
        raise to_decode_error("formatting of this kind is not evaluated")
