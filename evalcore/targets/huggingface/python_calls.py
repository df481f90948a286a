"""A list of Python calls with literal arguments, read from its syntax tree and never run."""

from __future__ import annotations

import ast
import warnings
from typing import Any

_MAX_LITERAL_CHARS = 20_000
_MAX_BRACKET_DEPTH = 50
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}


class _NotALiteral(ValueError):
    pass


def parse_python_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of the calls of a text `[f(a=1), g.h(b="x")]`, or of a single call; empty
    where the text is anything else, or a value is no literal."""
    if (
        len(text) > _MAX_LITERAL_CHARS
        or not text.endswith((")", "]"))
        or _count_bracket_depth(text) > _MAX_BRACKET_DEPTH
    ):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        return [_parse_call_node(node) for node in nodes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _count_bracket_depth(text: str) -> int:
    """At least the depth of the brackets: those within strings are counted as well."""
    depth = deepest = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _parse_call_node(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if not isinstance(node, ast.Call) or node.args:
        raise _NotALiteral
    arguments = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise _NotALiteral
        arguments[keyword.arg] = _parse_literal_node(keyword.value)
    return _parse_dotted_name(node.func), arguments


def _parse_dotted_name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise _NotALiteral
    return ".".join([node.id, *reversed(parts)])


def _parse_literal_node(node: ast.expr) -> Any:
    """The value of a literal that JSON can hold."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id=word) if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_parse_literal_node(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                _parse_dict_key(key): _parse_literal_node(value)
                for key, value in zip(keys, values, strict=True)
            }
    raise _NotALiteral


def _parse_dict_key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _NotALiteral
