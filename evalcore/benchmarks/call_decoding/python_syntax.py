"""Calls in Python syntax as upstream decodes them. Constants are folded; nothing is evaluated."""

from __future__ import annotations

import ast
from typing import Any

from evalcore.benchmarks.call_decoding.call import (
    Call,
    require_answer_text,
    to_decode_error,
)
from evalcore.call_formats.python_source import UNPACKED, dotted_name, fold_constants
from evalcore.call_formats.values import PARSING_ERRORS, SOURCE
from evalcore.i18n import Note

# Upstream evaluates an expression inside an argument (`60*5`) as Python, names and calls included.
# Here only literals and operators are folded, and what could cost much memory or time is refused.
#
# As upstream decodes. Surprising on purpose, since verdicts must agree: positional arguments
# vanish, every unary operator negates, a bare word is a string, a nested call is its source text
# or, with keyword arguments, a mapping.


def add_brackets(answer: Any) -> str:
    """The answer within square brackets, without backticks, blanks and line ends around it. A
    missing bracket on either side is added; nothing else is forgiven."""
    text = require_answer_text(answer).strip("`\n ")
    text = text if text.startswith("[") else "[" + text
    return text if text.endswith("]") else text + "]"


def extract_tagged_text(text: str) -> str:
    """What the first pair of <TOOLCALL> tags holds. Raises DecodeError without one."""
    start = text.find("<TOOLCALL>")
    end = text.find("</TOOLCALL>", start)
    if start == -1 or end == -1:
        raise to_decode_error(Note("decode_no_section"))
    return text[start + len("<TOOLCALL>") : end].strip()


def python_calls(text: str) -> list[Call]:
    """The calls of bracketed text in Python syntax. Raises DecodeError for what is no call or no
    list, tuple or set of calls."""
    try:
        body = ast.parse(text.strip().strip("'"), SOURCE, mode="eval").body
        nodes = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
        if nodes is None:
            raise to_decode_error(Note("decode_where_list", kind=type(body).__name__))
        return [_decode_call_node(node) for node in nodes]
    except PARSING_ERRORS as error:
        raise to_decode_error(error or type(error).__name__) from None


def _decode_call_node(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise to_decode_error(Note("decode_where_call", kind=type(node).__name__))
    arguments = {word.arg or UNPACKED: _decode_value_node(word.value) for word in node.keywords}
    return {dotted_name(node.func): arguments}


def _decode_value_node(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant():
            return "..." if node.value is Ellipsis else node.value
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            return -value  # type: ignore[operator]  # TypeError for a text is right
        case ast.UnaryOp():
            raise to_decode_error(Note("decode_sign", kind=type(node.operand).__name__))
        case ast.BinOp():
            return fold_constants(node)
        case ast.List():
            return [_decode_value_node(item) for item in node.elts]
        case ast.Tuple():
            return tuple(_decode_value_node(item) for item in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_decode_value_node(key): _decode_value_node(value) for key, value in pairs}
        case ast.Name():
            return node.id
        case ast.Call():
            return _decode_call_node(node) if node.keywords else ast.unparse(node)
        case ast.Subscript():
            return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"
    raise to_decode_error(Note("decode_no_value", kind=type(node).__name__))
