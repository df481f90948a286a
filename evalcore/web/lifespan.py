"""What happens once when the server starts: heavy imports, what visitors see first, frozen garbage,
kept results, orphaned runs.

Streamlit collects all garbage after every rerun, which costs time in proportion to the objects
alive. What is loaded once and never goes away is therefore frozen out of the collector's sight.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any

from evalcore.errors import EvalboardError
from evalcore.settings import Settings, load_settings

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
    "evalcore.queries.runs",
    "evalcore.queries.cases",
    "evalcore.charts",
    "evalcore.web.resources",
)


def build_lifespan(prepare: Prepare) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Warm up, take back what the last container kept, find the runs whose worker died with it.

    The server answers meanwhile neither visitors nor probes: a moment later it answers them fast.
    """

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
    from evalcore.queries import runs

    current = load_settings()
    try:
        runs.all_rows(current.run_roots)
        prepare(current)
    except (EvalboardError, OSError, ValueError) as error:
        _log.error("ranking the boards ahead failed: %s", error)


def fetch_hub_results() -> None:
    """Results from the Hub, where the settings name a place there, and back what it lacks."""
    from evalcore.runner import hub_sync

    try:
        current = load_settings()
        hub_sync.pull_from_hub(current)
        hub_sync.schedule_push(current)
    except (EvalboardError, OSError) as error:
        _log.error("fetching what was kept on the Hub failed: %s", error)


def reconcile_runs() -> list[str]:
    """Ids of the runs found interrupted; a store that cannot be used is reported, not fatal.

    The server must come up even then: its pages say what is wrong with the store.
    """
    from evalcore.runner import client

    try:
        return client.reconcile_runs(load_settings())
    except (EvalboardError, OSError) as error:
        _log.error("looking for interrupted runs failed: %s", error)
        return []
