"""The routes of the server beside the pages, and its work at start and stop."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalcore import settings
from evalcore.errors import EvalboardError, IndexFileError
from evalcore.settings import Settings, load_settings
from evalcore.store.run_folder import list_run_folders

# The HTTP API beside the pages, under `/api/v1`.


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
    """Answer a link of the app with what a preview of it shows; see `evalcore.web.share`."""
    page = request.path_params.get("page", "")
    if_none_match = request.headers.get("if-none-match", "")
    root = request.scope.get("root_path", "")
    query = dict(request.query_params)
    forwarded_proto = request.headers.get("x-forwarded-proto", "")  # a proxy that speaks TLS for us
    own = request.url
    if forwarded_proto in ("http", "https"):
        own = own.replace(scheme=forwarded_proto)
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


# What happens once when the server starts: heavy imports, what visitors see first, frozen
# garbage, kept results, orphaned runs.
# Streamlit collects all garbage after every rerun, which costs time in proportion to the objects
# alive. What is loaded once and never goes away is therefore frozen out of the collector's sight.

#: Works out what the pages show first; raises what reading the store does.
Prepare = Callable[[Settings], None]
_log = logging.getLogger(__name__)

#: Imported before the first visitor comes: what the first drawing of a page would load anyway.
WARM_UP: tuple[str, ...] = (
    "pandas",
    "pyarrow.parquet",
    "altair",
    "duckdb",
    "PIL.ImageFile",
    "narwhals._pandas_like.namespace",
    "streamlit.emojis",
    "evalcore.views.runs",
    "evalcore.views.cases",
    "evalcore.charts.plots",
    "evalcore.web.resources",
)


def build_lifespan(prepare: Prepare) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Warm up, take back what the last container kept, find the runs whose worker died with it. The
    server answers meanwhile neither visitors nor probes: a moment later it answers them fast."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        await asyncio.to_thread(warm_up, prepare)
        await asyncio.to_thread(fetch_hub_results)
        await asyncio.to_thread(reconcile_runs)
        yield

    return lifespan


def warm_up(prepare: Prepare) -> None:
    """Import `WARM_UP`, look at all runs, `prepare` the pages, and freeze what is alive out of
    later garbage collections."""
    for name in WARM_UP:
        import_module(name)
    preload_pages(prepare)
    gc.collect()
    gc.freeze()
    release_memory()


def release_memory() -> None:
    """Give memory that is free back to the system: reading the store took more than is kept. Only
    the C library of most Linux systems knows how."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def preload_pages(prepare: Prepare) -> None:
    """What the first pages are made of; a store that cannot be used is the pages' to report."""
    from evalcore.views import runs

    current = load_settings()
    try:
        runs.all_rows(current.run_roots)
        prepare(current)
    except (EvalboardError, OSError, ValueError) as error:
        _log.error("ranking the boards ahead failed: %s", error)


def fetch_hub_results() -> None:
    """Results from the Hub, where the settings name a place there, and back what it lacks."""
    from evalcore.runner import jobs

    try:
        current = load_settings()
        jobs.pull_from_hub(current)
        jobs.schedule_push(current)
    except (EvalboardError, OSError) as error:
        _log.error("fetching what was kept on the Hub failed: %s", error)


def reconcile_runs() -> list[str]:
    """Ids of the runs found interrupted; a store that cannot be used is reported, not fatal. The
    server must come up even then: its pages say what is wrong with the store."""
    from evalcore.runner import client

    try:
        return client.reconcile_runs(load_settings())
    except (EvalboardError, OSError) as error:
        _log.error("looking for interrupted runs failed: %s", error)
        return []
