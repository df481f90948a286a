"""A small cache that computes each value in one thread only.

When twenty visitors ask for the same board at once, one of them works and the others wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class SingleFlightCache(Generic[V]):
    """LRU cache with single-flight computation. Values are shared; treat them as immutable. A
    computation that raises stores nothing, and the next caller tries again."""

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._values: dict[Hashable, V] = {}
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of a key, made where it is not kept; `make` must not ask for the same key."""
        with self._lock:
            if key in self._values:
                return self._mark_recent(key)
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            with self._lock:
                if key in self._values:
                    return self._mark_recent(key)
            try:
                value = make()
            except BaseException:
                with self._lock:
                    self._busy.pop(key, None)
                raise
            with self._lock:
                self._values[key] = value
                self._busy.pop(key, None)
                while len(self._values) > self._maxsize:
                    del self._values[next(iter(self._values))]
            return value

    def _mark_recent(self, key: Hashable) -> V:
        """The value, now the last to be thrown away."""
        value = self._values.pop(key)
        self._values[key] = value
        return value
