"""How a route of the API answers: its parameters, pages of items with a cursor, ETag and 304, cache
rules, one form for every error."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import urlencode

import orjson
from starlette.responses import Response

from evalcore.access.redaction import mask_target
from evalcore.errors import EvalboardError
from evalcore.records import Record, to_json
from evalcore.settings import Settings

# The query parameters of an API route: declared once, read strictly, described in the OpenAPI.
# A name that a route does not know is refused: a misspelt filter must not give everything.

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
    values = {}
    for name, parameter in declared.items():
        texts = texts_by_name.get(name, [])
        if parameter.required and not any(texts):
            raise bad_parameter(name, f"is missing: {parameter.about}")
        values[name] = _READERS[parameter.kind](parameter, texts)
    return values


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


def _parse_bounded_integer(parameter: Parameter, text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if number < 0 or not parameter.minimum <= number <= parameter.maximum:
        bounds = f"a whole number from {parameter.minimum} to {parameter.maximum}"
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
    "numbers": lambda parameter, texts: tuple(
        _parse_bounded_integer(parameter, text) for text in _parse_list_param(parameter, texts)
    ),
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
        raise bad_parameter("cursor", "is invalid; take it from `next` of the previous page")
    return position


# How a route of the API answers: ETag and 304, cache rules, one form for every error. The tag is
# strong: it names one state of the store under one address. It is made from the store's signatures
# before the work, so that whoever has the answer already costs us a look at some files.

JSON = "application/json"
_TRIES = 3  # at an answer during which the store does not change
_log = logging.getLogger(__name__)

ContentFunction = Callable[[Settings, ParamValues], Any]


class Resource(Record, frozen=True):
    """One route: what it takes, and how its content is made.

    `content` gives JSON data, or bytes of the `media` type. `signature` changes whenever the
    content would; None hashes the content itself. `cache` is the Cache-Control of a good answer.
    """

    path: str
    about: str
    content: ContentFunction
    signature: Callable[[Settings, ParamValues], str] | None
    parameters: tuple[Parameter, ...] = ()
    item: str = ""
    media: str = JSON
    cache: str = "no-cache"


def answer_resource(
    resource: Resource, pairs: QueryPairs, if_none_match: str, settings: Settings
) -> Response:
    """The answer to a request for a resource; `if_none_match` is its If-None-Match header.
    Blocking. Every failure becomes a JSON error; what went wrong with files is logged, not told."""
    try:
        params = parse_parameters(pairs, resource.parameters)
        return _build_response(resource, params, if_none_match, settings)
    except ApiError as error:
        return build_error_response(error)
    except (EvalboardError, OSError) as error:
        return build_unreadable_response(resource.path, error)


def build_unreadable_response(place: str, error: Exception) -> Response:
    """The answer where the store cannot be read; what is wrong with it goes to the log alone."""
    _log.error("%s: %s", place, error)
    problem = "the store cannot be read; try again later"
    return build_error_response(ApiError(503, "store_unreadable", problem))


def _build_response(
    resource: Resource, params: ParamValues, if_none_match: str, settings: Settings
) -> Response:
    sign = resource.signature
    headers = {"Cache-Control": resource.cache}
    for _ in range(_TRIES):
        state = "" if sign is None else sign(settings, params)
        if sign is not None and matches_etag(
            if_none_match, tag := _compute_etag(resource, params, state)
        ):
            return Response(status_code=304, headers=headers | {"ETag": tag})
        content = resource.content(settings, params)
        body = content if isinstance(content, bytes) else to_json(content, ordered=False)
        if sign is None:
            tag = _compute_etag(resource, params, hashlib.sha256(body).hexdigest())
            if matches_etag(if_none_match, tag):
                return Response(status_code=304, headers=headers | {"ETag": tag})
        if sign is None or sign(settings, params) == state:
            return Response(body, media_type=resource.media, headers=headers | {"ETag": tag})
    return Response(body, media_type=resource.media, headers={"Cache-Control": "no-store"})


def _compute_etag(resource: Resource, params: ParamValues, state: str) -> str:
    parts = [version("evalboard"), resource.path, repr(sorted(params.items())), state]
    return f'"{hashlib.sha256("|".join(parts).encode()).hexdigest()[:32]}"'


def matches_etag(if_none_match: str, tag: str) -> bool:
    """Whether If-None-Match names the tag; a proxy may have weakened it."""
    tags = {part.strip().removeprefix("W/") for part in if_none_match.split(",")}
    return tag in tags or "*" in tags


def build_error_response(error: ApiError) -> Response:
    """An error as JSON: `code` for machines, `message` for people, `parameter` where one is bad."""
    body = {"code": error.code, "message": error.message}
    if error.parameter:
        body["parameter"] = error.parameter
    return Response(
        to_json({"error": body}, ordered=False),
        status_code=error.status,
        media_type=JSON,
        headers={"Cache-Control": "no-store"},
    )


def build_address(path: str, params: ParamValues, **changed: Any) -> str:
    """The address of a resource with these parameters, those that are empty left out."""
    values: Mapping[str, Any] = {**params, **changed}
    pairs = []
    for name, value in values.items():
        many = value if isinstance(value, tuple) else (value,)
        pairs += [(name, str(item)) for item in many if item not in ("", None)]
    return f"{path}?{urlencode(pairs)}" if pairs else path


# Pages of a list behind the API: what is read page by page holds every item once. Runs and cases
# are read on behind the last item seen, whatever was added meanwhile. A ranking has no such order
# to hold on to, since one new run may move every row: its pages belong to one state of the store,
# and a reader who comes with the cursor of another state is told to begin again.

MAX_LIMIT = 500
LIMIT = Parameter(
    "limit", "items of a page", kind="integer", default=100, minimum=1, maximum=MAX_LIMIT
)
CURSOR = Parameter("cursor", "start of the page, from `next` of the previous page")


def build_api_page(
    path: str,
    params: ParamValues,
    items: Sequence[Any],
    total: int,
    following: Sequence[Any] | None,
) -> dict[str, Any]:
    """A page of a list; `following` is the place of its last item, None after the last page."""
    cursor = "" if following is None else encode_cursor([*following])
    more = build_address(path, params, cursor=cursor) if cursor else None
    return {"items": items, "total": total, "next": more}


def build_state_page(
    path: str, params: ParamValues, everything: Sequence[Any], state: str
) -> Mapping[str, Any]:
    """A page of what is one state of the store; raises Refusal (409) for a cursor of another."""
    now = sha256(state.encode()).hexdigest()[:16]
    begun, start = decode_cursor(params["cursor"], (str, int)) if params["cursor"] else (now, 0)
    if begun != now:
        problem = "the board has changed since the page before; begin again without a cursor"
        raise ApiError(409, "changed", problem, "cursor")
    end = max(start, 0) + params["limit"]
    following = (now, end) if end < len(everything) else None
    items = everything[max(start, 0) : end]
    return build_api_page(path, params, items, len(everything), following)
