"""From an answer to calls: `decode_calls(answer, mode)` as upstream does it, for every asking mode.

Modes: `fc` (native tool calls), `prompt_FORMAT` and `prompt_FORMAT_tag` (the calls must stand
within <TOOLCALL>), with the formats of FORMATS, and `prompt_name_arguments` (the whole reply is
one JSON object `{"name", "arguments"}` or a list of them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import Call, DecodeError, require_calls
from evalcore.benchmarks.bfcl.decode.java import java_calls
from evalcore.benchmarks.bfcl.decode.javascript import javascript_calls
from evalcore.benchmarks.bfcl.decode.markup import (
    concise_xml_calls,
    json_calls,
    verbose_xml_calls,
)
from evalcore.benchmarks.bfcl.decode.native import native_calls
from evalcore.benchmarks.bfcl.decode.official import add_brackets, extract_tagged_text, python_calls
from evalcore.benchmarks.bfcl.decode.replies import name_arguments_calls
from evalcore.errors import UsageError

__all__ = ["FORMATS", "MODES", "Call", "DecodeError", "decode_calls", "prompt_mode"]

FORMATS: dict[str, Callable[[str], Any]] = {
    "python": python_calls,
    "java": java_calls,
    "javascript": javascript_calls,
    "json": json_calls,
    "verbose_xml": verbose_xml_calls,
    "concise_xml": concise_xml_calls,
}


def _build_untagged_decoder(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda answer: parse(add_brackets(answer))


def _build_tagged_decoder(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda answer: parse(extract_tagged_text(add_brackets(answer)))


MODES: dict[str, Callable[[Any], Any]] = {
    "fc": native_calls,
    "prompt_name_arguments": name_arguments_calls,
    **{f"prompt_{name}": _build_untagged_decoder(parse) for name, parse in FORMATS.items()},
    **{f"prompt_{name}_tag": _build_tagged_decoder(parse) for name, parse in FORMATS.items()},
}


def prompt_mode(language: str) -> str:
    """The mode in which upstream asks for and reads text of a language."""
    return f"prompt_{language}"


def decode_calls(answer: Any, mode: str) -> list[Call]:
    """The calls of an answer, exactly as upstream decodes them.

    Raises DecodeError where upstream reads no calls, UsageError for an unknown mode.
    """
    reader = MODES.get(mode)
    if reader is None:
        raise UsageError(f"unknown mode {mode!r}; one of {', '.join(sorted(MODES))}")
    return require_calls(reader(answer))
