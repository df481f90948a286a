"""What happens once when the server starts: heavy imports, the boards that visitors see first,
frozen garbage, kept results, orphaned runs.

Streamlit collects all garbage after every rerun, which costs time in proportion to the objects
alive. What is loaded once and never goes away is therefore frozen out of the collector's sight.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from evalcore import settings
from evalcore.errors import EvalboardError

_log = logging.getLogger(__name__)

#: Imported before the first visitor comes: what the first drawing of a page would load anyway.
WARM_UP: tuple[str, ...] = (
    "pandas",
    "pyarrow.parquet",
    "altair",
    "duckdb",
    "evalcore.queries.runs",
    "evalcore.queries.cases",
    "evalcore.charts",
    "evalcore.web.resources",
)


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up, take back what the last container kept, find the runs whose worker died with it.

    The server answers meanwhile neither visitors nor probes: a moment later it answers them fast.
    """
    await asyncio.to_thread(warm_up)
    await asyncio.to_thread(fetch_kept)
    await asyncio.to_thread(reconcile)
    yield


def warm_up() -> None:
    """Import `WARM_UP`, rank the default boards, look at all runs, and freeze what is alive out of
    later garbage collections."""
    for name in WARM_UP:
        import_module(name)
    first_boards()
    gc.collect()
    gc.freeze()
    release()


def release() -> None:
    """Give memory that is free back to the system: reading the store took more than is kept. Only
    the C library of most Linux systems knows how."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def first_boards() -> None:
    """Rank the default board of each suite; a store that cannot be used is the pages' to report."""
    from evalcore.queries import boards, runs, stored_boards

    current = settings.load()
    try:
        headers = stored_boards.headers(current)
        for suite in boards.suites(headers):
            stored_boards.kept_ranking(current, boards.boards(headers, suite)[0])
        runs.all_rows(current.run_roots)
    except (EvalboardError, OSError, ValueError) as error:
        _log.error("ranking the boards ahead failed: %s", error)


def fetch_kept() -> None:
    """Results from the Hub, where the settings name a place there, and back what it lacks."""
    from evalcore.runner import keeping

    try:
        current = settings.load()
        keeping.fetch_kept(current)
        keeping.send_later(current)
    except (EvalboardError, OSError) as error:
        _log.error("fetching what was kept on the Hub failed: %s", error)


def reconcile() -> list[str]:
    """Ids of the runs found interrupted; a store that cannot be used is reported, not fatal.

    The server must come up even then: its pages say what is wrong with the store.
    """
    from evalcore.runner import client

    try:
        return client.reconcile(settings.load())
    except (EvalboardError, OSError) as error:
        _log.error("looking for interrupted runs failed: %s", error)
        return []
