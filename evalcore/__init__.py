"""Evaluate large language models and rank them: benchmarks, targets, runner, scores, storage.

    import evalcore

    run = evalcore.evaluate("baseline:sqlglot", "sql_understanding", max_samples=20)
    run.scores()

Importing this package is cheap and touches neither network nor disk; a public name loads what it
needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalcore.api import (
        Run,
        aevaluate,
        benchmark,
        board,
        compare,
        equivalent,
        evaluate,
        list_runs,
        load_run,
        rescore,
        resume,
        target,
    )
    from evalcore.errors import EvalboardError, UsageError

__version__ = "0.1.0"
__all__ = [
    "EvalboardError",
    "Run",
    "UsageError",
    "__version__",
    "aevaluate",
    "benchmark",
    "board",
    "compare",
    "equivalent",
    "evaluate",
    "list_runs",
    "load_run",
    "rescore",
    "resume",
    "target",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = "evalcore.errors" if name.endswith("Error") else "evalcore.api"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
