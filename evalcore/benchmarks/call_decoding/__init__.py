"""From an answer to calls: `decode_calls` as upstream does it, `tolerant_calls` as it was meant.

Modes: `fc` (native tool calls), `prompt_FORMAT` and `prompt_FORMAT_tag` (the calls stand within
<TOOLCALL>), with the formats of FORMATS, and `prompt_name_arguments` (the whole reply is one JSON
object `{"name", "arguments"}` or a list of them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from evalcore.benchmarks.answer_scoring import LIMIT, Language, extract_code_blocks, strip_reasoning
from evalcore.benchmarks.call_decoding import upstream_formats
from evalcore.benchmarks.call_decoding.call import Call, DecodeError, require_calls, to_decode_error
from evalcore.call_formats import read_calls, split_marked_thought
from evalcore.call_formats.values import parse_argument_text
from evalcore.errors import UsageError
from evalcore.i18n import Note

FORMATS: dict[str, Callable[[str], Any]] = {
    "python": upstream_formats.python_calls,
    "java": upstream_formats.java_calls,
    "javascript": upstream_formats.javascript_calls,
    "json": upstream_formats.json_calls,
    "verbose_xml": upstream_formats.verbose_xml_calls,
    "concise_xml": upstream_formats.concise_xml_calls,
}


def _decode_prompted(parse: Callable[[str], Any], answer: Any, tagged: bool = False) -> Any:
    text = upstream_formats.add_brackets(answer)
    return parse(upstream_formats.extract_tagged_text(text) if tagged else text)


MODES: dict[str, Callable[[Any], Any]] = {
    "fc": upstream_formats.native_calls,
    "prompt_name_arguments": upstream_formats.name_arguments_calls,
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
        raise UsageError(Note("mode_unknown", mode=mode, names=", ".join(sorted(MODES))))
    return require_calls(reader(answer))


# The tolerant view: reasoning is cut away, then calls are read with good will by the one reader of
# all formats. Java and JavaScript are parsed first, as their source is.

_SPECIAL = re.compile(r"<\|\w{1,40}\|>|</?s>")
_TAG = re.compile(r"</?(?:tool_?calls?|function_calls?)>", re.I)
_MAX_TAGGED = 40
_EMPTY_LIST = re.compile(
    r"(?:\A|```\w{0,12}|<\w{1,40}>|\[TOOL_CALLS\])\s{0,20}\[\s{0,20}\][\s;]{0,20}(?:\Z|```|</\w)"
)


class TolerantReading(NamedTuple):
    """The calls of an answer and the key of their format in `call_formats`: "" for native calls
    and where there are none."""

    calls: list[Call]
    format: str = ""


def read_tolerant(
    answer: Any, functions: Sequence[dict[str, Any]], language: Language = "python"
) -> TolerantReading:
    """Read the calls of an answer: text, or native tool calls in any shape. `functions` are the
    offered ones: their names and the order of their parameters help reading. Raises DecodeError
    where no call can be read. An explicit empty list is no error."""
    if isinstance(answer, list | tuple):
        names = [str(function.get("name")) for function in functions]
        reading = TolerantReading([_decode_native_call(item, names) for item in answer])
    elif isinstance(answer, str):
        reading = _read_text(cut_reasoning(answer), functions, language)
    else:
        raise to_decode_error(Note("decode_no_answer"))
    if language == "python":
        return reading
    return reading._replace(
        calls=upstream_formats.calls_to_source(reading.calls, functions, language)
    )


def tolerant_calls(
    answer: Any, functions: Sequence[dict[str, Any]], language: Language = "python"
) -> list[Call]:
    """The calls alone of `read_tolerant`."""
    return read_tolerant(answer, functions, language).calls


def _read_text(
    text: str, functions: Sequence[dict[str, Any]], language: Language
) -> TolerantReading:
    if language != "python" and (calls := _parse_source(text, language)):
        return TolerantReading(calls, language)
    reading = read_calls(text, functions, lenient=True)
    if any(not isinstance(call.arguments, dict) for call in reading.calls):
        raise to_decode_error(Note("decode_arguments"))
    if not reading.calls and not _EMPTY_LIST.search(text.strip()):
        raise to_decode_error(Note("decode_no_call"))
    calls = [{name: arguments} for name, arguments in reading.calls if isinstance(arguments, dict)]
    return TolerantReading(calls, reading.format)


def cut_reasoning(answer: str) -> str:
    """The answer without reasoning, closed or cut off."""
    visible = strip_reasoning(answer[-LIMIT:]).partition("<think>")[0]
    return split_marked_thought(visible)[1]


def strip_hidden_text(answer: str) -> str:
    """The answer without reasoning and without special tokens."""
    return strip_special_tokens(cut_reasoning(answer))


def strip_special_tokens(text: str) -> str:
    return _SPECIAL.sub("\n", text).strip()


def _decode_native_call(item: Any, names: Sequence[str]) -> Call:
    name, written = upstream_formats.name_and_arguments(item)
    if name not in names:  # servers that allow no dots were offered the name with underscores
        dotted = [full_name for full_name in names if full_name.replace(".", "_") == name]
        name = dotted[0] if len(dotted) == 1 else name
    arguments = parse_argument_text(written) if isinstance(written, str) else written or {}
    if not isinstance(arguments, dict):
        raise to_decode_error(Note("decode_arguments"))
    return {name: arguments}


def _parse_source(text: str, language: Language) -> list[Call]:
    """The calls of Java or JavaScript source: of text between tags, in a fence, or all of it."""
    tagged = _TAG.split(text)[1:_MAX_TAGGED]
    for stretch in (*tagged, *extract_code_blocks(text)[:_MAX_TAGGED], text):
        source = upstream_formats.add_brackets(_SPECIAL.sub("", stretch).strip(" \n`;[]"))
        try:
            if language == "javascript":
                calls = require_calls(upstream_formats.javascript_calls(source))
            else:  # without its semicolon the grammar takes some calls for declarations
                calls = require_calls(upstream_formats.java_calls(f"{source[:-1]};]", whole=True))
        except DecodeError:
            continue
        if calls:
            return calls
    return []


__all__ = ["Call", "DecodeError"]
