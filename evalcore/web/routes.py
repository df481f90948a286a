"""The HTTP API beside the pages, under `/api/v1`."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalcore import settings
from evalcore.settings import Settings
from evalcore.store.run_folder import folders


async def health(request: Request) -> Response:
    """Whether the server can do its work: 200 when it can, 503 when the index is unreadable."""
    state = await run_in_threadpool(health_state, settings.load())
    return Response(
        orjson.dumps(state),
        status_code=200 if state["status"] == "ok" else 503,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def health_state(current: Settings) -> dict[str, Any]:
    """`status` ok or degraded, `version`, number of `runs`, `index_readable`.

    A missing index counts as readable: it is rebuilt from the run folders when next needed.
    """
    readable = _index_readable(current.index_path)
    return {
        "status": "ok" if readable else "degraded",
        "version": version("evalboard"),
        "runs": len(folders(current.run_roots)),
        "index_readable": readable,
    }


def _index_readable(path: Path) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return _parses(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _parses(path: Path, changed: int, size: int) -> bool:
    """Whether the file is JSON; remembered until its time or size changes."""
    try:
        orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return True


async def data(request: Request) -> Response:
    """Any other route of the API, see `resources`: GET and HEAD, worked on in a thread."""
    path, pairs = request.url.path, request.query_params.multi_items()
    within = path.removeprefix(request.scope.get("root_path", ""))
    wanted = request.headers.get("if-none-match", "")
    response = await run_in_threadpool(_data, within, pairs, wanted)
    if request.method == "HEAD":
        response.body = b""  # its length stays in the headers
    return response


def _data(path: str, pairs: list[tuple[str, str]], wanted: str) -> Response:
    from evalcore.web import resources  # pandas comes with it: not before somebody asks

    return resources.answer(path, pairs, wanted)


async def share(request: Request) -> Response:
    """A link of the app with what a preview of it shows, see `share`."""
    page = request.path_params.get("page", "")
    wanted = request.headers.get("if-none-match", "")
    root = request.scope.get("root_path", "")
    query = dict(request.query_params)
    told = request.headers.get("x-forwarded-proto", "")  # a proxy that speaks TLS for us
    own = request.url.replace(scheme=told) if told in ("http", "https") else request.url
    return await run_in_threadpool(_share, page, query, own, root, wanted)


def _share(page: str, query: dict[str, str], own: URL, root: str, wanted: str) -> Response:
    from evalcore.web import resources

    return resources.share_page(page, query, own, root, wanted)


ROUTES: tuple[Route, ...] = (
    Route("/api/v1/health", health, methods=["GET"]),
    Route("/share", share, methods=["GET"]),
    Route("/share/{page:str}", share, methods=["GET"]),
    Route("/api/{rest:path}", data, methods=["GET"]),
)
