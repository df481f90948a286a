"""Prompt-mode answers in Python call syntax, decoded as upstream does, its quirks included.

What stays surprising on purpose, since verdicts must agree: positional arguments vanish, every
unary operator negates, a bare word is a string, a nested call is its source text or, with keyword
arguments, a mapping. What differs on purpose: expressions are folded, never evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import (
    PARSING_ERRORS,
    SOURCE,
    UNPACKED,
    Call,
    require_answer_text,
    to_decode_error,
)
from evalcore.benchmarks.bfcl.decode.folding import fold_constants


def add_brackets(answer: Any) -> str:
    """The answer without surrounding backticks, blanks and line ends, within square brackets.

    A missing bracket on either side is added; nothing else is forgiven.
    """
    text = require_answer_text(answer).strip("`\n ")
    text = text if text.startswith("[") else "[" + text
    return text if text.endswith("]") else text + "]"


def extract_tagged_text(text: str) -> str:
    """What the first pair of <TOOLCALL> tags holds. Raises DecodeError without one."""
    start = text.find("<TOOLCALL>")
    end = text.find("</TOOLCALL>", start)
    if start == -1 or end == -1:
        raise to_decode_error("no <TOOLCALL> section")
    return text[start + len("<TOOLCALL>") : end].strip()


def python_calls(text: str) -> list[Call]:
    """The calls of bracketed text in Python syntax.

    Raises DecodeError for what is no call or no list, tuple or set of calls.
    """
    try:
        body = ast.parse(text.strip().strip("'"), SOURCE, mode="eval").body
        nodes = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
        if nodes is None:
            raise to_decode_error(f"{type(body).__name__} where a list of calls should be")
        return [_decode_call_node(node) for node in nodes]
    except PARSING_ERRORS as error:
        raise to_decode_error(error or type(error).__name__) from None


def _decode_call_node(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise to_decode_error(f"{type(node).__name__} where a call should be")
    arguments = {word.arg or UNPACKED: _decode_value_node(word.value) for word in node.keywords}
    return {dotted_name(node.func): arguments}


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` of a chain of attributes; what is left of a call or an index in it is dropped."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _decode_value_node(node: ast.expr | None) -> Any:
    rule = _RULES.get(type(node))
    if rule is None:
        raise to_decode_error(f"{type(node).__name__} is no value of an argument")
    return rule(node)


def _decode_constant(node: ast.Constant) -> Any:
    return "..." if node.value is Ellipsis else node.value


def _negate_constant(node: ast.UnaryOp) -> Any:
    if not isinstance(node.operand, ast.Constant):
        raise to_decode_error(f"a sign before {type(node.operand).__name__}")
    return -node.operand.value  # type: ignore[operator]  # a string raises TypeError, as it should


def _decode_mapping(node: ast.Dict) -> dict[Any, Any]:
    return {
        _decode_value_node(key): _decode_value_node(value)
        for key, value in zip(node.keys, node.values, strict=True)
    }


def _decode_nested_call(node: ast.Call) -> Any:
    return _decode_call_node(node) if node.keywords else ast.unparse(node)


_RULES: dict[type, Callable[[Any], Any]] = {
    ast.Constant: _decode_constant,
    ast.UnaryOp: _negate_constant,
    ast.BinOp: fold_constants,
    ast.List: lambda node: [_decode_value_node(item) for item in node.elts],
    ast.Tuple: lambda node: tuple(_decode_value_node(item) for item in node.elts),
    ast.Dict: _decode_mapping,
    ast.Name: lambda node: node.id,
    ast.Call: _decode_nested_call,
    ast.Subscript: lambda node: f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]",
}
