"""Calls in Java and JavaScript syntax, and native values as source of these languages.

tree-sitter parses; it is loaded when the first text is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Literal

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.call_decoding.call import (
    POSITIONAL,
    Call,
    find_properties,
    strip_quotes,
    to_decode_error,
    to_plain_value,
)
from evalcore.call_formats.values import PARSING_ERRORS
from evalcore.i18n import Note


def parse_syntax_tree(source: str, language: Literal["java", "javascript"]) -> Any:
    """The root node of the source. Raises DecodeError where the source has a syntax error. A token
    that the grammar could supply itself (a missing semicolon) is no error."""
    try:
        encoded = source.encode()
    except UnicodeEncodeError as error:
        raise to_decode_error(error) from None
    root = _load_parser(language).parse(encoded).root_node
    if root.has_error and _holds_syntax_error(root):
        raise to_decode_error(Note("call_no_syntax", tongue=language))
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


# Prompt-mode answers: the first call, its arguments as assignments (`name=value`). Values keep
# their spelling, for the checker to convert; the body of an anonymous Java class, as in the
# double-brace idiom, is dropped, as upstream does.

_VERBATIM_NODES = ("identifier", "class_literal", "type_identifier", "method_invocation")
_QUOTED = ("string_literal", "character_literal")
_JAVA_POSITIONAL = ("identifier", "class_literal")


def java_calls(text: str, *, whole: bool = False) -> Any:
    """The first call of bracketed Java text, or what upstream returns where there is none. `whole`
    keeps every value's source as it stands, anonymous classes included. Raises DecodeError for a
    syntax error and for an argument given twice."""
    source = text[1:-1]
    try:
        root = parse_syntax_tree(source, "java")
        return _find_first_java_call(root, None if whole else source) or {}
    except (*PARSING_ERRORS, AttributeError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _find_first_java_call(node: Any, source: str | None) -> Any:
    if node.type != "method_invocation":
        calls = (_find_first_java_call(part, source) for part in node.children)
        return next(filter(None, calls), None)
    name = _get_text(node.child_by_field_name("name"), source)
    owner = node.child_by_field_name("object")
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return None
    name = f"{_get_text(owner, source)}.{name}" if owner else name
    read_value, positional = partial(_extract_java_value, source=source), _JAVA_POSITIONAL
    return [{name: _parse_arguments(arguments, positional, read_value, source)}]


def javascript_calls(text: str) -> Any:
    """As `java_calls`, of JavaScript text; None where no statement is a call."""
    try:
        root = parse_syntax_tree(text[1:-1], "javascript")
        statements = [node for node in root.children if node.type == "expression_statement"]
        for node in (part for statement in statements for part in statement.children):
            if node.type == "call_expression":
                name, arguments = node.children[:2]
                read_value = _extract_javascript_value
                positional = ("identifier", "true")
                return [{_get_text(name): _parse_arguments(arguments, positional, read_value)}]
    except (*PARSING_ERRORS, AttributeError, IndexError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None
    return None


def _parse_arguments(
    node: Any,
    positional: Sequence[str],
    read_value: Callable[[Any], str],
    source: str | None = None,
) -> dict[str, str]:
    """`positional` are the types of nodes that upstream takes for arguments without a name."""
    arguments: dict[str, str] = {}
    for child in node.children:
        if child.type == "assignment_expression":
            name, value = _get_text(child.children[0], source), read_value(child.children[2])
        elif child.type in positional:
            name, value = POSITIONAL, _get_text(child, source)
        else:
            continue
        if name in arguments:
            raise to_decode_error(Note("decode_twice", name=name))
        arguments[name] = value
    return arguments


def _extract_javascript_value(node: Any) -> str:
    return strip_quotes(_get_text(node))


def _extract_java_value(node: Any, source: str | None) -> str:
    if source is not None:
        return _rebuild_source(node, source)
    text = _get_text(node)
    return text[1:-1] if node.type in _QUOTED else text


def _get_text(node: Any, source: str | None = None) -> str:
    """A node's text. Upstream cuts the characters of the source at offsets that count bytes; only
    text beyond ASCII shows the difference. Without a source, the text is cut rightly."""
    if source is not None:
        return source[node.start_byte : node.end_byte]
    text: bytes = node.text
    return text.decode()


def _rebuild_source(node: Any, source: str, nested: bool = False) -> str:
    """The source of a value, put together again from its parts, without blanks between them."""
    rebuild = partial(_rebuild_source, source=source, nested=True)
    text = _get_text(node, source)
    if node.type in _QUOTED:
        return text if nested else text[1:-1]
    if node.type in _VERBATIM_NODES or not node.child_count:
        return text
    if node.type == "array_creation_expression":
        kind = rebuild(node.child_by_field_name("type"))
        return f"new {kind}[]{rebuild(node.child_by_field_name('value'))}"
    if node.type == "object_creation_expression":
        kind = rebuild(node.child_by_field_name("type"))
        arguments = node.child_by_field_name("arguments")
        children = arguments.children if arguments else ()
        texts = [rebuild(item) for item in children if item.type not in (",", "(", ")")]
        return f"new {kind}({', '.join(texts)})"
    return "".join(map(rebuild, node.children))


# Native values as Java or JavaScript source, for answers that gave values where source is due.

_BITS = 256
_JAVA_SUFFIX = {"long": "L", "float": "f"}


def calls_to_source(
    calls: list[Call], functions: Sequence[dict[str, Any]], language: Language
) -> list[Call]:
    """The calls with every value that is no text written as a literal of the language."""
    schemas = {
        (str(function.get("name")), parameter): schema
        for function in functions
        for parameter, schema in find_properties(function).items()
    }

    def format_argument(name: str, key: str, value: Any) -> Any:
        if isinstance(value, str):
            return value
        return source_text(value, schemas.get((name, key), {}), language)

    return [
        {name: {key: format_argument(name, key, value) for key, value in arguments.items()}}
        for call in calls
        for name, arguments in call.items()
    ]


def source_text(value: Any, schema: dict[str, Any], language: Language) -> str:
    """A value as a literal of Java or JavaScript, for a parameter of that schema."""
    kind, element = str(schema.get("type")), str((schema.get("items") or {}).get("type"))
    # More than `_BITS` is beyond what readers of JSON hold.
    if not isinstance(value, int) or value.bit_length() > _BITS:
        value = to_plain_value(value)
    if language == "java":
        return _write_java(value, kind, element)
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
