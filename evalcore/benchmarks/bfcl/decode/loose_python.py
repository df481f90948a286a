"""Calls in Python syntax, read with good will: statements, wrappers, positional arguments, `+5`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, SOURCE, UNPACKED, Call, DecodeError
from evalcore.benchmarks.bfcl.decode.folding import fold_constants
from evalcore.benchmarks.bfcl.decode.official import dotted_name

_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_LIST_OF_CALLS = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_CALL_LINE = re.compile(r"(?:[-*•]|\d+[.)])?\s*`*(\[?[A-Za-z_][\w.]*\s*\(.*\)\]?)`*[;,.]?")
_MAX_STARTS = 20

#: Function names and, in the schema's order, their parameters.
FunctionSignatures = Mapping[str, Sequence[str]]


def calls_in_python(text: str, signatures: FunctionSignatures) -> list[Call] | None:
    """The calls of text that is nothing but calls, in a list, line by line or assigned.

    None if it is something else, or if a call is not readable.
    """
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
    """Just after the bracket that closes the one at `start`, or the end of the text."""
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
        if not isinstance(statement, ast.Expr | ast.Assign) or statement.value is None:
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
    """The value that the author of an expression meant; a nested call is its source text.

    Raises DecodeError or ValueError where there is none.
    """
    if isinstance(node, ast.Name):
        return _CONSTANTS.get(node.id, node.id)
    if isinstance(node, ast.List | ast.Set):
        return [value_of(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(value_of(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {value_of(key): value_of(value) for key, value in pairs}
    if isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.Lambda | ast.Compare):
        return ast.unparse(node)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value_of(part)) for part in node.values)
    if node is None:
        raise ValueError("unpacking in a mapping")
    return fold_constants(node)
