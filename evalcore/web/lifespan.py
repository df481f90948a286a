"""What happens once when the server starts: heavy imports, kept results, orphaned runs.

Streamlit collects all garbage after every rerun, which costs time in proportion to the objects
alive. What is loaded once and never goes away is therefore frozen out of the collector's sight.
"""

from __future__ import annotations

import asyncio
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
    """Warm up, take back what the last container kept, find the runs whose worker died with it."""
    await asyncio.to_thread(warm_up)
    await asyncio.to_thread(fetch_kept)
    await asyncio.to_thread(reconcile)
    yield


def warm_up() -> None:
    """Import `WARM_UP` and freeze what is alive out of later garbage collections."""
    for name in WARM_UP:
        import_module(name)
    gc.collect()
    gc.freeze()


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
