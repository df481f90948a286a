"""Pages of a list behind the API: what is read page by page holds every item once.

Runs and cases are read on behind the last item seen, whatever was added meanwhile. A ranking has no
such order to hold on to, since one new run may move every row: its pages belong to one state of the
store, and a reader who comes with the cursor of another state is told to begin again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from evalcore.web.answers import address
from evalcore.web.parameters import Given, Parameter, Refusal, cursor_of, place_of

MOST = 500
LIMIT = Parameter("limit", "items of a page", kind="integer", default=100, least=1, most=MOST)
CURSOR = Parameter("cursor", "where the page begins, from `next` of the page before")


def page(
    path: str, given: Given, items: Sequence[Any], total: int, following: Sequence[Any] | None
) -> dict[str, Any]:
    """A page of a list; `following` is the place of its last item, None after the last page."""
    more = None if following is None else address(path, given, cursor=cursor_of([*following]))
    return {"items": items, "total": total, "next": more}


def of_state(path: str, given: Given, everything: Sequence[Any], state: str) -> Mapping[str, Any]:
    """A page of what is one state of the store; raises Refusal (409) for a cursor of another."""
    now = sha256(state.encode()).hexdigest()[:16]
    begun, start = place_of(given["cursor"], (str, int)) if given["cursor"] else (now, 0)
    if begun != now:
        problem = "the board has changed since the page before; begin again without a cursor"
        raise Refusal(409, "changed", problem, "cursor")
    end = max(start, 0) + given["limit"]
    items = everything[max(start, 0) : end]
    return page(path, given, items, len(everything), (now, end) if end < len(everything) else None)
