"""Opening engines that a machine may lack: the skip says what to install."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.settings import load_settings
from evalcore.sqlkit.engines import Engine, Execution, Limits
from evalcore.sqlkit.engines.local_server import ServerLease, acquire_server_lease
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
    config = load_settings()
    if folder is None and not getattr(config, f"{name}_dsn"):
        _keep_server(config.data_dir / "engines" / name)
    return engine


@cache
def _keep_server(folder: Path) -> ServerLease:
    """Claim a server as long as this process lives, since it takes seconds to start again."""
    return acquire_server_lease(folder, folder.name)


def rows(execution: Execution) -> tuple[tuple[Any, ...], ...]:
    """The rows of a statement that has to have run."""
    assert execution.status == "ok", execution.message
    assert execution.table is not None
    return execution.table.rows
