"""From a benchmark key to its implementation, imported only here and only when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.benchmarks import functions
from evalcore.benchmarks.base import Benchmark, check_options
from evalcore.catalog import BenchmarkCard
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note


def instantiate_benchmark(key: str, options: Mapping[str, Any] | None = None) -> Benchmark:
    """The benchmark with its options checked; raises UsageError for an unknown key or option, and
    for a plug-in whose implementation cannot be used."""
    card = catalog.benchmark_card(key)
    checked = check_options(card, options or {})
    with plugin_faults(key):
        return _import_implementation(card)(checked)


@contextmanager
def plugin_faults(key: str) -> Iterator[None]:
    """Raise UsageError, naming the benchmark, for whatever the code of a plug-in raises; faults of
    built-in benchmarks stay as they are."""
    try:
        yield
    except EvalboardError:
        raise
    except (Exception, SystemExit) as error:
        if catalog.is_builtin(key):
            raise
        raise UsageError(
            Note("plugin_benchmark_failed", owner=key, kind=type(error).__name__, problem=error)
        ) from error


def data_folder(card: BenchmarkCard) -> Path:
    """Where a plug-in's own cases are: the folder that its card names, beside the module."""
    if functions.is_defined(card.key):
        return Path(functions.__file__)
    if not card.dataset:
        raise UsageError(Note("benchmark_no_dataset", owner=card.key))
    with plugin_faults(card.key):
        module = import_module(card.implementation.partition(":")[0])
        return Path(str(module.__file__)).parent / card.dataset


def _import_implementation(card: BenchmarkCard) -> type[Benchmark]:
    module, _, name = card.implementation.partition(":")
    implementation = getattr(import_module(module), name)
    if not isinstance(implementation, type) or not issubclass(implementation, Benchmark):
        raise TypeError(f"{card.implementation} is not a subclass of Benchmark")
    if getattr(getattr(implementation, "card", None), "key", None) != card.key:
        raise TypeError(f"the `card` of {card.implementation} is not that of {card.key}")
    return implementation
