"""Every resource of the API by its path, and the one function that answers for them all."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.datastructures import URL
from starlette.responses import Response

from evalcore import settings
from evalcore.errors import EvalboardError, UsageError
from evalcore.web import answers, openapi, share
from evalcore.web.badge import BADGE
from evalcore.web.board_routes import BOARDS, RANKING
from evalcore.web.parameters import Pairs, Refusal
from evalcore.web.preview import PREVIEW
from evalcore.web.run_routes import CASES, RUNS

_log = logging.getLogger(__name__)
_DESCRIBED = (BOARDS, RANKING, RUNS, CASES, BADGE, PREVIEW)
RESOURCES = {one.path: one for one in (*_DESCRIBED, openapi.resource(_DESCRIBED))}


def answer(path: str, pairs: Pairs, wanted: str) -> Response:
    """The answer of the resource at a path; blocking. `wanted` is the If-None-Match header."""
    if path not in RESOURCES:
        problem = "there is no such route; /api/v1/openapi.json describes those there are"
        return answers.refused(Refusal(404, "no_route", problem))
    try:
        current = settings.load_settings()
    except UsageError:
        problem = "the settings of this server cannot be used; its log says why"
        return answers.refused(Refusal(503, "misconfigured", problem))
    return answers.answer(RESOURCES[path], pairs, wanted, current)


def share_page(page: str, query: Mapping[str, str], own: URL, root: str, wanted: str) -> Response:
    """The page that stands for a link where it is shared; blocking."""
    try:
        return share.answer(settings.load_settings(), page, query, own, root, wanted)
    except (EvalboardError, OSError) as error:
        _log.error("share: %s", error)
        return answers.refused(
            Refusal(503, "store_unreadable", "the store cannot be read; try again later")
        )
