"""The HTTP API beside the pages, under `/api/v1`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalcore import settings
from evalcore.errors import IndexFileError
from evalcore.settings import Settings
from evalcore.store.run_folder import list_run_folders


async def handle_health(request: Request) -> Response:
    """Whether the server can do its work: 200 when it can, 503 when the index cannot be mended."""
    state = await run_in_threadpool(build_health_state, settings.load_settings())
    return Response(
        orjson.dumps(state),
        status_code=200 if state["status"] == "ok" else 503,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def build_health_state(current: Settings) -> dict[str, Any]:
    """`status` ok or degraded, `version`, number of `runs`, `index_readable`.

    An index that cannot be read is mended first, as whoever reads a page would: the run folders are
    the truth. It stays unreadable where its folder cannot be written, for example.
    """
    readable = _mend_index(current)
    return {
        "status": "ok" if readable else "degraded",
        "version": version("evalboard"),
        "runs": len(list_run_folders(current.run_roots)),
        "index_readable": readable,
    }


def _mend_index(current: Settings) -> bool:
    """Whether the index can be read, afterwards; a missing one can, as it is made when needed."""
    from evalcore.store.index import open_index  # tinydb comes with it

    try:
        return open_index(current).is_readable()
    except (IndexFileError, OSError):
        return False


async def handle_data(request: Request) -> Response:
    """Any other route of the API, see `resources`: GET and HEAD, worked on in a thread."""
    path, pairs = request.url.path, request.query_params.multi_items()
    within = path.removeprefix(request.scope.get("root_path", ""))
    if_none_match = request.headers.get("if-none-match", "")
    response = await run_in_threadpool(_answer_data, within, pairs, if_none_match)
    if request.method == "HEAD":
        response.body = b""  # its length stays in the headers
    return response


def _answer_data(path: str, pairs: list[tuple[str, str]], if_none_match: str) -> Response:
    from evalcore.web import resources  # pandas comes with it: not before somebody asks

    return resources.answer_api_request(path, pairs, if_none_match)


async def handle_share(request: Request) -> Response:
    """A link of the app with what a preview of it shows, see `handle_share`."""
    page = request.path_params.get("page", "")
    if_none_match = request.headers.get("if-none-match", "")
    root = request.scope.get("root_path", "")
    query = dict(request.query_params)
    forwarded_proto = request.headers.get("x-forwarded-proto", "")  # a proxy that speaks TLS for us
    own = (
        request.url.replace(scheme=forwarded_proto)
        if forwarded_proto in ("http", "https")
        else request.url
    )
    return await run_in_threadpool(_answer_share, page, query, own, root, if_none_match)


def _answer_share(
    page: str, query: dict[str, str], own: URL, root: str, if_none_match: str
) -> Response:
    from evalcore.web import resources

    return resources.share_page(page, query, own, root, if_none_match)


ROUTES: tuple[Route, ...] = (
    Route("/api/v1/health", handle_health, methods=["GET"]),
    Route("/share", handle_share, methods=["GET"]),
    Route("/share/{page:str}", handle_share, methods=["GET"]),
    Route("/api/{rest:path}", handle_data, methods=["GET"]),
)
