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
from evalcore.web.parameters import ApiError, QueryPairs
from evalcore.web.preview import PREVIEW
from evalcore.web.run_routes import CASES, RUNS

_log = logging.getLogger(__name__)
_DESCRIBED = (BOARDS, RANKING, RUNS, CASES, BADGE, PREVIEW)
RESOURCES = {
    resource.path: resource
    for resource in (*_DESCRIBED, openapi.build_openapi_resource(_DESCRIBED))
}


def answer_api_request(path: str, pairs: QueryPairs, if_none_match: str) -> Response:
    """The answer of the resource at a path; blocking. `if_none_match` is the If-None-Match
    header."""
    if path not in RESOURCES:
        problem = "there is no such route; /api/v1/openapi.json describes those there are"
        return answers.build_error_response(ApiError(404, "no_route", problem))
    try:
        current = settings.load_settings()
    except UsageError:
        problem = "the settings of this server cannot be used; its log says why"
        return answers.build_error_response(ApiError(503, "misconfigured", problem))
    return answers.answer_resource(RESOURCES[path], pairs, if_none_match, current)


def share_page(
    page: str, query: Mapping[str, str], own: URL, root: str, if_none_match: str
) -> Response:
    """The page that stands for a link where it is shared; blocking."""
    try:
        return share.answer_share_link(
            settings.load_settings(), page, query, own, root, if_none_match
        )
    except (EvalboardError, OSError) as error:
        _log.error("share: %s", error)
        return answers.build_error_response(
            ApiError(503, "store_unreadable", "the store cannot be read; try again later")
        )
