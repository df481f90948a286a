"""Calls in Python's syntax, as models write them. Constants are folded; nothing is evaluated.

Two readings: the plain one takes what servers' parsers take, calls with literals as keyword
arguments; the lenient one also reads positional arguments, wrappers, assignments and `+5`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from evalcore.arithmetic import BINARY, Evaluate, count_result_bits, evaluate_tree
from evalcore.call_formats.values import (
    MAX_LITERAL_CHARS,
    PARSING_ERRORS,
    SOURCE,
    OfferedTools,
    ParsedCall,
    ReadCalls,
    find_closing_bracket,
    plain_value_of,
)
from evalcore.i18n import Note

#: The key of arguments that were unpacked from something that is no mapping.
UNPACKED = "**"
_MAX_BITS = 100_000
_MAX_ITEMS = 100_000
_MAX_FORMATTED = 1_000


def fold_constants(node: ast.expr) -> Any:
    """The value of an expression of literals and operators. Raises ValueError for any other
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
    raise ValueError(Note("decode_not_evaluated", kind=type(node).__name__))


def _apply_operator(kind: type[ast.operator], left: Any, right: Any) -> Any:
    if count_result_bits(kind, left, right) > _MAX_BITS:
        raise ValueError(Note("decode_digits"))
    if kind is ast.Mult:
        for sequence, times in ((left, right), (right, left)):
            many = isinstance(times, int) and hasattr(sequence, "__len__")
            if many and len(sequence) * times > _MAX_ITEMS:
                raise ValueError(Note("decode_items"))
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
        raise ValueError(Note("decode_formats"))


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` of a chain of attributes; what is left of a call or an index in it is dropped."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


# Whole stretches of calls.

_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_STRING_PART = re.compile(r"\\.|[\"'\n]", re.DOTALL)


def parse_python_calls(
    text: str, tools: OfferedTools, *, lenient: bool = False
) -> list[ParsedCall] | None:
    """The calls of text that consists of calls only: a list, one per line, or (lenient) printed or
    assigned. None for anything else, or if a call cannot be parsed."""
    text = text.strip().strip("`\"' \n") if lenient else text.strip()
    if not text or len(text) > MAX_LITERAL_CHARS or "(" not in text:
        return None
    attempts = [text, escape_line_breaks(text)]
    if lenient:
        attempts += [text + "]", "[" + text, text.translate(_QUOTES)]
    for attempt in dict.fromkeys(attempts):
        try:
            return _parse_statements(ast.parse(attempt, SOURCE).body, tools, lenient)
        except PARSING_ERRORS:
            continue
    return None


def escape_line_breaks(text: str) -> str:
    """The text with the line breaks within quotes written as Python wants them."""
    parts: list[str] = []
    quote, start = "", 0
    for part in _STRING_PART.finditer(text):
        sign = part[0]
        if sign == "\n" and quote:
            parts += [text[start : part.start()], "\\n"]
            start = part.end()
        elif sign in "\"'":
            quote = "" if sign == quote else quote or sign
    return "".join([*parts, text[start:]])


def _parse_statements(
    body: Sequence[ast.stmt], tools: OfferedTools, lenient: bool
) -> list[ParsedCall]:
    calls: list[ParsedCall] = []
    for statement in body:
        if not isinstance(statement, ast.Expr | ast.Assign):
            raise ValueError("a statement that is no call")
        calls += _parse_call_nodes(statement.value, tools, lenient)
    return calls


def _parse_call_nodes(node: ast.expr, tools: OfferedTools, lenient: bool) -> list[ParsedCall]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [call for item in node.elts for call in _parse_call_nodes(item, tools, lenient)]
    if isinstance(node, ast.Await):
        return _parse_call_nodes(node.value, tools, lenient)
    if not isinstance(node, ast.Call):
        raise ValueError("an expression that is no call")
    name = tools.resolve_name(dotted_name(node.func))
    if name == "print" and name not in tools and node.args and not node.keywords:
        shown = [item for item in node.args if isinstance(item, ast.Call | ast.List | ast.Tuple)]
        return [call for item in shown for call in _parse_call_nodes(item, tools, lenient)]
    if lenient:
        return [ParsedCall(name, _parse_lenient_arguments(name, node, tools))]
    return [ParsedCall(name, _parse_plain_arguments(node))]


def _parse_plain_arguments(node: ast.Call) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise ValueError("no plain arguments")
        arguments[keyword.arg] = plain_value_of(keyword.value)
    if node.args or not dotted_name(node.func):
        raise ValueError("no plain arguments")
    return arguments


def _parse_lenient_arguments(name: str, node: ast.Call, tools: OfferedTools) -> dict[str, Any]:
    written = {word.arg or UNPACKED: value_of(word.value) for word in node.keywords}
    if isinstance(unpacked := written.get(UNPACKED), dict):
        written = {**unpacked, **{key: item for key, item in written.items() if key != UNPACKED}}
    if not node.args:
        return written
    values = [value_of(item) for item in node.args]
    if len(values) == 1 and not written and isinstance(values[0], dict):
        return values[0]  # f({"a": 1})
    order = [key for key in tools.properties.get(name, ()) if key not in written]
    if len(values) > len(order):
        raise ValueError("more positional arguments than parameters")
    return {**dict(zip(order, values, strict=False)), **written}


def value_of(node: ast.expr | None) -> Any:
    """The value that the author of an expression meant; a nested call is its source text. Raises
    ValueError where there is none."""
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


# Calls after a mark, and in the middle of other text.

_SOURCE_FENCE = re.compile(r"\s*(?:```(?:python|py)?\s*)?")
_STATEMENT = re.compile(r"[\s;,]*(?:[A-Za-z_]\w*\s*=\s*)?(?:await\s+)?[A-Za-z_][\w.]*(?=\()")


def read_source(
    text: str, offset: int, tools: OfferedTools, *, offered: bool = False
) -> ReadCalls | None:
    """A bracketed list of Python calls, or the statements that follow one another from an offset
    on. With `offered`, every call has to be one of an offered tool."""
    fence = _SOURCE_FENCE.match(text, offset)
    begin = end = fence.end() if fence else offset
    listed = find_closing_bracket(text, begin) if text.startswith("[", begin) else None
    if listed is None and tools.lenient:  # the last bracket may be missing
        begin = end = begin + text.startswith("[", begin)
    if listed:
        end = listed
    else:
        while statement := _STATEMENT.match(text, end):
            closing = find_closing_bracket(text, statement.end())
            if closing is None:
                break
            end = closing
    calls = parse_python_calls(text[begin:end], tools)
    if not calls and tools.lenient:
        calls = parse_python_calls(text[begin:end], tools, lenient=True)
    if not calls or (offered and any(call.name not in tools for call in calls)):
        return None
    return calls, end


def read_named_source(text: str, opened: re.Match[str], tools: OfferedTools) -> ReadCalls | None:
    """`tool_call(city="Oslo")` in a fence, whose tool is named in the line before it (ChatGLM3)."""
    end = find_closing_bracket(text, opened.end())
    calls = parse_python_calls(text[opened.end() - len("tool_call") : end], tools) if end else None
    name = tools.resolve_name(opened["name"])
    if not end or not calls or name not in tools:
        return None
    return [ParsedCall(name, calls[0].arguments)], end


_LIST_OF_CALLS = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_CALL_LINE = re.compile(
    r"(?:[-*•]|\d+[.)]|(?:call|action|function call|tool call)s?:)?\s*"
    r"[`*]*(\[?[A-Za-z_][\w.]*\s*\(.*\)\]?)[`*]*[;,.]?",
    re.I,
)
_MAX_STARTS = 20

#: Calls with the offsets of the text that they were read from.
Stretch = tuple[int, int, list[ParsedCall]]


def find_python_stretches(text: str, tools: OfferedTools) -> list[Stretch]:
    """The bracketed lists of calls within prose, else the lines that are nothing but a call."""
    stretches: list[Stretch] = []
    at = 0
    for _ in range(_MAX_STARTS):
        start = _LIST_OF_CALLS.search(text, at)
        if start is None:
            break
        end = find_closing_bracket(text, start.start())
        at = end or start.end()
        calls = parse_python_calls(text[start.start() : end], tools, lenient=True) if end else None
        if calls:
            stretches.append((start.start(), at, calls))
    if stretches:
        return stretches
    at = 0
    for line in text.splitlines(keepends=True)[:1000]:
        matched = _CALL_LINE.fullmatch(line.strip())
        calls = parse_python_calls(matched[1], tools, lenient=True) if matched else None
        if calls:
            stretches.append((at, at + len(line.rstrip()), calls))
        at += len(line)
    return stretches
