"""Work that runs programs, beside the event loop: so many pieces at a time as there are processors.

More at once would only take the time of one another, and the clock that limits each runs on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """What the work returns or raises, done in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_open_thread_pool(), work)


@cache
def _open_thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="beside")
