"""Calls as text, `name(argument=value)`: made of decoded calls as upstream does, and run safely.

Upstream hands such a text to `eval`. Here it is parsed, its values may only be literals and calls
of tools, and a name is looked up among the tools alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import LONGEST, Call, DecodeError, failed

Tools = Mapping[str, Callable[..., Any]]


def texts(calls: Sequence[Call], *, native: bool) -> list[str]:
    """One text for every call. `native`: as upstream writes tool calls, else as it writes calls
    decoded from text, where a mapping of mappings stands for a nested call.

    Raises DecodeError where upstream does not get a text either: it then skips the whole answer.
    """
    write, comma = (repr, ",") if native else (_nested, ", ")
    try:
        return [
            f"{name}({comma.join(f'{key}={write(value)}' for key, value in arguments.items())})"
            for call in calls
            for name, arguments in call.items()
        ]
    except (AttributeError, LookupError, ValueError, RecursionError) as error:
        raise failed(error or type(error).__name__) from None


def steps(turn: Any) -> list[list[str]]:
    """The steps of a turn that hold calls, each a list of texts.

    A step is a list of texts or decoded (native) calls; what is none, is empty or does not decode
    is skipped, as upstream does.
    """
    found = [_step(step) for step in turn] if isinstance(turn, list | tuple) else []
    return [step for step in found if step and step != [""]]


def evaluate(text: str, tools: Tools) -> Any:
    """What the call returns. Raises whatever a wrong text or the tool itself raises.

    The function is looked up first, then arguments are evaluated from left to right, as Python
    does: what nested calls have changed by then stays changed.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a call is longer than {LONGEST} characters")
    body = ast.parse(text.lstrip(" \t"), "<string>", mode="eval").body
    if not isinstance(body, ast.Call):
        raise ValueError("the text is no call")
    return _called(body, tools)


def _step(step: Any) -> list[str]:
    if not isinstance(step, list | tuple):
        return []
    written: list[str] = []
    try:
        for call in step:
            written += [call] if isinstance(call, str) else texts([call], native=True)
    except DecodeError:
        return []
    return written


def _nested(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    if all(isinstance(item, dict) for item in value.values()):
        name, arguments = next(iter(value.items()), (None, None))
        if not isinstance(arguments, dict):
            raise LookupError("an empty mapping")
        return f"{name}({', '.join(f'{key}={_nested(item)}' for key, item in arguments.items())})"
    return "{" + ", ".join(f"'{key}': {_nested(item)}" for key, item in value.items()) + "}"


def _called(node: ast.Call, tools: Tools) -> Any:
    names = [word.arg for word in node.keywords]
    if None in names or len(set(names)) < len(names):
        raise SyntaxError("arguments that are unpacked or repeated")
    tool = _tool(node.func, tools)
    positional = [_value(item, tools) for item in node.args]
    return tool(*positional, **{str(word.arg): _value(word.value, tools) for word in node.keywords})


def _tool(node: ast.expr, tools: Tools) -> Callable[..., Any]:
    while isinstance(node, ast.Attribute):  # no tool has a dotted name: its first part is unknown
        node = node.value
        tools = {}
    if not isinstance(node, ast.Name):
        raise TypeError("what is called is no name")
    return tools[node.id] if node.id in tools else _undefined(node.id)


def _undefined(name: str) -> Callable[..., Any]:
    raise NameError(f"name '{name}' is not defined")


def _value(node: ast.expr, tools: Tools) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [_value(item, tools) for item in node.elts]
        case ast.Tuple():
            return tuple(_value(item, tools) for item in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_key(key, tools): _value(item, tools) for key, item in pairs}
        case ast.Call():
            return _called(node, tools)
        case ast.Name():
            return _undefined(node.id)
        case _:
            return ast.literal_eval(node)  # signs, complex numbers, sets; else ValueError


def _key(node: ast.expr | None, tools: Tools) -> Any:
    if node is None:
        raise SyntaxError("a mapping that is unpacked")
    return _value(node, tools)
