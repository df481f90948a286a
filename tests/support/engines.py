"""Opening engines that a machine may lack: the skip says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.sqlkit.engines.base import Engine, Limits
from evalcore.sqlkit.engines.registry import open_engine

SERVERS = ("postgres", "mysql")


def server_engine(name: str, limits: Limits, folder: Path | None = None) -> Engine:
    """A server's engine that answers; skips the test with the remedy where there is none."""
    try:
        engine = open_engine(name, limits, folder)
        assert engine.version
    except (EnvironmentFailure, MissingDependency) as problem:
        pytest.skip(f"engine absent: {problem}")
    return engine
