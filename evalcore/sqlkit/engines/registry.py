"""Which engines there are, and how to open one.

SQLite and DuckDB run in a limited process here. PostgreSQL and MySQL are servers: the one that the
settings `postgres_dsn` and `mysql_dsn` name, else one that is kept below the data folder.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from evalcore import settings
from evalcore.errors import EvalboardError, MissingDependency, UsageError
from evalcore.sqlkit.engines.base import Engine, Limits
from evalcore.sqlkit.engines.process import ProcessEngine
from evalcore.sqlkit.engines.served.dsn import open_served

#: By the engine's name, which is also its module here: the library that its process needs.
_PROCESS_LIBRARIES = {"sqlite": "sqlite3", "duckdb": "duckdb"}
_SERVED = ("postgres", "mysql")
NAMES = (*_PROCESS_LIBRARIES, *_SERVED)


def open_engine(
    name: str,
    limits: Limits = Limits(),  # noqa: B008 - a frozen record
    folder: Path | None = None,
) -> Engine:
    """An engine whose process starts, or whose server is found, at its first use.

    A kept server belongs to `folder`, by default to the data folder of the settings. Raises
    UsageError for an unknown name and MissingDependency where a library or program is missing.
    """
    if name in _SERVED:
        config = settings.load_settings()
        dsn = {"postgres": config.postgres_dsn, "mysql": config.mysql_dsn}[name]
        return open_served(name, limits, folder or config.data_dir / "engines" / name, dsn)
    if name not in _PROCESS_LIBRARIES:
        raise UsageError(f"unknown SQL engine {name!r}; known: {', '.join(NAMES)}")
    library = _PROCESS_LIBRARIES[name]
    if find_spec(library) is None:
        raise MissingDependency(
            f"SQL engine {name} needs the Python module {library}, which is not installed"
        )
    return ProcessEngine(name, limits)


def probe_engines() -> dict[str, str]:
    """Every engine by name: its version where it starts here, else the reason why it does not."""
    status_by_engine: dict[str, str] = {}
    for name in NAMES:
        try:
            with open_engine(name) as engine:
                status_by_engine[name] = engine.version
        except EvalboardError as error:
            status_by_engine[name] = str(error)
    return status_by_engine
