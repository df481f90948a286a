"""Opening engines that a machine may lack: the skip says what to install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.sqlkit.engines import Engine, Execution, Limits
from evalcore.sqlkit.engines.registry import open_engine

SERVERS = ("postgres", "mysql")
#: A small table, and limits that a test can reach.
SETUP = [
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(50))",
    "INSERT INTO t VALUES (1, 'x'), (2, NULL);",
]
LIMITS = Limits(seconds=2, rows=50, bytes=20_000)


def server_engine(name: str, limits: Limits, folder: Path | None = None) -> Engine:
    """A server's engine that answers; skips the test with the remedy where there is none."""
    try:
        engine = open_engine(name, limits, folder)
        assert engine.version
    except (EnvironmentFailure, MissingDependency) as problem:
        pytest.skip(f"engine absent: {problem}")
    return engine


def rows(execution: Execution) -> tuple[tuple[Any, ...], ...]:
    """The rows of a statement that has to have run."""
    assert execution.status == "ok", execution.message
    assert execution.table is not None
    return execution.table.rows
