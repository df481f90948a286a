"""What a prediction decodes to, and the one error that decoding raises."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any, Literal

from evalcore.call_formats.values import SOURCE
from evalcore.i18n import Note, cut_note

#: One call: {name: {argument: value}}.
Call = dict[str, dict[str, Any]]

#: The key of arguments that have no name. No schema holds it, so that the checker reports them as
#: unexpected.
POSITIONAL = "*"

#: Longer answers are not parsed: no completion is that long, and a syntax tree costs much memory.
LONGEST = 1_000_000


class DecodeError(Exception):
    """An answer that holds no calls in the expected form. `kind` is upstream's second half of the
    error type: the text does not parse, or it parses to something else than calls."""

    def __init__(
        self, kind: Literal["decoder_failed", "decoder_wrong_output_format"], message: str
    ) -> None:
        self.kind = kind
        super().__init__(message)


def parse_literal(text: str) -> Any:
    """The value of a Python literal; raises one of PARSING_ERRORS for anything else."""
    return ast.literal_eval(ast.parse(text.lstrip(" \t"), SOURCE, mode="eval"))


def to_decode_error(problem: object) -> DecodeError:
    """The error of an answer that does not parse, by its note or by what a parser raised."""
    if isinstance(problem, SyntaxError) and problem.filename == SOURCE:
        code = "call_invalid" if problem.msg == "invalid syntax" else "decode_python"
        problem = Note(code, message=problem.msg, line=problem.lineno)
    return DecodeError("decoder_failed", cut_note(str(problem), 300))


def find_properties(function: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of a function's parameters by name, in order; none where it says none."""
    return (function.get("parameters") or {}).get("properties") or {}


def strip_quotes(text: str) -> str:
    """A text without the quotes around it, single or double, if any."""
    return text[1:-1] if any(text.startswith(m) and text.endswith(m) for m in "\"'") else text


def require_answer_text(answer: Any) -> str:
    """The text of a prompt-mode answer; raises DecodeError for anything else, and for too much."""
    if not isinstance(answer, str):
        raise to_decode_error(Note("decode_no_text", kind=type(answer).__name__))
    if len(answer) > LONGEST:
        raise to_decode_error(Note("decode_long", count=LONGEST))
    return answer


def require_calls(decoded: Any) -> list[Call]:
    """The decoded value if it is a list of calls, each a mapping of one name to a mapping. Raises
    DecodeError (`decoder_wrong_output_format`) otherwise. An empty list is in the format."""
    if type(decoded) is list and all(
        type(item) is dict and len(item) == 1 and type(next(iter(item.values()))) is dict
        for item in decoded
    ):
        return decoded
    raise DecodeError("decoder_wrong_output_format", Note("decode_no_list"))


def to_plain_value(value: Any, depth: int = 50) -> Any:
    """Decoded calls as JSON can hold them, for journals and pages; never raises. Tuples become
    lists; keys become text; numbers that JSON or its readers cannot hold, and all other kinds of
    value, become their notation."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple) and depth:
        return [to_plain_value(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth:
        return {
            str(to_plain_value(key, 0)): to_plain_value(item, depth - 1)
            for key, item in value.items()
        }
    return shorten_repr(value)


def replace_surrogates(text: str) -> str:
    """The text in characters that a file can hold: halves of surrogate pairs are replaced."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def shorten_repr(value: Any, max_length: int = 200) -> str:
    """Return the value in Python's notation, truncated; never raises, whatever a model wrote."""
    try:
        text = repr(value)
    except (ValueError, RecursionError, MemoryError):
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= max_length else text[:max_length] + "…"
