"""What an answer meant, whatever it is wrapped in: the decoding of the tolerant view.

Cut away are reasoning and special tokens. Then the first of these that holds calls is taken: tagged
blocks (Hermes, Llama, Mistral, upstream's tags), code fences, the whole text, and last JSON, lists
of calls and lines of calls within prose. A bare mention of a function in a sentence is no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evalcore.benchmarks.answer_text import LIMIT, fenced, without_reasoning
from evalcore.benchmarks.bfcl.categories import Language
from evalcore.benchmarks.bfcl.decode.call import Call, DecodeError, calls_of, failed
from evalcore.benchmarks.bfcl.decode.java import java_calls
from evalcore.benchmarks.bfcl.decode.javascript import javascript_calls
from evalcore.benchmarks.bfcl.decode.json_styles import (
    calls_among_prose,
    calls_in_json,
    named_objects,
    read_arguments,
)
from evalcore.benchmarks.bfcl.decode.loose_python import (
    Known,
    calls_in_python,
    python_calls_among_prose,
)
from evalcore.benchmarks.bfcl.decode.markup import concise_xml_calls, verbose_xml_calls
from evalcore.benchmarks.bfcl.decode.native import name_and_arguments
from evalcore.benchmarks.bfcl.decode.official import bracketed
from evalcore.benchmarks.bfcl.decode.source_text import in_source

_SPECIAL = re.compile(r"<\|(?!python_tag)\w{1,40}\|>|</?s>")
_TAG = re.compile(r"<(/?)(tool_calls?|toolcall|function_calls?|tools?)>|<\|python_tag\|>", re.I)
_NAMED = re.compile(r"<function=(?=[\w.-]+>)")
_MISTRAL = "[TOOL_CALLS]"


def tolerant_calls(
    answer: Any, functions: Sequence[dict[str, Any]], language: Language = "python"
) -> list[Call]:
    """The calls of an answer: text, or native tool calls in any shape.

    `functions` are the offered ones: their names and the order of their parameters help reading.
    Raises DecodeError where no call can be read. An explicit empty list is no error.
    """
    known = known_functions(functions)
    if isinstance(answer, list | tuple):
        found = [_native(item, known) for item in answer]
    elif isinstance(answer, str):
        found = _found(visible(answer), known, language)
    else:
        raise failed("no answer")
    return found if language == "python" else in_source(found, functions, language)


def _found(text: str, known: Known, language: Language) -> list[Call]:
    for stretch in _stretches(text):
        found = _read(stretch, known, language)
        if found is not None:
            return found
    found = calls_among_prose(text, known) or python_calls_among_prose(text, known)
    if not found:
        raise failed("no call is readable")
    return found


def known_functions(functions: Sequence[dict[str, Any]]) -> Known:
    """The names of functions and of their parameters, in the schema's order."""
    return {
        str(function.get("name")): tuple((function.get("parameters") or {}).get("properties") or ())
        for function in functions
    }


def visible(answer: str) -> str:
    """The answer without reasoning, closed or cut off, and without special tokens."""
    text = without_reasoning(answer[-LIMIT:])
    opened = text.find("<think>")
    text = text[:opened] if opened != -1 else text
    return _SPECIAL.sub("\n", text).strip()


def _native(item: Any, known: Known) -> Call:
    name, written = name_and_arguments(item)
    if name not in known:  # servers that allow no dots were offered the name with underscores
        dotted = [one for one in known if one.replace(".", "_") == name]
        name = dotted[0] if len(dotted) == 1 else name
    arguments = {} if written in ("", None) else read_arguments(written)
    if not isinstance(arguments, dict):
        raise failed("arguments that cannot be read")
    return {name: arguments}


def _stretches(text: str) -> Iterator[str]:
    """The parts of an answer that may consist of calls alone, the likeliest first."""
    if tagged := _tagged(text):
        yield "\n".join(tagged)
    if _MISTRAL in text:
        rest = text.split(_MISTRAL, 1)[1].replace(_MISTRAL, "\n")
        yield from (rest, named_objects(rest))
    yield from blocks if len(blocks := fenced(text)) < 2 else ["\n".join(blocks), *blocks]
    yield text


def _tagged(text: str) -> list[str]:
    """What stands within each pair of tags; a tag that is never closed reaches to the end."""
    found: list[str] = []
    start = -1
    for tag in _TAG.finditer(text):
        if start >= 0:
            found.append(text[start : tag.start()])
        start = -1 if tag.group(1) else tag.end()
    if start >= 0:
        found.append(text[start:])
    for part in _NAMED.split(text)[1:]:
        name, _, body = part.partition(">")
        body = body.split("</function>")[0].strip()
        found.append(f'{{"name": {json.dumps(name)}, "arguments": {body or "{}"}}}')
    return [stretch for stretch in found if stretch.strip()]


def _read(stretch: str, known: Known, language: Language) -> list[Call] | None:
    """The calls that a stretch consists of; None if it is something else."""
    found = calls_in_json(stretch, known)
    if found is not None:
        return found
    if "<functions>" in stretch:
        found = _first(stretch, verbose_xml_calls if " value=" in stretch else concise_xml_calls)
    if not found and language == "python":
        found = calls_in_python(stretch, known)
    if not found and language != "python":
        rule = _whole_java if language == "java" else javascript_calls
        found = _first(bracketed(stretch.strip(" \n`;[]")), rule)
    return found or None


def _whole_java(text: str) -> Any:
    """As a statement: without its semicolon the grammar takes some calls for declarations."""
    return java_calls(f"{text[:-1]};]", whole=True)


def _first(text: str, rule: Callable[[str], Any]) -> list[Call] | None:
    try:
        return calls_of(rule(text))
    except DecodeError:
        return None
