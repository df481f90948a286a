"""The query parameters of an API route: declared once, read strictly, described in the OpenAPI.

A name that a route does not know is refused: a misspelt filter must not give everything.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import orjson

from evalcore.errors import EvalboardError
from evalcore.privacy import mask_target
from evalcore.records import Record

#: Characters of one value; identities and names of cases are shorter.
LONGEST = 500
_NAME = 40  # characters of an unknown name that a message repeats
#: Between the values of a list.
_COMMA = ","

ParamValues = Mapping[str, Any]
QueryPairs = Iterable[tuple[str, str]]


class ApiError(EvalboardError):
    """A request that is not answered: HTTP status, a code for machines, the parameter at fault."""

    def __init__(self, status: int, code: str, message: str, parameter: str = "") -> None:
        self.status, self.code, self.message, self.parameter = status, code, message, parameter
        super().__init__(message)


class Parameter(Record, frozen=True):
    """One query parameter. A `list` takes several values, parted by commas or repeated; `minimum`
    and `maximum` bound an integer; `choices`, where there are any, are all that is allowed; a
    `target` is a text that is read as the masked name of the target (`privacy.mask_target`)."""

    name: str
    about: str
    kind: Literal["text", "integer", "list", "numbers", "target"] = "text"
    default: str | int | None = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 1_000_000
    required: bool = False


def bad_parameter(name: str, problem: str) -> ApiError:
    """A 400 that names the parameter."""
    return ApiError(400, "bad_parameter", f"{name}: {problem}", name)


def parse_parameters(pairs: QueryPairs, parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The value of every declared parameter: text ('' by default), an integer, or a tuple.

    Raises Refusal with status 400 for unknown names, repeated or too long values, and values out of
    bounds.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    texts_by_name: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in declared:
            raise bad_parameter(
                name[:_NAME], f"no such parameter; known here: {', '.join(declared) or 'none'}"
            )
        if len(value) > LONGEST:
            raise bad_parameter(name, f"longer than {LONGEST} characters")
        texts_by_name.setdefault(name, []).append(value)
    return {
        name: _parse_parameter(parameter, texts_by_name.get(name, []))
        for name, parameter in declared.items()
    }


def _parse_parameter(parameter: Parameter, texts: list[str]) -> Any:
    if parameter.required and not any(texts):
        raise bad_parameter(parameter.name, f"is missing: {parameter.about}")
    return _READERS[parameter.kind](parameter, texts)


def _parse_text_param(parameter: Parameter, texts: list[str]) -> str:
    if len(texts) > 1:
        raise bad_parameter(parameter.name, "given more than once")
    value = texts[0] if texts else str(parameter.default or "")
    return _check_choice(parameter, value) if value else ""


def _parse_integer_param(parameter: Parameter, texts: list[str]) -> int | None:
    text = _parse_text_param(parameter, texts)
    if text:
        return _parse_bounded_integer(parameter, text)
    return int(parameter.default) if parameter.default is not None else None


def _parse_list_param(parameter: Parameter, texts: list[str]) -> tuple[str, ...]:
    values = dict.fromkeys(value for text in texts for value in text.split(_COMMA) if value)
    return tuple(_check_choice(parameter, value) for value in values)


def _parse_integer_list(parameter: Parameter, texts: list[str]) -> tuple[int, ...]:
    return tuple(
        _parse_bounded_integer(parameter, text) for text in _parse_list_param(parameter, texts)
    )


def _parse_bounded_integer(parameter: Parameter, text: str) -> int:
    bounds = f"a whole number from {parameter.minimum} to {parameter.maximum}"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise bad_parameter(parameter.name, f"must be {bounds}")
    number = int(text)
    if not parameter.minimum <= number <= parameter.maximum:
        raise bad_parameter(parameter.name, f"must be {bounds}")
    return number


def _check_choice(parameter: Parameter, value: str) -> str:
    if parameter.choices and value not in parameter.choices:
        raise bad_parameter(parameter.name, f"must be one of {', '.join(parameter.choices)}")
    return value


_READERS: dict[str, Callable[[Parameter, list[str]], Any]] = {
    "text": _parse_text_param,
    "integer": _parse_integer_param,
    "list": _parse_list_param,
    "numbers": _parse_integer_list,
    "target": lambda parameter, texts: mask_target(_parse_text_param(parameter, texts)),
}


def encode_cursor(position: list[Any]) -> str:
    """The place of the last item of a page as opaque text for the next one."""
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")


def decode_cursor(cursor: str, kinds: tuple[type, ...]) -> list[Any]:
    """What `encode_cursor` was given, its parts being of `kinds`; raises Refusal (400)
    otherwise."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        position = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        position = None
    if not isinstance(position, list) or [type(part) for part in position] != list(kinds):
        raise bad_parameter("cursor", "is none of ours; take it from `next` of the page before")
    return position
