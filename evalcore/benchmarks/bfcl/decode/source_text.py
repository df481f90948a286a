"""Native values as Java or JavaScript source, for answers that gave values where source is due."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.decode.call import Call, to_plain_value

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
