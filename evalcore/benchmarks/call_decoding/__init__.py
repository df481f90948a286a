"""From an answer to calls: `decode_calls` as upstream does it, `tolerant_calls` as it was meant.

Modes: `fc` (native tool calls), `prompt_FORMAT` and `prompt_FORMAT_tag` (the calls stand within
<TOOLCALL>), with the formats of FORMATS, and `prompt_name_arguments` (the whole reply is one JSON
object `{"name", "arguments"}` or a list of them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from evalcore.benchmarks.answer_scoring import LIMIT, Language, extract_code_blocks, strip_reasoning
from evalcore.benchmarks.call_decoding.call import (
    Call,
    DecodeError,
    find_properties,
    require_calls,
    to_decode_error,
)
from evalcore.benchmarks.call_decoding.java_javascript import (
    calls_to_source,
    java_calls,
    javascript_calls,
)
from evalcore.benchmarks.call_decoding.json_and_xml import (
    calls_among_prose,
    calls_in_json,
    concise_xml_calls,
    json_calls,
    name_and_arguments,
    name_arguments_calls,
    named_objects,
    native_calls,
    parse_arguments,
    verbose_xml_calls,
)
from evalcore.benchmarks.call_decoding.python_syntax import (
    FunctionSignatures,
    add_brackets,
    calls_in_python,
    extract_tagged_text,
    python_calls,
    python_calls_among_prose,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note

FORMATS: dict[str, Callable[[str], Any]] = {
    "python": python_calls,
    "java": java_calls,
    "javascript": javascript_calls,
    "json": json_calls,
    "verbose_xml": verbose_xml_calls,
    "concise_xml": concise_xml_calls,
}


def _decode_prompted(parse: Callable[[str], Any], answer: Any, tagged: bool = False) -> Any:
    text = add_brackets(answer)
    return parse(extract_tagged_text(text) if tagged else text)


MODES: dict[str, Callable[[Any], Any]] = {
    "fc": native_calls,
    "prompt_name_arguments": name_arguments_calls,
    **{f"prompt_{name}": partial(_decode_prompted, parse) for name, parse in FORMATS.items()},
    **{
        f"prompt_{name}_tag": partial(_decode_prompted, parse, tagged=True)
        for name, parse in FORMATS.items()
    },
}


def prompt_mode(language: str) -> str:
    """The mode in which upstream asks for and reads text of a language."""
    return f"prompt_{language}"


def decode_calls(answer: Any, mode: str) -> list[Call]:
    """Decode the calls of an answer exactly as upstream does. Raises DecodeError where upstream
    reads no calls, UsageError for an unknown mode."""
    reader = MODES.get(mode)
    if reader is None:
        raise UsageError(f"unknown mode {mode!r}; one of {', '.join(sorted(MODES))}")
    return require_calls(reader(answer))


# The tolerant view: reasoning and special tokens are cut away, then the first of these that holds
# calls is taken: tagged blocks (Hermes, Llama, Mistral, upstream's tags), code fences, the whole
# text, and last JSON, lists of calls and lines of calls within prose. A bare mention of a function
# in a sentence is no call.

_SPECIAL = re.compile(r"<\|(?!python_tag)\w{1,40}\|>|</?s>")
_TAG = re.compile(r"<(/?)(tool_calls?|toolcall|function_calls?|tools?)>|<\|python_tag\|>", re.I)
_NAMED = re.compile(r"<function=(?=[\w.-]+>)")
_MISTRAL = "[TOOL_CALLS]"


def tolerant_calls(
    answer: Any, functions: Sequence[dict[str, Any]], language: Language = "python"
) -> list[Call]:
    """The calls of an answer: text, or native tool calls in any shape. `functions` are the offered
    ones: their names and the order of their parameters help reading. Raises DecodeError where no
    call can be read. An explicit empty list is no error."""
    signatures = build_signatures(functions)
    if isinstance(answer, list | tuple):
        calls = [_decode_native_call(item, signatures) for item in answer]
    elif isinstance(answer, str):
        calls = _decode_text_calls(strip_hidden_text(answer), signatures, language)
    else:
        raise to_decode_error(Note("decode_no_answer"))
    return calls if language == "python" else calls_to_source(calls, functions, language)


def _decode_text_calls(text: str, signatures: FunctionSignatures, language: Language) -> list[Call]:
    for stretch in _list_call_texts(text):
        calls = _decode_call_text(stretch, signatures, language)
        if calls is not None:
            return calls
    calls = calls_among_prose(text, signatures) or python_calls_among_prose(text, signatures)
    if not calls:
        raise to_decode_error(Note("decode_no_call"))
    return calls


def build_signatures(functions: Sequence[dict[str, Any]]) -> FunctionSignatures:
    """The names of functions and of their parameters, in the schema's order."""
    return {str(function.get("name")): tuple(find_properties(function)) for function in functions}


def strip_hidden_text(answer: str) -> str:
    """The answer without reasoning, closed or cut off, and without special tokens."""
    text = strip_reasoning(answer[-LIMIT:]).partition("<think>")[0]
    return _SPECIAL.sub("\n", text).strip()


def _decode_native_call(item: Any, signatures: FunctionSignatures) -> Call:
    name, written = name_and_arguments(item)
    if name not in signatures:  # servers that allow no dots were offered the name with underscores
        dotted = [full_name for full_name in signatures if full_name.replace(".", "_") == name]
        name = dotted[0] if len(dotted) == 1 else name
    arguments = {} if written in ("", None) else parse_arguments(written)
    if not isinstance(arguments, dict):
        raise to_decode_error(Note("decode_arguments"))
    return {name: arguments}


def _list_call_texts(text: str) -> Iterator[str]:
    """The parts of an answer that may consist of calls alone, the likeliest first."""
    if tagged := _find_tagged_texts(text):
        yield "\n".join(tagged)
    if _MISTRAL in text:
        rest = text.split(_MISTRAL, 1)[1].replace(_MISTRAL, "\n")
        yield from (rest, named_objects(rest))
    blocks = extract_code_blocks(text)
    if len(blocks) > 1:
        yield "\n".join(blocks)
    yield from (*blocks, text)


def _find_tagged_texts(text: str) -> list[str]:
    """What stands within each pair of tags; a tag that is never closed reaches to the end."""
    texts: list[str] = []
    start = -1
    for tag in _TAG.finditer(text):
        if start >= 0:
            texts.append(text[start : tag.start()])
        start = -1 if tag.group(1) else tag.end()
    if start >= 0:
        texts.append(text[start:])
    for part in _NAMED.split(text)[1:]:
        name, _, body = part.partition(">")
        body = body.split("</function>")[0].strip()
        texts.append(f'{{"name": {json.dumps(name)}, "arguments": {body or "{}"}}}')
    return [stretch for stretch in texts if stretch.strip()]


def _decode_call_text(
    stretch: str, signatures: FunctionSignatures, language: Language
) -> list[Call] | None:
    """The calls that a stretch consists of; None if it is something else."""
    calls = calls_in_json(stretch, signatures)
    if calls is not None:
        return calls
    if "<functions>" in stretch:
        verbose = " value=" in stretch
        calls = _try_decoder(verbose_xml_calls if verbose else concise_xml_calls, stretch)
    if not calls and language == "python":
        calls = calls_in_python(stretch, signatures)
    if not calls and language != "python":
        text = add_brackets(stretch.strip(" \n`;[]"))
        if language == "javascript":
            calls = _try_decoder(javascript_calls, text)
        else:  # without its semicolon the grammar takes some calls for declarations
            calls = _try_decoder(partial(java_calls, whole=True), f"{text[:-1]};]")
    return calls or None


def _try_decoder(rule: Callable[[str], Any], text: str) -> list[Call] | None:
    try:
        return require_calls(rule(text))
    except DecodeError:
        return None


__all__ = ["Call", "DecodeError"]
