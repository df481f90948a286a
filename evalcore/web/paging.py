"""Pages of a list behind the API: what is read page by page holds every item once.

Runs and cases are read on behind the last item seen, whatever was added meanwhile. A ranking has no
such order to hold on to, since one new run may move every row: its pages belong to one state of the
store, and a reader who comes with the cursor of another state is told to begin again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from evalcore.web.answers import build_address
from evalcore.web.parameters import ApiError, Parameter, ParamValues, decode_cursor, encode_cursor

MAX_LIMIT = 500
LIMIT = Parameter(
    "limit", "items of a page", kind="integer", default=100, minimum=1, maximum=MAX_LIMIT
)
CURSOR = Parameter("cursor", "where the page begins, from `next` of the page before")


def build_api_page(
    path: str,
    params: ParamValues,
    items: Sequence[Any],
    total: int,
    following: Sequence[Any] | None,
) -> dict[str, Any]:
    """A page of a list; `following` is the place of its last item, None after the last page."""
    more = (
        None
        if following is None
        else build_address(path, params, cursor=encode_cursor([*following]))
    )
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
    items = everything[max(start, 0) : end]
    return build_api_page(
        path, params, items, len(everything), (now, end) if end < len(everything) else None
    )
