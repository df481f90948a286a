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
from evalcore.web.parameters import Given, Pairs, Parameter, Refusal, read

JSON = "application/json"
_TRIES = 3  # at an answer during which the store does not change
_log = logging.getLogger(__name__)

Work = Callable[[Settings, Given], Any]


class Resource(Record, frozen=True):
    """One route: what it takes, and how its content is made.

    `content` gives JSON data, or bytes of the `media` type. `signature` changes whenever the
    content would; None hashes the content itself. `cache` is the Cache-Control of a good answer.
    """

    path: str
    about: str
    content: Work
    signature: Callable[[Settings, Given], str] | None
    parameters: tuple[Parameter, ...] = ()
    item: str = ""
    media: str = JSON
    cache: str = "no-cache"


def answer(resource: Resource, pairs: Pairs, wanted: str, settings: Settings) -> Response:
    """The answer to a request for a resource; `wanted` is its If-None-Match header.

    Blocking. Every failure becomes a JSON error; what went wrong with files is logged, not told.
    """
    try:
        given = read(pairs, resource.parameters)
        return _good(resource, given, wanted, settings)
    except Refusal as error:
        return refused(error)
    except (EvalboardError, OSError) as error:
        _log.error("%s: %s", resource.path, error)
        return refused(
            Refusal(503, "store_unreadable", "the store cannot be read; try again later")
        )


def _good(resource: Resource, given: Given, wanted: str, settings: Settings) -> Response:
    sign = resource.signature
    headers = {"Cache-Control": resource.cache}
    for _ in range(_TRIES):
        state = "" if sign is None else sign(settings, given)
        if sign is not None and known_tag(wanted, tag := _tag(resource, given, state)):
            return Response(status_code=304, headers=headers | {"ETag": tag})
        body = _bytes(resource.content(settings, given))
        if sign is None:
            tag = _tag(resource, given, hashlib.sha256(body).hexdigest())
            if known_tag(wanted, tag):
                return Response(status_code=304, headers=headers | {"ETag": tag})
        if sign is None or sign(settings, given) == state:
            return Response(body, media_type=resource.media, headers=headers | {"ETag": tag})
    return Response(body, media_type=resource.media, headers={"Cache-Control": "no-store"})


def _bytes(content: Any) -> bytes:
    return content if isinstance(content, bytes) else to_json(content, ordered=False)


def _tag(resource: Resource, given: Given, state: str) -> str:
    parts = [version("evalboard"), resource.path, repr(sorted(given.items())), state]
    return f'"{hashlib.sha256("|".join(parts).encode()).hexdigest()[:32]}"'


def known_tag(wanted: str, tag: str) -> bool:
    """Whether If-None-Match names the tag; a proxy may have weakened it."""
    tags = {part.strip().removeprefix("W/") for part in wanted.split(",")}
    return tag in tags or "*" in tags


def refused(error: Refusal) -> Response:
    """An error as JSON: `code` for machines, `message` for people, `parameter` where one is bad."""
    told = {"code": error.code, "message": error.message}
    if error.parameter:
        told["parameter"] = error.parameter
    return Response(
        to_json({"error": told}, ordered=False),
        status_code=error.status,
        media_type=JSON,
        headers={"Cache-Control": "no-store"},
    )


def address(path: str, given: Given, **changed: Any) -> str:
    """The address of a resource with these parameters, those that are empty left out."""
    values: Mapping[str, Any] = {**given, **changed}
    pairs = []
    for name, value in values.items():
        many = value if isinstance(value, tuple) else (value,)
        pairs += [(name, str(one)) for one in many if one not in ("", None)]
    return f"{path}?{urlencode(pairs)}" if pairs else path
