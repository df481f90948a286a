"""What `baseline:keywords` calls: the function that shares most words with the question.

No model: values are copied from the question by their kind, in the order in which they stand there.
It shows what function calling is worth without understanding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from evalcore.records import Message

_WORD = re.compile(r"[a-z]{3,}")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_QUOTED = re.compile(r"[\"'`“‘]([^\"'`”’]{1,80})[\"'`”’]")
_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_COMMON = frozenset(
    re.split(
        r"\s+",
        "the and for are was with from that this what which who how many much can could would "
        "please you your have has its into about any all get find give tell need want will should",
    )
)
#: Fewer common words than this, and no function is called.
_LEAST_SHARED = 1


def called(given: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """The call in upstream's notation, `[name(argument=value)]`; empty where no function fits.

    `given` is the input of a BFCL sample; the question is the last message, and a message of tool
    results is answered by nothing.
    """
    question = messages[-1].content if messages else ""
    if question.startswith("[{'role': 'tool'"):
        return ""
    functions = msgspec.json.decode(given["functions"], type=list[dict[str, Any]])
    function = max(functions, key=lambda one: _shared(one, question), default=None)
    if function is None or _shared(function, question) < _LEAST_SHARED:
        return ""
    pairs = (f"{name}={value}" for name, value in _arguments(function, question, given["metric"]))
    return f"[{function['name']}({', '.join(pairs)})]"


def _shared(function: Mapping[str, Any], question: str) -> int:
    told = f"{function.get('name', '')} {function.get('description', '')}".replace("_", " ")
    return len(_words(told) & _words(question))


def _words(text: str) -> set[str]:
    """The words of a text, without common ones and without the s of the plural."""
    return {word.rstrip("s") for word in _WORD.findall(text.lower())} - _COMMON


def _arguments(
    function: Mapping[str, Any], question: str, category: str
) -> Iterator[tuple[str, str]]:
    """Every required argument with a value that stands in the question, as source text."""
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    numbers, texts = iter(_NUMBER.findall(question)), iter(_texts(question))
    for name, schema in (parameters.get("properties") or {}).items():
        choice = next((c for c in schema.get("enum") or () if _stands_in(c, question)), None)
        if choice is not None:
            yield name, _quoted(str(choice))
        elif name in required:
            kind = str(schema.get("type")).lower()
            value = _VALUES.get(kind, _text)(numbers, texts)
            yield (
                name,
                value.capitalize() if kind == "boolean" and "java" not in category else value,
            )


def _stands_in(choice: Any, question: str) -> bool:
    return isinstance(choice, str) and choice.lower() in question.lower()


def _texts(question: str) -> list[str]:
    """What is in quotes, then names: words that begin with a capital within a sentence."""
    return [*_QUOTED.findall(question), *_NAME.findall(question)]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", " ").replace('"', " ") + '"'


def _text(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return _quoted(next(texts, ""))


def _number(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return next(numbers, "0")


def _list(numbers: Iterator[str], texts: Iterator[str]) -> str:
    found = list(islice(numbers, 20)) or [_quoted(text) for text in islice(texts, 20)]
    return f"[{', '.join(found)}]"


_VALUES: dict[str, Callable[[Iterator[str], Iterator[str]], str]] = {
    "integer": _number,
    "float": _number,
    "number": _number,
    "long": lambda numbers, texts: f"{_number(numbers, texts)}L",
    "bigint": lambda numbers, texts: f"{_number(numbers, texts)}n",
    "boolean": lambda numbers, texts: "true",
    "array": _list,
    "tuple": _list,
    "dict": lambda numbers, texts: "{}",
}
