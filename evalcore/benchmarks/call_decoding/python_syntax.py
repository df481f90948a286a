"""Calls in Python syntax: as upstream decodes them, and as a tolerant reader does.

Constants are folded; nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.arithmetic import BINARY, Evaluate, count_result_bits, evaluate_tree
from evalcore.benchmarks.call_decoding.call import (
    PARSING_ERRORS,
    SOURCE,
    UNPACKED,
    Call,
    DecodeError,
    require_answer_text,
    to_decode_error,
)
from evalcore.i18n import Note

# Upstream evaluates an expression inside an argument (`60*5`) as Python, names and calls included.
# Here only literals and operators are folded, and what could cost much memory or time is refused.

_MAX_BITS = 100_000
_MAX_ITEMS = 100_000
_MAX_FORMATTED = 1_000


def fold_constants(node: ast.expr) -> Any:
    """The value of an expression of literals and operators. Raises DecodeError for any other
    expression and for a result that would be too large, and what the operators raise (TypeError,
    ArithmeticError, ValueError) for operands that do not fit."""
    return evaluate_tree(node, _apply_operator, _fold_container)


def _fold_container(node: ast.expr, fold: Evaluate) -> Any:
    if isinstance(node, ast.List):
        return [fold(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(fold(item) for item in node.elts)
    if isinstance(node, ast.Set):
        return {fold(item) for item in node.elts}
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {fold(key): fold(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return fold(node.value)[fold(node.slice)]
    raise to_decode_error(Note("decode_not_evaluated", kind=type(node).__name__))


def _apply_operator(kind: type[ast.operator], left: Any, right: Any) -> Any:
    if count_result_bits(kind, left, right) > _MAX_BITS:
        raise to_decode_error(Note("decode_digits"))
    if kind is ast.Mult:
        for sequence, times in ((left, right), (right, left)):
            many = isinstance(times, int) and hasattr(sequence, "__len__")
            if many and len(sequence) * times > _MAX_ITEMS:
                raise to_decode_error(Note("decode_items"))
    elif kind is ast.Mod and isinstance(left, str | bytes):
        _refuse_formats(left, right)
    return BINARY[kind](left, right)


def _refuse_formats(left: str | bytes, right: Any) -> None:
    text = left.decode("latin-1") if isinstance(left, bytes) else left
    plain = all(
        isinstance(part, bool | int | float)
        or (isinstance(part, str | bytes) and len(part) <= _MAX_FORMATTED)
        for part in (right if isinstance(right, tuple) else (right,))
    )
    digits = "".join(char if char.isdigit() else " " for char in text).split()
    wide = any(len(number) > 3 for number in digits)
    if not plain or len(text) > _MAX_FORMATTED or "*" in text or wide:
        raise to_decode_error(Note("decode_formats"))


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


# Calls in Python syntax, read with good will: statements, wrappers, positional arguments, `+5`.

_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_LIST_OF_CALLS = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_CALL_LINE = re.compile(r"(?:[-*•]|\d+[.)])?\s*`*(\[?[A-Za-z_][\w.]*\s*\(.*\)\]?)`*[;,.]?")
_MAX_STARTS = 20

#: Function names and, in the schema's order, their parameters.
FunctionSignatures = Mapping[str, Sequence[str]]


def calls_in_python(text: str, signatures: FunctionSignatures) -> list[Call] | None:
    """Parse the calls of text that consists of calls only: a list, one per line, or assignments.
    None for anything else, or if a call cannot be parsed."""
    text = text.strip().strip("`\"' \n")
    for attempt in (text, text + "]", "[" + text, text.translate(_QUOTES)):
        try:
            return _parse_call_statements(ast.parse(attempt, SOURCE).body, signatures)
        except (*PARSING_ERRORS, DecodeError):
            continue
    return None


def python_calls_among_prose(text: str, signatures: FunctionSignatures) -> list[Call]:
    """The calls of bracketed lists within prose, else of lines that are a call and nothing else."""
    calls: list[Call] = []
    at = 0
    for _ in range(_MAX_STARTS):
        start = _LIST_OF_CALLS.search(text, at)
        if start is None:
            break
        end = _find_closing_bracket(text, start.start())
        calls += calls_in_python(text[start.start() : end], signatures) or []
        at = max(end, start.end())
    if calls:
        return calls
    lines = (_CALL_LINE.fullmatch(line.strip()) for line in text.splitlines()[:1000])
    return [
        call for line in lines if line for call in calls_in_python(line.group(1), signatures) or []
    ]


def _find_closing_bracket(text: str, start: int) -> int:
    """Return the offset after the bracket that closes the one at `start`, or the end of the
    text."""
    depth, quote, at = 0, "", start
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[({") - (char in "])}")
            if depth == 0:
                return at + 1
        at += 1
    return len(text)


def _parse_call_statements(body: list[ast.stmt], signatures: FunctionSignatures) -> list[Call]:
    calls: list[Call] = []
    for statement in body:
        if not isinstance(statement, ast.Expr | ast.Assign):
            raise ValueError("a statement that is no call")
        calls += _parse_call_nodes(statement.value, signatures)
    return calls


def _parse_call_nodes(node: ast.expr, signatures: FunctionSignatures) -> list[Call]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [call for item in node.elts for call in _parse_call_nodes(item, signatures)]
    if isinstance(node, ast.Await):
        return _parse_call_nodes(node.value, signatures)
    if not isinstance(node, ast.Call):
        raise ValueError("an expression that is no call")
    name = dotted_name(node.func)
    if name == "print" and name not in signatures and node.args and not node.keywords:
        return [call for item in node.args for call in _parse_call_nodes(item, signatures)]
    return [{name: _parse_call_arguments(name, node, signatures)}]


def _parse_call_arguments(
    name: str, node: ast.Call, signatures: FunctionSignatures
) -> dict[str, Any]:
    named = {word.arg or UNPACKED: value_of(word.value) for word in node.keywords}
    if isinstance(unpacked := named.get(UNPACKED), dict):
        named = {**unpacked, **{key: value for key, value in named.items() if key != UNPACKED}}
    if not node.args:
        return named
    values = [value_of(item) for item in node.args]
    if len(values) == 1 and not named and isinstance(values[0], dict):
        return values[0]  # f({"a": 1})
    order = [parameter for parameter in signatures.get(name, ()) if parameter not in named]
    if len(values) > len(order):
        raise ValueError("more positional arguments than parameters")
    return {**dict(zip(order, values, strict=False)), **named}


def value_of(node: ast.expr | None) -> Any:
    """The value that the author of an expression meant; a nested call is its source text. Raises
    DecodeError or ValueError where there is none."""
    match node:
        case None:
            raise ValueError("unpacking in a mapping")
        case ast.Name():
            return _CONSTANTS.get(node.id, node.id)
        case ast.List() | ast.Set():
            return [value_of(item) for item in node.elts]
        case ast.Tuple():
            return tuple(value_of(item) for item in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {value_of(key): value_of(value) for key, value in pairs}
        case ast.Call() | ast.Attribute() | ast.Subscript() | ast.Lambda() | ast.Compare():
            return ast.unparse(node)
        case ast.JoinedStr():
            return "".join(str(value_of(part)) for part in node.values)
    return fold_constants(node)
