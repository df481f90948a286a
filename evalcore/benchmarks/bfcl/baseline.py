"""What `baseline:keywords` calls: the function that shares most words with the question.

No model: values are copied from the question by their kind, in the order in which they stand
there. It shows what function calling is worth without understanding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from evalcore.records import GenerationRequest, Message
from evalcore.targets.baseline import Baseline

_WORD = re.compile(r"[a-z]{3,}")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_QUOTED = re.compile(r"[\"'`“‘]([^\"'`”’]{1,80})[\"'`”’]")
_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_STOP_WORDS = frozenset(
    """the and for are was with from that this what which who how many much can could would please
    you your have has its into about any all get find give tell need want will should""".split()  # noqa: SIM905
)
#: Fewer common words than this, and no function is called.
_MIN_SHARED_WORDS = 1


def answer_by_keywords(request: GenerationRequest, baseline: Baseline) -> str:
    """The answer of `baseline:keywords`; see `BenchmarkCard.baselines`."""
    return build_keyword_call(request.input, request.messages)


def build_keyword_call(sample_input: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """The call in upstream's notation, `[name(argument=value)]`; empty where no function fits.
    `sample_input` is the input of a BFCL sample; the question is the last message, and a message of
    tool results is answered by nothing."""
    question = messages[-1].content if messages else ""
    if question.startswith("[{'role': 'tool'"):
        return ""
    functions = msgspec.json.decode(sample_input["functions"], type=list[dict[str, Any]])
    function = max(
        functions, key=lambda candidate: _count_shared_words(candidate, question), default=None
    )
    if function is None or _count_shared_words(function, question) < _MIN_SHARED_WORDS:
        return ""
    arguments = _match_arguments(function, question, sample_input["metric"])
    pairs = ", ".join(f"{name}={value}" for name, value in arguments)
    return f"[{function['name']}({pairs})]"


def _count_shared_words(function: Mapping[str, Any], question: str) -> int:
    description = f"{function.get('name', '')} {function.get('description', '')}".replace("_", " ")
    return len(_extract_words(description) & _extract_words(question))


def _extract_words(text: str) -> set[str]:
    return {word.rstrip("s") for word in _WORD.findall(text.lower())} - _STOP_WORDS


def _match_arguments(
    function: Mapping[str, Any], question: str, category: str
) -> Iterator[tuple[str, str]]:
    """Every required argument with a value that stands in the question, as source text."""
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    numbers, texts = iter(_NUMBER.findall(question)), iter(_extract_texts(question))
    for name, schema in (parameters.get("properties") or {}).items():
        choice = next((c for c in schema.get("enum") or () if _is_mentioned_in(c, question)), None)
        if choice is not None:
            yield name, _quote_argument(str(choice))
        elif name in required:
            kind = str(schema.get("type")).lower()
            value = _VALUES.get(kind, _take_text)(numbers, texts)
            is_python = kind == "boolean" and "java" not in category
            yield name, value.capitalize() if is_python else value


def _is_mentioned_in(choice: Any, question: str) -> bool:
    return isinstance(choice, str) and choice.lower() in question.lower()


def _extract_texts(question: str) -> list[str]:
    """What is in quotes, then names: words that begin with a capital within a sentence."""
    return [*_QUOTED.findall(question), *_NAME.findall(question)]


def _quote_argument(text: str) -> str:
    return '"' + text.replace("\\", " ").replace('"', " ") + '"'


def _take_text(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return _quote_argument(next(texts, ""))


def _take_number(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return next(numbers, "0")


def _take_list(numbers: Iterator[str], texts: Iterator[str]) -> str:
    items = list(islice(numbers, 20)) or [_quote_argument(text) for text in islice(texts, 20)]
    return f"[{', '.join(items)}]"


_VALUES: dict[str, Callable[[Iterator[str], Iterator[str]], str]] = {
    "integer": _take_number,
    "float": _take_number,
    "number": _take_number,
    "long": lambda numbers, texts: f"{_take_number(numbers, texts)}L",
    "bigint": lambda numbers, texts: f"{_take_number(numbers, texts)}n",
    "boolean": lambda numbers, texts: "true",
    "array": _take_list,
    "tuple": _take_list,
    "dict": lambda numbers, texts: "{}",
}
