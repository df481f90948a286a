"""Upstream's formats of calls: native tool calls, Python, JSON, XML, Java and JavaScript.

Each is decoded as upstream decodes it, surprises included. Constants are folded; nothing is
evaluated. tree-sitter parses Java and JavaScript; it is loaded when the first text is parsed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Literal
from xml.etree import ElementTree

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.call_decoding.call import (
    POSITIONAL,
    Call,
    find_properties,
    parse_literal,
    require_answer_text,
    strip_quotes,
    to_decode_error,
    to_plain_value,
)
from evalcore.call_formats.python_source import UNPACKED, dotted_name, fold_constants
from evalcore.call_formats.values import PARSING_ERRORS, SOURCE
from evalcore.i18n import Note
from evalcore.records import ToolCall

# Upstream evaluates an expression inside an argument (`60*5`) as Python, names and calls included.
# Here only literals and operators are folded, and what could cost much memory or time is refused.
#
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


# Native tool calls, JSON and XML.


def name_and_arguments(item: Any) -> tuple[str, Any]:
    """The two parts of a ToolCall, `{"name", "arguments"}`, or official files' `{name: arguments}`.
    Raises DecodeError for anything else."""
    if isinstance(item, ToolCall):
        return item.name, item.arguments
    if isinstance(item, dict) and item:
        if item.keys() >= {"name", "arguments"}:
            name, arguments = item["name"], item["arguments"]
        else:
            name, arguments = next(iter(item.items()))
        if isinstance(name, str):
            return name, arguments
    raise to_decode_error(Note("decode_no_call_item"))


def native_calls(answer: Any) -> Any:
    """The tool calls of an answer. No calls and no text is an empty list; text is no call. Raises
    DecodeError for text, for None and for arguments that are no JSON text."""
    if answer == "":
        return []
    if not isinstance(answer, list | tuple):
        raise to_decode_error(Note("call_no_tools"))
    calls = []
    for item in answer:
        name, arguments = name_and_arguments(item)
        if not isinstance(arguments, str):
            raise to_decode_error(Note("decode_no_json"))
        try:
            calls.append({name: json.loads(arguments)})
        except PARSING_ERRORS as error:
            raise to_decode_error(error) from None
    return calls


def name_arguments_calls(answer: Any) -> Any:
    """The calls of the reply that slm-evals asks for: `{"name", "arguments"}`, or a list of them.
    Raises DecodeError for other text and for objects without the two keys."""
    try:
        decoded = json.loads(require_answer_text(answer))
        items = decoded if isinstance(decoded, list) else [decoded]
        return [{item["name"]: item["arguments"]} for item in items]
    except PARSING_ERRORS as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


# Upstream's regular expressions can take exponential time on a cut-off answer; the searches here
# find the same stretch of text in linear time.

_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def json_calls(text: str) -> Any:
    """The calls of `[{"function": name, "parameters": {...}}]`, wherever in the text it stands.
    Text that is no JSON gives no calls. Raises DecodeError for JSON that is no list, and for an
    object without the two keys."""
    try:
        items = json.loads(_extract_list_text(text))
        return [{item["function"]: item["parameters"]} for item in items if isinstance(item, dict)]
    except json.JSONDecodeError:
        return []
    except PARSING_ERRORS as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _extract_list_text(text: str) -> str:
    """From the first bracket to the last, then from the first `[{` to the first `}]` after it."""
    first, last = text.find("["), text.rfind("]")
    if 0 <= first < last:
        text = text[first : last + 1]
    start = _LIST_START.search(text)
    end = _LIST_END.search(text, start.end()) if start else None
    return text[start.start() : end.end()] if start and end else text


def verbose_xml_calls(text: str) -> Any:
    """The calls of `<param name= value= type=/>` elements within <functions>. Raises DecodeError
    where there is no such element or a value does not fit its type."""
    return _xml_calls(text, _verbose_arguments)


def concise_xml_calls(text: str) -> Any:
    """As `verbose_xml_calls`, of `<param name= type=>value</param>`."""
    return _xml_calls(text, _concise_arguments)


def _xml_calls(text: str, arguments: Callable[[Any], dict[str, Any]]) -> Any:
    start = text.find("<functions>")
    end = text.find("</functions>", start)
    if start == -1 or end == -1:
        raise to_decode_error(Note("decode_no_functions"))
    try:
        # The text begins with an element: no document type, hence no entities of its own.
        root = ElementTree.fromstring(text[start : end + len("</functions>")])  # noqa: S314
        return [{item.attrib["name"]: arguments(item)} for item in root.findall("function")]
    except (*PARSING_ERRORS, ElementTree.ParseError) as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None


def _verbose_arguments(function: Any) -> dict[str, Any]:
    holder = function.find("params")
    items = (function if holder is None else holder).findall("param")
    return {
        item.attrib.get("name", POSITIONAL): _convert_typed_value(
            item.attrib.get("value", ""), item
        )
        for item in items
    }


def _concise_arguments(function: Any) -> dict[str, Any]:
    items = function.findall("param")
    return {
        item.attrib["name"]: _convert_typed_value((item.text or "").strip(), item) for item in items
    }


_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "float": float,
    "boolean": lambda raw: raw.lower() == "true",
    "null": lambda raw: None,
    **dict.fromkeys(("array", "tuple", "object", "dict"), parse_literal),
}


def _convert_typed_value(raw: str, item: Any) -> Any:
    return _CONVERSIONS.get(item.attrib.get("type", "string"), str)(raw)


# Java and JavaScript.


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
