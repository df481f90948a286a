"""Prompt-mode answers in JavaScript: the first call statement, every value as source text."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, POSITIONAL, to_decode_error
from evalcore.benchmarks.bfcl.decode.syntax_tree import parse_syntax_tree


def javascript_calls(text: str) -> Any:
    """The first call of bracketed JavaScript text; None where no statement is a call.

    Raises DecodeError for a syntax error and for an argument given twice.
    """
    try:
        root = parse_syntax_tree(text[1:-1], "javascript")
        statements = [node for node in root.children if node.type == "expression_statement"]
        for node in (part for statement in statements for part in statement.children):
            if node.type == "call_expression":
                return [
                    {
                        _get_javascript_text(node.children[0]): _parse_javascript_arguments(
                            node.children[1]
                        )
                    }
                ]
    except (*PARSING_ERRORS, AttributeError, IndexError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None
    return None


def _get_javascript_text(node: Any) -> str:
    text: bytes = node.text
    return text.decode()


def _parse_javascript_arguments(node: Any) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            name, value = (
                _get_javascript_text(child.children[0]),
                _strip_quotes(_get_javascript_text(child.children[2])),
            )
        elif child.type in ("identifier", "true"):
            name, value = POSITIONAL, _get_javascript_text(child)
        else:
            continue
        if name in arguments:
            raise to_decode_error(f"argument {name} is given twice")
        arguments[name] = value
    return arguments


def _strip_quotes(text: str) -> str:
    quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")
    return text[1:-1] if quoted else text
