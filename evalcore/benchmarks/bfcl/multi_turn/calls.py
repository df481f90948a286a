"""Calls as text, `name(argument=value)`: made of decoded calls as upstream does, and run safely.

Upstream hands such a text to `eval`. Here it is parsed, its values may only be literals and calls
of tools, and a name is looked up among the tools alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import LONGEST, Call, DecodeError, to_decode_error

Tools = Mapping[str, Callable[..., Any]]


def calls_to_text(calls: Sequence[Call], *, native: bool) -> list[str]:
    """One text for every call. `native`: as upstream writes tool calls, else as it writes calls
    decoded from text, where a mapping of mappings stands for a nested call.

    Raises DecodeError where upstream does not get a text either: it then skips the whole answer.
    """
    write, comma = (repr, ",") if native else (_format_nested_value, ", ")
    try:
        return [
            f"{name}({comma.join(f'{key}={write(value)}' for key, value in arguments.items())})"
            for call in calls
            for name, arguments in call.items()
        ]
    except (AttributeError, LookupError, ValueError, RecursionError) as error:
        raise to_decode_error(error or type(error).__name__) from None


def list_call_steps(turn: Any) -> list[list[str]]:
    """The steps of a turn that hold calls, each a list of texts.

    A step is a list of texts or decoded (native) calls; what is none, is empty or does not decode
    is skipped, as upstream does.
    """
    text_steps = [_step_to_text(step) for step in turn] if isinstance(turn, list | tuple) else []
    return [step for step in text_steps if step and step != [""]]


def evaluate_call(text: str, tools: Tools) -> Any:
    """What the call returns. Raises whatever a wrong text or the tool itself raises.

    The function is looked up first, then arguments are evaluated from left to right, as Python
    does: what nested calls have changed by then stays changed.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a call is longer than {LONGEST} characters")
    body = ast.parse(text.lstrip(" \t"), "<string>", mode="eval").body
    if not isinstance(body, ast.Call):
        raise ValueError("the text is no call")
    return _evaluate_call_node(body, tools)


def _step_to_text(step: Any) -> list[str]:
    if not isinstance(step, list | tuple):
        return []
    written: list[str] = []
    try:
        for call in step:
            written += [call] if isinstance(call, str) else calls_to_text([call], native=True)
    except DecodeError:
        return []
    return written


def _format_nested_value(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    if all(isinstance(item, dict) for item in value.values()):
        name, arguments = next(iter(value.items()), (None, None))
        if not isinstance(arguments, dict):
            raise LookupError("an empty mapping")
        texts = (f"{key}={_format_nested_value(item)}" for key, item in arguments.items())
        return f"{name}({', '.join(texts)})"
    return (
        "{"
        + ", ".join(f"'{key}': {_format_nested_value(item)}" for key, item in value.items())
        + "}"
    )


def _evaluate_call_node(node: ast.Call, tools: Tools) -> Any:
    names = [word.arg for word in node.keywords]
    if None in names or len(set(names)) < len(names):
        raise SyntaxError("arguments that are unpacked or repeated")
    tool = _find_tool(node.func, tools)
    positional = [_evaluate_value(item, tools) for item in node.args]
    return tool(
        *positional, **{str(word.arg): _evaluate_value(word.value, tools) for word in node.keywords}
    )


def _find_tool(node: ast.expr, tools: Tools) -> Callable[..., Any]:
    while isinstance(node, ast.Attribute):  # no tool has a dotted name: its first part is unknown
        node = node.value
        tools = {}
    if not isinstance(node, ast.Name):
        raise TypeError("what is called is no name")
    return tools[node.id] if node.id in tools else _raise_undefined(node.id)


def _raise_undefined(name: str) -> Callable[..., Any]:
    raise NameError(f"name '{name}' is not defined")


def _evaluate_value(node: ast.expr, tools: Tools) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [_evaluate_value(item, tools) for item in node.elts]
        case ast.Tuple():
            return tuple(_evaluate_value(item, tools) for item in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_evaluate_key(key, tools): _evaluate_value(item, tools) for key, item in pairs}
        case ast.Call():
            return _evaluate_call_node(node, tools)
        case ast.Name():
            return _raise_undefined(node.id)
        case _:
            return ast.literal_eval(node)  # signs, complex numbers, sets; else ValueError


def _evaluate_key(node: ast.expr | None, tools: Tools) -> Any:
    if node is None:
        raise SyntaxError("a mapping that is unpacked")
    return _evaluate_value(node, tools)
