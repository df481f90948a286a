"""Which engines there are, and how to open one."""

from __future__ import annotations

from importlib.util import find_spec

from evalcore.errors import EvalboardError, MissingDependency, UsageError
from evalcore.sqlkit.engines.base import Engine, Limits
from evalcore.sqlkit.engines.process import ProcessEngine

#: By the engine's name, which is also its module here: the library that its process needs.
_LIBRARIES = {"sqlite": "sqlite3", "duckdb": "duckdb"}


def open_engine(name: str, limits: Limits = Limits()) -> Engine:  # noqa: B008 - a frozen record
    """An engine whose process starts at its first use.

    Raises UsageError for an unknown name and MissingDependency where its library is not installed.
    """
    if name not in _LIBRARIES:
        raise UsageError(f"unknown SQL engine {name!r}; known: {', '.join(_LIBRARIES)}")
    if find_spec(_LIBRARIES[name]) is None:
        raise MissingDependency(
            f"SQL engine {name} needs the Python module {_LIBRARIES[name]}, which is not installed"
        )
    return ProcessEngine(name, limits)


def available() -> dict[str, str]:
    """Every engine by name: its version where it starts here, else the reason why it does not."""
    found: dict[str, str] = {}
    for name in _LIBRARIES:
        try:
            with open_engine(name) as engine:
                found[name] = engine.version
        except EvalboardError as error:
            found[name] = str(error)
    return found
