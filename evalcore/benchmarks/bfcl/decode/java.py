"""Prompt-mode answers in Java syntax: the first method call, every value as source text.

Arguments are assignments (`name=value`). Values keep Java's spelling, for the checker to convert;
the body of an anonymous class, as in the double-brace idiom, is dropped, as upstream does.
"""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, POSITIONAL, to_decode_error
from evalcore.benchmarks.bfcl.decode.syntax_tree import parse_syntax_tree

_VERBATIM_NODES = ("identifier", "class_literal", "type_identifier", "method_invocation")
_QUOTED = ("string_literal", "character_literal")


def java_calls(text: str, *, whole: bool = False) -> Any:
    """The first call of bracketed Java text, or what upstream returns where there is none.

    `whole` keeps every value's source as it stands, anonymous classes included.
    Raises DecodeError for a syntax error and for an argument given twice.
    """
    source = text[1:-1]
    try:
        return (
            _find_first_java_call(parse_syntax_tree(source, "java"), None if whole else source)
            or {}
        )
    except (*PARSING_ERRORS, AttributeError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _find_first_java_call(node: Any, source: str | None) -> Any:
    if node.type != "method_invocation":
        for child in node.children:
            if call := _find_first_java_call(child, source):
                return call
        return None
    name = _get_java_text(node.child_by_field_name("name"), source)
    owner = node.child_by_field_name("object")
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return None
    full = f"{_get_java_text(owner, source)}.{name}" if owner else name
    return [{full: _parse_java_arguments(arguments, source)}]


def _parse_java_arguments(node: Any, source: str | None) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            name = _get_java_text(child.children[0], source)
            value = _extract_java_value(child.children[2], source)
        elif child.type in ("identifier", "class_literal"):
            name, value = POSITIONAL, _get_java_text(child, source)
        else:
            continue
        if name in arguments:
            raise to_decode_error(f"argument {name} is given twice")
        arguments[name] = value
    return arguments


def _extract_java_value(node: Any, source: str | None) -> str:
    if source is not None:
        return _rebuild_source(node, source)
    text = _get_java_text(node, None)
    return text[1:-1] if node.type in _QUOTED else text


def _get_java_text(node: Any, source: str | None) -> str:
    """A node's text. Upstream cuts the characters of the source at offsets that count bytes; only
    text beyond ASCII shows the difference. Without a source, the text is cut rightly."""
    if source is not None:
        return source[node.start_byte : node.end_byte]
    text: bytes = node.text
    return text.decode()


def _rebuild_source(node: Any, source: str, nested: bool = False) -> str:
    """The source of a value, put together again from its parts, without blanks between them."""
    if node.type in _QUOTED:
        return _get_java_text(node, source) if nested else _get_java_text(node, source)[1:-1]
    if node.type in _VERBATIM_NODES or not node.child_count:
        return _get_java_text(node, source)
    if node.type == "array_creation_expression":
        kind = _rebuild_source(node.child_by_field_name("type"), source, nested=True)
        return (
            f"new {kind}[]{_rebuild_source(node.child_by_field_name('value'), source, nested=True)}"
        )
    if node.type == "object_creation_expression":
        return _rebuild_creation(node, source)
    return "".join(_rebuild_source(child, source, nested=True) for child in node.children)


def _rebuild_creation(node: Any, source: str) -> str:
    kind = _rebuild_source(node.child_by_field_name("type"), source, nested=True)
    arguments = node.child_by_field_name("arguments")
    children = arguments.children if arguments else ()
    texts = [
        _rebuild_source(item, source, nested=True)
        for item in children
        if item.type not in (",", "(", ")")
    ]
    return f"new {kind}({', '.join(texts)})"
