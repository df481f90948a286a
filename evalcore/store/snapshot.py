"""The headers of a store as they were at one moment, with room for what is worked out from them.

A page asks a dozen questions about the same headers, and all visitors ask them until the store
changes. What `memoize_on_snapshot` holds lives exactly as long as the headers it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from evalcore.store.cache import SingleFlightCache
from evalcore.store.headers import RunHeader

V = TypeVar("V")
_SNAPSHOT_CACHE_SIZE = 256


class HeaderSnapshot(list[RunHeader]):
    """Every finished run, newest first. It is shared, and read only."""

    def __init__(self, headers: Iterable[RunHeader] = ()) -> None:
        super().__init__(headers)
        self.cache: SingleFlightCache[Any] = SingleFlightCache(_SNAPSHOT_CACHE_SIZE)


def memoize_on_snapshot(headers: Iterable[RunHeader], key: Hashable, compute: Callable[[], V]) -> V:
    """What `compute` says of the headers, from the snapshot where they are one; key names the
    question. The answer is shared: hand out copies of what could be changed."""
    if isinstance(headers, HeaderSnapshot):
        value: V = headers.cache.get(key, compute)
        return value
    return compute()
