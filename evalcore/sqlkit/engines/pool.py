"""Engines opened once and used by many: by name, closed together."""

from __future__ import annotations

import threading

from evalcore.closing import Closing
from evalcore.sqlkit.engines.base import Engine
from evalcore.sqlkit.engines.registry import open_engine


class EnginePool(Closing):
    """`get(name)` opens an engine at its first use; usable from several threads."""

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Engine:
        """Raises what `open_engine` raises where the engine is unknown or missing."""
        with self._lock:
            if name not in self._engines:
                self._engines[name] = open_engine(name)
            return self._engines[name]

    def collect_versions(self) -> dict[str, str]:
        """The engines opened so far, with their versions."""
        return {name: engine.version for name, engine in sorted(self._engines.items())}

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()
