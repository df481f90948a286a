"""Syntax trees of Java and JavaScript by tree-sitter, loaded when the first one is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

from evalcore.benchmarks.bfcl.decode.call import to_decode_error


def parse_syntax_tree(source: str, language: Literal["java", "javascript"]) -> Any:
    """The root node of the source. Raises DecodeError where the source has a syntax error.

    A token that the grammar could supply itself (a missing semicolon) is no error.
    """
    try:
        encoded = source.encode()
    except UnicodeEncodeError as error:
        raise to_decode_error(error) from None
    root = _load_parser(language).parse(encoded).root_node
    if root.has_error and _holds_syntax_error(root):
        raise to_decode_error(f"no {language} syntax")
    return root


@cache
def _load_parser(language: str) -> Any:
    import tree_sitter

    grammar: Any = import_module(f"tree_sitter_{language}")
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def _holds_syntax_error(root: Any) -> bool:
    """Walked by a cursor: hostile nesting would exhaust the stack of a recursion."""
    cursor = root.walk()
    while True:
        if cursor.node.is_error:
            return True
        if cursor.node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
