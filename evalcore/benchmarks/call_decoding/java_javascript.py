"""Calls in Java and JavaScript syntax, and native values as source of these languages.

tree-sitter parses; it is loaded when the first text is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.call_decoding.call import (
    PARSING_ERRORS,
    POSITIONAL,
    Call,
    to_decode_error,
    to_plain_value,
)

# Syntax trees of Java and JavaScript by tree-sitter, loaded when the first one is asked for.


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


# Prompt-mode answers in Java syntax: the first method call, every value as source text.
# Arguments are assignments (`name=value`). Values keep Java's spelling, for the checker to
# convert; the body of an anonymous class, as in the double-brace idiom, is dropped, as upstream
# does.

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


# Prompt-mode answers in JavaScript: the first call statement, every value as source text.


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


# Native values as Java or JavaScript source, for answers that gave values where source is due.

_BITS = 256
_JAVA_SUFFIX = {"long": "L", "float": "f"}


def calls_to_source(
    calls: list[Call], functions: Sequence[dict[str, Any]], language: Language
) -> list[Call]:
    """The calls with every value that is no text written as a literal of the language."""
    types: dict[tuple[str, str], tuple[str, str]] = {}
    for function in functions:
        schemas = (function.get("parameters") or {}).get("properties") or {}
        for parameter, schema in schemas.items():
            element = (schema.get("items") or {}).get("type")
            types[str(function.get("name")), parameter] = str(schema.get("type")), str(element)

    def format_argument(name: str, key: str, value: Any) -> Any:
        kind, element = types.get((name, key), ("", ""))
        return value if isinstance(value, str) else source_text(value, kind, language, element)

    return [
        {name: {key: format_argument(name, key, value) for key, value in arguments.items()}}
        for call in calls
        for name, arguments in call.items()
    ]


def source_text(value: Any, kind: str, language: Language, element: str = "") -> str:
    """A value as a literal of Java or JavaScript.

    `kind` is the dialect's type of the parameter, `element` that of its elements.
    """
    write = _write_java if language == "java" else _write_javascript
    whole = isinstance(value, int) and value.bit_length() <= _BITS  # more than JSON's readers hold
    return write(value if whole else to_plain_value(value), kind, element)


def _write_javascript(value: Any, kind: str, element: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text + "n" if kind == "Bigint" and isinstance(value, int) else text


def _write_java(value: Any, kind: str, element: str) -> str:
    if isinstance(value, list):
        items = ", ".join(_write_java(item, element, "") for item in value)
        if kind == "Array":
            return f"new Object[]{{{items}}}"
        return f"new ArrayList<>(Arrays.asList({items}))" if items else "new ArrayList<>()"
    if isinstance(value, dict):
        puts = " ".join(
            f"put({json.dumps(key, ensure_ascii=False)}, {_write_java(item, '', '')});"
            for key, item in value.items()
        )
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value, ensure_ascii=False) + (_JAVA_SUFFIX.get(kind, "") if number else "")
