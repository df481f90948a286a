"""Every resource of the API by its path, and the one function that answers for them all."""

from __future__ import annotations

from starlette.responses import Response

from evalcore import settings
from evalcore.errors import UsageError
from evalcore.web import answers, openapi
from evalcore.web.badge import BADGE
from evalcore.web.board_routes import BOARDS, RANKING
from evalcore.web.parameters import Pairs, Refusal
from evalcore.web.run_routes import CASES, RUNS

_DESCRIBED = (BOARDS, RANKING, RUNS, CASES, BADGE)
RESOURCES = {one.path: one for one in (*_DESCRIBED, openapi.resource(_DESCRIBED))}


def answer(path: str, pairs: Pairs, wanted: str) -> Response:
    """The answer of the resource at a path; blocking. `wanted` is the If-None-Match header."""
    if path not in RESOURCES:
        problem = "there is no such route; /api/v1/openapi.json describes those there are"
        return answers.refused(Refusal(404, "no_route", problem))
    try:
        current = settings.load()
    except UsageError:
        problem = "the settings of this server cannot be used; its log says why"
        return answers.refused(Refusal(503, "misconfigured", problem))
    return answers.answer(RESOURCES[path], pairs, wanted, current)
