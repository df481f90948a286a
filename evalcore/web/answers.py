"""How a route of the API answers: ETag and 304, cache rules, one form for every error.

The tag is strong: it names one state of the store under one address. It is made from the store's
signatures before the work, so that whoever has the answer already costs us a look at some files.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from evalcore.errors import EvalboardError
from evalcore.records import Record, to_json
from evalcore.settings import Settings
from evalcore.web.parameters import ApiError, Parameter, ParamValues, QueryPairs, parse_parameters

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

    Blocking. Every failure becomes a JSON error; what went wrong with files is logged, not told.
    """
    try:
        params = parse_parameters(pairs, resource.parameters)
        return _build_response(resource, params, if_none_match, settings)
    except ApiError as error:
        return build_error_response(error)
    except (EvalboardError, OSError) as error:
        _log.error("%s: %s", resource.path, error)
        return build_error_response(
            ApiError(503, "store_unreadable", "the store cannot be read; try again later")
        )


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
        body = _encode_content(resource.content(settings, params))
        if sign is None:
            tag = _compute_etag(resource, params, hashlib.sha256(body).hexdigest())
            if matches_etag(if_none_match, tag):
                return Response(status_code=304, headers=headers | {"ETag": tag})
        if sign is None or sign(settings, params) == state:
            return Response(body, media_type=resource.media, headers=headers | {"ETag": tag})
    return Response(body, media_type=resource.media, headers={"Cache-Control": "no-store"})


def _encode_content(content: Any) -> bytes:
    return content if isinstance(content, bytes) else to_json(content, ordered=False)


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
