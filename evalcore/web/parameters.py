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

Given = Mapping[str, Any]
Pairs = Iterable[tuple[str, str]]


class Refusal(EvalboardError):
    """A request that is not answered: HTTP status, a code for machines, the parameter at fault."""

    def __init__(self, status: int, code: str, message: str, parameter: str = "") -> None:
        self.status, self.code, self.message, self.parameter = status, code, message, parameter
        super().__init__(message)


class Parameter(Record, frozen=True):
    """One query parameter. A `list` takes several values, parted by commas or repeated; `least` and
    `most` bound an integer; `choices`, where there are any, are all that is allowed; a `target` is
    a text that is read as the masked name of the target (`privacy.mask_target`)."""

    name: str
    about: str
    kind: Literal["text", "integer", "list", "numbers", "target"] = "text"
    default: str | int | None = None
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 1_000_000
    required: bool = False


def bad(name: str, problem: str) -> Refusal:
    """A 400 that names the parameter."""
    return Refusal(400, "bad_parameter", f"{name}: {problem}", name)


def read(pairs: Pairs, parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The value of every declared parameter: text ('' by default), an integer, or a tuple.

    Raises Refusal with status 400 for unknown names, repeated or too long values, and values out of
    bounds.
    """
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in known:
            raise bad(name[:_NAME], f"no such parameter; known here: {', '.join(known) or 'none'}")
        if len(value) > LONGEST:
            raise bad(name, f"longer than {LONGEST} characters")
        found.setdefault(name, []).append(value)
    return {name: _value(one, found.get(name, [])) for name, one in known.items()}


def _value(parameter: Parameter, texts: list[str]) -> Any:
    if parameter.required and not any(texts):
        raise bad(parameter.name, f"is missing: {parameter.about}")
    return _READERS[parameter.kind](parameter, texts)


def _text(parameter: Parameter, texts: list[str]) -> str:
    if len(texts) > 1:
        raise bad(parameter.name, "given more than once")
    value = texts[0] if texts else str(parameter.default or "")
    return _allowed(parameter, value) if value else ""


def _integer(parameter: Parameter, texts: list[str]) -> int | None:
    text = _text(parameter, texts)
    if text:
        return _number(parameter, text)
    return int(parameter.default) if parameter.default is not None else None


def _list(parameter: Parameter, texts: list[str]) -> tuple[str, ...]:
    values = dict.fromkeys(value for text in texts for value in text.split(_COMMA) if value)
    return tuple(_allowed(parameter, value) for value in values)


def _numbers(parameter: Parameter, texts: list[str]) -> tuple[int, ...]:
    return tuple(_number(parameter, text) for text in _list(parameter, texts))


def _number(parameter: Parameter, text: str) -> int:
    bounds = f"a whole number from {parameter.least} to {parameter.most}"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise bad(parameter.name, f"must be {bounds}")
    number = int(text)
    if not parameter.least <= number <= parameter.most:
        raise bad(parameter.name, f"must be {bounds}")
    return number


def _allowed(parameter: Parameter, value: str) -> str:
    if parameter.choices and value not in parameter.choices:
        raise bad(parameter.name, f"must be one of {', '.join(parameter.choices)}")
    return value


_READERS: dict[str, Callable[[Parameter, list[str]], Any]] = {
    "text": _text,
    "integer": _integer,
    "list": _list,
    "numbers": _numbers,
    "target": lambda parameter, texts: mask_target(_text(parameter, texts)),
}


def cursor_of(place: list[Any]) -> str:
    """The place of the last item of a page as opaque text for the next one."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def place_of(cursor: str, kinds: tuple[type, ...]) -> list[Any]:
    """What `cursor_of` was given, its parts being of `kinds`; raises Refusal (400) otherwise."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        place = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        place = None
    if not isinstance(place, list) or [type(part) for part in place] != list(kinds):
        raise bad("cursor", "is none of ours; take it from `next` of the page before")
    return place
